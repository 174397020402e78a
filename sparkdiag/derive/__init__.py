"""Facts out of facts, by pure functions: budgets, sums and rates that no single piece of evidence states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..facts import Fact
from .clusters import cluster_launches, network_pins
from .image_age import image_age
from .model_names import model_names
from .pair import differences
from .stalls import compile_stalls
from .sums import sums

__all__ = ["derive"]

_FUNCTIONS: tuple[Callable[[Sequence[Fact]], list[Fact]], ...] = (
    model_names,
    image_age,
    cluster_launches,
    network_pins,
    compile_stalls,
    differences,
    sums,
)
"""Run in this order, each over the observed facts and what those before it gave."""


def derive(facts: Sequence[Fact]) -> list[Fact]:
    """All derived facts of a case."""
    out: list[Fact] = []
    for function in _FUNCTIONS:
        out += function([*facts, *out])
    return out
