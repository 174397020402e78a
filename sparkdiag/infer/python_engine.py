"""The Python engine: an indexed forward chainer, stratum by stratum. Fallback, and the hot path's choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..facts import Fact
from .chaining import Agenda, BudgetError, Entry, Run
from .conditions import bindings, guards_hold
from .engine import ACTIVATION_BUDGET, Result
from .rules import Rule


class PythonEngine:
    """Fires every rule of a stratum until nothing new is derived, then goes on to the next.

    A rule is tried only when every pattern has a fact, and again only when a finding that it speaks of has come.
    It never fails: where the evidence is too much, it leaves the rest out, and its result says so.
    """

    name = "python"

    def __init__(self, budget: int = ACTIVATION_BUDGET) -> None:
        self._strata: list[Agenda] = []
        self._budget = budget

    def load(self, rules: Sequence[Rule]) -> None:
        levels = sorted({rule.stratum for rule in rules})
        self._strata = [Agenda([rule for rule in rules if rule.stratum == level]) for level in levels]

    def run(self, facts: Sequence[Fact]) -> Result:
        run = Run(facts, self._budget)
        notes: list[str] = []
        for agenda in self._strata:
            run.new_stratum()
            try:
                self._fire([*agenda.unbound, *agenda.ready(run.memory)], run)
                while new := run.end_round():
                    self._fire(agenda.grown(new, run.memory), run)
            except BudgetError as error:
                run.end_round()
                notes.append(f"{error}; not all rules were tried on all facts")
        if run.memory.cut:
            entries = (entry for agenda in self._strata for entry in agenda.entries)
            cut = sorted({entry.rule.id for entry in entries if id(entry.variant) in run.memory.cut})
            notes += [f"rule {rule}: too many combinations of facts to try; the rest was left out" for rule in cut]
        return run.result(notes)

    def close(self) -> None:
        self._strata = []

    @staticmethod
    def _fire(entries: Iterable[Entry], run: Run) -> None:
        """Rules with few facts first: where the budget ends, it ends on those that use it up."""
        memory = run.memory
        for entry in sorted(entries, key=lambda e: max((len(memory.alpha(p).facts) for p in e.patterns), default=0)):
            for bound in bindings(entry.variant, memory):
                names = {pattern.alias: fact for pattern, fact in bound}
                if guards_hold(entry.variant, memory, names, bound):
                    run.take(entry, [fact for _, fact in bound])
