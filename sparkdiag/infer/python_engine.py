"""The Python engine: an indexed forward chainer, stratum by stratum. Fallback, oracle's peer, and the hot path's choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import EngineError
from ..facts import Fact
from .chaining import Identity, conclude, identity, result
from .conditions import Memory, bindings, guards_hold
from .engine import ACTIVATION_BUDGET, Activation, Result
from .rules import Rule, Variant


class PythonEngine:
    """Fires every rule of a stratum until nothing new is derived, then goes on to the next.

    A rule is tried again only when a kind (or finding) that it speaks of has grown.
    """

    name = "python"

    def __init__(self, budget: int = ACTIVATION_BUDGET) -> None:
        self._strata: list[list[Rule]] = []
        self._budget = budget

    def load(self, rules: Sequence[Rule]) -> None:
        levels = sorted({rule.stratum for rule in rules})
        self._strata = [[rule for rule in rules if rule.stratum == level] for level in levels]

    def run(self, facts: Sequence[Fact]) -> Result:
        memory = Memory(facts)
        seen: set[Identity] = set()
        activations: dict[tuple[object, ...], Activation] = {}
        for rules in self._strata:
            todo = [rule for rule in rules if _possible(rule, memory)]
            recursive = {rule.concludes for rule in rules}
            while todo:
                grown: set[str] = set()
                for rule in todo:
                    for activation in self._fire(rule, memory):
                        key = (rule.id, activation.variant, *(id(fact) for _, fact in activation.bound))
                        if key in activations:
                            continue
                        activations[key] = activation
                        if len(activations) > self._budget:
                            raise EngineError(f"more than {self._budget} activations; the last rule was {rule.id}")
                        if identity(activation.derived) not in seen:
                            seen.add(identity(activation.derived))
                            memory.add(activation.derived)
                            grown.add(activation.derived.id)
                todo = [r for r in rules if grown & recursive and _speaks_of(r, grown) and _possible(r, memory)]
        return result(activations.values())

    def close(self) -> None:
        self._strata = []

    @staticmethod
    def _fire(rule: Rule, memory: Memory) -> Iterator[Activation]:
        for number, variant in enumerate(rule.when.variants):
            if not _variant_possible(variant, memory):
                continue
            for bound in list(bindings(variant, memory)):
                names = {pattern.alias: fact for pattern, fact in bound}
                if guards_hold(variant, memory, names, bound):
                    yield Activation(rule.id, number, bound, conclude(rule, bound))


def _variant_possible(variant: Variant, memory: Memory) -> bool:
    return all(pattern.count or memory.candidates(pattern) for pattern in variant.positive)


def _possible(rule: Rule, memory: Memory) -> bool:
    return any(_variant_possible(variant, memory) for variant in rule.when.variants)


def _speaks_of(rule: Rule, findings: set[str]) -> bool:
    """Whether a positive pattern of the rule can be filled by one of these findings."""
    for variant in rule.when.variants:
        for pattern in variant.positive:
            if pattern.kind == "finding":
                names = {test.operand for test in pattern.tests if test.field == "id" and test.op == "eq"}
                if not names or names & findings:
                    return True
    return False
