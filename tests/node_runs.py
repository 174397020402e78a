"""Looks at a node for the tests: collected without judging it, one item of it, and a list of commands cut down."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from sparkdiag.capture import Item
from sparkdiag.collect import NodeSettings, collect_node, commands, node, nodes_of

__all__ = ["collected", "named", "only"]


def collected(ssh: str = "spark-a", *, container: str | None = None, seconds: float = 30.0) -> list[Item]:
    began = time.monotonic()
    (one,) = nodes_of([ssh], False, container)
    return asyncio.run(collect_node(NodeSettings("n1", one, lambda: time.monotonic() - began, seconds, 3.0)))


def named(items: list[Item], probe: str) -> Item:
    return next(item for item in items if item.probe == probe)


def only(monkeypatch: pytest.MonkeyPatch, *probes: str, seconds: float | None = None) -> None:
    """Cut the list of commands down, and their time limits."""
    kept = [one for one in commands.COMMANDS if not probes or one.probe in ("meminfo", *probes)]
    if seconds is not None:
        kept = [replace(one, seconds=seconds) for one in kept]
    for module in (commands, node):
        monkeypatch.setattr(module, "COMMANDS", tuple(kept))
    monkeypatch.setattr(node, "_ORDER", {one.probe: number for number, one in enumerate(kept)})
