"""What a search did not find: `grep -c` and greps that printed nothing."""

from __future__ import annotations

import re

from ...facts import Fact
from ...facts.node import GrepCount
from ...facts.piece import Piece
from ..shell import pipeline
from .lines import looked, place

__all__ = ["observe_greps"]

_GREPS = frozenset({"grep", "egrep", "zgrep", "rg"})


def observe_greps(piece: Piece) -> list[Fact]:
    """One fact for a pipeline that ends in a counted grep (or `grep | wc -l`), or in a grep without any output."""
    if not piece.command or ("grep" not in piece.command and "rg " not in piece.command):
        return []
    parts = pipeline(piece.command)
    last = parts[-1].words
    counted = last[:1] == ("wc",) and "-l" in last and len(parts) > 1
    search = parts[-2].words if counted else last
    if not search or search[0] not in _GREPS:
        return []
    options = "".join(word[1:] for word in search[1:] if re.fullmatch(r"-[a-zA-Z]+", word))
    lines = [line.strip() for line in piece.text.split("\n") if line.strip() and not line.startswith("#")]
    if counted or "c" in options or "--count" in search:
        numbers = [line for line in lines if line.isdigit()]
        if len(numbers) != 1 or lines[0] != numbers[0] or len(lines[0]) > 9:
            return []
        found = int(lines[0])
    elif not lines and "v" not in options and "q" not in options:
        found = 0
    else:
        return []
    pattern = _pattern(search)
    if pattern is None:
        return []
    what = parts[0].text if len(parts) > (2 if counted else 1) else " ".join(search[-1:])
    line = lines[0] if lines else piece.command
    return [
        GrepCount(pattern=pattern[:300], number=found, what=what[:200], **place(piece, 0, f"{piece.command}: {line}")),
        *looked(piece, "grep"),
    ]


def _pattern(words: tuple[str, ...]) -> str | None:
    given = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-e", "--regexp")]
    if given:
        return "|".join(given)
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("-A", "-B", "-C", "-m", "--max-count"):
            skip = True
        elif not word.startswith("-"):
            return word
    return None
