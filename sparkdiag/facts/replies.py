"""Facts about what a model answered: chat replies, raw completions, and the logit check."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyText(Fact):
    """What chat replies and raw completions have in common. Character counts are of stripped text."""

    probe: str | None = None
    """Which probe asked, for live runs and captures: chat, chat-again, chat-larger-budget, tools ..."""
    status: int | None = None
    """HTTP status."""
    request_known: bool = False
    model: str | None = None
    max_tokens: int | None = None
    """The cap in tokens that the request set."""
    streamed: bool | None = None
    temperature: float | None = None
    prompt_chars: int | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    at_token_cap: bool | None = None
    """completion_tokens reached max_tokens, or finish_reason is length where the cap is unknown."""
    cut_by: str | None = None
    """`probe` if our own deadline or limit ended the reply, `connection` if the stream broke off."""
    answer_chars: int = 0
    """All text that came back, thought and answer together."""
    text_per_token: float | None = None
    """Characters of all text that arrived, tags and tool calls included, per completion token."""
    tokens_without_text: int | None = None
    """Completion tokens that no arrived character can account for (a lower bound, 0 if all is accounted for)."""
    byte_markers: int = 0
    """Letters Ġ, Ċ, ▁-like byte-level stand-ins that stand where spaces and newlines belong."""
    broken_bytes: int = 0
    """U+FFFD replacement characters and byte tokens such as <0x0A> left in the text."""
    degenerate: str | None = None
    """What is wrong with the text as text: one-token, one-word, stutter, broken, repetition, mixed-scripts, symbols;
    None if nothing is."""
    degenerate_share: float | None = None
    """Share of the text (0 to 1) that shows it."""
    excerpt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply(ReplyText):
    """One chat request and its reply; a stream is joined first."""

    kind: ClassVar[str] = "chat"
    content_chars: int | None = 0
    """None if the evidence shows a cut-down reply without it."""
    content_null: bool | None = None
    content_words: int = 0
    blank_chars: int = 0
    """Characters of content that is nothing but white space."""
    thought_closed: bool | None = None
    """Reasoning text, then content of white space only: the model closed its thought and answered nothing."""
    reasoning_chars: int | None = 0
    reasoning_words: int = 0
    reasoning_key: str | None = None
    """`reasoning`, `reasoning_content` or `both`: the keys that hold text; None if neither does."""
    reasoning_key_offered: str | None = None
    """The same for keys that are there, with text or null."""
    reasoning_tokens: int | None = None
    parser_reported: bool | None = None
    """Usage details say that a reasoning parser is set (True) or is not (False); None when they cannot tell."""
    reasoning_complete: bool | None = None
    """The reasoning text ends like a finished text (a full stop, a closing bracket, code fence ...)."""
    open_tag_in_content: bool = False
    """Content begins with an opening think tag. (One further on may be quoted: a model may speak of tags.)"""
    close_tag_in_content: bool = False
    lone_close_tag: bool = False
    """A closing think tag in content with no opening one before it."""
    tag_family: str | None = None
    """The spelling of the tags found: think, thinking, reasoning, seed:think, channel ..."""
    tags_in_reasoning: bool = False
    think_only_in_content: bool = False
    """Content holds a thought and nothing after it."""
    tool_calls: int | None = 0
    """None if the evidence shows a cut-down reply that may have some."""
    tools_offered: int = 0
    tool_choice: str | None = None
    tool_result_sent: bool | None = None
    """The request's last message is a tool's result: an answer is expected, no call."""
    tool_text_format: str | None = None
    """A tool call that stands in content as text: hermes, qwen3_xml, mistral, llama3_json, pythonic ..."""
    tool_text_in_reasoning: str | None = None
    tool_arguments_valid: bool | None = None
    response_format: str | None = None
    """The request's response_format type."""
    thinking_requested: bool | None = None
    """The request's own switch (enable_thinking, thinking, reasoning_effort none); None if it sets none."""
    include_reasoning: bool | None = None
    thinking_budget: int | None = None
    prefilled_by_client: bool = False
    """The request's last message is an assistant's, to be continued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(ReplyText):
    """One raw completion: neither chat template nor reasoning parser stand between model and text."""

    kind: ClassVar[str] = "completion"
    text_chars: int = 0
    think_prefilled: bool | None = None
    """The prompt ends in an open think tag."""
    templated: bool | None = None
    """The prompt is a rendered chat turn."""
    open_tag: bool = False
    close_tag: bool = False
    text_after_close: int = 0
    """Characters after the last closing think tag."""
    tool_text_format: str | None = None
    good: bool | None = None
    """Readable text of some length, not degenerate, without byte markers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitCheck(Fact):
    """Mean log-probability (nats per token) of a short well-known text against the same tokens shuffled."""

    kind: ClassVar[str] = "logit"
    text_logprob: float
    shuffled_logprob: float
    margin: float
    """text minus shuffled: a sound model prefers the text by a nat or more."""
    tokens: int = 0
