"""The pure path: evidence into a case with facts, inference and report. What a live run saves, this replays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ._version import __version__
from .capture import Capture
from .diagnosis import Problem, Report, Verdict
from .facts import Fact
from .infer import Inference, Rulebook, infer, shipped
from .infer.engines import engine_for
from .later import Later
from .records import dataclass

Observe = Callable[[Rulebook], Sequence[Fact]]


@dataclass(frozen=True, slots=True)
class Case:
    """Evidence judged: what `why`, `explain` and the renderers work on."""

    report: Report
    inference: Inference
    book: Rulebook
    facts: tuple[Fact, ...]
    capture: Capture | None = None


def judge(
    observe: Observe,
    *,
    rule_engine: str = "auto",
    problems: Iterable[Problem] = (),
    not_run: dict[str, str] | None = None,
    capture: Capture | None = None,
    book: Rulebook | None = None,
) -> Case:
    """Observe with the rulebook's signatures, infer, and put the report together."""
    book = book or shipped()
    facts = [*observe(book)]
    facts += derive_all(facts)
    engine, note = engine_for(rule_engine, book)
    inference = infer(facts, book, engine, not_run)
    told = list(problems)
    if note is not None:
        told.append(Problem("rule engine", note))
    told += inference.problems
    report = Report(
        version=__version__,
        rulebook=book.hash,
        rule_engine=inference.engine,
        verdict=verdict(inference),
        diagnoses=inference.diagnoses,
        suppressed=inference.suppressed,
        next_probes=inference.next_probes,
        facts=Later(lambda: [fact.to_dict() for fact in facts if fact.kind != "looked"]),
        problems=tuple(told),
        signs=inference.signs,
        targets={} if capture is None else {target.id: target.address for target in capture.targets},
    )
    return Case(report, inference, book, tuple(facts), capture)


def derive_all(facts: Sequence[Fact]) -> list[Fact]:
    """Facts out of facts: all functions of derive/."""
    from .derive import derive

    return derive(facts)


def verdict(inference: Inference) -> Verdict:
    """fault, healthy or inconclusive, as the contract has it: symptoms do not count, and silence is no health."""
    if any(d.claimed and d.kind == "fault" for d in inference.diagnoses):
        return "fault"
    loading = any(d.claimed and d.id in LOADING for d in inference.diagnoses)
    return "healthy" if inference.signs and not loading else "inconclusive"


LOADING = frozenset({"endpoint.server-not-ready", "loading.still-downloading", "loading.slow-not-stuck"})
"""Limits that say that nothing can be told yet."""
