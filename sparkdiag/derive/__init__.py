"""Facts out of facts, by pure functions: budgets, sums and rates that no single piece of evidence states.

Add one: a function from all facts to new ones in a module here, and its lines in `_functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from ..facts import Fact

__all__ = ["derive"]

MIN_FACTS = 3
"""Facts that tell anything: what one alone implies is for the rules to say."""
WHOLE = frozenset(
    {
        "free-below-budget",
        "profiling-summary",
        "kv-below-context",
        "llama-bench-row",
        "spec-window",
        "sglang-decode",
        "bench-acceptance",
        "standing-still",
    }
)
"""Log lines that hold all figures of a sum by themselves."""


@cache
def _functions() -> tuple[Callable[[Sequence[Fact]], list[Fact]], ...]:
    """In this order, each over the observed facts and what those before it gave. Imported when they are needed."""
    from .clusters import cluster_launches, network_pins
    from .image_age import image_age
    from .model_names import model_names
    from .pair import differences
    from .stalls import compile_stalls, standing_requests
    from .sums import sums

    return model_names, image_age, cluster_launches, network_pins, compile_stalls, standing_requests, differences, sums


def _tells_no_sum(fact: Fact) -> bool:
    return fact.kind == "engine" or (fact.kind == "log" and fact.get("signature") not in WHOLE)


def derive(facts: Sequence[Fact]) -> list[Fact]:
    """All derived facts of a case."""
    told = [fact for fact in facts if fact.kind != "looked"]
    if len(told) < MIN_FACTS and all(map(_tells_no_sum, told)):
        return []
    out: list[Fact] = []
    for function in _functions():
        out += function([*facts, *out])
    return out
