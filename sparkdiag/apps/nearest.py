"""Which recording answers a question best: route first, then tools, thinking switch, question, cap and form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .recordings import RecordedServer, Recording
from .streams import join

__all__ = ["Asked", "asked_of", "nearest", "same_question"]

_CHAT = "/v1/chat/completions"
_COMPLETIONS = "/v1/completions"
_ALIASES = {
    "/get_server_info": "/server_info",
    "/get_model_info": "/model_info",
}
_ORDINARY = frozenset(
    {
        "model", "messages", "prompt", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stream",
        "stream_options", "tools", "tool_choice", "chat_template_kwargs", "user", "n",
    }
)  # fmt: skip
"""Fields of a request that are looked at on their own, or that change nothing in a greedy recording."""
_UNRECORDED = ("echo", "prompt_logprobs")
"""Questions about the prompt itself: no answer to another question will do."""
_FALLBACK = {False: "hi", True: "weather hermes"}
"""The question, without and with tools, that stands in for one that was never asked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What decides between recordings, in one request to a chat or completion route."""

    tools: bool = False
    tool_choice: str = "auto"
    thinking_off: bool = False
    open_think: bool = False
    """A raw prompt that ends in an opened think tag."""
    turns: tuple[tuple[str, str], ...] = ()
    """Role and text of each message, or the raw prompt as one turn of role `prompt`."""
    prompt_tokens: int | None = None
    """Length of a raw prompt that was sent as token ids."""
    extras: frozenset[str] = frozenset()
    """Fields beyond the ordinary ones, with their values."""
    cap: int | None = None
    stream: bool = False
    usage: bool = False
    """A stream that is to end with its usage."""

    @property
    def after_tool(self) -> bool:
        """A tool's result is sent back."""
        return any(role == "tool" for role, _ in self.turns)

    @property
    def question(self) -> str:
        return next((text for role, text in reversed(self.turns) if role == "user"), "")


def asked_of(body: Any) -> Asked:
    """Reads a request's body; anything that is no object asks nothing."""
    if not isinstance(body, Mapping):
        return Asked()
    switch = body.get("chat_template_kwargs")
    options = body.get("stream_options")
    prompt = body.get("prompt")
    ids = isinstance(prompt, list) and bool(prompt) and all(isinstance(token, int) for token in prompt)
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    cap = body.get("max_tokens", body.get("max_completion_tokens"))
    choice = body.get("tool_choice", "auto")
    return Asked(
        tools=bool(body.get("tools")),
        tool_choice=choice if isinstance(choice, str) else "named",
        thinking_off=isinstance(switch, Mapping)
        and any(switch.get(k) is False for k in ("enable_thinking", "thinking")),
        open_think=isinstance(prompt, str) and prompt.rstrip().endswith("<think>"),
        turns=_turns(body.get("messages")) or ((("prompt", prompt),) if isinstance(prompt, str) else ()),
        prompt_tokens=len(prompt) if ids and isinstance(prompt, list) else None,
        extras=frozenset(f"{key}={value!r}" for key, value in body.items() if key not in _ORDINARY),
        cap=cap if isinstance(cap, int) else None,
        stream=body.get("stream") is True,
        usage=isinstance(options, Mapping) and options.get("include_usage") is True,
    )


def _turns(messages: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(messages, list):
        return ()
    return tuple((str(m.get("role")), _text(m.get("content"))) for m in messages if isinstance(m, Mapping))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)


def nearest(server: RecordedServer, method: str, path: str, body: Any) -> Recording | None:
    """The recording to answer with; None if nothing like it was recorded. Authorization is not looked at here."""
    route = _route(path)
    found = [r for r in server.recordings if r.method == method and _route(r.path) == route and r.status != 401]
    exact = next((r for r in found if r.request == body), None)
    if exact is not None or method == "GET":
        return exact or next(iter(found), None)
    if route not in (_CHAT, _COMPLETIONS):
        return _same_keys(found, body)
    if not isinstance(body, Mapping) or any(body.get(key) not in (None, False) for key in _UNRECORDED):
        return None
    model = server.model
    if body.get("model", model) != model:
        refusals = [r for r in found if isinstance(r.request, dict) and r.request.get("model") != model]
        if refusals:
            return refusals[0]
    asked = asked_of(body)
    known = [(r, asked_of(r.request)) for r in found if r.status < 400 or asked_of(r.request).tools]
    known = [(r, q) for r, q in known if r.request.get("model") == model and _comparable(asked, q)]
    if not known:
        return None
    return min(known, key=lambda pair: (_distance(asked, pair[1], pair[0]), pair[0].name))[0]


def _route(path: str) -> str:
    plain = path.split("?", 1)[0].rstrip("/") or "/"
    return _ALIASES.get(plain, plain)


def _same_keys(found: Sequence[Recording], body: Any) -> Recording | None:
    """For routes with one question each: the recording that was asked in the same way, with `messages` or `prompt`."""
    keys = set(body) if isinstance(body, Mapping) else set()
    for recording in found:
        asked = set(recording.request) if isinstance(recording.request, dict) else set()
        if {"messages", "prompt", "input", "text"} & asked == {"messages", "prompt", "input", "text"} & keys:
            return recording
    return None


def _comparable(asked: Asked, known: Asked) -> bool:
    """Answers with and without tools, or with the switch set otherwise, are answers to another question."""
    return (
        asked.tools == known.tools
        and asked.after_tool == known.after_tool
        and asked.tool_choice == known.tool_choice
        and asked.thinking_off == known.thinking_off
        and _only(asked.extras, "response_format") == _only(known.extras, "response_format")
        and _only(asked.extras, "include_reasoning") == _only(known.extras, "include_reasoning")
    )


def _only(extras: Iterable[str], key: str) -> set[str]:
    return {extra for extra in extras if extra.startswith(f"{key}=")}


def _distance(asked: Asked, known: Asked, recording: Recording) -> tuple[float, ...]:
    if asked.turns == known.turns:
        question = 0
    elif asked.question and asked.question == known.question:
        question = 1
    else:
        question = 2 if known.question in ("", _FALLBACK[asked.tools]) else 3
    return (
        0 if _opens_alike(asked, known, recording) else 1,
        question,
        len(asked.extras ^ known.extras),
        len({role for role, _ in asked.turns} ^ {role for role, _ in known.turns} - {"system"}),
        _cap_distance(asked.cap, known.cap, recording),
        0 if asked.stream == recording.streamed else 1,
        0 if asked.usage == known.usage else 1,
    )


def _opens_alike(asked: Asked, known: Asked, recording: Recording) -> bool:
    if asked.prompt_tokens is None:
        return asked.open_think == known.open_think
    usage = recording.reply.get("usage") if isinstance(recording.reply, dict) else None
    return isinstance(usage, dict) and usage.get("prompt_tokens") == asked.prompt_tokens


def _cap_distance(asked: int | None, known: int | None, recording: Recording) -> float:
    """0 for the same cap, and for a reply that ended by itself within the cap; else by how many times it differs."""
    if asked == known:
        return 0.0
    tokens = _own_end(recording, known)
    if tokens is not None and (asked is None or tokens <= asked):
        return 0.0
    return 1.0 + abs(math.log(max(asked or 4096, 1) / max(known or 4096, 1)))


def _own_end(recording: Recording, cap: int | None) -> int | None:
    """Tokens of a reply that was not cut off, or its cap where they were not counted; None for one that was cut."""
    reply = join(recording.text) if recording.streamed else recording.reply
    if not isinstance(reply, dict) or not reply.get("choices"):
        return None
    if reply["choices"][0].get("finish_reason") not in ("stop", "tool_calls"):
        return None
    usage = reply.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) else cap


def same_question(server: RecordedServer, recording: Recording) -> Recording | None:
    """The recording of the same question in the other form, streamed or whole: a greedy model answers it alike."""
    wanted = _but_for_form(recording.request)
    for other in server.recordings:
        alike = other.path == recording.path and other.status == recording.status
        if alike and other.streamed != recording.streamed and _but_for_form(other.request) == wanted:
            return other
    return None


def _but_for_form(request: Any) -> Any:
    if not isinstance(request, dict):
        return request
    return {key: value for key, value in request.items() if key not in ("stream", "stream_options")}
