"""Memory budgets, tenancy, drafting and rooflines: made where the evidence holds their figures, imported only then."""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import Fact

__all__ = ["sums"]

_BUDGET = frozenset(
    {"kv-memory-found", "no-cache-blocks", "kv-below-context", "free-below-budget", "profiling-summary"}
)
_WINDOWS = frozenset({"spec-window", "sglang-decode", "bench-acceptance"})
_SPEEDS = frozenset(
    {
        "throughput-window",
        "sglang-decode",
        "measured-speed",
        "measured-interval",
        "llama-bench-row",
        "speed-told",
        "speed-said",
    }
)


def sums(facts: Sequence[Fact]) -> list[Fact]:
    """All sums over the facts of a case."""
    signatures = {fact.get("signature") for fact in facts if fact.kind == "log"}
    kinds = {fact.kind for fact in facts}
    out: list[Fact] = []
    if signatures & _BUDGET:
        from .memory import memory_budgets

        out += memory_budgets(facts)
    if signatures & _WINDOWS or kinds & {"drafter", "bench"} or any(_drafts(fact) for fact in facts):
        from .speculation import drafting

        out += drafting(facts)
    if kinds & {"process", "container"} or sum(fact.kind == "launch" for fact in facts) > 1:
        from .tenancy import tenancies

        out += tenancies(facts)
    if (
        signatures & _SPEEDS
        or "bench" in kinds
        or any(fact.kind == "http" and _slow(fact.get("seconds")) for fact in facts)
    ):
        from .roofline import rooflines

        out += rooflines(facts)
    if "bench" in kinds:
        from .bench import bench_compared

        out += bench_compared([*facts, *out])
    return out


def _drafts(fact: Fact) -> bool:
    if fact.kind == "launch":
        return fact.get("flag.speculative_config.model") is not None
    return fact.kind == "metrics" and bool(fact.get("draft_tokens"))


def _slow(seconds: object) -> bool:
    return isinstance(seconds, (int, float)) and seconds >= 2
