"""jq filters read backwards: which part of a reply each printed value is.

People cut replies down with jq before they paste them. The filter says which key each value came from, so the reply can
be put together again as far as it was shown. Filters are read as text and never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Filter", "Printed", "json_values", "object_literal", "read_filter", "restore"]

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
    """array, object, value or unknown."""
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


_TOKEN = re.compile(
    r"\s*(?:(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d+(?:\.\d+)?)|(?P<field>\.[A-Za-z_]\w*)|(?P<name>[@$]?[A-Za-z_]\w*)|"
    r"(?P<op>//|==|!=|<=|>=|\.\.|[.\[\]{}(),:|?+\-*/<>]))"
)


class _Unread(Exception):
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
                raise _Unread(text[at:])
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
            raise _Unread(token)
        self.at += 1
        return token

    def pipe(self, given: Shape) -> list[Shape]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Unread("too deep")
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
            raise _Unread(self.peek())
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
            return [Made(form="value", value=json.loads(token)) if "\\(" not in token else UNKNOWN]
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
        raise _Unread(token)

    def object(self, given: Shape) -> Shape:
        self.take("{")
        items: list[tuple[str | int, Shape]] = []
        while self.peek() != "}":
            kind, token = self.kind(), self.take()
            key = json.loads(token) if kind == "string" else token.lstrip("$@.")
            if kind not in ("string", "name", "number"):
                raise _Unread(token)
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
            if name in ("select", "map_values"):
                return given
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
        if name in ("first", "last"):
            return _step(given, 0 if name == "first" else -1)
        return UNKNOWN


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
            variables[name] = _json_or(value) if word == "--argjson" else value
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
    except (_Unread, ValueError, RecursionError):
        return None
    return Filter(text, tuple(outputs), raw)


def _json_or(text: str) -> Any:
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


def json_values(text: str, limit: int = 1000) -> tuple[list[tuple[Any, int, int]], int]:
    """The JSON values one after the other in a text, each with start and end, and where reading stopped."""
    decoder, out, at = json.JSONDecoder(), [], 0
    while len(out) < limit:
        while at < len(text) and text[at] in " \t\r\n\x1e":
            at += 1
        if at >= len(text):
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        out.append((value, at, end))
        at = end
    return out, at


class Printed:
    """What a filter printed for one document: the values by path, and the measures of values that it did not show."""

    __slots__ = ("measures", "values")

    def __init__(self) -> None:
        self.values: dict[Path, Any] = {}
        self.measures: dict[Path, Any] = {}

    def add(self, shape: Shape, value: Any) -> None:
        """Lay a printed value over the shape it was printed in."""
        if shape.text and isinstance(value, str):
            value = _json_or(value)
        if isinstance(shape, At):
            if shape.measure is None:
                self.values[shape.path] = value
            elif shape.measure in ("length", "utf8bytelength"):
                self.measures[shape.path] = value
            return
        if shape.form == "object" and isinstance(value, dict):
            for key, item in shape.items:
                if key in value:
                    self.add(item, value[key])
        elif shape.form == "array" and isinstance(value, list):
            for (_, item), part in zip(shape.items, value, strict=False):
                self.add(item, part)

    def document(self) -> Any:
        """The document as far as its values were shown."""
        root: Any = None
        for path, value in sorted(self.values.items(), key=lambda pair: len(pair[0])):
            root = _put(root, path, value)
        return root

    def summary(self) -> dict[str, Any]:
        """What is known of an OpenAI reply, by plain names. A key that is missing was not shown; None was shown as null."""
        out: dict[str, Any] = {}
        document = self.document()
        if isinstance(document, dict):
            _whole_reply(document, out)
        for path, size in self.measures.items():
            if not isinstance(size, int) or isinstance(size, bool):
                continue
            name = path[-1] if path else None
            if name in ("reasoning", "reasoning_content"):
                out["reasoning_len"], out["reasoning_key"] = size, name
            elif name in ("content", "text"):
                out[f"{name}_len"] = size
            elif name == "tool_calls":
                out["tool_calls"] = size
        return out


def _whole_reply(document: Mapping[str, Any], out: dict[str, Any]) -> None:
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message", choice.get("delta"))
    if "finish_reason" in choice:
        out["finish_reason"] = choice["finish_reason"]
    if "text" in choice:
        out["text"] = choice["text"]
    if isinstance(message, dict):
        if "content" in message:
            out["content"] = message["content"]
        for key in ("reasoning_content", "reasoning"):
            if message.get(key) or (key in message and "reasoning" not in out):
                out["reasoning"], out["reasoning_key"] = message[key], key
        if "tool_calls" in message:
            calls = message["tool_calls"]
            out["tool_calls"] = len(calls) if isinstance(calls, list) else 0
    usage = document.get("usage")
    if isinstance(usage, dict):
        out.update({k: usage[k] for k in ("completion_tokens", "prompt_tokens") if k in usage})
    for name in ("content", "reasoning", "text"):
        if isinstance(out.get(name), str):
            out[f"{name}_len"] = len(out[name])


def _put(root: Any, path: Path, value: Any) -> Any:
    """The document with a value laid into it; lists grow up to the index, `[]` spreads a list over the items."""
    if not path:
        return value if root is None or not isinstance(root, dict) or not isinstance(value, dict) else {**value, **root}
    key, rest = path[0], path[1:]
    if key == EACH:
        items = list(root) if isinstance(root, list) else []
        values = value if isinstance(value, list) else [value]
        for number, item in enumerate(values):
            if number < len(items):
                items[number] = _put(items[number], rest, item)
            else:
                items.append(_put(None, rest, item))
        return items
    if isinstance(key, tuple):
        return value if not rest else root
    if isinstance(key, int):
        items = list(root) if isinstance(root, list) else []
        if key < 0 or key > 64:
            return items or [_put(None, rest, value)]
        while len(items) <= key:
            items.append({})
        items[key] = _put(items[key] or None, rest, value)
        return items
    branch = dict(root) if isinstance(root, dict) else {}
    branch[key] = _put(branch.get(key), rest, value)
    return branch


def restore(shaped: Filter, text: str) -> list[Printed]:
    """What the filter printed, document by document, in the order of the output."""
    outputs = shaped.outputs
    if not outputs:
        return []
    values = _raw_values(shaped, text) if shaped.raw else [value for value, _, _ in json_values(text)[0]]
    if len(outputs) == 1 and isinstance(outputs[0], At) and EACH in outputs[0].path and not _is_list(values):
        printed = Printed()
        printed.add(outputs[0], values)
        return [printed] if values else []
    found: list[Printed] = []
    for number in range(0, len(values), len(outputs)):
        printed = Printed()
        for shape, value in zip(outputs, values[number : number + len(outputs)], strict=False):
            printed.add(shape, value)
        found.append(printed)
    return found


def _is_list(values: list[Any]) -> bool:
    return len(values) == 1 and isinstance(values[0], list)


def _raw_values(shaped: Filter, text: str) -> list[Any]:
    """Texts printed with -r: JSON where it is JSON, else lines, the one long text taking what the short ones leave."""
    parsed, end = json_values(text)
    if parsed and not text[end:].strip() and all(isinstance(v, (dict, list)) for v, _, _ in parsed):
        return [value for value, _, _ in parsed]
    body = text[:-1] if text.endswith("\n") else text
    lines = body.split("\n")
    outputs = shaped.outputs
    if len(outputs) == 1:
        if isinstance(outputs[0], At) and EACH in outputs[0].path:
            return [_plain(line, outputs[0]) for line in lines if line]
        return [_plain(body, outputs[0])]
    long = [i for i, shape in enumerate(outputs) if _may_be_long(shape)]
    if len(lines) < len(outputs) or len(long) > 1:
        return [_plain(line, shape) for line, shape in zip(lines, outputs, strict=False)]
    if not long:
        return [_plain(line, outputs[i % len(outputs)]) for i, line in enumerate(lines)]
    before, after = long[0], len(outputs) - long[0] - 1
    parts = [*lines[:before], "\n".join(lines[before : len(lines) - after]), *lines[len(lines) - after :]]
    return [_plain(part, shape) for part, shape in zip(parts, outputs, strict=False)]


def _may_be_long(shape: Shape) -> bool:
    return isinstance(shape, At) and shape.measure is None and bool(shape.path) and shape.path[-1] in _TEXTS


_TEXTS = frozenset({"text", "content", "reasoning", "reasoning_content", "message", "chat_template", "arguments"})


def _plain(text: str, shape: Shape) -> Any:
    """A text printed without quotes: null and numbers are themselves where the shape is no text of a model."""
    if text == "null":
        return None
    if (
        isinstance(shape, Made)
        or shape.measure
        or shape.path[-1:]
        and shape.path[-1] not in _TEXTS | {"finish_reason", "id"}
    ):
        return _json_or(text)
    return text
