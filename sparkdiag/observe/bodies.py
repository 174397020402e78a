"""Reading reply bodies that may be anything: JSON, an SSE stream, HTML, plain text, or damage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from ..records import dataclass
from .event_chunks import as_chunk

MAX_DEPTH = 200
"""Nesting beyond this is no reply of any engine."""


@dataclass(frozen=True, slots=True)
class Body:
    """What a body turned out to be."""

    media: str
    """json, sse, html, metrics, text, empty."""
    data: Any = None
    """The JSON document; for SSE the joined reply (see `join_stream`)."""
    malformed: str | None = None
    text: str = ""


def read_body(body: Any, media_type: str = "") -> Body:
    """A body as handed over by a client library (parsed) or by the wire (text)."""
    if body is None:
        return Body("empty")
    if isinstance(body, (dict, list)):
        return Body("json", body)
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)
    stripped = text.lstrip("\ufeff \t\r\n")
    if not stripped:
        return Body("empty", text=text)
    if stripped.startswith(("data:", "event:", ": ", ":\n")) or "text/event-stream" in media_type:
        joined, malformed = join_stream(text)
        return Body("sse", joined, malformed, text)
    if stripped[0] in "{[" or "application/json" in media_type:
        data, malformed = parse_json(stripped)
        return Body("json", data, malformed, text)
    if stripped[:1] == '"' and stripped.rstrip().endswith('"'):
        data, malformed = parse_json(stripped)
        if malformed is None:
            return Body("json", data, None, text)
    low = stripped[:2000].lower()
    if low.startswith(("<!doctype", "<html")) or "text/html" in media_type or "<body" in low:
        return Body("html", text=text)
    if stripped.startswith(("# HELP", "# TYPE", "vllm:", "sglang:")) or "\n# TYPE " in stripped[:100_000]:
        return Body("metrics", text=text)
    return Body("text", text=text)


def parse_json(text: str) -> tuple[Any, str | None]:
    """(data, None), or (None, why not)."""
    if _too_deep(text):
        return None, f"nested deeper than {MAX_DEPTH} levels"
    try:
        return json.loads(text), None
    except RecursionError:
        return None, f"nested deeper than {MAX_DEPTH} levels"
    except ValueError as error:
        message = str(error)
        at_end = getattr(error, "pos", 0) >= len(text.rstrip()) - 1 or message.startswith("Unterminated")
        return None, "JSON that ends too early" if at_end else f"no valid JSON: {message}"


def _too_deep(text: str) -> bool:
    """Counts brackets without heeding strings: cheap, and only a suspicion is needed for a second look."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                return True
        elif char in "]}":
            depth -= 1
    return False


def events(text: str) -> Iterator[str]:
    """The data of each event of an SSE stream. Lines that are no fields are passed over."""
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith("data:"):
            data = line[5:].lstrip(" ")
            if block and block[-1].rstrip().endswith("}") and data[:1] in ("{", "["):
                yield "\n".join(block)  # a paste without the blank lines between
                block = []
            block.append(data)
        elif not line.strip() and block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


@dataclass(slots=True)
class _Joined:
    """A stream's parts on their way to one reply."""

    message: dict[str, Any] = field(default_factory=lambda: {"role": "assistant"})
    texts: dict[str, list[str]] = field(default_factory=dict)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    finish: str | None = None
    head: dict[str, Any] = field(default_factory=dict)
    usage: Any = None
    completion: bool = False
    chunks: int = 0
    error: Any = None


def join_stream(text: str) -> tuple[dict[str, Any] | None, str | None]:
    """The chunks of a chat or completion stream as one reply, and what is wrong with the stream.

    The joined reply has the shape of an unstreamed one, with `"streamed": true` and the number of `chunks`.
    """
    joined = _Joined()
    malformed: str | None = None
    done = False
    for data in events(text):
        if data.strip() == "[DONE]":
            done = True
            continue
        chunk, wrong = parse_json(data)
        if wrong is not None or not isinstance(chunk, dict):
            malformed = f"a chunk of the stream is {wrong or 'no JSON object'}"
            if "error" in data[:40]:
                joined.error = data[:2000]
            continue
        _add(joined, chunk)
    if joined.chunks == 0 and joined.error is None:
        return None, malformed or (None if done else "an event stream without a chunk of a reply")
    return _reply(joined, done), malformed


def join_chunks(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Chunks that a client printed one by one, as one reply; None if none of them is a part of one."""
    joined = _Joined()
    for chunk in chunks:
        _add(joined, chunk)
    return _reply(joined, joined.finish is not None) if joined.chunks else None


def _reply(joined: _Joined, done: bool) -> dict[str, Any]:
    reply: dict[str, Any] = {**joined.head, "streamed": True, "done": done}
    if joined.error is not None:
        reply["error"] = joined.error
    if joined.chunks:
        choice: dict[str, Any] = {"index": 0, "finish_reason": joined.finish}
        if joined.completion:
            choice["text"] = "".join(joined.texts.get("text", ()))
        else:
            choice["message"] = {**joined.message, **{key: "".join(parts) for key, parts in joined.texts.items()}}
            if joined.calls:
                choice["message"]["tool_calls"] = [joined.calls[i] for i in sorted(joined.calls)]
        reply["choices"] = [choice]
    if joined.usage is not None:
        reply["usage"] = joined.usage
    return reply


def _add(joined: _Joined, event: Mapping[str, Any]) -> None:
    chunk = as_chunk(event)
    if "error" in chunk:
        joined.error = chunk["error"]
    if chunk.get("object") == "error":
        joined.error = dict(chunk)
    for key in ("id", "object", "created", "model", "system_fingerprint"):
        if key in chunk:
            joined.head[key] = chunk[key]
    if isinstance(chunk.get("usage"), dict):
        joined.usage = chunk["usage"]
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return
    joined.chunks += 1
    for choice in choices:
        if not isinstance(choice, dict) or choice.get("index", 0) not in (0, None):
            continue
        if isinstance(choice.get("finish_reason"), str):
            joined.finish = choice["finish_reason"]
        if isinstance(choice.get("text"), str):
            joined.completion = True
            joined.texts.setdefault("text", []).append(choice["text"])
        delta = choice.get("delta")
        if isinstance(delta, dict):
            _add_delta(joined, delta)


def _add_delta(joined: _Joined, delta: Mapping[str, Any]) -> None:
    for key in ("content", "reasoning", "reasoning_content"):
        if key not in delta:
            continue
        parts = joined.texts.setdefault(key, [])
        if isinstance(delta[key], str):
            parts.append(delta[key])
    calls = delta.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict):
            continue
        index = call.get("index", 0)
        index = index if isinstance(index, int) else 0
        slot = joined.calls.setdefault(index, {"type": "function", "function": {"name": "", "arguments": ""}})
        function = call.get("function")
        if isinstance(function, dict):
            for key in ("name", "arguments"):
                if isinstance(function.get(key), str):
                    slot["function"][key] += function[key]


def number(value: Any) -> int | None:
    """A count from a reply, also when it is written as text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().lstrip("-").isdigit() and len(value) < 20:
        return int(value)
    return None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
