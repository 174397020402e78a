"""What a caller tells about an exchange, as facts: the engine, its version, the launch, what the client reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact, Looked, Source, Where
from ..facts.client import ClientReads
from ..facts.engine import EngineSeen
from .transcript import read_text

_SOURCE = "context"


def context_facts(context: Mapping[str, Any]) -> list[Fact]:
    """Facts of what `diagnose_exchange` was told; unknown keys are passed over."""
    node = context.get("node")
    where = Where(node=node if isinstance(node, str) else None)
    out: list[Fact] = []
    engine, version = context.get("engine"), context.get("version")
    if isinstance(engine, str):
        told = version if isinstance(version, str) else None
        place = Source(_SOURCE, path="$.engine", text=f"engine {engine} {told or ''}".strip())
        out.append(EngineSeen(name=engine.lower(), version=told, by="context", where=where, source=place))
        out.append(Looked(probe="engine", where=where, source=place))
    reads = context.get("client_reads")
    if isinstance(reads, str):
        place = Source(_SOURCE, path="$.client_reads", text=f"the client reads {reads}")
        out.append(ClientReads(key=reads, where=where, source=place))
        out.append(Looked(probe="client", where=where, source=place))
    launch = context.get("launch")
    if isinstance(launch, (str, list, tuple)):
        from .pieces import observe_pieces

        text = launch if isinstance(launch, str) else " ".join(str(part) for part in launch)
        out += observe_pieces(read_text(text, source=_SOURCE), ())
    return out
