"""The text without its secrets: all finders' spans, masked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .shapes import SHAPES, find_bearer, find_blocks, find_in_url, find_logins
from .values import MARKS, Span, find_named

__all__ = ["redact"]

_ROUNDS = 4


def redact(text: str) -> str:
    """The text without its secrets; the same object if it holds none."""
    for _ in range(_ROUNDS):
        spans = list(_find(text))
        if not spans:
            return text
        new = _replace(text, spans)
        if new == text:
            return text
        text = new
    return text


def _find(text: str) -> Iterator[Span]:
    low = text.lower()
    if len(low) != len(text):  # one letter has a longer small form; positions must agree
        low = "".join(c.lower() if c.isascii() else c for c in text)
    for mark, finder in _FINDERS:
        if mark in low:
            yield from finder(text, low, mark)


def _replace(text: str, spans: list[Span]) -> str:
    """Overlapping spans are masked as one, by the stand-in of the first."""
    out: list[str] = []
    done = 0
    current: Span | None = None
    ordered = sorted(dict.fromkeys(spans), key=lambda span: (span[0], -span[1]))
    for span in [*ordered, (len(text), len(text), "")]:
        if current is not None and span[0] < current[1]:
            current = (current[0], max(current[1], span[1]), current[2])
            continue
        if current is not None:
            start, end, new = current
            breaks = "".join(_BREAKS.findall(text[start:end])) if end - start > 1 else ""
            out += (text[done:start], new, breaks)
            done = end
        current = span
    out.append(text[done:])
    return "".join(out)


_BREAKS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


_FINDERS: tuple[tuple[str, Callable[[str, str, str], Iterator[Span]]], ...] = (
    ("-----begin ", find_blocks),
    *((mark, find_named) for mark in MARKS),
    ("bearer", find_bearer),
    *((mark, find_logins) for mark in ("login ", "sshpass ", "curl ")),
    *SHAPES,
    ("://", find_in_url),
)
