"""The facts of a run, as patterns look for them: by kind, by a key, and those that pass a pattern's own tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..facts import Fact, Scalar, Value
from .comparisons import OPERATORS, Binding, holds
from .rules import FieldRef, Pattern, Test, Variant

__all__ = ["KEYS", "Alpha", "Memory", "Plan", "Slot", "plan_of", "slot_of", "slots_of"]

KEYS = {"finding": "id", "log": "signature", "looked": "probe"}
"""The discriminating field of kinds with many facts."""

Slot = tuple[str, Scalar | None]
"""A kind, with the value of its discriminating field where a pattern asks for one."""


def slots_of(facts: Iterable[Fact]) -> set[Slot]:
    """All slots that these facts stand in: Memory.slots without the memory."""
    out: set[Slot] = set()
    for fact in facts:
        out.add((fact.kind, None))
        key = KEYS.get(fact.kind)
        value = None if key is None else fact.get(key)
        if isinstance(value, (str, int, float)):
            out.add((fact.kind, value))
    return out


def slot_of(pattern: Pattern) -> Slot:
    """Where the facts that can fill a pattern are found."""
    key = KEYS.get(pattern.kind)
    if key is not None:
        for test in pattern.tests:
            if test.field == key and test.op == "eq" and isinstance(test.operand, (str, int, float)):
                return pattern.kind, test.operand
    return pattern.kind, None


class Plan:
    """A pattern as a memory works with it, made once for all runs."""

    __slots__ = ("alone", "rest", "slot")

    def __init__(self, pattern: Pattern) -> None:
        self.slot = slot_of(pattern)
        refers = [isinstance(test.operand, FieldRef) and test.operand.alias is not None for test in pattern.tests]
        self.alone = tuple(_passes(test) for test, other in zip(pattern.tests, refers, strict=True) if not other)
        """What a fact must pass by itself."""
        self.rest = tuple(test for test, other in zip(pattern.tests, refers, strict=True) if other)
        """The tests that speak of another pattern's fact."""


def plan_of(pattern: Pattern) -> Plan:
    """The pattern's plan, which it keeps."""
    if pattern.plan is None:
        object.__setattr__(pattern, "plan", Plan(pattern))
    assert pattern.plan is not None
    return pattern.plan


def _passes(test: Test) -> Callable[[Fact], bool]:
    """Whether a test holds of one fact alone: comparisons.holds, with what never changes looked up beforehand."""
    field, operand = test.field, test.operand
    if test.op == "present" or isinstance(operand, FieldRef):
        return lambda fact: holds(test, fact, _NOTHING) is True
    compare = OPERATORS[test.op]

    def passes(fact: Fact) -> bool:
        value = fact.get(field)
        return value is not None and compare(value, operand)

    return passes


_NOTHING: Binding = {}


class Memory:
    """Facts by kind, with the probes that ran. Findings are indexed by their id as well."""

    def __init__(self, facts: Sequence[Fact] = ()) -> None:
        self.by_kind: dict[str, list[Fact]] = {}
        self.cut: dict[int, Variant] = {}
        """Variants, by identity, of which not all combinations of facts were tried: there were too many."""
        self._by_key: dict[tuple[str, Value], list[Fact]] = {}
        self._alpha: dict[int, Alpha] = {}
        self._watched: dict[str, list[Alpha]] = {}
        self.looked: set[str] = set()
        for fact in facts:
            self.add(fact)

    def add(self, fact: Fact) -> None:
        self.by_kind.setdefault(fact.kind, []).append(fact)
        if fact.kind == "looked":
            self.looked.add(str(fact.get("probe")))
        key = KEYS.get(fact.kind)
        if key is not None:
            self._by_key.setdefault((fact.kind, fact.get(key)), []).append(fact)
        for alpha in self._watched.get(fact.kind, ()):
            if alpha.passes(fact):
                alpha.facts.append(fact)

    def slots(self) -> Iterator[Slot]:
        """All slots that hold a fact."""
        yield from ((kind, None) for kind in self.by_kind)
        for kind, value in self._by_key:
            if isinstance(value, (str, int, float)):
                yield kind, value

    def in_slot(self, slot: Slot) -> Sequence[Fact]:
        """The facts of a kind, or those of them with one value of its discriminating field."""
        kind, value = slot
        return self.by_kind.get(kind, ()) if value is None else self._by_key.get((kind, value), ())

    def alpha(self, pattern: Pattern) -> Alpha:
        """The facts that pass a pattern's tests so far as these speak of one fact alone; tried once for each fact."""
        known = self._alpha.get(id(pattern))
        if known is None:
            plan = plan_of(pattern)
            known = self._alpha[id(pattern)] = Alpha(pattern, plan, self.in_slot(plan.slot))
            self._watched.setdefault(pattern.kind, []).append(known)
        return known


class Alpha:
    """One pattern's facts in a memory: those that pass the tests which speak of no other pattern's fact."""

    __slots__ = ("_alone", "facts", "pattern", "rest")

    def __init__(self, pattern: Pattern, plan: Plan, candidates: Sequence[Fact]) -> None:
        self.pattern = pattern  # also keeps it alive: memories know patterns by identity
        self.rest = plan.rest
        """The tests that are left."""
        self._alone = plan.alone
        self.facts = [fact for fact in candidates if self.passes(fact)] if candidates else []

    def passes(self, fact: Fact) -> bool:
        for passes in self._alone:  # noqa: SIM110 - most of a run's time goes here
            if not passes(fact):
                return False
        return True
