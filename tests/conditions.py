"""Which conditions of which rules the fixtures show true, and which false.

`python -m tests.conditions` prints those never seen so, as tests/conditions_not_seen.txt lists them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from sparkdiag.case import Case, judge
from sparkdiag.infer import Rulebook, shipped
from sparkdiag.infer.conditions import Memory, condition_holds, describe, explain_variant
from sparkdiag.infer.rules import Pattern, Rule, Variant
from sparkdiag.observe.exchanges import Exchange, observe_exchange
from sparkdiag.observe.pieces import observe_pieces
from sparkdiag.observe.transcript import read_text
from sparkdiag.run import replay
from tests.corpus import captures, exchange_of, exchanges, logs, rule_fixtures, servers


def cases() -> Iterator[Case]:
    """All labelled evidence, judged with the simplest engine."""
    for labelled in (*rule_fixtures(), *logs()):
        yield text_case(labelled.text)
    for recording in exchanges():
        exchange = Exchange(**exchange_of(json.loads(recording.text)))
        yield judge(lambda book, exchange=exchange: observe_exchange(exchange), rule_engine="python")  # type: ignore[misc]
    for folder in (*captures(), *servers()):
        yield replay(str(folder.path), rule_engine="python")


def text_case(text: str) -> Case:
    return judge(lambda book: observe_pieces(read_text(text), tuple(book.signatures.values())), rule_engine="python")


@dataclass
class Seen:
    """What was seen of every condition: a set of `true` and `false` for each, by rule and words."""

    book: Rulebook
    by_rule: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    fired: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for rule in self.book.rules:
            words = [name for variant in rule.when.variants for _, name in _parts(variant)]
            words += [f"{what} {number}" for what in ("supports", "weakens") for number in _numbers(rule, what)]
            self.by_rule[rule.id] = {name: set() for name in words}

    def add(self, case: Case) -> None:
        memory = case.inference.memory
        for activation in case.inference.result.activations:
            self.fired.add(activation.rule)
        for rule in self.book.rules:
            if not all(states == {"true", "false"} for states in self.by_rule[rule.id].values()):
                self._look(rule, case, memory)

    def _look(self, rule: Rule, case: Case, memory: Memory) -> None:
        seen = self.by_rule[rule.id]
        for variant in rule.when.variants:
            for (_, name), answer in zip(_parts(variant), explain_variant(variant, memory), strict=True):
                seen[name].add(answer.state)
                seen[name].discard("unknown")
        for activation in case.inference.result.activations:
            if activation.rule != rule.id:
                continue
            names = {pattern.alias: fact for pattern, fact in activation.bound}
            for what in ("supports", "weakens"):
                for number, condition in zip(_numbers(rule, what), getattr(rule, what), strict=True):
                    holds = condition_holds(condition, memory, names, activation.bound) is not None
                    seen[f"{what} {number}"].add("true" if holds else "false")

    def silent(self) -> list[str]:
        """Rules that conclude a diagnosis, and that no fixture makes fire."""
        return [r.id for r in self.book.rules if r.concludes in self.book.diagnoses and r.id not in self.fired]

    def missing(self) -> list[str]:
        """One line for each silent rule, and for each condition and state that no fixture shows."""
        return [f"{rule}: never fires" for rule in self.silent()] + sorted(
            f"{rule}: {name}: never {state}"
            for rule, conditions in self.by_rule.items()
            for name, states in conditions.items()
            for state in ("true", "false")
            if state not in states
        )


def _numbers(rule: Rule, what: str) -> range:
    return range(1, len(getattr(rule, what)) + 1)


def _parts(variant: Variant) -> list[tuple[Pattern, str]]:
    """The patterns in the order in which explain_variant answers, with words that tell them apart."""
    ordered = [p for p in variant.positive if not p.count] + [p for p in variant.positive if p.count]
    parts = [("", pattern) for pattern in ordered]
    parts += [("none ", pattern) for pattern in variant.none] + [("absent ", pattern) for pattern in variant.absent]
    return [(pattern, what + describe(pattern)) for what, pattern in parts]


@cache
def look_at_all() -> Seen:
    seen = Seen(shipped())
    for case in cases():
        seen.add(case)
    return seen


if __name__ == "__main__":
    print("\n".join(look_at_all().missing()))
