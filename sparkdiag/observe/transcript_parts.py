"""A part of a transcript: a piece to be, before it gets its place."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ..records import dataclass

__all__ = ["Part"]


@dataclass(slots=True)
class Part:
    """One piece to be: lines `start` to `end` are its text, `begin` is where all that belongs to it begins."""

    kind: str
    begin: int
    start: int
    end: int
    command: str | None = None
    text: str | None = None
    """Where the text is not simply the lines."""
    node: str | None = None
    container: str | None = None
    remark: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
