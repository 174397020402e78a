"""Client code that was pasted: from which key of a reply it takes the thinking text."""

from __future__ import annotations

from ...facts import Fact
from ...facts.client import ClientReads
from ...facts.piece import Piece
from ..patterns import lazy
from .lines import lines_with, place

__all__ = ["observe_client_code"]

_READS = lazy(
    r"(?:\b(?:message|msg|delta|choices?\[0\]|m|d|resp|response|reply|chunk|out|part)(?:\[0\])?\.|\[[\"']|\.get\([\"']"
    r"|getattr\([\w.\[\]()]{1,60}, ?[\"'])(?P<key>reasoning_content|reasoning)(?![\w-]|[\"'] ?:)"
)
_TRACEBACK = lazy(r"\s*(?:\^|~|File \")|.*\bsite-packages\b|.*\bdist-packages\b")
MAX_READS = 50


def observe_client_code(piece: Piece) -> list[Fact]:
    """The one key that pasted code reads; nothing where it reads both, and nothing for an engine's own log."""
    if piece.kind == "log" or "reasoning" not in piece.text:
        return []
    found: dict[str, tuple[int, str]] = {}
    lines = [(at, line) for at, line in lines_with(piece.text, "reasoning") if len(line) < 2000][:MAX_READS]
    for at, line in lines:
        if _TRACEBACK.match(line) is None:
            for match in _READS.finditer(line):
                found.setdefault(match["key"], (at, line))
    if len(found) != 1:
        return []
    key, (at, line) = next(iter(found.items()))
    return [ClientReads(key=key, by="code", **place(piece, at, line))]
