"""Facts into diagnoses: the rulebook, conditions, two engines, ranking and next probes. Pure; no I/O but loading."""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnosis import Diagnosis, NextProbe, Problem, Suppressed
from ..errors import EngineError
from ..facts import Fact
from ..later import Later
from ..records import dataclass
from .engine import Result, Runner
from .engines import make_engine
from .memory import Memory
from .probes import next_probes
from .python_engine import PythonEngine
from .ranking import rank
from .rulebook import shipped
from .rules import Rulebook

__all__ = ["Inference", "Rulebook", "infer", "make_engine", "shipped"]


@dataclass(frozen=True, slots=True)
class Inference:
    """Everything that the rules made of the facts."""

    diagnoses: tuple[Diagnosis, ...]
    suppressed: tuple[Suppressed, ...]
    next_probes: Sequence[NextProbe]
    """Found when they are first looked at."""
    signs: tuple[str, ...]
    engine: str
    problems: tuple[Problem, ...]
    memory: Memory
    result: Result


def infer(facts: Sequence[Fact], book: Rulebook, engine: Runner, not_run: dict[str, str] | None = None) -> Inference:
    """Run the rules over the facts. An engine that fails is replaced by the Python engine, and the report says so."""
    problems: list[Problem] = []
    name = engine.name
    try:
        result = engine.run(facts)
    except EngineError as error:
        problems.append(Problem(f"rule engine {engine.name}", f"{error}; the Python engine was used instead"))
        spare = PythonEngine()
        spare.load(book.rules)
        result = spare.run(facts)
        name = spare.name
    problems += [Problem("rules", note) for note in result.notes]
    memory = Memory([*facts, *result.derived])
    diagnoses, suppressed = rank(book, result, memory)
    signs = sorted({f.id for f in result.derived if f.id in book.findings and book.findings[f.id].sign})
    return Inference(
        diagnoses=tuple(diagnoses),
        suppressed=tuple(suppressed),
        next_probes=Later(lambda: next_probes(book, memory, diagnoses, not_run, signs=bool(signs))),
        signs=tuple(signs),
        engine=name,
        problems=tuple(problems),
        memory=memory,
        result=result,
    )
