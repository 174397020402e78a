"""The chat turn as the model's own template writes it, asked from the server; ChatML where it cannot tell."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..capture import Item
from . import requests
from .http import Ask, Session

__all__ = ["Rendered", "render"]

_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt, who wrote it (tokenize, render or chatml), and what was asked on the way."""

    prompt: str
    by: str
    items: list[Item] = field(default_factory=list)


async def render(session: Session, model: str | None) -> Rendered:
    """vLLM and SGLang tokenize a chat and turn tokens into text; newer vLLM also has a route that renders."""
    turn = {**requests.named(model), "messages": requests.messages()}
    asked = Ask("tokenize", "/tokenize", {**turn, "add_generation_prompt": True}, _SECONDS)
    items = [await session.send(asked)]
    by, tokens = "tokenize", _tokens(items[0], "tokens")
    if tokens is None and items[0].code in (404, 405, 501):
        again = await session.send(Ask("render", f"{requests.CHAT}/render", turn, _SECONDS))
        items.append(again)
        by, tokens = "render", _tokens(again, "token_ids") or _tokens(again, "prompt_token_ids")
    if tokens is not None:
        # SGLang leaves special tokens out unless told otherwise; vLLM ignores the switch
        body = {**requests.named(model), "tokens": tokens, "skip_special_tokens": False}
        text = await session.send(Ask("detokenize", "/detokenize", body, _SECONDS))
        items.append(text)
        data = _object(text)
        prompt = data.get("prompt", data.get("text"))
        if isinstance(prompt, str) and prompt.strip():
            return Rendered(prompt, by, items)
    return Rendered(requests.chatml(), "chatml", items)


def _tokens(item: Item, key: str) -> list[int] | None:
    found = _object(item).get(key)
    if isinstance(found, list) and 0 < len(found) < 10_000 and all(isinstance(token, int) for token in found):
        return found
    return None


def _object(item: Item) -> dict[str, Any]:
    if item.status != "ok":
        return {}
    try:
        data = json.loads(item.text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
