"""Which conditions of which rules the fixtures show true, and which false.

`python -m tests.conditions` prints those never seen so, as tests/conditions_not_seen.txt lists them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from sparkdiag.advise.lint import lint_case
from sparkdiag.case import Case, judge
from sparkdiag.infer import Rulebook, shipped
from sparkdiag.infer.conditions import condition_holds, describe, explain_variant
from sparkdiag.infer.engine import Activation
from sparkdiag.infer.memory import Memory
from sparkdiag.infer.rules import Pattern, Rule, Variant
from sparkdiag.observe.context import context_facts
from sparkdiag.observe.exchanges import Exchange, observe_exchange
from sparkdiag.observe.pieces import observe_pieces
from sparkdiag.observe.transcript import read_texts
from sparkdiag.run import replay
from tests.corpus import captures, exchange_of, exchanges, logs, rule_fixtures, servers
from tests.lint_corpus import documents_of, engines_of, setups


def cases() -> Iterator[Case]:
    """All labelled evidence, judged with the simplest engine."""
    for labelled in (*rule_fixtures(), *logs()):
        yield text_case(labelled.text)
    for recording in exchanges():
        exchange = Exchange(**exchange_of(json.loads(recording.text)))
        yield judge(lambda book, exchange=exchange: observe_exchange(exchange), rule_engine="python")  # type: ignore[misc]
    for folder in (*captures(), *servers()):
        yield replay(str(folder.path), rule_engine="python")
    for setup in setups():
        yield lint_case(documents_of(setup.path), engines=engines_of(setup.path), rule_engine="python")
    yield judge(lambda book: context_facts({"engine": "lmdeploy"}), rule_engine="python")  # what only a caller can tell


def text_case(*texts: str) -> Case:
    """What diagnose_text judges, with everything that led there, and with the simplest engine."""
    named = [(f"input {number}", text) for number, text in enumerate(texts, 1)]
    return judge(lambda book: observe_pieces(read_texts(named), tuple(book.signatures.values())), rule_engine="python")


@dataclass(frozen=True)
class Part:
    """One pattern of one variant of a rule, in words that tell it apart."""

    pattern: Pattern
    negated: bool
    words: str

    def may_be(self, state: str, memory: Memory) -> bool:
        """A cheap look: whether the evidence could show the part in this state."""
        if (state == "true") != self.negated:
            return bool(self.pattern.count or memory.alpha(self.pattern).facts)
        return self.negated or self.pattern.probe in memory.looked


class SeenOfRule:
    """The states, `true` and `false`, in which each condition of a rule was seen."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.fired = False
        self.variants = [(variant, _parts(variant)) for variant in rule.when.variants]
        self.states: dict[str, set[str]] = {part.words: set() for _, parts in self.variants for part in parts}
        self.shifts = [
            (f"{what} {n}", c) for what in ("supports", "weakens") for n, c in enumerate(getattr(rule, what), 1)
        ]
        self.states |= {words: set() for words, _ in self.shifts}

    def look(self, memory: Memory) -> None:
        for variant, parts in self.variants:
            if any(
                part.may_be(state, memory) for part in parts for state in {"true", "false"} - self.states[part.words]
            ):
                for part, answer in zip(parts, explain_variant(variant, memory), strict=True):
                    self.states[part.words] |= {answer.state} - {"unknown"}

    def look_at(self, activation: Activation, memory: Memory) -> None:
        self.fired = True
        names = {pattern.alias: fact for pattern, fact in activation.bound}
        for words, condition in self.shifts:
            holds = condition_holds(condition, memory, names, activation.bound) is not None
            self.states[words].add("true" if holds else "false")


class Seen:
    """What was seen of every condition of every rule."""

    def __init__(self, book: Rulebook) -> None:
        self.book = book
        self.by_rule = {rule.id: SeenOfRule(rule) for rule in book.rules}

    def add(self, case: Case) -> None:
        memory = case.inference.memory
        for seen in self.by_rule.values():
            seen.look(memory)
        for activation in case.inference.result.activations:
            self.by_rule[activation.rule].look_at(activation, memory)

    def silent(self) -> list[str]:
        """Rules that conclude a diagnosis, and that no fixture makes fire."""
        diagnoses = self.book.diagnoses
        return [name for name, seen in self.by_rule.items() if seen.rule.concludes in diagnoses and not seen.fired]

    def missing(self) -> list[str]:
        """One line for each silent rule, and for each condition and state that no fixture shows."""
        return [f"{rule}: never fires" for rule in self.silent()] + sorted(
            f"{name}: {words}: never {state}"
            for name, seen in self.by_rule.items()
            for words, states in seen.states.items()
            for state in ("true", "false")
            if state not in states
        )


def _parts(variant: Variant) -> list[Part]:
    """In the order in which explain_variant answers."""
    ordered = [p for p in variant.positive if not p.count] + [p for p in variant.positive if p.count]
    parts = [Part(pattern, False, describe(pattern)) for pattern in ordered]
    parts += [Part(pattern, True, f"none {describe(pattern)}") for pattern in variant.none]
    return parts + [Part(pattern, True, f"absent {describe(pattern)}") for pattern in variant.absent]


@cache
def look_at_all() -> Seen:
    seen = Seen(shipped())
    for case in cases():
        seen.add(case)
    return seen


if __name__ == "__main__":
    for line in look_at_all().missing():
        print(line)
