"""How many model servers share a node's pool, from whatever shows them."""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import Fact, Looked, Where
from ..facts.sums import Tenancy

__all__ = ["tenancies"]

_HELD_GIB = 1.5
"""GPU memory from which a process counts as a holder: desktops and CUDA contexts stay below."""
_SETTLED = 120.0
_REFUSALS = frozenset({"free-below-budget", "no-cache-blocks", "kv-below-context", "cuda-oom", "node-memory-below-kv"})
"""Lines by which a start ends: the container that prints them is no tenant, whatever docker says of it."""
_NOT_MODELS = frozenset({"notebook"})


def tenancies(facts: Sequence[Fact]) -> list[Fact]:
    """One Tenancy for each node that shows a holder, a container or a launch of an engine."""
    kinds = ("process", "container", "launch")
    refused = {f.where.container for f in facts if f.kind == "log" and f.get("signature") in _REFUSALS}
    facts = [f for f in facts if f.kind != "container" or f.get("name") is None or f.get("name") not in refused]
    nodes = {fact.where.node for fact in facts if fact.kind in kinds}
    out: list[Fact] = []
    for node in sorted(nodes, key=str):
        made = _tenancy(Where(node=node), [f for f in facts if f.kind in kinds and f.where.node in (node, None)])
        if made is not None:
            out.append(made)
    return [*out, Looked(probe="tenancy", where=out[0].where, source=out[0].source)] if out else []


def _tenancy(where: Where, facts: Sequence[Fact]) -> Tenancy | None:
    holders = _holders(facts)
    containers = {
        str(fact.get("name")): fact
        for fact in facts
        if fact.kind == "container" and fact.get("state") == "running" and fact.get("engine") not in (None,
        *_NOT_MODELS)
        and (_number(fact, "up_seconds") or _SETTLED) >= _SETTLED
    }  # fmt: skip
    launches = _launches(facts)
    if not holders and not containers and len(launches) < 2:
        return None
    shown = [*holders.values(), *containers.values(), *launches]
    largest = max(holders.values(), key=lambda fact: _number(fact, "memory_gib") or 0.0, default=None)
    held = sum(_number(fact, "memory_gib") or 0.0 for fact in holders.values())
    pid = None if largest is None else largest.get("pid")
    shares = [share for launch in launches if (share := _share_of(launch)) is not None]
    return Tenancy(
        holders=_engines(list(holders.values())),
        containers=len(containers),
        launches=len(launches),
        utilization_sum=round(sum(shares), 2) if len(shares) > 1 else None,
        held_gib=round(held, 1) if holders else None,
        holder=None if largest is None else str(largest.get("name"))[:80],
        holder_pid=pid if isinstance(pid, int) else None,
        holder_gib=None if largest is None else _number(largest, "memory_gib"),
        names=tuple(sorted(containers))[:8],
        where=where,
        order=max(fact.order for fact in shown),
        source=(largest or shown[-1]).source,
    )


def _holders(facts: Sequence[Fact]) -> dict[object, Fact]:
    """The processes that hold GPU memory, by pid, each at its largest."""
    out: dict[object, Fact] = {}
    for fact in facts:
        if fact.kind != "process" or fact.get("by") != "nvidia-smi":
            continue
        size = _number(fact, "memory_gib") or 0.0
        key = fact.get("pid") or fact.get("name")
        if size >= _HELD_GIB and fact.get("engine") not in _NOT_MODELS and size > (_size(out.get(key)) or 0.0):
            out[key] = fact
    return out


def _size(fact: Fact | None) -> float | None:
    return None if fact is None else _number(fact, "memory_gib")


def _engines(holders: Sequence[Fact]) -> int:
    """Engines among the holders: workers belong to the core beside them, if there is one."""
    cores = [fact for fact in holders if fact.get("role") != "worker"]
    return len(cores) if cores else min(len(holders), 1)


def _launches(facts: Sequence[Fact]) -> list[Fact]:
    """Launches of different servers: another port, or another model where a port is not told. Shown twice is one."""
    out: list[Fact] = []
    for fact in facts:
        if fact.kind != "launch" or fact.get("engine") not in ("vllm", "sglang") or fact.get("partial") is True:
            continue
        if fact.get("model") and not any(_same(fact, known) for known in out):
            out.append(fact)
    return out


def _same(one: Fact, other: Fact) -> bool:
    ports = (one.get("flag.port"), other.get("flag.port"))
    if None not in ports:
        return ports[0] == ports[1]
    return _model(one) == _model(other)


def _model(fact: Fact) -> str:
    return str(fact.get("model")).rstrip("/").rsplit("/", 1)[-1].lower()


def _share_of(launch: Fact) -> float | None:
    return _number(launch, "flag.gpu_memory_utilization") or _number(launch, "flag.mem_fraction_static")


def _number(fact: Fact, name: str) -> float | None:
    value = fact.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
