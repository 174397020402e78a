"""Chat replies and raw completions into facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..facts import Source, Where
from ..facts.replies import ChatReply, Completion
from .bodies import mapping, number
from .requests import Asked
from .texts import broken_bytes, byte_letters, degenerate, excerpt, looks_finished, think_tags, words
from .tool_texts import tool_call_format

_ALWAYS_MISSING = 6
"""Tokens of a reply that leave no text: think tags, white space around them, the end of the turn."""


def chat_fact(
    reply: Mapping[str, Any], asked: Asked, *, request_known: bool, status: int | None, probe: str | None, where: Where,
    order: int, source: str, cut_by: str | None = None,
) -> ChatReply | None:  # fmt: skip
    """The first choice of a chat reply; None if the reply has no choice with a message."""
    choice = _first_choice(reply)
    message = choice.get("message")
    if not isinstance(message, dict):
        return None
    streamed = reply.get("streamed") is True
    content, reasoning, key, offered = _parts(message)
    raw_content = message.get("content")
    calls = message.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    if isinstance(message.get("function_call"), dict) and not calls:
        calls = [{"function": message["function_call"]}]
    tags = think_tags(content)
    usage = mapping(reply.get("usage"))
    completion_tokens = number(usage.get("completion_tokens"))
    finish = choice.get("finish_reason") if isinstance(choice.get("finish_reason"), str) else None
    call_text = "".join(_call_text(call) for call in calls)
    arrived = content + reasoning + call_text
    bad = degenerate(content, asked.prompt) or degenerate(reasoning, asked.prompt)
    thought_closed = (
        bool(reasoning.strip()) and isinstance(raw_content, str) and raw_content != "" and not content.strip()
    )
    shown = _shown(content, reasoning, finish, calls, completion_tokens)
    return ChatReply(
        probe=probe,
        status=status,
        request_known=request_known,
        model=reply.get("model") if isinstance(reply.get("model"), str) else asked.model,
        max_tokens=asked.max_tokens,
        streamed=streamed or asked.streamed,
        temperature=asked.temperature,
        prompt_chars=asked.prompt_chars,
        finish_reason=finish,
        prompt_tokens=number(usage.get("prompt_tokens")),
        completion_tokens=completion_tokens,
        at_token_cap=_at_cap(finish, completion_tokens, asked.max_tokens, cut_by),
        cut_by=cut_by,
        answer_chars=len(content.strip()) + len(reasoning.strip()),
        text_per_token=_per_token(arrived, completion_tokens),
        tokens_without_text=_lost_tokens(arrived, completion_tokens, content + call_text, _reasoning_tokens(usage)),
        byte_markers=byte_letters(content) + byte_letters(reasoning),
        broken_bytes=broken_bytes(content),
        degenerate=bad.what if bad else None,
        degenerate_share=bad.share if bad else None,
        excerpt=excerpt(content or reasoning),
        content_chars=len(content.strip()),
        content_null=None if streamed else raw_content is None,
        content_words=words(content),
        blank_chars=len(content) if not content.strip() else 0,
        thought_closed=thought_closed or None,
        reasoning_chars=len(reasoning.strip()),
        reasoning_words=words(reasoning),
        reasoning_key=key,
        reasoning_key_offered=offered,
        reasoning_tokens=_reasoning_tokens(usage),
        parser_reported=_parser_reported(usage, reply),
        reasoning_complete=looks_finished(reasoning),
        open_tag_in_content=tags.opened_at_start,
        close_tag_in_content=tags.closed,
        lone_close_tag=tags.lone_close,
        tag_family=tags.family,
        tags_in_reasoning=bool((t := think_tags(reasoning)).opened or t.closed),
        think_only_in_content=tags.closed and tags.after_close == 0,
        tool_calls=len(calls),
        tools_offered=asked.tools,
        tool_choice=asked.tool_choice,
        tool_result_sent=asked.tool_result,
        tool_text_format=tool_call_format(content, asked.offered, reasoning),
        tool_text_in_reasoning=tool_call_format(reasoning),
        tool_arguments_valid=_arguments_valid(calls),
        response_format=asked.response_format,
        thinking_requested=asked.thinking,
        include_reasoning=asked.include_reasoning,
        thinking_budget=asked.thinking_budget,
        prefilled_by_client=asked.prefilled,
        where=_turned(where, asked.turn),
        order=order,
        source=Source(source, path="$.choices[0].message", text=shown),
    )


def completion_fact(
    reply: Mapping[str, Any], asked: Asked, *, request_known: bool, status: int | None, probe: str | None, where: Where,
    order: int, source: str, cut_by: str | None = None,
) -> Completion | None:  # fmt: skip
    """The first choice of a raw completion; None if the reply has no choice with a text."""
    choice = _first_choice(reply)
    text = choice.get("text")
    if not isinstance(text, str):
        return None
    usage = mapping(reply.get("usage"))
    completion_tokens = number(usage.get("completion_tokens"))
    finish = choice.get("finish_reason") if isinstance(choice.get("finish_reason"), str) else None
    tags = think_tags(text)
    bad = degenerate(text, asked.prompt)
    markers = byte_letters(text)
    stripped = text.strip()
    return Completion(
        probe=probe,
        status=status,
        request_known=request_known,
        model=reply.get("model") if isinstance(reply.get("model"), str) else asked.model,
        max_tokens=asked.max_tokens,
        streamed=reply.get("streamed") is True or asked.streamed,
        temperature=asked.temperature,
        prompt_chars=asked.prompt_chars,
        finish_reason=finish,
        prompt_tokens=number(usage.get("prompt_tokens")),
        completion_tokens=completion_tokens,
        at_token_cap=_at_cap(finish, completion_tokens, asked.max_tokens, cut_by),
        cut_by=cut_by,
        answer_chars=len(stripped),
        text_per_token=_per_token(text, completion_tokens),
        tokens_without_text=_lost_tokens(text, completion_tokens),
        byte_markers=markers,
        broken_bytes=broken_bytes(text),
        degenerate=bad.what if bad else None,
        degenerate_share=bad.share if bad else None,
        excerpt=excerpt(text),
        text_chars=len(stripped),
        think_prefilled=asked.think_prefilled,
        templated=asked.templated,
        open_tag=tags.opened,
        close_tag=tags.closed,
        text_after_close=tags.after_close,
        tool_text_format=tool_call_format(text),
        good=len(stripped) >= 2 and bad is None and markers == 0 and broken_bytes(text) == 0,
        where=_turned(where, asked.turn),
        order=order,
        source=Source(source, path="$.choices[0].text", text=f"text {excerpt(text)!r}, finish_reason {finish}"),
    )


def _first_choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = reply.get("choices")
    return mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _parts(message: Mapping[str, Any]) -> tuple[str, str, str | None, str | None]:
    """content, reasoning, the key that holds the reasoning, and the keys that are there at all."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))
    content = content if isinstance(content, str) else ""
    texts = {}
    offered = []
    for name in ("reasoning", "reasoning_content"):
        if name in message:
            offered.append(name)
        value = message.get(name)
        if isinstance(value, str) and value.strip():
            texts[name] = value
    key = None if not texts else "both" if len(texts) == 2 else next(iter(texts))
    keys = None if not offered else "both" if len(offered) == 2 else offered[0]
    return content, next(iter(texts.values()), ""), key, keys


def _at_cap(finish: str | None, tokens: int | None, cap: int | None, cut_by: str | None) -> bool | None:
    if cut_by == "probe":
        return False
    if tokens is not None and cap is not None:
        return tokens >= cap
    return None if finish is None else finish == "length"


def _per_token(text: str, tokens: int | None) -> float | None:
    return round(len(text) / tokens, 2) if tokens else None


def _lost_tokens(
    text: str, tokens: int | None, after_thought: str = "", reasoning_tokens: int | None = None
) -> int | None:
    """Tokens that no arrived character accounts for, at one character a token: a lower bound.

    A few are always missing: tags that a parser takes out, and the end of the turn. Where usage tells how many tokens
    the thought took, the rest is held against the text after it.
    """
    if tokens is None:
        return None
    lost = tokens - len(text) - _ALWAYS_MISSING
    if reasoning_tokens:
        lost = max(lost, tokens - reasoning_tokens - len(after_thought) - _ALWAYS_MISSING)
    return max(0, lost)


def _reasoning_tokens(usage: Mapping[str, Any]) -> int | None:
    details = usage.get("completion_tokens_details")
    inner = number(details.get("reasoning_tokens")) if isinstance(details, dict) else None
    return inner if inner is not None else number(usage.get("reasoning_tokens"))


def _parser_reported(usage: Mapping[str, Any], reply: Mapping[str, Any]) -> bool | None:
    """vLLM of 0.30 and later: usage details are an object with a reasoning parser, null without one."""
    fingerprint = reply.get("system_fingerprint")
    vllm = isinstance(fingerprint, str) and fingerprint.startswith("vllm-")
    if "completion_tokens_details" not in usage or not (vllm or "kv_transfer_params" in reply):
        return None
    details = usage["completion_tokens_details"]
    if details is None:
        return False
    return True if isinstance(details, dict) and "reasoning_tokens" in details else None


def _call_text(call: Any) -> str:
    function = mapping(mapping(call).get("function"))
    return (
        f'{function.get("name") or ""}{function.get("arguments") or ""}<tool_call>{{"name": "arguments"}}</tool_call>'
    )


def _arguments_valid(calls: list[Any]) -> bool | None:
    if not calls:
        return None
    for call in calls:
        arguments = mapping(mapping(call).get("function")).get("arguments")
        if isinstance(arguments, str) and arguments.strip():
            try:
                json.loads(arguments)
            except (ValueError, RecursionError):
                return False
    return True


def _turned(where: Where, turn: str | None) -> Where:
    if turn is None or where.turn is not None:
        return where
    return Where(where.target, where.node, where.container, where.rank, where.run, turn)


def _shown(content: str, reasoning: str, finish: str | None, calls: list[Any], tokens: int | None) -> str:
    """The reply in one line of evidence."""
    parts = [f"finish_reason {finish}", f"content {excerpt(content, 100)!r}" if content.strip() else "content empty"]
    if reasoning.strip():
        parts.append(f"reasoning {excerpt(reasoning, 100)!r}")
    if calls:
        parts.append(f"{len(calls)} tool call{'s' if len(calls) > 1 else ''}")
    if tokens is not None:
        parts.append(f"{tokens} completion tokens")
    return ", ".join(parts)
