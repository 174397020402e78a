"""Evidence files without a capture.json: what each of them is, as an item of a capture.

An exchange is one JSON object with `request`, `status` and `body` or `body_text`; a launch one with a `cmd` list.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .capture import Item
from .redact import redact, redact_data, redact_headers

__all__ = ["file_item", "with_turns"]


def file_item(name: str, text: str, target: str) -> Item:
    """The item of one evidence file."""
    data = _object(text) if name.endswith(".json") else None
    if data is not None:
        if _is_exchange(data):
            return _exchange(name, data, target)
        if isinstance(data.get("cmd"), list) and data["cmd"] and all(isinstance(word, str) for word in data["cmd"]):
            return _launch(name, data, target)
    return Item(target=target, probe="file", status="ok", id=name, file=name, text=redact(text))


def _object(text: str) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _is_exchange(data: Mapping[str, Any]) -> bool:
    status = data.get("status")
    whole = isinstance(status, int) and not isinstance(status, bool) and ("body" in data or "body_text" in data)
    return whole and "request" in data


def _exchange(name: str, data: Mapping[str, Any], target: str) -> Item:
    request = data["request"]
    if not isinstance(request, dict) or not request.keys() & {"body", "method", "path"}:
        request = {"body": request}  # the body alone
    body = request.get("body")
    asked: dict[str, Any] = {}
    for key in ("method", "path"):
        if isinstance(request.get(key), str):
            asked[key] = redact(request[key])
    asked.setdefault("path", _route(body))
    if body is not None:
        asked["body"] = redact_data(body)
    if isinstance(body, dict) and body.get("stream") is True:
        asked["stream"] = True
    given = data.get("headers")
    headers = redact_headers({str(k): str(v) for k, v in given.items()}) if isinstance(given, dict) else {}
    text = data.get("body_text")
    if not isinstance(text, str):
        text = json.dumps(data.get("body"), ensure_ascii=False)
    code: int = data["status"]
    seconds = data.get("total_s")
    return Item(
        target=target,
        probe="exchange",
        status="ok" if 200 <= code < 300 else "http-error",
        id=name,
        asked=asked,
        code=code,
        headers=headers,
        took=float(seconds) if isinstance(seconds, (int, float)) else None,
        file=name,
        media=headers.get("content-type") or ("application/json" if "body_text" not in data else None),
        text=redact(text),
    )


def _route(body: Any) -> str:
    """The route that a request of this shape goes to, where the recording does not say."""
    if isinstance(body, dict) and "messages" not in body and "prompt" in body:
        return "/v1/completions"
    return "/v1/chat/completions"


_SUBCOMMANDS = ("serve",)


def _launch(name: str, data: Mapping[str, Any], target: str) -> Item:
    """The command as a shell would be given it, its environment before it."""
    words: list[str] = data["cmd"]
    if words[0] in _SUBCOMMANDS:  # a recorder that called vLLM's entry point itself noted its arguments only
        words = ["vllm", *words]
    env = data.get("env")
    assigned = [f"{key}={shlex.quote(str(value))}" for key, value in env.items()] if isinstance(env, dict) else []
    ended = next((data[key] for key in ("exit_code", "rc") if isinstance(data.get(key), int)), None)
    command = " ".join([*assigned, shlex.join(words)])
    return Item(
        target=target,
        probe="launch",
        status="exit-error" if ended else "ok",
        id=name,
        code=ended,
        file=name,
        text=redact(command) + "\n",
    )


_LONGEST_TURN = 2000
_LONGEST_PROMPT = 20_000
_MOST_TURNS = 200


def with_turns(items: Sequence[Item]) -> list[Item]:
    """Each reply's turn: what the user said last. Replies to different turns must not explain each other."""
    texts = (_last_user_text(item.asked.get("body")) for item in items)
    said = set(list(dict.fromkeys(text for text in texts if text and len(text) <= _LONGEST_TURN))[:_MOST_TURNS])
    out = []
    for item in items:
        turn = _turn(item.asked.get("body"), said) if item.probe == "exchange" else None
        out.append(item if turn is None else replace(item, asked={**item.asked, "turn": turn[:200]}))
    return out


def _turn(body: Any, said: set[str]) -> str | None:
    spoken = _last_user_text(body)
    if spoken is not None:
        return spoken
    prompt = body.get("prompt") if isinstance(body, dict) else None
    if not isinstance(prompt, str):
        return None
    prompt = prompt[:_LONGEST_PROMPT]
    within = [text for text in said if text in prompt and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", prompt)]
    return max(within, key=lambda text: (len(text), text), default=prompt)


def _last_user_text(body: Any) -> str | None:
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list):
        return None
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            return content.strip() if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return None
