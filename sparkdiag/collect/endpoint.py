"""The three things that a run asks of an endpoint: the passive tier, the active tier, and one further probe by name."""

from __future__ import annotations

from collections.abc import Sequence

from ..capture import Item
from ..errors import UsageError
from .active import ON_DEMAND, active_items, on_demand
from .http import Session
from .passive import passive_items, sample_metrics
from .settings import Settings

__all__ = ["collect_active", "collect_passive", "collect_probe"]


async def collect_passive(settings: Settings) -> list[Item]:
    """tcp-api, health, models, version, server-info, model-info, metrics, metrics-again, in this order."""
    async with Session(settings) as session:
        return await passive_items(session)


async def collect_active(settings: Settings, items: Sequence[Item]) -> list[Item]:
    """chat, tokenize, detokenize, completion, then tools and tools-result where meant, logit-text and logit-shuffled.

    `items` are those of this endpoint so far. Nothing is sent to an endpoint that cannot be reached or seems frozen:
    then the items say why they were skipped.
    """
    async with _again(settings, items) as session:
        return await active_items(session, list(items))


async def collect_probe(name: str, settings: Settings, items: Sequence[Item]) -> list[Item]:
    """One probe that a rule asked for; `logit` and `tools` give two items, `completion` those of its rendering too.

    metrics-later, chat, chat-again, chat-larger-budget, chat-thinking-off, completion, tools, logit; else UsageError.
    """
    if name != "metrics-later" and name not in ON_DEMAND:
        raise UsageError(f"there is no probe '{name}' over HTTP; there are metrics-later, {', '.join(ON_DEMAND)}")
    async with _again(settings, items) as session:
        if name == "metrics-later":
            return [await sample_metrics(session, list(items))]
        return await on_demand(name, session, list(items))


def _again(settings: Settings, items: Sequence[Item]) -> Session:
    """A session that knows what an earlier one found out about the routes."""
    session = Session(settings)
    session.without_v1 = any(item.probe == "models" and item.asked.get("path") == "/models" for item in items)
    return session
