"""Recorded replies from one form into the other: a JSON reply as server-sent events, and events as one reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["join", "split", "usage_of", "with_usage"]

_WORDS = re.compile(r"\s*\S+|\s+")
_TEXTS = ("reasoning", "reasoning_content", "content")
"""Text fields of a message, in the order in which engines send them."""
_LAST = ("logprobs", "finish_reason", "stop_reason", "matched_stop")
"""Fields of a choice of which the last event has the value."""


def events(text: str) -> Iterator[str]:
    """The data of each server-sent event."""
    for block in text.split("\n\n"):
        lines = [line[5:].lstrip(" ") for line in block.split("\n") if line.startswith("data:")]
        if lines:
            yield "\n".join(lines)


def _chunks(text: str) -> Iterator[dict[str, Any]]:
    for data in events(text):
        try:
            chunk = json.loads(data)
        except ValueError:
            continue
        if isinstance(chunk, dict):
            yield chunk


def join(text: str) -> dict[str, Any] | None:
    """The reply that a stream of chat or completion chunks adds up to; None if it holds no choice."""
    reply: dict[str, Any] = {}
    choice: dict[str, Any] = {"index": 0}
    parts: dict[str, list[str]] = {}
    calls: dict[int, dict[str, Any]] = {}
    chat = False
    for chunk in _chunks(text):
        for key, value in chunk.items():
            if key != "choices" and (value is not None or key not in reply):
                reply[key] = value
        for told in chunk.get("choices") or ():
            delta = told.get("delta")
            chat = chat or isinstance(delta, Mapping)
            message = delta if isinstance(delta, Mapping) else {"text": told.get("text")}
            for key in (*_TEXTS, "text"):
                if isinstance(message.get(key), str):
                    parts.setdefault(key, []).append(message[key])
            for call in message.get("tool_calls") or ():
                _add_call(calls, call)
            choice.update(
                {key: told[key] for key in _LAST if key in told and (told[key] is not None or key not in choice)}
            )
    if not parts and "finish_reason" not in choice:
        return None
    whole = {key: "".join(found) for key, found in parts.items()}
    reply["object"] = "chat.completion" if chat else "text_completion"
    if chat:
        thought = whole.get("reasoning") or whole.get("reasoning_content")
        content = whole.get("content") or (None if thought or calls else "")
        message = {"role": "assistant", "content": content}
        message |= {key: whole[key] for key in ("reasoning", "reasoning_content") if whole.get(key)}
        choice["message"] = message | ({"tool_calls": [calls[i] for i in sorted(calls)]} if calls else {})
    else:
        choice["text"] = whole.get("text", "")
    return reply | {"choices": [choice]}


def _add_call(calls: dict[int, dict[str, Any]], told: Mapping[str, Any]) -> None:
    index = told.get("index")
    call = calls.setdefault(index if isinstance(index, int) else 0, {"function": {"name": "", "arguments": ""}})
    function = told.get("function") or {}
    call["function"]["name"] += function.get("name") or ""
    call["function"]["arguments"] += function.get("arguments") or ""
    call.update({key: told[key] for key in ("id", "type") if told.get(key)})


def split(reply: Mapping[str, Any], *, usage: bool) -> str:
    """A JSON reply as the stream that would have carried it: a chunk a word, the end, then its usage if asked for."""
    chat = reply.get("object") != "text_completion"
    head = {key: reply.get(key) for key in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk" if chat else "text_completion"
    told = reply["choices"][0]
    always = {"matched_stop": None} if "matched_stop" in told else {}
    ending = {key: told[key] for key in ("stop_reason", "matched_stop") if key in told}
    lines: list[dict[str, Any]] = []

    def event(part: Mapping[str, Any], finish: str | None = None, **more: Any) -> None:
        carried = {"delta": dict(part)} if chat else dict(part)
        choice = {"index": 0, **carried, "logprobs": None, "finish_reason": finish} | (ending if finish else always)
        lines.append(head | {"choices": [choice]} | more)

    fingerprint = {"system_fingerprint": reply["system_fingerprint"]} if reply.get("system_fingerprint") else {}
    if chat:
        message = told.get("message") or {}
        event({"role": "assistant", "content": ""})
        for key in _TEXTS:
            for word in _WORDS.findall(message.get(key) or ""):
                event({key: word})
        for index, call in enumerate(message.get("tool_calls") or ()):
            event({"tool_calls": [{"index": index, **call}]})
        event({}, told.get("finish_reason"), **({} if usage else fingerprint))
    else:
        for word in _WORDS.findall(told.get("text") or ""):
            event({"text": word})
        event({"text": ""}, told.get("finish_reason"), **({} if usage else fingerprint))
    if usage and reply.get("usage") is not None:
        lines.append(head | {"choices": [], "usage": reply["usage"]} | fingerprint)
    return "".join(f"data: {json.dumps(line, separators=(',', ':'))}\n\n" for line in lines) + "data: [DONE]\n\n"


def usage_of(text: str) -> dict[str, Any] | None:
    """The usage that a stream ends with."""
    found = None
    for chunk in _chunks(text):
        if isinstance(chunk.get("usage"), dict):
            found = chunk["usage"]
    return found


def with_usage(text: str, usage: Mapping[str, Any] | None) -> str:
    """The same stream with this usage at its end, or (None) without any. Events that are no JSON stay as they are."""
    kept: list[str] = []
    last: dict[str, Any] = {}
    for block in text.split("\n\n"):
        chunk = next(_chunks(block), None)
        if chunk is not None:
            if not chunk.get("choices") and "usage" in chunk:
                continue
            last = chunk
        if block.strip():
            kept.append(block)
    if usage is not None and last:
        told = {key: last[key] for key in ("id", "object", "created", "model", "system_fingerprint") if key in last}
        end = len(kept) - (kept[-1] == "data: [DONE]")
        kept.insert(end, "data: " + json.dumps(told | {"choices": [], "usage": usage}, separators=(",", ":")))
    return "".join(f"{block}\n\n" for block in kept)
