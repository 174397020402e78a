"""Choosing a rule engine by name: auto, durable or python."""

from __future__ import annotations

import threading

from ..errors import EngineError, UsageError
from .engine import Engine
from .python_engine import PythonEngine
from .rules import Rulebook

NAMES = ("auto", "durable", "python")

MAX_KEPT = 16
"""Loaded engines that are kept: a process uses the shipped rulebook and perhaps a few of its own."""


def make_engine(name: str, book: Rulebook) -> tuple[Engine, str | None]:
    """The engine, loaded with the rulebook, and why it is not the one asked for, if it is not. The caller closes it.

    `auto` takes durable-rules where it is installed, `python` otherwise.
    """
    if name not in NAMES:
        raise UsageError(f"'{name}' is no rule engine; there are {', '.join(NAMES)}")
    note = None
    if name != "python":
        try:
            from .durable_engine import DurableEngine

            engine: Engine = DurableEngine()
            engine.load(book.rules)
        except (ImportError, EngineError) as error:
            note = f"durable-rules cannot be used here ({error}); the Python engine was used"
        else:
            return engine, None
    spare = PythonEngine()
    spare.load(book.rules)
    return spare, note if name == "durable" else None


_kept: dict[tuple[str, str], tuple[Engine, str | None]] = {}
_lock = threading.Lock()


def engine_for(name: str, book: Rulebook) -> tuple[Engine, str | None]:
    """make_engine, kept by name and rulebook: loading costs more than a small run.

    The engine is shared between callers and threads, so nobody closes it. One that is pushed out gives back
    what it holds once the last caller lets go of it.
    """
    key = (name, book.hash)
    with _lock:
        found = _kept.pop(key, None) or make_engine(name, book)
        _kept[key] = found
        while len(_kept) > MAX_KEPT:
            del _kept[next(iter(_kept))]
        return found
