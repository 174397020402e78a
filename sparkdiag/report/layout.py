"""Lines of a page: wrapped paragraphs, lines that must not be wrapped, and colour where it is wanted."""

from __future__ import annotations

from .harmless import ELLIPSIS, cut, harmless, one_line, width_of

__all__ = ["Page", "wrap"]

MAX_PARAGRAPH = 4000
"""Columns of one paragraph; texts of rules are far shorter, words from evidence within them need not be."""

_STYLES = {"bold": "1", "dim": "2", "red": "1;31", "green": "1;32", "yellow": "1;33"}


class Page:
    """Collects lines. Every text that goes in comes out harmless; only `styled` adds escapes, and only on request."""

    def __init__(self, width: int, colour: bool) -> None:
        self.width = max(width, 40)
        self._colour = colour
        self._lines: list[str] = []

    def blank(self) -> None:
        """An empty line, never two in a row, none at the top."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def paragraph(self, text: str, indent: int = 0, *, lead: str = "", style: str | None = None) -> None:
        """Wrapped text. `lead` (a number, a dash) stands before the first line, and the others hang under its end."""
        start = " " * indent + lead
        lines = wrap(cut(one_line(text), MAX_PARAGRAPH), self.width, start, " " * len(start))
        self._lines += [self.styled(line, style) for line in lines]

    def heading(self, text: str, indent: int = 0, style: str = "bold") -> None:
        self.paragraph(text, indent, style=style)

    def verbatim(self, text: str, indent: int) -> None:
        """Lines to be copied: never wrapped or cut."""
        for line in text.strip("\n").split("\n"):
            self._lines.append(" " * indent + harmless(line).rstrip())

    def quoted(self, text: str, indent: int, lines: int) -> None:
        """Words of the evidence behind a bar, broken at the width, with an ellipsis where there is more."""
        room = self.width - indent - 2
        shown: list[str] = []
        for line in text[:MAX_PARAGRAPH].strip("\n").split("\n"):
            rest = harmless(line).rstrip()
            if not rest:
                continue
            while True:
                head, rest = _split(rest, room)
                shown.append(head)
                if not rest or len(shown) > lines:
                    break
            if len(shown) > lines:
                break
        if len(shown) > lines or len(text) > MAX_PARAGRAPH:
            shown = shown[:lines]
            shown[-1] = cut(shown[-1], room - 1).rstrip(ELLIPSIS) + ELLIPSIS
        self._lines += [" " * indent + self.styled("|", "dim") + (" " + line if line else "") for line in shown]

    def styled(self, text: str, style: str | None) -> str:
        if not self._colour or style is None or not text.strip():
            return text
        body = text.lstrip(" ")
        return text[: len(text) - len(body)] + f"\x1b[{_STYLES[style]}m{body}\x1b[0m"

    def text(self) -> str:
        return "\n".join(self._lines).rstrip("\n") + "\n"


def wrap(text: str, width: int, first: str, rest: str) -> list[str]:
    """Words filled into lines of `width` columns. A word that is longer than a line stands on its own, whole."""
    lines: list[str] = []
    line, empty = first, True
    for word in text.split(" "):
        if not empty and width_of(line) + 1 + width_of(word) > width:
            lines.append(line)
            line, empty = rest, True
        line = line + word if empty else f"{line} {word}"
        empty = False
    return [*lines, line]


def _split(text: str, room: int) -> tuple[str, str]:
    """As much as fits into `room` columns, preferably up to a space, and what is left."""
    if width_of(text) <= room:
        return text, ""
    end, used = 0, 0
    for letter in text:
        used += width_of(letter)
        if used > room:
            break
        end += 1
    end = max(end, 1)
    space = text.rfind(" ", end // 2, end + 1)
    return (text[:space], text[space + 1 :]) if space > 0 else (text[:end], text[end:])
