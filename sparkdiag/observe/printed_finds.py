"""Where in a text programs printed values that belong to replies and requests, and what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..records import dataclass
from .patterns import lazy
from .printed_values import CLASS, UNKNOWN, known, read_value

__all__ = ["Call", "is_speech", "request_of", "values_in"]

MAX_TRIES = 400
"""Beginnings that turn out to be no values: hostile text must not make reading slow."""

MAX_VALUES = 4000

_START = lazy(
    r"(?<![\w.])(?P<object>ChatCompletion(?:Chunk)?|ModelResponse(?:Stream)?|ChatResponse|Choices?|StreamingChoices|"
    r"ChatCompletionMessage|ChatMessage|AIMessage(?:Chunk)?|Message|CompletionUsage|Usage|Completion|CompletionChoice|"
    r"Parsed\w*|Response|ChatCompletionOutput)\("
    r"|(?P<call>(?:\bcreate|\bacreate|\bacompletion|\bcompletion|\bpost|\brequest|\bChatOpenAI|\bparse|\binvoke"
    r"|\bstream)\()"
    r"|(?P<bytes>\bb['\"](?:data: ))"
    r"|(?P<event>(?<=data: )(?=\{))"
    r"|(?P<assigned>\b(?:payload|body|data|request|req|params|json|extra_body|response|resp|result|res)\s*=\s*(?=\{))"
    r"|(?P<mapping>\{\s*(?:[\"']?(?:id|choices|object|error|index|role|content|finish(?:_reason)?|model|messages|message"
    r"|detail|reasoning_content|reasoning|completion_tokens|prompt_tokens|request|created|delta|stream|max_tokens"
    r"|chat_template_kwargs|extra_body|usage)[\"']?\s*:))"
)


@dataclass(frozen=True, slots=True)
class Call:
    """A call in somebody's code, with its named arguments."""

    name: str
    arguments: dict[str, Any]


def values_in(text: str) -> Iterator[tuple[int, int, Any]]:
    """(start, end, value) of each printed value, outermost ones only; a Call for code that asks a server."""
    at = tries = count = 0
    while tries < MAX_TRIES and count < MAX_VALUES:
        count += 1
        match = _START.search(text, at)
        if match is None:
            return
        if match["bytes"] is not None:
            end = text.find("\n", match.start())
            end = len(text) if end < 0 else end
            yield match.start(), end, _event(text[match.start() : end])
            at = end
            continue
        found = read_value(text, match.end() if match["assigned"] is not None else match.start())
        if found is None or found[1] <= match.start():
            tries += 1
            at = max(match.end(), match.start() + 1)
            continue
        value, end = found
        if match["call"] is not None and isinstance(value, dict):
            value = Call(match["call"][:-1], value)
        yield match.start(), end, value
        at = end


def _event(line: str) -> Any:
    """The chunk in a line of a stream that Python printed as bytes."""
    import ast

    try:
        data = ast.literal_eval(line.strip())
        return json.loads(data.decode("utf-8", "replace").partition("data:")[2]) if isinstance(data, bytes) else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def is_speech(value: Any) -> bool:
    """Whether a value is what a model or its user said, or a request that holds such words."""
    if isinstance(value, Call):
        return True
    if not isinstance(value, dict):
        return False
    return bool({"choices", "messages", "delta"} & set(value)) or value.get("role") in ("assistant", "user", "system")


_REQUEST_KEYS = ("model", "messages", "prompt", "max_tokens", "tools", "max_completion_tokens")


def request_of(call: Call) -> dict[str, Any] | None:
    """The request body that a call sends; names of variables stand for what is not shown. None for other calls."""
    told = {k: v for k, v in call.arguments.items() if k != CLASS}
    if call.name in ("post", "request"):
        body = told.get("json", told.get("data"))
        return known(body) if isinstance(body, dict) and any(key in body for key in _REQUEST_KEYS) else None
    if not any(key in told for key in _REQUEST_KEYS):
        return None
    if told.get("tools") is UNKNOWN:
        told["tools"] = [{"type": "function"}]
    extra = told.pop("extra_body", None)
    request = dict(known(told))
    return {**known(extra), **request} if isinstance(extra, dict) else request
