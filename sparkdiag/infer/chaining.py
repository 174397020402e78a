"""What both engines share: which rules can be filled, what they derive, rounds, and the order of results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..errors import EngineError
from ..facts import NOWHERE, Fact, Finding, Scalar, Value, Where
from ..records import dataclass
from .engine import Activation, Result
from .memory import KEYS, Memory, Slot, slot_of
from .rules import Pattern, Rule, Variant

Bound = Sequence[tuple[Pattern, Fact]]
Identity = tuple[str, Where, int, float | None, str | None]


def conclude(rule: Rule, bound: Bound) -> Finding:
    """The finding that a rule derives from the facts bound: it holds where they hold, and from the last of them on."""
    where: Where = NOWHERE
    order = 0
    time: float | None = None
    source = bound[0][1].source if bound else None
    clocks = {fact.clock for _, fact in bound if fact.time is not None}
    for pattern, fact in bound:
        if "node" not in pattern.across:
            where = where.merged(replace(fact.where, run=None) if pattern.across else fact.where)
        order = max(order, fact.order)
        if fact.time is not None and len(clocks) == 1:
            time = fact.time if time is None else max(time, fact.time)
    if source is None:
        return Finding(id=rule.concludes, rule=rule.id)
    clock = next(iter(clocks)) if time is not None else None
    return Finding(id=rule.concludes, rule=rule.id, where=where, source=source, order=order, time=time, clock=clock)


def identity(finding: Finding) -> Identity:
    """Two findings with this in common are one."""
    return finding.id, finding.where, finding.order, finding.time, finding.clock


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One variant of one rule: what an engine fires."""

    rule: Rule
    number: int
    variant: Variant
    patterns: tuple[Pattern, ...]
    """Those that bind a fact."""
    slots: tuple[Slot, ...]
    """Where the facts for them are found, in the same order."""


class Agenda:
    """The entries of one stratum, found by what is in memory: most rules are never looked at."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.entries: list[Entry] = []
        self.unbound: list[Entry] = []
        """Entries that bind nothing: they count, or ask for absence, and fire at most once."""
        self._by_trigger: dict[Slot, list[Entry]] = {}
        self._by_value: dict[Slot, dict[str, dict[_Value, list[Entry]]]] = {}
        """Those whose trigger wants a field to have one value: by that field and value."""
        self._by_finding: dict[Slot, list[Entry]] = {}
        for rule in rules:
            for number, variant in enumerate(rule.when.variants):
                patterns = tuple(p for p in variant.positive if not p.count)
                entry = Entry(rule, number, variant, patterns, tuple(slot_of(p) for p in patterns))
                if not patterns:
                    self.unbound.append(entry)
                    continue
                self.entries.append(entry)
                place = next((n for n, slot in enumerate(entry.slots) if slot[1] is not None), 0)
                wanted, trigger = _wanted(patterns[place]), entry.slots[place]
                if wanted is None:
                    self._by_trigger.setdefault(trigger, []).append(entry)
                else:
                    field, value = wanted
                    by_field = self._by_value.setdefault(trigger, {})
                    by_field.setdefault(field, {}).setdefault(value, []).append(entry)
                for slot in dict.fromkeys(slot for slot in entry.slots if slot[0] == "finding"):
                    self._by_finding.setdefault(slot, []).append(entry)

    def ready(self, memory: Memory) -> Iterator[Entry]:
        """The entries of which every pattern has a fact that passes what it asks of that fact alone."""
        for slot in list(memory.slots()):
            yield from (entry for entry in self._by_trigger.get(slot, ()) if _filled(entry, memory))
            for field, by_value in self._by_value.get(slot, {}).items():
                held = (value for fact in memory.in_slot(slot) for value in _values(fact.get(field)))
                for value in dict.fromkeys(held):
                    yield from (entry for entry in by_value.get(value, ()) if _filled(entry, memory))

    def grown(self, findings: Sequence[Finding], memory: Memory) -> Iterator[Entry]:
        """The ready entries among those that speak of these findings."""
        slots: list[Slot] = [*(("finding", name) for name in dict.fromkeys(f.id for f in findings)), ("finding", None)]
        touched = {id(entry): entry for slot in slots for entry in self._by_finding.get(slot, ())}
        return (entry for entry in touched.values() if _filled(entry, memory))


_Value = tuple[bool, Scalar]
"""A value, and whether it is a truth value: comparisons keep True apart from 1."""


def _wanted(pattern: Pattern) -> tuple[str, _Value] | None:
    """A field that a pattern wants to have one value, beside the key that its slot stands for."""
    for test in pattern.tests:
        if test.op == "eq" and isinstance(test.operand, (str, int, float)) and test.field != KEYS.get(pattern.kind):
            return test.field, (isinstance(test.operand, bool), test.operand)
    return None


def _values(value: Value) -> Iterable[_Value]:
    """What a field is equal to: its value, or each item of a list."""
    if value is None:
        return ()
    items = value if isinstance(value, tuple) else (value,)
    return ((isinstance(item, bool), item) for item in items)


def _filled(entry: Entry, memory: Memory) -> bool:
    for slot in entry.slots:
        if not memory.in_slot(slot):
            return False
    for pattern in entry.patterns:  # noqa: SIM110 - run for most rules of a rulebook
        if not memory.alpha(pattern).facts:
            return False
    return True


class Run:
    """One run of an engine: the memory as it grows, round by round.

    All activations of a round rest on what was known when it began, and are taken up in a fixed order. So which of
    several equal findings becomes the fact that others rest on does not depend on the order of firing.
    """

    def __init__(self, facts: Sequence[Fact], budget: int) -> None:
        self.memory = Memory(facts)
        self._budget = self._left = budget
        self._place = {id(fact): place for place, fact in reversed(list(enumerate(facts)))}
        self._known = {identity(fact) for fact in facts if isinstance(fact, Finding)}
        self._keys: set[tuple[object, ...]] = set()
        self._round: list[Activation] = []
        self._activations: list[Activation] = []
        self._derived: list[Finding] = []

    def new_stratum(self) -> None:
        """Each stratum has the whole budget: a rule gone wild below does not silence those above."""
        self._left = self._budget

    def take(self, entry: Entry, facts: Sequence[Fact]) -> None:
        """An activation whose conditions hold. Once is enough."""
        key = (entry.rule.id, entry.number, *map(id, facts))
        if key in self._keys:
            return
        if not self._left:
            raise BudgetError(f"more than {self._budget} activations; the last rule was {entry.rule.id}")
        self._left -= 1
        self._keys.add(key)
        bound = tuple(zip(entry.patterns, facts, strict=True))
        self._round.append(Activation(entry.rule.id, entry.number, bound, conclude(entry.rule, bound)))

    def end_round(self) -> list[Finding]:
        """Take up what the round derived; returns the findings that are new."""
        new = []
        for activation in sorted(self._round, key=self._order):
            finding = activation.derived
            if identity(finding) not in self._known:
                self._known.add(identity(finding))
                self._place[id(finding)] = len(self._place)
                self.memory.add(finding)
                new.append(finding)
        self._activations += self._round
        self._derived += new
        self._round = []
        return new

    def result(self, notes: Sequence[str] = ()) -> Result:
        found = sorted(self._derived, key=lambda f: (f.id, tuple(p or "" for p in f.where.as_tuple()), f.order))
        return Result(tuple(found), tuple(sorted(self._activations, key=self._order)), tuple(notes))

    def _order(self, activation: Activation) -> tuple[object, ...]:
        places = tuple((fact.order, self._place[id(fact)]) for _, fact in activation.bound)
        return activation.rule, activation.variant, places


class BudgetError(EngineError):
    """A run made more activations than any sane case does."""
