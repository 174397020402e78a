"""Events of other APIs' streams (/v1/messages, /v1/responses) as chunks of a chat completion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ENDS", "as_chunk"]

ENDS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "tool_use": "tool_calls",
    "eos_token": "stop",
    "eos": "stop",
    "limit": "length",
    "word": "stop",
}
"""Reasons why a reply ended, by OpenAI's names. Others stand as they are."""

_TEXTS = {
    "response.output_text.delta": "content",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
}


def as_chunk(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """The event as a chunk; a chunk of OpenAI's, an error and anything unknown stay as they are."""
    kind = event.get("type")
    if "choices" in event or not isinstance(kind, str):
        return event
    if kind in _TEXTS and isinstance(event.get("delta"), str):
        return _chunk({_TEXTS[kind]: event["delta"]})
    if kind == "content_block_delta":
        return _chunk(_delta(_mapping(event.get("delta")), event.get("index")))
    if kind == "content_block_start":
        block = _mapping(event.get("content_block"))
        name = block.get("name")
        return _chunk(_call(event.get("index"), name=name) if block.get("type") == "tool_use" else {})
    if kind == "message_start":
        message = _mapping(event.get("message"))
        return {**_chunk({"role": "assistant"}), **{key: message[key] for key in ("id", "model") if key in message}}
    if kind == "message_delta":
        usage = _mapping(event.get("usage"))
        end = _mapping(event.get("delta")).get("stop_reason")
        return {**_chunk({}, end), **({"usage": _counts(usage)} if usage else {})}
    if kind in ("response.completed", "response.incomplete"):
        return _whole(_mapping(event.get("response")))
    return event


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _chunk(delta: Mapping[str, Any], end: Any = None) -> dict[str, Any]:
    reason = ENDS.get(end, end) if isinstance(end, str) else None
    return {"choices": [{"index": 0, "delta": dict(delta), "finish_reason": reason}]}


def _delta(delta: Mapping[str, Any], index: Any) -> dict[str, Any]:
    if isinstance(delta.get("text"), str):
        return {"content": delta["text"]}
    if isinstance(delta.get("thinking"), str):
        return {"reasoning": delta["thinking"]}
    if isinstance(delta.get("partial_json"), str):
        return _call(index, arguments=delta["partial_json"])
    return {}


def _call(index: Any, **function: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index if isinstance(index, int) else 0, "function": function}]}


def _counts(usage: Mapping[str, Any]) -> dict[str, Any]:
    names = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    return {older: usage[name] for name, older in names if name in usage}


def _whole(response: Mapping[str, Any]) -> dict[str, Any]:
    """The end of a stream of /v1/responses: its texts came before, its reason and counts come now."""
    end = _mapping(response.get("incomplete_details")).get("reason") or "stop"
    chunk = _chunk({}, end)
    if isinstance(response.get("model"), str):
        chunk["model"] = response["model"]
    usage = _mapping(response.get("usage"))
    return {**chunk, "usage": _counts(usage)} if usage else chunk
