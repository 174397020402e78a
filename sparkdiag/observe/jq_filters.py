"""jq filters read as text: which value of a document each output is. Filters are never run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..records import dataclass
from .patterns import lazy

__all__ = ["EACH", "At", "Filter", "Made", "Path", "Shape", "json_or", "object_literal", "read_filter"]

Path = tuple[Any, ...]
"""Keys and indexes from the document's root; EACH for `.[]`, ("slice", a, b) for a cut."""

EACH = "[]"
MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class At:
    """The value at a path, or a number that measures it."""

    path: Path
    measure: str | None = None
    """length, type, or another function that tells about the value without showing it."""
    text: bool = False
    """Turned into text: tostring, @json."""


@dataclass(frozen=True, slots=True)
class Made:
    """An array or object that the filter builds, or a value that it sets (`value`)."""

    items: tuple[tuple[str | int, Shape], ...] = ()
    form: str = "unknown"
    """array, object, value, line (an array printed as one line: @tsv, @csv, join), text (a string with values in it:
    its items are shapes under numbers and its own words under "") or unknown."""
    value: Any = None
    text: bool = False


Shape = At | Made
UNKNOWN = Made()


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that could be read: the shape of each value that it prints for one document."""

    text: str
    outputs: tuple[Shape, ...]
    raw: bool = False
    """-r: texts are printed without quotes."""


_TOKEN = lazy(
    r"\s*(?:(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d+(?:\.\d+)?)|(?P<field>\.[A-Za-z_]\w*)|(?P<name>[@$]?[A-Za-z_]\w*)|"
    r"(?P<op>//|==|!=|<=|>=|\.\.|[.\[\]{}(),:|?+\-*/<>]))"
)


class _UnreadError(Exception):
    """The filter has something that is not read here."""


class _Reader:
    """Recursive descent over jq's grammar, as far as it selects and arranges; every method maps inputs to shapes."""

    def __init__(self, text: str, variables: Mapping[str, Any]) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.variables = variables
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise _UnreadError(text[at:])
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind]))
            at = match.end()
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        token = self.peek()
        if not token or (wanted is not None and token != wanted):
            raise _UnreadError(token)
        self.at += 1
        return token

    def pipe(self, given: Shape) -> list[Shape]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _UnreadError("too deep")
        out = self.comma(given)
        while self.peek() == "|":
            self.take()
            start, results = self.at, []
            for shape in out[:64]:
                self.at = start
                results += self.comma(shape)
            out = results
        self.depth -= 1
        return out

    def comma(self, given: Shape) -> list[Shape]:
        out = self.alternative(given)
        while self.peek() == ",":
            self.take()
            out = out + self.alternative(given)
        return out

    def alternative(self, given: Shape) -> list[Shape]:
        out = self.postfix(given)
        while self.peek() in ("//", "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "and", "or"):
            operator = self.take()
            self.postfix(given)
            if operator != "//":
                out = [UNKNOWN]
        return out

    def postfix(self, given: Shape) -> list[Shape]:
        out = self.term(given)
        while True:
            token = self.peek()
            if self.kind() == "field":
                self.take()
                out = [_step(shape, token[1:]) for shape in out]
            elif token == "." and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][0] == "string":
                self.take()
                key = json.loads(self.take())
                out = [_step(shape, key) for shape in out]
            elif token == "." and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][1] == "[":
                self.take()
            elif token == "[":
                out = self.index(out)
            elif token == "?":
                self.take()
            else:
                return out

    def index(self, shapes: list[Shape]) -> list[Shape]:
        self.take("[")
        if self.peek() == "]":
            self.take()
            return [_step(shape, EACH) for shape in shapes]
        if self.kind() == "string":
            key: Any = json.loads(self.take())
        elif self.kind() == "number" or self.peek() in (":", "-"):
            key = self.bounds()
        else:
            raise _UnreadError(self.peek())
        self.take("]")
        return [_step(shape, key) for shape in shapes]

    def bounds(self) -> Any:
        start = int(self.take()) if self.kind() == "number" else None
        if self.peek() != ":":
            return start
        self.take()
        end = int(self.take()) if self.kind() == "number" else None
        return ("slice", start, end)

    def term(self, given: Shape) -> list[Shape]:
        kind, token = self.kind(), self.peek()
        if kind == "field":
            self.take()
            return [_step(given, token[1:])]
        if kind == "string":
            self.take()
            return [self.with_values(token, given) if "\\(" in token else Made(form="value", value=json.loads(token))]
        if kind == "number":
            self.take()
            return [Made(form="value", value=json.loads(token))]
        if token == ".":
            self.take()
            if self.kind() == "string":
                return [_step(given, json.loads(self.take()))]
            return [given]
        if token == "(":
            self.take()
            out = self.pipe(given)
            self.take(")")
            return out
        if token == "[":
            self.take()
            items = [] if self.peek() == "]" else self.pipe(given)
            self.take("]")
            return [_array(items)]
        if token == "{":
            return [self.object(given)]
        if kind == "name":
            return [self.function(given)]
        raise _UnreadError(token)

    def with_values(self, token: str, given: Shape) -> Shape:
        """`"finish=\\(.finish_reason)"`: a string with values in it."""
        items: list[tuple[str | int, Shape]] = []
        at = 1
        while (start := token.find("\\(", at)) >= 0:
            end = _closing(token, start + 2)
            inner = _Reader(token[start + 2 : end].replace('\\"', '"'), self.variables)
            shapes = inner.pipe(given)
            if inner.at != len(inner.tokens) or len(shapes) != 1:
                raise _UnreadError(token)
            items += [("", Made(form="value", value=json_or(f'"{token[at:start]}"'))), (len(items), shapes[0])]
            at = end + 1
        return Made((*items, ("", Made(form="value", value=json_or(f'"{token[at:-1]}"')))), "text")

    def object(self, given: Shape) -> Shape:
        self.take("{")
        items: list[tuple[str | int, Shape]] = []
        while self.peek() != "}":
            kind, token = self.kind(), self.take()
            key = json.loads(token) if kind == "string" else token.lstrip("$@.")
            if kind not in ("string", "name", "number"):
                raise _UnreadError(token)
            if self.peek() == ":":
                self.take()
                values = self.member(given)
                items.append((key, values[0] if len(values) == 1 else UNKNOWN))
            elif token.startswith("$"):
                items.append((key, Made(form="value", value=self.variables.get(key))))
            else:
                items.append((key, _step(given, key)))
            if self.peek() == ",":
                self.take()
        self.take("}")
        return Made(tuple(items), "object")

    def member(self, given: Shape) -> list[Shape]:
        """A value in an object: pipes bind it without parentheses, commas end it."""
        out = self.alternative(given)
        while self.peek() == "|":
            self.take()
            start, results = self.at, []
            for shape in out[:64]:
                self.at = start
                results += self.alternative(shape)
            out = results
        return out

    def function(self, given: Shape) -> Shape:
        name = self.take()
        if self.peek() == "(":
            self.take()
            start, depth = self.at, 1
            while depth and self.at < len(self.tokens):
                depth += {"(": 1, ")": -1}.get(self.take(), 0)
            if depth:
                raise _UnreadError(name)
            if name in ("select", "map_values", "del"):
                return given
            if name == "join":
                return _as_line(given)
            if name == "map":
                end, self.at = self.at, start
                inner = self.pipe(_step(given, EACH))
                self.at = end
                return _array(inner)
            return UNKNOWN
        if name.startswith("$"):
            return Made(form="value", value=self.variables.get(name[1:])) if name[1:] in self.variables else UNKNOWN
        if name in ("null", "true", "false"):
            return Made(form="value", value={"null": None, "true": True, "false": False}[name])
        if name in ("length", "utf8bytelength", "type", "keys"):
            return At(given.path, name) if isinstance(given, At) and given.measure is None else UNKNOWN
        if name in ("tostring", "@json", "tojson"):
            return (
                At(given.path, given.measure, True)
                if isinstance(given, At)
                else Made(given.items, given.form, None, True)
            )
        if name in ("values", "@text", "strings", "numbers"):
            return given
        if name in ("@tsv", "@csv"):
            return _as_line(given)
        if name in ("first", "last"):
            return _step(given, 0 if name == "first" else -1)
        return UNKNOWN


def _closing(text: str, at: int) -> int:
    """Where the bracket closes that was opened before `at`."""
    depth = 1
    for index in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    raise _UnreadError(text)


def _as_line(shape: Shape) -> Shape:
    """An array whose items are printed on one line."""
    return Made(shape.items, "line") if isinstance(shape, Made) and shape.form == "array" else UNKNOWN


def _array(items: list[Shape]) -> Shape:
    if len(items) == 1 and isinstance(items[0], At) and EACH in items[0].path:
        return items[0]  # `[.data[].id]`: the array is the list of them all
    return Made(tuple(enumerate(items)), "array")


def _step(shape: Shape, key: Any) -> Shape:
    if isinstance(shape, At):
        return UNKNOWN if shape.measure else At((*shape.path, key))
    for name, item in shape.items:
        if name == key:
            return item
    return UNKNOWN


def read_filter(argv: Sequence[str]) -> Filter | None:
    """The filter of a jq command line, given the words after `jq`; None where it can't be read."""
    text, raw, variables, skip = None, False, {}, 0
    for number, word in enumerate(argv):
        if skip:
            skip -= 1
        elif word in ("--arg", "--argjson"):
            name, value = argv[number + 1 : number + 3] if number + 2 < len(argv) else ("", "")
            variables[name] = json_or(value) if word == "--argjson" else value
            skip = 2
        elif re.fullmatch(r"-[a-zA-Z]+", word):
            raw = raw or "r" in word or "j" in word
        elif word.startswith("--"):
            raw = raw or word == "--raw-output"
        elif text is None:
            text = word
    return _read(text if text is not None else ".", raw, variables)


def _read(text: str, raw: bool, variables: Mapping[str, Any]) -> Filter | None:
    if len(text) > 4000:
        return None
    try:
        reader = _Reader(text, variables)
        outputs = reader.pipe(At(()))
        if reader.at != len(reader.tokens):
            return None
    except (_UnreadError, ValueError, RecursionError):
        return None
    return Filter(text, tuple(outputs), raw)


def json_or(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def object_literal(argv: Sequence[str]) -> dict[str, Any] | None:
    """The object that `jq -n '{...}'` builds from constants and its arguments; unknown parts are left out."""
    built = read_filter(argv)
    if built is None or len(built.outputs) != 1:
        return None
    value = _constant(built.outputs[0])
    return value if isinstance(value, dict) else None


def _constant(shape: Shape) -> Any:
    if isinstance(shape, At):
        return None
    if shape.form == "object":
        return {key: value for key, item in shape.items if (value := _constant(item)) is not None}
    if shape.form == "array":
        return [_constant(item) for _, item in shape.items]
    return shape.value
