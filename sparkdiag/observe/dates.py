"""The latest calendar dates in the evidence: how old something else is can only be told against them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..facts import Fact, Source
from ..facts.images import DateSeen
from ..facts.piece import Piece

__all__ = ["observe_dates"]

MAX_TEXT = 2_000_000
_ISO = re.compile(r"(?<![\d-])(?P<year>20[2-9]\d)-(?P<month>\d\d)-(?P<day>\d\d)(?=[T _]|\b)")
_LOGGED = re.compile(r"(?:INFO|WARNING|ERROR|CRITICAL) (?P<month>\d\d)-(?P<day>\d\d) \d\d:\d\d:\d\d")
_DATED = re.compile(
    r"\b(?P<name>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +(?P<day>\d{1,2}),? "
    r"(?:\d\d:\d\d:\d\d .{0,12})?(?P<year>20[2-9]\d)\b"
)
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_AGE_OF_SOMETHING = re.compile(r"\binspect\b|\bimages\b|\bimage ls\b|\bhistory\b")


def observe_dates(pieces: Iterable[Piece]) -> list[Fact]:
    """One DateSeen a piece and kind of date; what tells an image's own age is left out."""
    out: list[Fact] = []
    for piece in pieces:
        if _AGE_OF_SOMETHING.search(piece.command or ""):
            continue
        text = piece.text[-MAX_TEXT:]
        full = [(int(m["year"]), int(m["month"]), int(m["day"])) for m in _ISO.finditer(text)]
        full += [(int(m["year"]), _MONTHS[m["name"]], int(m["day"])) for m in _DATED.finditer(text)]
        parts = [(int(m["month"]), int(m["day"])) for m in _LOGGED.finditer(text)]
        place = Source(piece.source, piece.first_line)
        dated = [d for d in full if 1 <= d[1] <= 12 and 1 <= d[2] <= 31]
        if dated:
            year, month, day = max(dated)
            out.append(DateSeen(year=year, month=month, day=day, where=piece.where, order=piece.order, source=place))
        if parts:
            month, day = parts[-1]
            if 1 <= month <= 12 and 1 <= day <= 31:
                out.append(DateSeen(month=month, day=day, where=piece.where, order=piece.order, source=place))
    return out
