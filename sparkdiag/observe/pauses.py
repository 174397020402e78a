"""How much time passed between the scrapes of a transcript: sleeps, loops, remarks, dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..facts.piece import Piece
from .patterns import lazy

__all__ = ["seconds_of_scrapes"]

_WORDS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10, "fifteen": 15,
    "twenty": 20, "thirty": 30, "half a": 0.5,
}  # fmt: skip
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_AMOUNT = r"(?:about |~ ?)?(?P<n>\d+(?:\.\d+)?|half a|an?|one|two|three|four|five|six|ten|fifteen|twenty|thirty)"
_UNIT = r" ?-?(?P<u>s|m|h)(?:ec(?:ond)?s?|in(?:ute)?s?|ours?)?\b"
_LATER = lazy(rf"\b{_AMOUNT}{_UNIT}[\w ]{{0,12}}\b(?:later|after|afterwards|apart)\b", re.IGNORECASE)
_AFTER = lazy(
    rf"\b(?:after|waited|waiting|wait|sleep|slept|in)\b(?: for)? (?:another )?{_AMOUNT}{_UNIT}", re.IGNORECASE
)
_EVERY = lazy(r"\bsleep (?P<n>\d+(?:\.\d+)?)(?P<u>[smh]?)|\bwatch (?:-\w+ )*-n ?(?P<w>\d+(?:\.\d+)?)")
_CLOCK = lazy(r"\b(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?\b")


def seconds_of_scrapes(pieces: Sequence[Piece]) -> dict[int, float]:
    """Seconds since the beginning at which each metrics piece was taken, by its index; only where the text tells."""
    scrapes = [i for i, piece in enumerate(pieces) if _is_scrape(piece)]
    if len(scrapes) < 2:
        return {}
    out: dict[int, float] = {}
    now = 0.0
    clock: float | None = None
    before: Piece | None = None
    for index, piece in enumerate(pieces):
        at = piece.meta.get("at")
        if isinstance(at, (int, float)):
            now = max(now, float(at))
        remark = _remark(piece)
        told = _clock(remark)
        if told is not None:
            now += max(0.0, told - clock) if clock is not None else 0.0
            clock = told
        if index in scrapes:
            now += _loop_step(before, piece)
            out[index] = now
            before = piece
            remark = "\n".join(
                line for line in piece.text.split("\n") if not line.startswith(("vllm:", "sglang:", "#"))
            )
        if before is not None:
            now += _duration(remark)
    return out if len(set(out.values())) > 1 else {}


def _is_scrape(piece: Piece) -> bool:
    if piece.kind == "metrics":
        return True
    return piece.kind == "exchange" and str(piece.meta.get("path") or "").split("?")[0].rstrip("/").endswith("/metrics")


def _remark(piece: Piece) -> str:
    """What somebody wrote between: headings, comments, short text, the output of `date`."""
    heading = str(piece.meta.get("heading") or "")
    if piece.kind in ("comment", "text") or (piece.command or "").startswith("date"):
        return f"{heading}\n{piece.text[:400]}"
    return heading


def _duration(text: str) -> float:
    match = (_LATER.search(text) or _AFTER.search(text)) if text.strip() else None
    return 0.0 if match is None else _number(match["n"]) * _UNITS[match["u"].lower()]


def _number(text: str) -> float:
    return float(text) if text[0].isdigit() else float(_WORDS[text.lower()])


def _clock(text: str) -> float | None:
    match = _CLOCK.search(text)
    return None if match is None else int(match["h"]) * 3600.0 + int(match["m"]) * 60.0 + int(match["s"] or 0)


def _loop_step(before: Piece | None, piece: Piece) -> float:
    """Seconds between two scrapes of one loop."""
    typed = piece.meta.get("typed")
    if before is None or not isinstance(typed, str) or before.meta.get("typed") != typed or piece.meta.get("at"):
        return 0.0
    match = _EVERY.search(typed)
    if match is None:
        return 0.0
    return float(match["w"]) if match["w"] else float(match["n"]) * _UNITS[match["u"] or "s"]
