"""Values as programs print them: Python's repr (dicts, objects with their fields), and what Node.js logs.

`ChatCompletion(id='x', choices=[Choice(...)])` becomes an object with the keys of its fields; its name stands under
`CLASS`. What stands for a value without showing it (`[Object]`, a variable's name) becomes UNKNOWN.
"""

from __future__ import annotations

import re
from typing import Any

from .patterns import lazy

__all__ = ["CLASS", "UNKNOWN", "known", "read_value"]

CLASS = "<class>"
UNKNOWN = object()
"""The value of a name, a call or `[Object]`: there, and not shown."""
MAX_DEPTH = 60
MAX_VALUES = 20_000
MAX_CHARS = 400_000

_SPACE = lazy(r"(?:\s|#[^\n]*\n|//[^\n]*\n)*")
_NUMBER = lazy(r"[-+]?(?:\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+)n?(?![\w.])")
_AFTER = r"(?=\s*(?:[,)}\]:+'\"]|\Z)|[ \t]*\n|[ \t]+[\w.]+ ?[=:])"
"""What may follow the end of a string: an apostrophe within one that nobody escaped is not its end."""
_STRING = lazy(
    r"(?:[rbuf]{0,2})(?P<text>'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\""
    rf"|'(?:[^'\\]|\\.|'(?=\w))*'{_AFTER}|\"(?:[^\"\\]|\\.)*\"{_AFTER}|`(?:[^`\\]|\\.)*`)",
    re.S | re.IGNORECASE,
)
_NAME = lazy(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_]\w*)*")
_KEY = lazy(r"[A-Za-z_$][\w$-]*(?=\s*:)")
_FIELD = lazy(r"(?P<name>[A-Za-z_]\w*)\s*=(?!=)")
_ATTRIBUTE = lazy(r"\.\w+")
_ANGLED = lazy(r"<(?P<name>[\w.]+)(?:: (?P<value>'[^']*'|\d+))?[^<>]{0,200}>")
_JOINED = lazy(r"\s*\+?\s*(?=[rbuf]{0,2}['\"])")
_KEY_ENDS = lazy(r"[ \t]*:")
_WORDS = {"None": None, "null": None, "undefined": None, "True": True, "true": True, "False": False, "false": False}


class _NoValueError(Exception):
    """What stands here is no printed value."""


def read_value(text: str, start: int) -> tuple[Any, int] | None:
    """The value that begins at `start`, and where it ends; None where none does, or it is cut off."""
    reader = _Reader(text[start : start + MAX_CHARS])
    try:
        value = reader.value(0)
    except (_NoValueError, RecursionError):
        return None
    return value, start + reader.at


class _Reader:
    """Recursive descent, bounded in depth and in the number of values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.values = 0

    def skip(self) -> str:
        """Past white space and comments; the character that follows."""
        match = _SPACE.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        self.values += 1
        if depth > MAX_DEPTH or self.values > MAX_VALUES:
            raise _NoValueError
        char = self.skip()
        if char == "{":
            return self.mapping(depth)
        if char in "[(" and char:
            return self.sequence(depth)
        if char == "<":
            return self.angled()
        string = _STRING.match(self.text, self.at)
        if string is not None:
            return self.string(string)
        number = _NUMBER.match(self.text, self.at)
        if number is not None:
            self.at = number.end()
            return _number(number[0])
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise _NoValueError
        self.at = name.end()
        if self.text[self.at : self.at + 1] == "(":
            return self.instance(name[0].rpartition(".")[2], depth)
        return self.rest_of_name(name[0])

    def rest_of_name(self, name: str) -> Any:
        """A word's value. A variable's is unknown, and so is what is looked up in it; `Object {` names a class only."""
        if name in _WORDS:
            return _WORDS[name]
        if self.skip() == "{" and name[:1].isupper():
            return self.mapping(1)
        while self.text[self.at : self.at + 1] in ("[", "("):
            self.sequence(1)
            more = _ATTRIBUTE.match(self.text, self.at)
            if more is not None:
                self.at = more.end()
        return UNKNOWN

    def string(self, match: re.Match[str]) -> str:
        parts = []
        while True:
            parts.append(_unquoted(match["text"]))
            self.at = match.end()
            joint = _JOINED.match(self.text, self.at)
            following = _STRING.match(self.text, joint.end()) if joint is not None else None
            if following is None or joint is None or not joint[0] or _KEY_ENDS.match(self.text, following.end()):
                return "".join(parts)
            match = following

    def angled(self) -> Any:
        """`<Role.ASSISTANT: 'assistant'>`, `<object at 0x7f...>`, `<ref *1> {`."""
        match = _ANGLED.match(self.text, self.at)
        if match is None:
            if self.text.startswith("<ref *", self.at):
                self.at = self.text.index(">", self.at) + 1
                return self.value(1)
            raise _NoValueError
        self.at = match.end()
        return UNKNOWN if match["value"] is None else match["value"].strip("'")

    def sequence(self, depth: int) -> list[Any]:
        close = "]" if self.text[self.at] == "[" else ")"
        self.at += 1
        items: list[Any] = []
        while True:
            char = self.skip()
            if char == close:
                self.at += 1
                return items
            if not char:
                raise _NoValueError
            if self.text.startswith("...", self.at) or self.text.startswith("… ", self.at):
                self.at = _past_remark(self.text, self.at, close)
                continue
            items.append(self.value(depth + 1))
            if self.skip() == ",":
                self.at += 1
            elif self.skip() != close:
                self.at = _past_remark(self.text, self.at, close)

    def mapping(self, depth: int) -> dict[str, Any]:
        self.at += 1
        out: dict[str, Any] = {}
        while True:
            char = self.skip()
            if char == "}":
                self.at += 1
                return out
            if not char:
                raise _NoValueError
            if self.text.startswith("...", self.at):
                self.at = _past_remark(self.text, self.at, "}")
                continue
            bare = _KEY.match(self.text, self.at)
            if bare is not None:
                key: Any = bare[0]
                self.at = bare.end()
            else:
                key = self.value(depth + 1)
            if self.skip() != ":":
                raise _NoValueError
            self.at += 1
            out[str(key)] = self.value(depth + 1)
            if self.skip() == ",":
                self.at += 1
            elif self.skip() != "}":
                raise _NoValueError

    def instance(self, name: str, depth: int) -> Any:
        """`Name(field=value, ...)`; of positional values the first is kept for wrappers such as dict(...) and str."""
        self.at += 1
        out: dict[str, Any] = {CLASS: name}
        loose: list[Any] = []
        while True:
            char = self.skip()
            if char == ")":
                self.at += 1
                break
            if not char:
                raise _NoValueError
            if self.text.startswith("...", self.at):
                self.at = _past_remark(self.text, self.at, ")")
                continue
            if self.text.startswith("**", self.at):
                self.at += 2
            field = _FIELD.match(self.text, self.at)
            if field is not None:
                self.at = field.end()
                out[field["name"]] = self.value(depth + 1)
            else:
                loose.append(self.value(depth + 1))
            if self.skip() == ",":
                self.at += 1
            elif self.skip() != ")":
                raise _NoValueError
        if len(out) == 1 and len(loose) == 1:
            return loose[0]
        return out


def known(value: Any) -> Any:
    """A value without its unknown parts, and without the names of classes."""
    if isinstance(value, dict):
        return {k: known(v) for k, v in value.items() if k != CLASS and not _hidden(v)}
    if isinstance(value, list):
        return [known(item) for item in value if not _hidden(item)]
    return None if value is UNKNOWN else value


def _hidden(value: Any) -> bool:
    return value is UNKNOWN or (isinstance(value, list) and len(value) == 1 and value[0] is UNKNOWN)


_REMARKS = {close: lazy(rf"[^,\n{re.escape(close)}]*,?") for close in ")]}"}


def _past_remark(text: str, at: int, close: str) -> int:
    """Past what stands for left-out items: `...`, `... 12 more items`, a remark in brackets."""
    match = _REMARKS[close].match(text, at)
    end = at if match is None else match.end()
    if end == at:
        raise _NoValueError
    return end


def _number(text: str) -> int | float | None:
    plain = text.rstrip("n").replace("_", "")
    try:
        return int(plain) if len(plain) < 40 and plain.lstrip("+-").isdigit() else float(plain)
    except ValueError:
        return None


def _unquoted(text: str) -> str:
    if text[0] == "`":
        return text[1:-1]
    if "\\" not in text:
        return text[3:-3] if text[:3] in ("'''", '"""') else text[1:-1]
    import ast

    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError):
        return text[1:-1]
    return value if isinstance(value, str) else text[1:-1]
