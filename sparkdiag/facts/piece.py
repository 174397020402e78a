"""The unit of observation: one coherent stretch of evidence, of one recognised kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ..records import dataclass
from .base import NOWHERE, Where


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one kind with its place. The transcript reader and captures both give pieces."""

    kind: str
    """exchange, json, sse, metrics, log, launch, output (of a command), config, recipe, text ..."""
    text: str
    source: str = "input"
    """Name of the text it stands in, as evidence is quoted: a file name, a probe, `input`."""
    first_line: int = 1
    where: Where = NOWHERE
    command: str | None = None
    """The shell command whose output it is."""
    order: int = 0
    """Position of its first line in the whole evidence."""
    probe: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    """What is known beside the text; for an exchange: request, status, headers, asked, timing."""
