"""Facts about the model: what its names say, and what its files hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelName(Fact):
    """A name of the model in service: served name, path, repository."""

    kind: ClassVar[str] = "name"
    name: str
    thinks: bool | None = None
    """True for names like Thinking or R1, False for Instruct, Coder or Base; None where the name does not tell."""
    format: str | None = None
    """Quantization format in the name: mxfp4, nvfp4, fp8, awq, gptq."""
