"""Tables of replies: a head that names their fields, and a row a reply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .patterns import lazy
from .printed_fields import FINISH, NOTHING, PLAIN_NAMES, Told

__all__ = ["told_tables"]

MAX_ROWS = 200

_Column = tuple[str, bool]
"""A field's plain name, and whether the cells hold its length."""

_SIZED = lazy(
    r"(?:len\()?(?P<name>content|reasoning_content|reasoning|answer|reply)\)?"
    r"[ _.]?(?:len|length|chars|characters|size)?\)?\Z"
)
_RULE = lazy(r"[\s|│┃:+\-─━═┼╪├┤┌┐└┘┬┴]+\Z")
_BAR = lazy(r"(?<!\\)[|│┃]")
_FIGURE = lazy(r"\(?~?(\d[\d,]{0,8})(?: ?(?:chars?|characters|tokens|tok))?\)?\Z")


def told_tables(text: str) -> Iterator[Told]:
    """Fields in the rows of tables whose head names at least two of a reply's fields."""
    head: list[_Column | None] = []
    at = row = 0
    for line in text.split("\n"):
        cells = _cells(line)
        if cells is None:
            head = [] if line.strip() else head
        elif not head and not _RULE.match(line):
            head = _head(cells)
        elif len(cells) == len(head) and not _RULE.match(line):
            row += 1
            for column, cell in zip(head, cells, strict=True):
                told = None if column is None else _cell(column, cell, at, at + len(line), row)
                if told is not None:
                    yield told
        if row >= MAX_ROWS:
            return
        at += len(line) + 1


def _cells(line: str) -> list[str] | None:
    if len(line) > 4000 or len(_BAR.findall(line)) < 2:
        return None
    parts = [part.strip() for part in _BAR.split(line.strip())]
    return parts[not parts[0] : len(parts) - (not parts[-1])]


def _head(cells: list[str]) -> list[_Column | None]:
    out: list[_Column | None] = []
    for cell in cells:
        plain = cell.strip('`*" ').lower()
        sized = _SIZED.match(plain)
        if plain in PLAIN_NAMES:
            out.append((PLAIN_NAMES[plain], False))
        else:
            out.append((PLAIN_NAMES[sized["name"]], True) if sized else None)
    named = {column[0] for column in out if column is not None}
    return out if len(named) >= 2 and named & {"finish", "content", "reasoning", "reasoning_content"} else []


def _cell(column: _Column, cell: str, at: int, end: int, row: int) -> Told | None:
    name, sized = column
    bare = cell.strip("`* ")
    number = _FIGURE.match(bare)
    figure = int(number[1].replace(",", "")) if number else None
    if name in ("completion_tokens", "prompt_tokens", "max_tokens"):
        return None if figure is None else Told(at, end, name, figure, row=row)
    if name == "finish":
        word = FINISH.match(bare)
        return None if word is None else Told(at, end, name, word["word"].lower(), row=row)
    if name == "tool_calls":
        return Told(at, end, name, size=figure or 0, row=row)
    if name in ("model", "enable_thinking"):
        value: Any = bare.lower() == "true" if name == "enable_thinking" else bare
        return Told(at, end, name, value, row=row)
    if sized or (number and "char" in bare):
        return None if figure is None else Told(at, end, name, size=figure, row=row)
    if not bare or NOTHING.fullmatch(bare):
        return Told(at, end, name, None, row=row)
    text = bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\"" else bare
    return Told(at, end, name, text.replace("\\n", "\n").replace("\\|", "|"), row=row)
