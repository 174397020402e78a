"""The active tier: probes that generate, each sent once, within a budget of tokens and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..capture import Item
from . import requests, told
from .http import Ask, Session
from .render import Rendered, render

__all__ = ["ON_DEMAND", "Budget", "active_items", "on_demand"]

_FEWEST = 16
"""A probe that may generate fewer tokens than this tells nothing."""
_SHARE = 0.65
"""Of the time that is left, what the first chat may take: the others need some too."""


@dataclass(slots=True)
class Budget:
    """Tokens that may still be asked for. What is reserved is gone, whether or not it was used."""

    tokens: int

    def take(self, wanted: int, fewest: int = _FEWEST) -> int | None:
        """As many tokens as there are, `wanted` at most; None if there are fewer than make sense."""
        given = min(wanted, self.tokens)
        if given < fewest:
            return None
        self.tokens -= given
        return given


def budget(session: Session, items: list[Item]) -> Budget:
    return Budget(max(0, session.settings.max_generated - told.generated(items)))


@dataclass(frozen=True, slots=True)
class _Probe:
    """A generating probe: its name, what it sends for a number of tokens, and how many it wants."""

    name: str
    route: str
    body: Callable[[int], Mapping[str, Any]]
    tokens: int
    fewest: int = _FEWEST
    notes: Mapping[str, Any] = field(default_factory=dict)

    async def send(self, session: Session, tokens: Budget, seconds: float | None = None) -> Item:
        granted = tokens.take(self.tokens, self.fewest)
        if granted is None:
            return session.skipped(
                self.name, f"of {session.settings.max_generated} tokens too few are left to generate"
            )
        time = session.left() if seconds is None else seconds
        return await session.send(Ask(self.name, self.route, self.body(granted), time, self.notes))


def _chat(model: str | None, name: str = "chat", tokens: int = requests.CHAT_TOKENS, **more: Any) -> _Probe:
    return _Probe(
        name,
        requests.CHAT,
        lambda granted: requests.chat(model, granted, **more),
        tokens,
        notes={"turn": requests.TURN},
    )


def _completion(model: str | None, rendered: Rendered, special: bool) -> _Probe:
    own = rendered.by != "chatml"
    return _Probe(
        "completion",
        requests.COMPLETIONS,
        lambda granted: requests.completion(model, rendered.prompt, granted, rendered=own, special=own or special),
        requests.CHAT_TOKENS,
        notes={"turn": requests.TURN, "rendered": rendered.by},
    )


def _tools(model: str | None) -> tuple[_Probe, _Probe]:
    return (
        _Probe(
            "tools", requests.CHAT, lambda n: requests.tools(model, n), requests.TOOL_TOKENS, notes={"turn": "tools"}
        ),
        _Probe(
            "tools-result", requests.CHAT, lambda n: requests.tool_result(model, n), 128, notes={"turn": "tools-result"}
        ),
    )


def _logit(model: str | None, sglang: bool) -> tuple[_Probe, _Probe]:
    def probe(name: str, shuffled: bool) -> _Probe:
        def body(granted: int) -> Mapping[str, Any]:
            return requests.logit_sglang(shuffled=shuffled) if sglang else requests.logit(model, shuffled=shuffled)

        return _Probe(name, requests.GENERATE if sglang else requests.COMPLETIONS, body, 1, 1, {"turn": name})

    return probe("logit-text", False), probe("logit-shuffled", True)


async def active_items(session: Session, items: list[Item]) -> list[Item]:
    """A chat first; if that was answered at all, its raw completion, the tools and the logit check side by side."""
    model = told.model_name(items, session.settings.model)
    with_tools = session.settings.tools or told.tools_are_meant(items)
    names = ["completion", *(("tools", "tools-result") if with_tools else ()), "logit-text", "logit-shuffled"]
    refused = _refused(session, items)
    if refused is not None:
        return [session.skipped(name, refused) for name in ("chat", *names)]
    tokens = budget(session, items)
    chat = await _chat(model).send(session, tokens, seconds=session.left() * _SHARE)
    if chat.status not in ("ok", "http-error"):
        why = "the chat was not answered; nothing more is sent" if chat.status != "skipped" else chat.why or "no chat"
        return [chat, *(session.skipped(name, why) for name in names)]
    if chat.code in (401, 403, 429):
        return [chat, *(session.skipped(name, f"the chat was refused with status {chat.code}") for name in names)]
    sglang = told.is_sglang(items)
    probes = [*(_tools(model) if with_tools else ()), *_logit(model, sglang)]
    raw, *rest = await asyncio.gather(
        _raw(session, items, model, tokens), *(_alone(probe.send(session, tokens)) for probe in probes)
    )
    return [chat, *raw, *(item for group in rest for item in group)]


async def _raw(session: Session, items: list[Item], model: str | None, tokens: Budget) -> list[Item]:
    rendered = await render(session, model)
    probe = _completion(model, rendered, told.keeps_special_tokens(items))
    return [*rendered.items, await probe.send(session, tokens)]


async def _alone(item: Awaitable[Item]) -> list[Item]:
    return [await item]


def _refused(session: Session, items: list[Item]) -> str | None:
    """Why nothing may be generated here."""
    if session.settings.passive:
        return "--passive: nothing is generated"
    if session.settings.hold is not None:
        return session.settings.hold
    reached = next((item for item in items if item.probe == "tcp-api"), None)
    if reached is not None and reached.status != "ok":
        return f"the port cannot be reached: {reached.why}"
    return told.seems_frozen(items)


ON_DEMAND = ("chat-larger-budget", "chat-again", "chat-thinking-off", "chat", "completion", "tools", "logit")


async def on_demand(name: str, session: Session, items: list[Item]) -> list[Item]:
    """One probe of ON_DEMAND, because a rule asked for it."""
    refused = _refused(session, items)
    if refused is not None:
        return [session.skipped(name, refused)]
    model = told.model_name(items, session.settings.model)
    tokens = budget(session, items)
    match name:
        case "chat-larger-budget":
            larger = _chat(model, name, requests.LARGER_TOKENS)
            if tokens.tokens < 2 * requests.CHAT_TOKENS:
                why = f"of {session.settings.max_generated} tokens too few are left for a larger budget"
                return [session.skipped(name, why)]
            return [await larger.send(session, tokens)]
        case "chat-again":
            return [await _chat(model, name).send(session, tokens)]
        case "chat-thinking-off":
            off = _chat(model, name, chat_template_kwargs={"enable_thinking": False})
            return [await off.send(session, tokens)]
        case "chat":
            return [await _chat(model).send(session, tokens)]
        case "completion":
            return await _raw(session, items, model, tokens)
        case "tools":
            return [await probe.send(session, tokens) for probe in _tools(model)]
        case _:
            return [await probe.send(session, tokens) for probe in _logit(model, told.is_sglang(items))]
