"""The engine on durable-rules: its C core as a matcher, driven through the part of it that can be trusted.

The core's documented interface crashes, hangs and errs on ordinary input, so none of it is used: no host, no events, no
negation, no joins, no regular expressions. The core holds facts as integers (durable_network), offers combinations of
them, and a guard here tests every combination whole, with the functions that the Python engine uses.
"""

from __future__ import annotations

import itertools
import json
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence

import durable_rules_engine as core

from ..errors import EngineError
from ..facts import Fact
from .chaining import Agenda, Entry, Run
from .comparisons import accepts
from .conditions import guards_hold, in_order, joins
from .durable_network import BOOT, Codes, Network, networks
from .engine import ACTIVATION_BUDGET, Result
from .rules import Pattern, Rule

MAX_COMBINATIONS = 50_000
"""Combinations that the core may have to keep for one network; each takes half a kilobyte of memory."""

AT_A_TIME = 50
"""Facts asserted in one call: the core holds Python's global lock inside."""

_DUPLICATE = 2


class DurableEngine:
    """Each (rule, variant) that binds facts is one rule of the core; each stratum one ruleset, or several.

    Variants that bind nothing (only counts, none, absent) are the guard's alone, tried once per stratum: the core would
    have nothing to match. A ruleset is made when a run first needs it. One run at a time; other threads wait.
    """

    name = "durable"

    def __init__(self, budget: int = ACTIVATION_BUDGET, expired: Callable[[], bool] | None = None) -> None:
        """`expired` is the caller's clock: asked between calls of the core, True ends the run with an EngineError."""
        self._budget = budget
        self._expired = expired or _never
        self._lock = threading.Lock()
        self._strata: list[_Stratum] = []
        self._handles: dict[Network, int] = {}
        self._sessions = itertools.count()
        self._free = weakref.finalize(self, _delete, self._handles)
        self._free.atexit = False

    def load(self, rules: Sequence[Rule]) -> None:
        with self._lock:
            _delete(self._handles)
        codes = Codes()
        levels = sorted({rule.stratum for rule in rules})
        self._strata = [_Stratum([rule for rule in rules if rule.stratum == level], codes) for level in levels]

    def run(self, facts: Sequence[Fact]) -> Result:
        with self._lock:
            if not self._free.alive:
                raise EngineError("the engine is closed")
            run = Run(facts, self._budget)
            for stratum in self._strata:
                run.new_stratum()
                self._run_stratum(stratum, run)
            return run.result()

    def close(self) -> None:
        """Give back what the core holds. The engine is of no use afterwards."""
        with self._lock:
            self._free()

    def _run_stratum(self, stratum: _Stratum, run: Run) -> None:
        memory = run.memory
        sessions: dict[Network, _Session] = {}
        for entry in stratum.agenda.unbound:
            if guards_hold(entry.variant, memory, {}, ()):
                run.take(entry, ())
        try:
            ready = list(stratum.agenda.ready(memory))
            while True:
                for entry in ready:
                    network = stratum.home[id(entry)]
                    if network not in sessions:
                        sessions[network] = self._session(network)
                    for pattern in entry.patterns:
                        sessions[network].want(memory.alpha(pattern).facts)
                for session in sessions.values():
                    session.assert_wanted()
                    for entry, found in session.fire():
                        if _guard(entry, found, run):
                            run.take(entry, found)
                new = run.end_round()
                if not new:
                    return
                ready = list(stratum.agenda.grown(new, memory))
        except core.error as error:
            raise EngineError(f"durable-rules: {error}") from error
        finally:
            for session in sessions.values():
                session.close()

    def _session(self, network: Network) -> _Session:
        handle = self._handles.get(network)
        if handle is None:
            handle = self._handles[network] = core.create_ruleset("rules", json.dumps(network.definition()))
        return _Session(network, handle, f"d{next(self._sessions)}", self._expired)


class _Stratum:
    def __init__(self, rules: Sequence[Rule], codes: Codes) -> None:
        self.agenda = Agenda(rules)
        made = networks(self.agenda.entries, codes)
        self.home = {id(entry): network for network in made for entry in network.entries}


class _Session:
    """The working memory of one network in one run."""

    def __init__(self, network: Network, handle: int, sid: str, expired: Callable[[], bool]) -> None:
        self._network, self._handle, self._sid, self._expired = network, handle, sid, expired
        self._facts: list[Fact] = []
        self._known: set[int] = set()
        self._wanted: list[Fact] = []
        self._numbers = [0] * network.width
        # A first activation, before anything else: else delete_state would free what was never allocated.
        result, self._state = core.assert_fact(handle, f'{{"id":"b","sid":"{sid}","k":{BOOT}}}')
        if (
            core.start_action_for_state(handle, self._state) is None
            or core.complete_and_start_action(handle, self._state) is not None
        ):
            raise EngineError(f"durable-rules did not start ({result})")

    def want(self, facts: Sequence[Fact]) -> None:
        """Facts that some rule may use; those that none can use never reach the core."""
        for fact in facts:
            if id(fact) not in self._known:
                self._known.add(id(fact))
                self._wanted.append(fact)

    def assert_wanted(self) -> None:
        rows = []
        for fact in self._wanted:
            seen = self._network.project(fact)
            for number in self._network.fitting(seen):
                self._numbers[number] += 1
            pairs = "".join(f',"{name}":{code}' for name, code in seen.items())
            rows.append(f'{{"id":"f{len(self._facts)}","sid":"{self._sid}"{pairs}}}')
            self._facts.append(fact)
        self._wanted = []
        self._check_combinations()
        for start in range(0, len(rows), AT_A_TIME):  # never an empty list: the core would crash
            if self._expired():
                raise EngineError("out of time")
            result, state = core.assert_facts(self._handle, f"[{','.join(rows[start : start + AT_A_TIME])}]")
            if result == _DUPLICATE or state != self._state:
                raise EngineError(f"durable-rules refused facts ({result})")

    def _check_combinations(self) -> None:
        """Rules join in the guard only, so the core keeps the whole product of the facts that fit its patterns."""
        total = 0
        for fills in self._network.fills:
            product = 1
            for number in fills:
                product *= self._numbers[number]
                total += product
            if total > MAX_COMBINATIONS:
                raise EngineError(f"more than {MAX_COMBINATIONS} combinations of facts to match")

    def fire(self) -> Iterator[tuple[Entry, list[Fact]]]:
        """What the core has matched since it was last asked."""
        started = core.start_action_for_state(self._handle, self._state)
        message = started and started[1]
        while message:
            if self._expired():
                raise EngineError("out of time")
            ((name, match),) = json.loads(message).items()
            entry = self._network.entries[int(name[1:])]
            yield entry, [self._facts[int(match[f"x{n}"]["id"][1:])] for n in range(len(entry.patterns))]
            message = core.complete_and_start_action(self._handle, self._state)

    def close(self) -> None:
        core.delete_state(self._handle, self._sid)


def _guard(entry: Entry, facts: Sequence[Fact], run: Run) -> bool:
    """The whole condition once more, whatever the core has tested."""
    names: dict[str, Fact] = {}
    bound: list[tuple[Pattern, Fact]] = []
    for pattern, fact in zip(entry.patterns, facts, strict=True):
        if (
            any(fact is other for other in names.values())
            or accepts(pattern, fact, names) is not True
            or not joins(pattern, fact, bound)
            or not in_order(pattern, fact, names)
        ):
            return False
        names[pattern.alias] = fact
        bound.append((pattern, fact))
    return guards_hold(entry.variant, run.memory, names, bound)


def _delete(handles: dict[Network, int]) -> None:
    while handles:
        core.delete_ruleset(handles.popitem()[1])


def _never() -> bool:
    return False
