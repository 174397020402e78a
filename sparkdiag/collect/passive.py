"""The passive tier: what an endpoint says of itself. Nothing is generated."""

from __future__ import annotations

import asyncio

from ..capture import Item
from .http import Ask, Session

__all__ = ["PROBES", "passive_items", "sample_metrics"]

PROBES = ("health", "models", "version", "server-info", "model-info", "metrics", "metrics-again")
"""In the order of their items, after tcp-api."""


async def passive_items(session: Session) -> list[Item]:
    """The TCP connection, then all routes side by side."""
    reached = await session.connect()
    if reached.status != "ok":
        why = f"the port cannot be reached: {reached.why}"
        return [reached, *(session.skipped(probe, why) for probe in PROBES)]
    groups = await asyncio.gather(
        _one(session, "health", "/health"),
        _models(session),
        _one(session, "version", "/version"),
        _first_known(session, "server-info", "/server_info", "/get_server_info"),
        _first_known(session, "model-info", "/model_info", "/get_model_info"),
        _metrics_twice(session),
    )
    return [reached, *(item for group in groups for item in group)]


async def _one(session: Session, probe: str, route: str) -> list[Item]:
    return [await session.send(Ask(probe, route))]


async def _models(session: Session) -> list[Item]:
    """With a path prefix some proxies serve the routes without `/v1`."""
    item = await session.send(Ask("models", "/v1/models"))
    if item.code == 404 and session.address.prefix:
        bare = await session.send(Ask("models", "/models"))
        if bare.status == "ok" and "json" in (bare.media or ""):
            session.without_v1 = True
            return [bare]
    return [item]


async def _first_known(session: Session, probe: str, *routes: str) -> list[Item]:
    """The routes are old and new names of one thing: the first answer that is no 404, else the first."""
    first = await session.send(Ask(probe, routes[0]))
    if first.code not in (404, 405):
        return [first]
    other = await session.send(Ask(probe, routes[1]))
    return [other if other.code not in (404, 405) else first]


async def _metrics_twice(session: Session) -> list[Item]:
    first = await session.send(Ask("metrics", "/metrics"))
    if first.status != "ok":
        why = "the first sample was not taken" if first.status == "skipped" else "the first sample was not answered"
        return [first, session.skipped("metrics-again", why)]
    await asyncio.sleep(max(0.0, min(session.settings.metrics_gap, session.left())))
    return [first, await session.send(Ask("metrics-again", "/metrics"))]


async def sample_metrics(session: Session, items: list[Item]) -> Item:
    """A further sample, long enough after the last one."""
    last = [i for i in items if i.probe in ("metrics", "metrics-again") and i.status == "ok"]
    if not last:
        return session.skipped("metrics-later", "/metrics was not answered before")
    since = session.now() - (last[-1].at or 0.0)
    wait = session.settings.later_gap - since
    if wait > session.left() - 1:
        return session.skipped("metrics-later", "the time for this run does not reach for a later sample")
    await asyncio.sleep(max(0.0, wait))
    return await session.send(Ask("metrics-later", "/metrics"))
