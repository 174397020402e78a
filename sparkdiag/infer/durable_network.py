"""Rules and facts as durable-rules' C core may see them: integers, equality with constants, presence. Nothing else.

What is left out here (orders, regular expressions, versions, other fields, places, counts, absence) is the guard's in
durable_engine. A network may let through what the guard then turns down; it never holds back what the guard would take.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from ..errors import EngineError
from ..facts import Fact, kind_class
from .chaining import Entry
from .memory import KEYS, Slot, slot_of
from .rules import Pattern

MAX_PATTERNS = 12
"""Of one rule. The core's own limit is 16."""
MAX_TESTS = 26
"""Of one pattern, the first of them that the core can do; the guard makes all of them."""
MAX_SIBLINGS = 60
"""Patterns that one fact may fill in one network: the core keeps them on a stack of 64."""
MAX_ROOTS = 500
"""Kinds and keyed kinds in one network: the core searches 512 places without end once they are full."""

MAX_ENTRIES = 32
"""Entries of one network: a network is made whole, for the first of them that a run needs."""

BOOT = 0
"""The kind of the boot fact. Real codes are greater."""
_OTHER = 1
"""Any value that no rule names."""

CoreTest = tuple[str, int | None]
"""An attribute with the code that it must have, or None where it must only be there."""
Shape = tuple[CoreTest, ...]


class Codes:
    """Constants of the rules as integers, by type and value: 1 is 1.0, but neither '1' nor True."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, object], int] = {}

    def give(self, sort: str, value: object) -> int:
        return self._codes.setdefault((sort, value), len(self._codes) + _OTHER + 1)

    def find(self, sort: str, value: object) -> int:
        return self._codes.get((sort, value), _OTHER)


def _sort(value: object) -> str:
    return "truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


@cache
def _scalar_fields(kind: str) -> frozenset[str]:
    """Fields that hold one plain value or None. Lists and what captures or options hold is the guard's."""
    plain = {"str", "int", "float", "bool", "None"}
    return frozenset(f.name for f in dataclasses.fields(kind_class(kind)) if {*str(f.type).split(" | ")} <= plain)


class Network:
    """One ruleset of the core: some of the entries of one stratum."""

    def __init__(self, codes: Codes) -> None:
        self.entries: list[Entry] = []
        self.shapes: dict[CoreTest, dict[Shape, int]] = {}
        """What the core tests of one fact, numbered; by the first test. Only of entries of several patterns."""
        self.fills: list[tuple[int, ...]] = []
        """For each of those entries the numbers of its patterns' shapes, in order."""
        self.width = 0
        """How many shapes there are."""
        self._codes = codes
        self._attributes: dict[str, dict[str, str]] = {}
        self._siblings: Counter[Slot] = Counter()
        self._most: Counter[str] = Counter()

    def takes(self, entry: Entry) -> bool:
        """Add an entry, unless the network would then be too wide for the core."""
        if len(self.entries) >= MAX_ENTRIES:
            return False
        more = Counter(entry.slots)
        if len(self._siblings.keys() | more.keys()) > MAX_ROOTS:
            return False
        for kind in {kind for kind, _ in more}:
            keyed = (self._siblings[s] + n for s, n in more.items() if s[0] == kind and s[1] is not None)
            most = max(*keyed, self._most[kind], 0)
            if self._siblings[kind, None] + more[kind, None] + most > MAX_SIBLINGS:
                return False
        for slot, number in more.items():
            self._siblings[slot] += number
            if slot[1] is not None:
                self._most[slot[0]] = max(self._most[slot[0]], self._siblings[slot])
        self.entries.append(entry)
        return True

    def definition(self) -> dict[str, object]:
        """The ruleset as the core reads it. Rules are named by their place: r0, r1 ..."""
        rules: dict[str, object] = {"_boot": {"all": [{"m": {"k": BOOT}}], "pri": 0}}
        self.shapes.clear()
        self.fills.clear()
        self.width = 0
        for place, entry in enumerate(self.entries):
            shapes = [self._shape(pattern) for pattern in entry.patterns]
            patterns = [
                {f"x{n}": {"$and": [{"$ex": {name: 1}} if code is None else {name: code} for name, code in shape]}}
                for n, shape in enumerate(shapes)
            ]
            rules[f"r{place}"] = {"all": patterns, "pri": 1, "dist": 1}
            if len(shapes) > 1:
                self.fills.append(tuple(self._number(shape) for shape in shapes))
        return rules

    def _number(self, shape: Shape) -> int:
        table = self.shapes.setdefault(shape[0], {})
        if shape not in table:
            table[shape] = self.width
            self.width += 1
        return table[shape]

    def _shape(self, pattern: Pattern) -> Shape:
        slot = slot_of(pattern)
        attributes = self._attributes.setdefault(pattern.kind, {})
        keyed = slot[1] is not None
        tests: set[CoreTest] = set()
        for test in pattern.tests:
            if test.field not in _scalar_fields(pattern.kind) or (keyed and test.field == KEYS[pattern.kind]):
                continue
            name = attributes.get(test.field) or f"p{len(attributes)}"
            if test.op == "eq" and isinstance(test.operand, (str, int, float)):
                tests.add((name, self._codes.give(_sort(test.operand), test.operand)))
            elif test.op == "present" and test.operand is True:
                tests.add((name, None))
            else:
                continue
            attributes[test.field] = name
        root = ("s", self._codes.give("key", slot)) if keyed else ("k", self._codes.give("kind", pattern.kind))
        return (root, *sorted(tests, key=str)[: MAX_TESTS - 1])

    def project(self, fact: Fact) -> dict[str, int]:
        """What the core sees of a fact: its kind, its key, and the fields that the network tests."""
        seen = {"k": self._codes.find("kind", fact.kind)}
        key = KEYS.get(fact.kind)
        if key is not None:
            seen["s"] = self._codes.find("key", (fact.kind, fact.get(key)))
        for field, name in self._attributes.get(fact.kind, {}).items():
            value = fact.get(field)
            if value is None:
                continue
            if not isinstance(value, (str, int, float)):
                raise EngineError(f"the field {field} of a {fact.kind} fact holds a {type(value).__name__}")
            seen[name] = self._codes.find(_sort(value), value)
        return seen

    def fitting(self, seen: dict[str, int]) -> Iterator[int]:
        """The numbers of the shapes that the core finds in a fact."""
        for name in ("k", "s"):
            for shape, number in self.shapes.get((name, seen.get(name)), {}).items():
                for attribute, code in shape:
                    if attribute not in seen if code is None else seen.get(attribute) != code:
                        break
                else:
                    yield number


def networks(entries: Iterable[Entry], codes: Codes) -> list[Network]:
    """The entries of one stratum, those that speak of the same kinds together, within the core's limits.

    A network is made when a run first needs it: most evidence is of few kinds.
    """
    made: dict[frozenset[str], list[Network]] = {}
    for entry in entries:
        if len(entry.patterns) > MAX_PATTERNS:
            much = f"{len(entry.patterns)} patterns; at most {MAX_PATTERNS} can be taken"
            raise EngineError(f"rule {entry.rule.id} has {much}")
        group = made.setdefault(frozenset(kind for kind, _ in entry.slots), [])
        if not any(network.takes(entry) for network in group):
            group.append(Network(codes))
            group[-1].takes(entry)  # at most MAX_PATTERNS siblings and roots: it fits
    return [network for group in made.values() for network in group]
