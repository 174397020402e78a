"""The one interface of rule engines, and what a run returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..facts import Fact, Finding
from ..records import dataclass
from .rules import Pattern, Rule

ACTIVATION_BUDGET = 20_000
"""Activations in one stratum after which it is given up: a rulebook or evidence gone wild, never a normal case."""


@dataclass(frozen=True, slots=True)
class Activation:
    """One rule that fired once: which variant, on which facts, and what it derived."""

    rule: str
    variant: int
    bound: tuple[tuple[Pattern, Fact], ...]
    derived: Finding


@dataclass(frozen=True, slots=True)
class Result:
    """What a run derived. Sorted; firing order is no part of it."""

    derived: tuple[Finding, ...]
    activations: tuple[Activation, ...]
    notes: tuple[str, ...] = ()
    """Sentences on what was left undone because the evidence was too much."""


class Runner(Protocol):
    """A forward chainer that has its rules."""

    name: str

    def run(self, facts: Sequence[Fact]) -> Result:
        """The closure of the facts under the rules. EngineError if the run cannot be finished."""


class Engine(Runner, Protocol):
    """A forward chainer: rules go in once, facts as often as wanted."""

    def load(self, rules: Sequence[Rule]) -> None:
        """Take the rules, with their strata. EngineError if they cannot be taken."""

    def close(self) -> None:
        """Give back what load took."""
