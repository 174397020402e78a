"""What a request asked for, as far as the reply has to be judged by it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..records import dataclass
from .bodies import mapping, number
from .patterns import lazy
from .tool_texts import Offer, offers

_OPEN_TAG_AT_END = lazy(r"(<(?:think|thinking|thought|reasoning|seed:think)>|\[THINK\]|◁think▷)\s*\Z")
_TURN_MARKS = lazy(
    r"<\|im_start\|>|<\|start\|>|\[INST\]|<\|user\|>|<｜User｜>|<\|start_header_id\|>|<start_of_turn>|<\|turn>"
)
_LAST_USER = lazy(
    r"(?:<\|im_start\|>user\n?|<\|user\|>\n?|<｜User｜>|\[INST\]|<start_of_turn>user\n?|<\|turn>user\n?"
    r"|<\|start_header_id\|>user<\|end_header_id\|>\s*|<\|start\|>user<\|message\|>)"
    r"(.*?)(?:<\|im_end\|>|<\|assistant\|>|<｜Assistant｜>|\[/INST\]|<end_of_turn>|<turn\|>|<\|eot_id\|>|<\|end\|>|\Z)",
    re.S,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a chat or completion request that matter here; None where the request leaves them open."""

    route: str | None = None
    """chat, completion, messages, responses or None."""
    model: str | None = None
    max_tokens: int | None = None
    streamed: bool | None = None
    temperature: float | None = None
    tools: int = 0
    offered: tuple[Offer, ...] = ()
    """The offered tools whose names can be read."""
    tool_choice: str | None = None
    tool_result: bool | None = None
    prefilled: bool = False
    response_format: str | None = None
    thinking: bool | None = None
    include_reasoning: bool | None = None
    thinking_budget: int | None = None
    prompt_chars: int | None = None
    prompt: str | None = None
    """What the model was asked last, or the raw prompt; its beginning."""
    think_prefilled: bool | None = None
    templated: bool | None = None
    turn: str | None = None


def read_request(request: Mapping[str, Any] | None, path: str | None = None) -> Asked:
    """A request body, with the path it was sent to if that is known."""
    route = route_of_path(path)
    if not request:
        return Asked(route=route)
    if route is None:
        route = _route_of_body(request)
    messages = request.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages and isinstance(messages[-1], dict) else {}
    prompt = request.get("prompt", request.get("text"))
    text = prompt if isinstance(prompt, str) else None
    form = request.get("response_format")
    tools = request.get("tools")
    temperature = request.get("temperature")
    return Asked(
        route=route,
        model=request["model"] if isinstance(request.get("model"), str) else None,
        max_tokens=_first_number(request, "max_completion_tokens", "max_tokens", "max_new_tokens", "max_output_tokens"),
        streamed=request.get("stream") is True,
        temperature=float(temperature) if isinstance(temperature, (int, float)) else None,
        tools=len(tools) if isinstance(tools, list) and request.get("tool_choice") != "none" else 0,
        offered=offers(tools),
        tool_choice=_tool_choice(request.get("tool_choice")),
        tool_result=last.get("role") == "tool" if last else None,
        prefilled=last.get("role") == "assistant",
        response_format=form.get("type")
        if isinstance(form, dict) and isinstance(form.get("type"), str)
        else _guided(request),
        thinking=_thinking(request),
        include_reasoning=_include_reasoning(request),
        thinking_budget=_first_number(request, "thinking_token_budget", "thinking_budget"),
        prompt_chars=sum(len(_content_text(m)) for m in messages if isinstance(m, dict))
        if isinstance(messages, list)
        else (len(text) if text is not None else None),
        prompt=_prompt(messages, text),
        think_prefilled=None if text is None else _OPEN_TAG_AT_END.search(text[-80:]) is not None,
        templated=None if text is None else _TURN_MARKS.search(text) is not None,
        turn=_turn(messages, text),
    )


def route_of_path(path: str | None) -> str | None:
    if path is None:
        return None
    plain = path.split("?", 1)[0].rstrip("/")
    for end, name in (
        ("/chat/completions", "chat"),
        ("/completions", "completion"),
        ("/messages", "messages"),
        ("/responses", "responses"),
        ("/generate", "generate"),
    ):
        if plain.endswith(end):
            return name
    return None


def _route_of_body(request: Mapping[str, Any]) -> str | None:
    if isinstance(request.get("messages"), list):
        return "chat"
    if "prompt" in request:
        return "completion"
    if "input" in request:
        return "responses"
    return None


def _first_number(request: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = number(request.get(name))
        if value is not None:
            return value
    return None


def _tool_choice(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return "named" if isinstance(value, dict) else None


def _guided(request: Mapping[str, Any]) -> str | None:
    for name in ("guided_json", "guided_regex", "guided_grammar", "guided_choice", "structured_outputs", "json_schema"):
        if request.get(name) is not None:
            return name
    return None


def _thinking(request: Mapping[str, Any]) -> bool | None:
    extra = mapping(request.get("extra_body"))
    for holder in (
        mapping(request.get("chat_template_kwargs")),
        mapping(extra.get("chat_template_kwargs")),
        request,
        extra,
    ):
        for name in ("enable_thinking", "thinking"):
            value = holder.get(name)
            if isinstance(value, bool):
                return value
            if isinstance(value, dict) and value.get("type") in ("enabled", "disabled"):
                return bool(value["type"] == "enabled")
    if request.get("reasoning_effort") == "none":
        return False
    return None


def _include_reasoning(request: Mapping[str, Any]) -> bool | None:
    value = request.get("include_reasoning")
    if isinstance(value, bool):
        return value
    exclude = mapping(request.get("reasoning")).get("exclude")
    return not exclude if isinstance(exclude, bool) else None


def _content_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def _prompt(messages: Any, text: str | None) -> str | None:
    if isinstance(messages, list):
        text = _last_user(messages)
    return None if text is None else text[:8000]


def _last_user(messages: list[Any]) -> str | None:
    users = [m for m in messages if isinstance(m, dict) and m.get("role") == "user"]
    return _content_text(users[-1]) if users else None


def _turn(messages: Any, prompt: str | None) -> str | None:
    """A name for the turn that chat and raw completion of the same question share."""
    text: str | None = None
    if isinstance(messages, list):
        text = _last_user(messages)
    elif prompt is not None:
        found = _LAST_USER.findall(prompt)
        text = found[-1] if found else None
    if not text or not text.strip():
        return None
    import hashlib

    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:8]
