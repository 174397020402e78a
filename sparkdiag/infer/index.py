"""Which rules evidence can reach, told without making the rules: a case touches few of a rulebook's hundreds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .memory import Slot, slot_of
from .rules import Pattern, Rule

__all__ = ["Index"]

_Outline = Sequence[Any]
"""What a rule concludes; for each variant the numbers of the slots that its patterns bind facts of; those it counts."""


class Index:
    """The slots that each rule's positive patterns ask for, as JSON data, and the questions that they answer."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self._rules: Mapping[str, _Outline] = data["rules"]
        self._slots: dict[Slot, int] = {(kind, value): number for number, (kind, value) in enumerate(data["slots"])}
        self._asking: dict[int, list[str]] = {}
        self._concluding: dict[str, list[str]] = {}
        self._free: list[str] = []
        """Rules with a variant that binds nothing: they can fire on any evidence."""
        for rule, (concludes, variants, counted) in self._rules.items():
            self._concluding.setdefault(concludes, []).append(rule)
            asked = {*counted}.union(*variants)
            for number in asked:
                self._asking.setdefault(number, []).append(rule)
            if not all(variants):
                self._free.append(rule)

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> Index:
        """The index of rules, in their order."""
        slots: dict[Slot, int] = {}

        def numbers(patterns: Iterable[Pattern]) -> list[int]:
            return sorted({slots.setdefault(slot_of(p), len(slots)) for p in patterns})

        outlines = {}
        for rule in rules:
            variants = rule.when.variants
            bound = [numbers(p for p in variant.positive if not p.count) for variant in variants]
            counted = numbers(p for variant in variants for p in variant.positive if p.count)
            outlines[rule.id] = [rule.concludes, bound, counted]
        return cls({"slots": [list(slot) for slot in slots], "rules": outlines})

    def reachable(self, slots: Iterable[Slot]) -> set[str]:
        """Every rule that can fire where these slots hold facts, and those that can fire on what these derive."""
        held = {number for slot in slots if (number := self._slots.get(slot)) is not None}
        todo = [*self._free, *(rule for number in held for rule in self._asking.get(number, ()))]
        out: set[str] = set()
        while todo:
            rule = todo.pop()
            concludes, variants, _ = self._rules[rule]
            if rule in out or not any(held.issuperset(variant) for variant in variants):
                continue
            out.add(rule)
            for slot in (("finding", concludes), ("finding", None)):
                number = self._slots.get(slot)
                if number is not None and number not in held:
                    held.add(number)
                    todo += self._asking.get(number, ())
        return out

    def touched(self, slots: Iterable[Slot]) -> list[str]:
        """The rules of diagnoses that ask for a fact, or for a number of facts, of one of these slots; in order."""
        numbers = (self._slots.get(slot) for slot in slots)
        rules = {rule for number in numbers if number is not None for rule in self._asking.get(number, ())}
        return sorted(rule for rule in rules if "." in self._rules[rule][0])

    def concluding(self, name: str) -> Sequence[str]:
        """The rules that conclude a finding or a diagnosis, in order."""
        return self._concluding.get(name, ())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self.data == other.data

    __hash__ = None  # type: ignore[assignment]
