"""Replies in the shapes of other APIs, told in the shape of OpenAI's chat completions.

Anthropic's /v1/messages, /v1/responses, Ollama's /api/chat and /api/generate, SGLang's and TGI's /generate, llama.cpp's
/completion; and parts of a chat reply that somebody printed alone: a choice, a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .bodies import mapping, number
from .event_chunks import ENDS

__all__ = ["as_openai", "partial_reply"]


_REASONING = ("reasoning", "reasoning_content")
_FINISH = ("finish_reason", "finish")
_COUNTS = ("completion_tokens", "prompt_tokens")
"""Keys of the objects into which scripts gather what they show of a reply."""


def as_openai(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reply as a chat completion, if it is one of another API; the same object otherwise."""
    if "choices" in data:
        return data
    for shape in (_messages, _responses, _ollama, _generate, _llama_cpp):
        found = shape(data)
        if found is not None:
            return found
    return data


def partial_reply(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """A choice or an assistant's message that stands alone, as the reply that it was a part of."""
    if "choices" in data or "messages" in data:
        return None
    message = data.get("message")
    if (
        isinstance(message, dict)
        and ("finish_reason" in data or message.get("role") == "assistant")
        and "done" not in data
    ):
        return {"choices": [dict(data)]}
    if data.get("role") == "assistant" and ("content" in data or "reasoning" in data or "reasoning_content" in data):
        return {"choices": [{"message": dict(data)}]}
    finish = next((data[key] for key in _FINISH if isinstance(data.get(key), str)), None)
    if "content" in data and data.get("role") in (None, "assistant") and (finish or set(_REASONING) & set(data)):
        choice: dict[str, Any] = {"message": dict(data)}
        usage = {key: data[key] for key in _COUNTS if number(data.get(key)) is not None}
        reply: dict[str, Any] = {"usage": usage or data.get("usage")} if usage or "usage" in data else {}
        return {"choices": [{**choice, "finish_reason": finish} if finish else choice], **reply}
    return None


def _chat(message: dict[str, Any], reason: Any, usage: Mapping[str, Any], model: Any) -> dict[str, Any]:
    ended = ENDS.get(reason, reason) if isinstance(reason, str) else None
    reply: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": ended}]}
    if usage:
        reply["usage"] = dict(usage)
    if isinstance(model, str):
        reply["model"] = model
    return reply


def _usage(data: Mapping[str, Any]) -> dict[str, Any]:
    """input_tokens and output_tokens under the older names."""
    out: dict[str, Any] = {}
    for name, older in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
        if number(data.get(name)) is not None:
            out[older] = number(data[name])
    details = mapping(data.get("output_tokens_details"))
    if number(details.get("reasoning_tokens")) is not None:
        out["reasoning_tokens"] = number(details["reasoning_tokens"])
    return out


def _messages(data: Mapping[str, Any]) -> dict[str, Any] | None:
    blocks = data.get("content")
    if data.get("type") != "message" or not isinstance(blocks, list):
        return None
    content, thought, calls = [], [], []
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            content.append(block["text"])
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            thought.append(block["thinking"])
        elif kind == "tool_use":
            calls.append({"function": {"name": block.get("name"), "arguments": _text_of(block.get("input"))}})
    message = {"role": "assistant", "content": "".join(content)}
    if thought:
        message["reasoning"] = "".join(thought)
    return _chat(
        {**message, "tool_calls": calls}, data.get("stop_reason"), _usage(mapping(data.get("usage"))), data.get("model")
    )


def _responses(data: Mapping[str, Any]) -> dict[str, Any] | None:
    items = data.get("output")
    if data.get("object") != "response" or not isinstance(items, list):
        return None
    content, thought, calls = [], [], []
    for item in items:
        if not isinstance(item, dict):
            continue
        parts = item.get("content")
        texts = (
            [p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)]
            if isinstance(parts, list)
            else []
        )
        if item.get("type") == "message":
            content += texts
        elif item.get("type") == "reasoning":
            summary = item.get("summary")
            told = summary if isinstance(summary, list) and not texts else []
            thought += texts + [p["text"] for p in told if isinstance(p, dict) and isinstance(p.get("text"), str)]
        elif item.get("type") == "function_call":
            calls.append({"function": {"name": item.get("name"), "arguments": item.get("arguments")}})
    message = {"role": "assistant", "content": "".join(content)}
    if thought:
        message["reasoning"] = "".join(thought)
    reason = mapping(data.get("incomplete_details")).get("reason")
    if reason is None and data.get("status") == "completed":
        reason = "tool_calls" if calls else "stop"
    return _chat({**message, "tool_calls": calls}, reason, _usage(mapping(data.get("usage"))), data.get("model"))


def _ollama(data: Mapping[str, Any]) -> dict[str, Any] | None:
    if not isinstance(data.get("done"), bool) or data.get("streamed"):
        return None
    usage = {}
    for name, older in (("prompt_eval_count", "prompt_tokens"), ("eval_count", "completion_tokens")):
        if number(data.get(name)) is not None:
            usage[older] = number(data[name])
    reason = data.get("done_reason") or ("stop" if data["done"] else None)
    message = data.get("message")
    if isinstance(message, dict):
        told = {**message, "reasoning": message.get("thinking")} if "thinking" in message else dict(message)
        return _chat(told, reason, usage, data.get("model"))
    if isinstance(data.get("response"), str):
        return _text(data["response"], reason, usage, data.get("model"))
    return None


def _generate(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """SGLang's native /generate (text, meta_info) and TGI's (generated_text)."""
    info = data.get("meta_info")
    if isinstance(data.get("text"), str) and isinstance(info, dict):
        end = info.get("finish_reason")
        reason = end.get("type") if isinstance(end, dict) else end
        usage = {
            k: number(info.get(k)) for k in ("prompt_tokens", "completion_tokens") if number(info.get(k)) is not None
        }
        return _text(data["text"], reason, usage, None)
    if isinstance(data.get("generated_text"), str):
        details = mapping(data.get("details"))
        tokens = number(details.get("generated_tokens"))
        return _text(
            data["generated_text"],
            details.get("finish_reason"),
            {} if tokens is None else {"completion_tokens": tokens},
            None,
        )
    return None


def _llama_cpp(data: Mapping[str, Any]) -> dict[str, Any] | None:
    if not isinstance(data.get("content"), str) or "tokens_predicted" not in data:
        return None
    reason = data.get("stop_type") or ("length" if data.get("stopped_limit") else "stop" if data.get("stop") else None)
    usage = {}
    for name, older in (("tokens_evaluated", "prompt_tokens"), ("tokens_predicted", "completion_tokens")):
        if number(data.get(name)) is not None:
            usage[older] = number(data[name])
    return _text(data["content"], reason, usage, data.get("model"))


def _text(text: str, reason: Any, usage: Mapping[str, Any], model: Any) -> dict[str, Any]:
    reply = _chat({}, reason, usage, model)
    choice = reply["choices"][0]
    del choice["message"]
    choice["text"] = text
    return reply


def _text_of(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value)
