"""The passive tier of an endpoint, and of the host below it where the endpoint gives no answer at all."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Sequence

from ..capture import Item
from .address import parse_address
from .endpoint import collect_passive
from .reach import Host, addresses_of, as_told, ping_item, ssh_items, unknown_host
from .settings import Settings

__all__ = ["collect_endpoint"]

_PATIENCE = 3.0
"""Seconds after which the host is looked at as well, without waiting for the endpoint's last time-out."""


async def collect_endpoint(settings: Settings) -> list[Item]:
    """What collect_passive gives, and ping; where nothing answered on the endpoint's port, tcp-ssh and ssh-banner too.

    An endpoint on this machine is not pinged unless it is silent: that its kernel answers is known.
    """
    began = time.monotonic()
    name = parse_address(settings.address).host
    clock = settings.clock or (lambda: time.monotonic() - began)
    host = Host(settings.target, name, clock, settings.seconds, settings.ssh_port)
    passive = asyncio.ensure_future(collect_passive(settings))
    pinging = None if _is_here(name) else asyncio.ensure_future(_ping(host))
    ssh: asyncio.Future[list[Item]] | None = None
    try:
        done, _ = await asyncio.wait({passive}, timeout=_PATIENCE)
        if not done:
            ssh = asyncio.ensure_future(_ssh(host))
        items = await passive
        if not _silent(items):
            return items if pinging is None else [*items, as_told(await pinging, items)]
        below = await (ssh if ssh is not None else _ssh(host))
        pinged = await (pinging if pinging is not None else _ping(host))
        return [*items, as_told(pinged, [*items, *below]), *below]
    finally:
        left = [task for task in (passive, pinging, ssh) if task is not None and not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _ping(host: Host) -> Item:
    try:
        return await ping_item(host, await addresses_of(host))
    except (OSError, UnicodeError) as error:
        return unknown_host(host, error)


async def _ssh(host: Host) -> list[Item]:
    try:
        return await ssh_items(host, await addresses_of(host))
    except (OSError, UnicodeError):
        return []  # tcp-api and ping say it already


def _silent(items: Sequence[Item]) -> bool:
    """No connection in time, or one on which no route answered. A refusal is an answer, and so is a reset."""
    first = items[0]
    if first.status == "timeout":
        return True
    asked = [item for item in items if item.probe in ("health", "models", "version")]
    mute = [item for item in asked if item.status == "timeout" and item.code is None]
    return first.status == "ok" and bool(asked) and mute == asked


def _is_here(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name.split("%")[0]).is_loopback
    except ValueError:
        return False
