"""The memory sum of each start of an engine: utilization x total, less the weights,
against what was found for the KV cache.

On unified memory the sum tells apart what the engines' messages confuse: weights that fill the budget,
and a budget that
lost tens of GiB to the page cache or the compiler, charged to the engine while it was measuring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..facts import Fact, Looked
from ..facts.sums import MemoryBudget

__all__ = ["memory_budgets"]

SPARK_TOTAL_GIB = 121.6
"""What CUDA reports on a DGX Spark: 119.7 with early firmware, 121.6 to 121.7 since."""
DEFAULT_UTILIZATION = 0.9
"""vLLM's own to mid-2026; newer builds take 0.92, which the sum hardly notices."""
_ENDS = ("kv-memory-found", "no-cache-blocks", "kv-below-context", "free-below-budget", "profiling-summary")


def memory_budgets(facts: Sequence[Fact]) -> list[Fact]:
    """One MemoryBudget for each start of which a log shows the sum's result, or that it was refused."""
    logs = [fact for fact in facts if fact.kind == "log" and fact.get("signature") in _ENDS]
    out: list[Fact] = []
    for fact in logs:
        budget = _budget(fact, facts)
        if budget is not None:
            out.append(budget)
    return [*out, Looked(probe="budget", where=out[0].where, source=out[0].source)] if out else []


def _budget(end: Fact, facts: Sequence[Fact]) -> MemoryBudget | None:
    signature = end.get("signature")
    if signature == "free-below-budget":
        return _refused(end)
    if signature == "kv-memory-found" and _near(end, facts, "kv-below-context", after=True) is not None:
        return None  # the line of the failure says the same and more
    if signature == "no-cache-blocks" and _near(end, facts, "kv-memory-found") is not None:
        return None
    told = _near(end, facts, "free-below-budget")
    summary = end if signature == "profiling-summary" else None
    total, assumed = _total(end, told, summary, facts)
    utilization = _utilization(end, told, summary, facts)
    asked = None if utilization is None else round(utilization * total, 2)
    loaded = _near(end, facts, "model-weights-size")
    weights = _number(summary, "weights") if summary is not None else _number(loaded, "gib")
    found = _found(end, facts)
    needed = _number(end, "need") if signature == "kv-below-context" else None
    expected = None if asked is None or weights is None else round(asked - weights, 2)
    gap = None if expected is None or found is None else round(expected - found, 2)
    launch = _launch(end, facts, "max_num_batched_tokens")
    return MemoryBudget(
        total_gib=total,
        total_assumed=assumed,
        utilization=utilization,
        asked_gib=asked,
        weights_gib=weights,
        expected_gib=expected,
        found_gib=found,
        gap_gib=gap,
        gap_share=None if gap is None or not asked else round(gap / asked, 3),
        weights_share=None if weights is None or not asked else round(weights / asked, 3),
        needed_gib=needed,
        would_fit=None if needed is None or expected is None else needed <= 0.8 * expected,
        batched_tokens=None if launch is None else _whole(launch.get("flag.max_num_batched_tokens")),
        process=_text(end.get("process")),
        where=end.where,
        order=end.order,
        time=end.time,
        source=end.source,
    )


def _refused(end: Fact) -> MemoryBudget | None:
    """The start-up check itself said how much was free and how much was asked for."""
    free, total, need = (_number(end, name) for name in ("free", "total", "need"))
    if free is None or total is None or not total:
        return None
    return MemoryBudget(
        total_gib=total,
        utilization=_number(end, "util"),
        asked_gib=need,
        free_gib=free,
        safe_utilization=max(0.0, math.floor((free / total - 0.01) * 100) / 100),
        process=_text(end.get("process")),
        where=end.where,
        order=end.order,
        time=end.time,
        source=end.source,
    )


def _total(end: Fact, told: Fact | None, summary: Fact | None, facts: Sequence[Fact]) -> tuple[float, bool]:
    for fact in (told, summary):
        value = _number(fact, "total")
        if value is not None:
            return value, False
    for fact in facts:
        value = _number(fact, "total_gib") if fact.kind == "memory" and fact.where.joins(end.where) else None
        if value is not None and value > 16:
            return value, False
    return SPARK_TOTAL_GIB, True


def _utilization(end: Fact, told: Fact | None, summary: Fact | None, facts: Sequence[Fact]) -> float | None:
    if _launch(end, facts, "kv_cache_memory_bytes") is not None:
        return None  # a fixed cache bypasses the budget
    for fact in (told, summary):
        value = _number(fact, "util")
        if value is not None:
            return value
    launch = _launch(end, facts, "gpu_memory_utilization")
    if launch is not None:
        value = _plain(launch.get("flag.gpu_memory_utilization"))
        return value if value is not None and 0 < value <= 1 else None
    for fact in facts:
        if fact.kind == "metrics" and fact.where.joins(end.where) and fact.get("gpu_memory_utilization") is not None:
            return _plain(fact.get("gpu_memory_utilization"))
    whole = [f for f in facts if f.kind == "launch" and f.where.joins(end.where) and f.get("engine") == "vllm"]
    if any(fact.get("partial") is not True and fact.get("model") for fact in whole):
        return DEFAULT_UTILIZATION
    return None


def _found(end: Fact, facts: Sequence[Fact]) -> float | None:
    signature = end.get("signature")
    if signature == "kv-memory-found":
        return _number(end, "gib")
    if signature == "kv-below-context":
        return _number(end, "have")
    return _number(end, "kv") if signature == "profiling-summary" else None


def _near(end: Fact, facts: Sequence[Fact], signature: str, *, after: bool = False) -> Fact | None:
    """The nearest line of a kind before (or after) another of the same process."""
    best: Fact | None = None
    for fact in facts:
        if fact.kind != "log" or fact.get("signature") != signature or not fact.where.joins(end.where):
            continue
        if None not in (fact.get("process"), end.get("process")) and fact.get("process") != end.get("process"):
            continue
        if (fact.order > end.order) is after and (best is None or (fact.order < best.order) is after):
            best = fact
    return best


def _launch(end: Fact, facts: Sequence[Fact], flag: str) -> Fact | None:
    """The launch that sets a flag: the last before the line, else any."""
    found = [f for f in facts if f.kind == "launch" and f.where.joins(end.where) and f.get(f"flag.{flag}") is not None]
    before = [fact for fact in found if fact.order <= end.order]
    if before:
        return before[-1]
    return found[0] if found else None


def _number(fact: Fact | None, name: str) -> float | None:
    return None if fact is None else _plain(fact.get(name))


def _plain(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
