"""`why` and `why-not`: what each rule of a diagnosis came to on the evidence, condition by condition."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..report.words import costs
from .options import add_collecting, add_engine, library_arguments
from .output import check_output, emit, emit_json, page

if TYPE_CHECKING:
    from ..diagnosis import Diagnosis, Report
    from ..infer import Rulebook
    from ..infer.why import RuleState

USAGE = "ID TARGET... [options]"
DESCRIPTION = """\
Says of a rule or a diagnosis (or a finding): fired, ruled out because, or
cannot tell because which evidence is missing; for each condition, with its
place in the evidence. Exits 0 when answered, 3 when evidence is missing."""

_STATE = {"true": "fired", "false": "ruled out", "unknown": "cannot tell"}
_MARK = {"true": "yes  ", "false": "no   ", "unknown": "?    "}
_RANK = ("true", "unknown", "false")
"""Of several rules the best counts: one that fired, else one that still could."""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_collecting(parser)
    add_engine(parser)


def run(options: argparse.Namespace) -> int:
    check_output(options)
    if len(options.words) + (1 if options.log else 0) < 2:
        raise UsageError(f"{options.verb} takes an id and the evidence: sparkdiag {options.verb} ID TARGET...")
    name, *targets = options.words
    from ..infer import shipped
    from .entries import rules_for

    rules_for(shipped(), name)  # an unknown id is refused before anything is collected
    from ..infer.why import rule_state
    from ..run import case_from_targets

    case = case_from_targets(tuple(targets), library_arguments(options))
    states = [rule_state(rule, case.book, case.inference.memory) for rule in rules_for(case.book, name)]
    states.sort(key=lambda s: (_RANK.index(s.state), s.rule.id))
    answer = _STATE[states[0].state] if states else "no rule concludes it"
    if options.format == "json":
        emit_json(_as_data(name, answer, states, case.report, case.book), options)
    else:
        emit(_as_text(name, answer, states, case.report, case.book, options), options)
    return 3 if states and states[0].state == "unknown" else 0


def _as_text(
    name: str, answer: str, states: list[RuleState], report: Report, book: Rulebook, options: argparse.Namespace
) -> str:
    out = page(options)
    out.heading(f"{name}: {answer}")
    for line in _in_report(name, states, report):
        out.paragraph(line)
    for state in states:
        out.blank()
        out.paragraph(f"rule {state.rule.id} ({state.rule.at}): {_STATE[state.state]}")
        for a in state.answers:
            out.paragraph(a.text, 2, lead=_MARK[a.state])
            for place in _places(a.facts):
                if place not in a.text:
                    out.paragraph(f"seen in {place}", 2 + len(_MARK[a.state]))
        for missing in _telling(state):
            sentence, command = _how_to_get(missing, book)
            out.paragraph(sentence, 2, lead="to tell: ")
            if command:
                out.verbatim(command, 4)
    return out.text()


def _in_report(name: str, states: list[RuleState], report: Report) -> list[str]:
    """What became of it: a fired rule may still be a symptom, refuted, or too weak to be claimed."""
    names = {name, *(s.rule.concludes for s in states)}
    out = []
    for d in report.diagnoses:
        if d.id in names:
            out.append(f"The report {'claims' if d.claimed else 'shows, but does not claim,'} it: {_level(d)}")
        out += [f"The report shows it as a symptom of {d.id}: {_level(s)}" for s in d.symptoms if s.id in names]
    out += [f"The report drops it as refuted: {s.because}" for s in report.suppressed if s.id in names]
    return out


def _level(d: Diagnosis) -> str:
    notes = "".join(f"; {note}" for note in d.notes)
    return f"{d.level}, {d.confidence:.2f}, by the rule {d.rule}{notes}"


def _telling(state: RuleState) -> tuple[str, ...]:
    """Evidence that could still change the answer: of a rule that is ruled out, none."""
    return () if state.state == "false" else state.missing


def _places(facts: tuple[Any, ...]) -> list[str]:
    return list(dict.fromkeys(place for fact in facts if (place := fact.source.place())))


def _how_to_get(missing: str, book: Rulebook) -> tuple[str, str | None]:
    """What to do to get missing evidence, and the command that does it, if one does."""
    from ..infer.probes import supplier

    probe = supplier(book, missing)
    if probe is None:
        return f"{missing} is missing", None
    how = f": {probe.do}" if probe.do else ""
    return f"{missing} is missing; the probe {probe.id} ({costs(probe.cost)}) gives it{how}", probe.command


def _as_data(name: str, answer: str, states: list[RuleState], report: Report, book: Rulebook) -> dict[str, object]:
    return {
        "id": name,
        "answer": answer,
        "in_report": _in_report(name, states, report),
        "rules": [
            {
                "id": s.rule.id,
                "concludes": s.rule.concludes,
                "at": s.rule.at,
                "state": _STATE[s.state],
                "conditions": [
                    {
                        "state": a.state,
                        "text": a.text,
                        "missing": list(a.missing),
                        "places": _places(a.facts),
                    }
                    for a in s.answers
                ],
                "missing": list(_telling(s)),
                "to_tell": [dict(zip(("do", "command"), _how_to_get(m, book), strict=True)) for m in _telling(s)],
            }
            for s in states
        ],
        "verdict": report.verdict,
    }
