"""Signatures: what a rule looks for in log lines, and the facts that hits become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..records import dataclass
from .base import Fact, Value

CAPTURE_TYPES = ("text", "int", "float", "version", "bytes", "seconds", "tokens")


@dataclass(frozen=True, slots=True)
class Signature:
    """One kind of log line, found by literal anchors first and then by a regular expression on the hit line."""

    id: str
    anchors: tuple[str, ...]
    """Literals of four bytes or more; a line that matches holds at least one of them."""
    regex: str
    captures: tuple[tuple[str, str], ...] = ()
    """Named groups of the regex with the type each is read as (CAPTURE_TYPES); `bytes` takes units like GiB."""
    pieces: tuple[str, ...] = ("log",)
    """The kinds of text it is looked for in; `any` for every kind."""
    benign: bool = False
    """A sign of health or an ordinary line: it is a fact for rules, and no evidence of a failure by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHit(Fact):
    """All hits of one signature with the same captures in one run of one process, folded into one fact."""

    kind: ClassVar[str] = "log"
    signature: str
    captures: Mapping[str, Value]
    count: int = 1
    last_line: int | None = None
    last_order: int = 0
    """Position of the last hit; `order` is that of the first."""
    last_time: float | None = None
    process: str | None = None
    """The process as the log names it: APIServer, EngineCore, Worker_TP1, scheduler_0 ..."""
    phase: str | None = None
    """starting, loading, profiling, capturing, serving or stopping, at the first hit."""
    level: str | None = None
    command: str | None = None
    """The command whose output it stands in, if the evidence shows it."""

    def get(self, name: str) -> Value:
        if name in self.captures:
            return self.captures[name]
        return getattr(self, name, None) if name != "captures" else None
