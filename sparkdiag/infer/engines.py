"""Choosing a rule engine by name: auto, durable or python."""

from __future__ import annotations

from ..errors import EngineError, UsageError
from .engine import Engine
from .python_engine import PythonEngine
from .rules import Rulebook

NAMES = ("auto", "durable", "python")


def make_engine(name: str, book: Rulebook) -> tuple[Engine, str | None]:
    """The engine, loaded with the rulebook, and why it is not the one asked for, if it is not.

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
