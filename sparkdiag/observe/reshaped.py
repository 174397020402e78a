"""Replies that were cut down with jq before they were pasted: facts that know what was not shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..facts import Fact
from ..facts.replies import ChatReply
from .bodies import mapping, number
from .exchanges import Exchange, observe_exchange
from .reply_shapes import as_openai


def observe_reshaped(exchange: Exchange, replies: Any, documents: Any) -> list[Fact]:
    """The facts of each printed document; what the filter left out is unknown, not empty."""
    replies = replies if isinstance(replies, list) else []
    documents = documents if isinstance(documents, list) else []
    out: list[Fact] = []
    for index, document in enumerate(documents):
        shown: Mapping[str, Any] = replies[index] if index < len(replies) and isinstance(replies[index], dict) else {}
        if isinstance(document, dict) and (told := as_openai(document)) is not document:
            shown = shown_of(told)
        document = _with_message(document, shown)
        facts = observe_exchange(replace(exchange, response=document, order=exchange.order + index))
        out += [_known(fact, shown) if isinstance(fact, ChatReply) else fact for fact in facts]
    return out


def _with_message(document: Any, shown: Mapping[str, Any]) -> Any:
    """The document with a message, if all that is told of it are lengths."""
    if not {"content_len", "reasoning_len"} & set(shown) or not isinstance(document, dict):
        return document
    choices = document.get("choices")
    first = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    return document if "message" in first else {**document, "choices": [{**first, "message": {}}]}


def shown_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a part of a reply shows, as `observe_reshaped` wants it told."""
    choices = document.get("choices")
    choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    message = mapping(choice.get("message", choice.get("delta")))
    shown = {key: choice[key] for key in ("finish_reason",) if key in choice}
    shown |= {key: message[key] for key in ("content",) if key in message}
    thought = str(message.get("reasoning_content") or message.get("reasoning") or "")
    if "message" in choice and message.get("role") == "assistant" and len(thought) > 40:
        shown.setdefault("content", None)  # LiteLLM and others leave null keys out; a bit of a stream is shorter
    for key in ("reasoning_content", "reasoning"):
        if message.get(key) or (key in message and "reasoning" not in shown):
            shown["reasoning"], shown["reasoning_key"] = message[key], key
    if "tool_calls" in message:
        shown["tool_calls"] = len(message["tool_calls"]) if isinstance(message["tool_calls"], list) else 0
    usage = mapping(document.get("usage"))
    return shown | {key: usage[key] for key in ("completion_tokens", "prompt_tokens") if key in usage}


def _known(fact: ChatReply, shown: Mapping[str, Any]) -> ChatReply:
    """The fact with lengths that were printed instead of texts, and without what was not printed."""
    content = fact.content_chars
    if "content" not in shown or (shown["content"] is None and number(shown.get("content_len"))):
        content = number(shown.get("content_len"))
    reasoning = fact.reasoning_chars
    complete = fact.reasoning_complete
    key = fact.reasoning_key
    if "reasoning" not in shown or (shown["reasoning"] is None and number(shown.get("reasoning_len"))):
        reasoning = number(shown.get("reasoning_len"))
        complete = None
        told = shown.get("reasoning_key")
        key = told if reasoning and isinstance(told, str) else key
    calls = fact.tool_calls
    if "tool_calls" not in shown and fact.finish_reason in ("tool_calls", "function_call"):
        calls = None
    elif not calls and number(shown.get("tool_calls")):
        calls = number(shown["tool_calls"])
    finish = fact.finish_reason
    if "finish_reason" not in shown and fact.completion_tokens is not None and fact.at_token_cap:
        finish = "length"  # a reply of just as many tokens as were allowed was cut off
    at_cap = fact.at_token_cap
    if at_cap is None and finish is None and 0 < 3 * fact.answer_chars < (fact.max_tokens or 0):
        at_cap = False  # no text has that many tokens in a character
    only_lengths = reasoning is not None and fact.reasoning_chars == 0 and reasoning > 0
    return replace(
        fact,
        finish_reason=finish,
        at_token_cap=at_cap,
        content_chars=content,
        reasoning_chars=reasoning,
        reasoning_complete=complete,
        reasoning_key=key,
        tool_calls=calls,
        text_per_token=None if only_lengths or content is None else fact.text_per_token,
        tokens_without_text=None if only_lengths or content is None or reasoning is None else fact.tokens_without_text,
    )
