"""Choosing a rule engine by name: auto, durable or python."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ..errors import EngineError, UsageError
from ..facts import Fact
from .engine import Engine, Result
from .memory import Slot, slots_of
from .python_engine import PythonEngine
from .rules import Rulebook

NAMES = ("auto", "durable", "python")

MAX_KEPT = 16
"""Loaded engines that are kept: a process uses the shipped rulebook and perhaps a few of its own."""

MAX_LOADS = 8
"""Loads of one engine with ever more rules; the next one is with all of them."""

MAX_SERVED = 1000
"""Combinations of slots that an engine remembers to have rules for."""


def make_engine(name: str, book: Rulebook) -> tuple[Engine, str | None]:
    """The engine, loaded with the rulebook, and why it is not the one asked for, if it is not. The caller closes it.

    `auto` takes durable-rules where it is installed, `python` otherwise.
    """
    engine, note = _empty_engine(name)
    try:
        engine.load(book.rules)
    except EngineError as error:
        engine, note = PythonEngine(), _instead(name, error)
        engine.load(book.rules)
    return engine, note


def _empty_engine(name: str) -> tuple[Engine, str | None]:
    if name not in NAMES:
        raise UsageError(f"'{name}' is no rule engine; there are {', '.join(NAMES)}")
    if name == "python":
        return PythonEngine(), None
    try:
        from .durable_engine import DurableEngine

        return DurableEngine(), None
    except (ImportError, EngineError) as error:
        return PythonEngine(), _instead(name, error)


def _instead(name: str, error: Exception) -> str | None:
    """Said only to those who asked for it by its name."""
    return f"durable-rules cannot be used here ({error}); the Python engine was used" if name == "durable" else None


class OnDemand:
    """An engine that is loaded with the rules that evidence can reach, and with more when other evidence comes.

    What cannot fire changes no result, and most evidence reaches few rules. Its engine is shared between callers and
    threads, so nobody closes it: one that is replaced gives back what it holds once its last caller lets go of it.
    """

    def __init__(self, name: str, book: Rulebook) -> None:
        self._asked, self._book = name, book
        self._engine, self.note = _empty_engine(name)
        self.name = self._engine.name
        self._loaded: set[str] = set()
        self._loads = 0
        self._served: set[frozenset[Slot]] = set()
        """Slots of evidence whose rules are loaded."""
        self._lock = threading.Lock()

    def run(self, facts: Sequence[Fact]) -> Result:
        """The same result as with all rules. EngineError if they cannot be loaded, or the run cannot be finished."""
        slots = frozenset(slots_of(facts))
        with self._lock:
            if slots not in self._served:
                self._serve(slots)
            engine = self._engine
        return engine.run(facts)

    def _serve(self, slots: frozenset[Slot]) -> None:
        wanted = self._book.index.reachable(slots)
        if not wanted <= self._loaded:
            self._load(wanted | self._loaded)
        if len(self._served) >= MAX_SERVED:
            self._served.clear()
        self._served.add(slots)

    def _load(self, names: set[str]) -> None:
        if self._loads >= MAX_LOADS:  # evidence of all kinds comes along here
            names = set(self._book.by_id)
        engine, _ = _empty_engine(self._asked)
        engine.load([self._book.by_id[name] for name in sorted(names)])
        self._engine, self._loaded = engine, names
        self._loads += 1


_kept: dict[tuple[str, str], OnDemand] = {}
_lock = threading.Lock()


def engine_for(name: str, book: Rulebook) -> tuple[OnDemand, str | None]:
    """The engine of a name for a rulebook, kept, and why it is not the one asked for, if it is not."""
    key = (name, book.hash)
    with _lock:
        found = _kept.pop(key, None) or OnDemand(name, book)
        _kept[key] = found
        while len(_kept) > MAX_KEPT:
            del _kept[next(iter(_kept))]
        return found, found.note
