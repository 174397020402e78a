"""jq filters read backwards: which part of a reply each printed value is.

People cut replies down with jq before they paste them. The filter says which key each value came from, so the reply can
be put together again as far as it was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .jq_filters import EACH, At, Filter, Made, Path, Shape, json_or
from .json_runs import json_values

__all__ = ["Printed", "restore"]


NOT_SHOWN = object()
"""Stands for a value that was printed, but nobody can tell where it ends."""


class Printed:
    """What a filter printed for one document: the values by path, and the measures of values that it did not show."""

    __slots__ = ("measures", "values")

    def __init__(self) -> None:
        self.values: dict[Path, Any] = {}
        self.measures: dict[Path, Any] = {}

    def add(self, shape: Shape, value: Any) -> None:
        """Lay a printed value over the shape it was printed in."""
        if value is NOT_SHOWN:
            return
        if shape.text and isinstance(value, str):
            value = json_or(value)
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
        elif shape.form == "line" and isinstance(value, str):
            for (_, item), part in zip(shape.items, _line_parts(value, len(shape.items)), strict=False):
                self.add(item, json_or(part) if part in ("null", "true", "false") or part.isdigit() else part)
        elif shape.form == "text" and isinstance(value, str):
            self.add_words(shape, value)
        elif shape.form == "array" and isinstance(value, list):
            for (_, item), part in zip(shape.items, value, strict=False):
                self.add(item, part)

    def add_words(self, shape: Made, text: str) -> None:
        """Lay a text with values in it over the string that it was made of."""
        text = text.rstrip("\n")
        at, waiting = 0, None
        for number, (name, item) in enumerate(shape.items):
            if name != "":
                waiting = item
                continue
            words = str(item.value) if isinstance(item, Made) else ""
            last = number == len(shape.items) - 1
            end = len(text) if last and not words else text.find(words, at)
            if end < 0 or (waiting is not None and not words and not last):
                return
            if waiting is not None:
                self.add(waiting, _plain(text[at:end], waiting))
            at, waiting = end + len(words), None

    def document(self) -> Any:
        """The document as far as its values were shown."""
        root: Any = None
        for path, value in sorted(self.values.items(), key=lambda pair: len(pair[0])):
            root = _put(root, path, value)
        return root

    def summary(self) -> dict[str, Any]:
        """What is known of an OpenAI reply, by plain names. A missing key was not shown; None was shown as null."""
        out: dict[str, Any] = {}
        document = self.document()
        if isinstance(document, dict):
            _whole_reply(document, out)
        if any(len(path) <= len(_MESSAGE) and isinstance(value, (dict, list)) for path, value in self.values.items()):
            _without_content(document, out)
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


def _line_parts(line: str, count: int) -> list[str]:
    """The items of a line, by whichever separator gives the right number of them."""
    for separator in ("\t", '","', ",", " | ", "|", ";", " "):
        parts = line.split(separator)
        if len(parts) == count:
            return [part.strip().strip('"').replace("\\n", "\n") for part in parts]
    return []


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


_MESSAGE = ("choices", 0, "message")


def _without_content(document: Any, out: dict[str, Any]) -> None:
    """A message that was printed whole and has no content key was sent without one: gateways leave null keys out."""
    choices = document.get("choices") if isinstance(document, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if isinstance(message, dict) and message.get("role") == "assistant" and "content" not in message:
        out.setdefault("content", None)


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
    if len(outputs) > 1 and any(_is_unread(shape) for shape in outputs):
        return [Printed()]  # how many lines such a part prints is not known, so nobody knows which line is which
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


def _is_unread(shape: Shape) -> bool:
    if isinstance(shape, At):
        return False
    return shape.form == "unknown" or (shape.form == "text" and any(_is_unread(item) for _, item in shape.items))


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
    if len(lines) > len(outputs) and _in_rows(lines, outputs):
        return [_plain(line, outputs[i % len(outputs)]) for i, line in enumerate(lines)]
    long = [i for i, shape in enumerate(outputs) if _may_be_long(shape)]
    if long and len(lines) == len(outputs) - len(long) and lines != [""]:  # empty texts print empty lines, often lost
        short = iter(lines)
        return ["" if i in long else _plain(next(short), shape) for i, shape in enumerate(outputs)]
    if len(long) == 2 and long[1] == long[0] + 1 and len(lines) > len(outputs):
        return _two_long(lines, outputs, long[0])
    if len(lines) < len(outputs) or len(long) > 1:
        return [_plain(line, shape) for line, shape in zip(lines, outputs, strict=False)]
    if not long:
        return [_plain(line, outputs[i % len(outputs)]) for i, line in enumerate(lines)]
    before, after = long[0], len(outputs) - long[0] - 1
    parts = [*lines[:before], "\n".join(lines[before : len(lines) - after]), *lines[len(lines) - after :]]
    return [_plain(part, shape) for part, shape in zip(parts, outputs, strict=False)]


def _in_rows(lines: list[str], outputs: Sequence[Shape]) -> bool:
    """Whether the lines are the outputs over and over, a line each, as the reasons to finish among them show."""
    at = [i for i, shape in enumerate(outputs) if isinstance(shape, At) and shape.path[-1:] == ("finish_reason",)]
    rows = len(lines) // len(outputs)
    return (
        bool(at)
        and len(lines) % len(outputs) == 0
        and all(lines[row * len(outputs) + i] in _FINISHES for row in range(rows) for i in at)
    )


def _two_long(lines: list[str], outputs: Sequence[Shape], first: int) -> list[Any]:
    """Content and reasoning printed one after the other: where one ends shows only if one of them is null."""
    after = len(lines) - (len(outputs) - first - 2)
    middle = lines[first:after]
    if middle[-1] == "null":
        texts: list[Any] = ["\n".join(middle[:-1]), None]
    elif middle[0] == "null":
        texts = [None, "\n".join(middle[1:])]
    else:
        texts = [NOT_SHOWN, NOT_SHOWN]
    before = [_plain(line, shape) for line, shape in zip(lines, outputs[:first], strict=False)]
    behind = [_plain(line, shape) for line, shape in zip(lines[after:], outputs[first + 2 :], strict=True)]
    return before + texts + behind


def _may_be_long(shape: Shape) -> bool:
    return isinstance(shape, At) and shape.measure is None and bool(shape.path) and shape.path[-1] in _TEXTS


_FINISHES = frozenset({"stop", "length", "tool_calls", "content_filter", "abort", "error", "null"})
_TEXTS = frozenset({"text", "content", "reasoning", "reasoning_content", "message", "chat_template", "arguments"})


def _plain(text: str, shape: Shape) -> Any:
    """A text printed without quotes: null and numbers are themselves where the shape is no text of a model."""
    if text == "null":
        return None
    if (
        isinstance(shape, Made)
        or shape.measure
        or (shape.path[-1:] and shape.path[-1] not in _TEXTS | {"finish_reason", "id"})
    ):
        return json_or(text)
    return text
