"""Facts about the serving engine and the models it says it serves."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSeen(Fact):
    """One sign of which engine serves, and in which version."""

    kind: ClassVar[str] = "engine"
    name: str
    """vllm, sglang, transformers, llamacpp, ollama, sparkrun."""
    version: str | None = None
    by: str = ""
    """What said so: version route, owned_by, metrics, log line, image tag ..."""
    proxied: bool = False
    """Another name stands in front (a proxy rewrote owned_by)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServed(Fact):
    """One entry of /v1/models, or SGLang's model info."""

    kind: ClassVar[str] = "served"
    name: str
    root: str | None = None
    max_model_len: int | None = None
    owned_by: str | None = None
    names: tuple[str, ...] = ()
    """All names that the endpoint serves."""
