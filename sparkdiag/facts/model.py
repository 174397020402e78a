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


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSeen(Fact):
    """What a chat template (or a prompt rendered with it) does about thinking."""

    kind: ClassVar[str] = "template"
    opens_think: bool | None = None
    """Its generation prompt ends in an open think tag, with no switch set."""
    has_switch: bool | None = None
    """It reads enable_thinking or thinking."""
    default_thinking: bool | None = None
    """What it does when the request sets no switch; None where the part seen does not tell."""
