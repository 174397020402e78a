"""Making words that came from evidence harmless for a terminal, a log and a web page, and short enough to read.

A log line can hold escape sequences that rewrite the screen, and direction marks that make a command read as another.
They are shown as visible escapes, never passed on.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["ELLIPSIS", "cut", "harmless", "one_line", "width_of"]

ELLIPSIS = "…"

_UNSAFE = re.compile(
    "["
    "\x00-\x09\x0b-\x1f\x7f-\x9f"  # control characters, C1 included: some terminals obey those as well
    "\u00ad\u200b\u2060-\u2064\ufeff"  # not to be seen at all
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # direction marks
    "\u2028\u2029\ufff9-\ufffb"  # other line ends, annotations
    "\ud800-\udfff\U000e0000-\U000e007f"  # halves of characters, tag characters
    "]"
)


def harmless(text: str) -> str:
    """The text with everything that a terminal could obey, or an eye miss, as a visible escape. Newlines stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    number = ord(match[0])
    if number == 9:
        return "    "
    if number == 13:
        return "\\r"
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def one_line(text: str) -> str:
    """Harmless, and on one line: each run of white space is one space."""
    return " ".join(harmless(text).split())


def cut(text: str, limit: int) -> str:
    """At most `limit` columns; what was longer ends in an ellipsis."""
    if width_of(text) <= limit:
        return text
    kept, used = [], 0
    for letter in text:
        used += width_of(letter)
        if used > limit - 1:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + ELLIPSIS


def width_of(text: str) -> int:
    """Columns that the text takes on a terminal: wide letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
