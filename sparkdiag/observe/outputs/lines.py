"""What parsers of command output share: the place of a line, the program that printed it, columns cut out by awk."""

from __future__ import annotations

import re
from typing import Any

from ...facts import Looked, Source
from ...facts.piece import Piece
from ..shell import pipeline

__all__ = ["awk_columns", "lines_with", "looked", "number", "place", "program", "stages"]


def place(piece: Piece, line: int, text: str) -> dict[str, Any]:
    """`where`, `order` and `source` of a fact that one line of a piece shows."""
    return {
        "where": piece.where,
        "order": piece.order + line,
        "source": Source(piece.source, piece.first_line + line, text=text.strip()[:500]),
    }


def looked(piece: Piece, *probes: str) -> list[Looked]:
    """The piece is what these probes would have shown."""
    source = Source(piece.source, line=piece.first_line)
    return [Looked(probe=probe, where=piece.where, order=piece.order, source=source) for probe in probes]


def stages(piece: Piece) -> list[tuple[str, ...]]:
    """The words of each stage of the pipeline that printed the piece; none without a command."""
    return [stage.words for stage in pipeline(piece.command)] if piece.command else []


def program(piece: Piece) -> str:
    """The name of the first program of the pipeline, without its folder."""
    first = next((words[0] for words in stages(piece) if words), "")
    return first.rsplit("/", 1)[-1]


def lines_with(text: str, *literals: str) -> list[tuple[int, str]]:
    """(index, line) of the lines that hold one of the literals, in order; a large log is not split for them."""
    starts: dict[int, int] = {}
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            starts[text.rfind("\n", 0, at) + 1] = end
            at = text.find(literal, end)
    out: list[tuple[int, str]] = []
    line = before = 0
    for start in sorted(starts):
        line += text.count("\n", before, start)
        before = start
        out.append((line, text[start : starts[start]]))
    return out


_AWK_PRINT = re.compile(r"print\s+([^}]*)")
_AWK_FIELD = re.compile(r"\$(\d+|NF)")


def awk_columns(piece: Piece) -> tuple[int, ...] | None:
    """The columns (from 1; -1 for the last) that a final `awk '{print $1,$4}'` or `cut -f` kept; None without one."""
    last = next((words for words in reversed(stages(piece)) if words), ())
    if len(stages(piece)) < 2 or last[:1] != ("awk",):
        return None
    found = _AWK_PRINT.search(last[-1])
    if found is None:
        return None
    return tuple(-1 if column == "NF" else int(column) for column in _AWK_FIELD.findall(found[1])) or None


def number(text: str) -> float | None:
    """`1,234.5`, `96 %`, `21.80 W` as a number; None for N/A and its like."""
    match = re.match(r"\s*[-+]?(\d[\d,]*\.?\d*|\.\d+)", text)
    if match is None:
        return None
    value = float(match[0].replace(",", ""))
    return value if abs(value) < 1e15 else None
