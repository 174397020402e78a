"""Reading one entry of a rule file: its keys, its texts, and what is said when they are wrong."""

from __future__ import annotations

import re
from typing import Any

from .yaml_source import Located

_WORDS = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_WORD_ID = (re.compile(_WORDS), "are lower-case words joined by dashes")
_DIAGNOSIS_ID = (re.compile(rf"[a-z0-9]+\.{_WORDS}"), "look like chapter.problem-in-words")


class EntryError(Exception):
    """One entry is wrong; `line` says where."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


def keys(data: Any, allowed: set[str], required: set[str], what: str, line: int) -> Located:
    """The mapping, if it has the keys that it must have and no others; `line` where it is none."""
    if not isinstance(data, Located):
        raise EntryError(line, f"{what} must be a mapping")
    if "id" in allowed and isinstance(data.get("id"), str):
        what = f"{what.removeprefix('a ')} '{data['id']}'"
    for key in data:
        if key not in allowed:
            raise EntryError(data.lines[key], f"{what} has no key '{key}'{nearest(key, allowed)}")
    for key in sorted(required - set(data)):
        raise EntryError(data.line, f"{what} needs '{key}'")
    return data


def identifier(data: Located, sort: str) -> str:
    """The id of a signature, diagnosis, finding, probe or rule."""
    value = data["id"]
    shape, words = _DIAGNOSIS_ID if sort == "diagnosis" else _WORD_ID
    if not isinstance(value, str) or not shape.fullmatch(value):
        raise EntryError(data.lines["id"], f"{sort} {value!r}: ids {words}")
    return value


def flag(data: Located, key: str, what: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise EntryError(data.lines[key], f"'{key}' of {what} is true or false, not {value!r}")
    return value


def nearest(word: str, words: set[str] | tuple[str, ...]) -> str:
    """`; did you mean 'x'?` or nothing."""
    import difflib

    close = difflib.get_close_matches(word, sorted(words), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def text(data: Located, key: str, what: str) -> str:
    """A text on one line; commands keep their lines."""
    value = data[key]
    if not isinstance(value, str) or not value.strip():
        raise EntryError(data.lines[key], f"'{key}' of {what} must be text")
    return " ".join(value.split()) if key != "command" else value.strip()


def words(data: Located, key: str, what: str) -> tuple[str, ...]:
    value = data.get(key, [])
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise EntryError(data.lines[key], f"'{key}' of {what} must be a list of words")
    return tuple(items)
