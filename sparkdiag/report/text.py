"""The report for a person at a terminal: the verdict first, then what to do, then everything that backs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..diagnosis import TRIED, Diagnosis, NextProbe, Report
from .layout import Page
from .words import (
    avoided,
    certainty,
    chain_words,
    costs,
    headline,
    not_collected,
    place,
    signature,
    step_tag,
    summary,
    titled,
    to_do_heading,
    where_words,
)

__all__ = ["render_text"]

EVIDENCE_LINES = 3
"""Lines of one quoted piece of evidence; the JSON report and the evidence itself have the whole."""

_VERDICT_STYLE = {"fault": "red", "healthy": "green", "inconclusive": "yellow"}
_GROUPS = {
    "fault": "",
    "limit": "Limits: expected on this hardware or in this setup, nothing to repair",
    "advice": "Advice: not the cause of a fault, worth changing",
}
_BODY = 3
"""Indentation of what belongs to one diagnosis."""


def render_text(report: Report, *, width: int, colour: bool) -> str:
    page = Page(width, colour)
    first = headline(report)
    page.paragraph(first, style=_VERDICT_STYLE[report.verdict])
    more = summary(report)
    if more:
        page.paragraph(more)
    chain = chain_words(report)
    if chain:
        page.paragraph(chain)
    number = 0
    for kind, heading in _GROUPS.items():
        found = [d for d in report.claimed if d.kind == kind]
        if found and heading:
            page.blank()
            page.heading(heading)
        for diagnosis in found:
            number += 1
            page.blank()
            _diagnosis(page, number, diagnosis, report.targets, in_headline=titled(diagnosis) in first)
    _possible(page, [d for d in report.diagnoses if not d.claimed], report.targets)
    _listing(page, "Refuted by later evidence", [f"{s.id}: {s.because}" for s in report.suppressed])
    _listing(page, "Not collected, or not readable", not_collected(report))
    _next(page, report.next_probes)
    page.blank()
    page.paragraph(signature(report), style="dim")
    return page.text()


def _diagnosis(page: Page, number: int, d: Diagnosis, targets: Mapping[str, str], in_headline: bool) -> None:
    lead = f"{number}. ".ljust(_BODY)
    page.paragraph(f"{d.id} ({certainty(d)})", lead=lead, style="bold")
    if not in_headline:
        page.paragraph(d.title, _BODY)
    at = where_words(d.where, targets)
    if at:
        page.paragraph(f"at {at}", _BODY, style="dim")
    page.blank()
    page.paragraph(d.cause, _BODY)
    _evidence(page, d, len(d.evidence))
    _fix(page, d)
    if d.confirm:
        page.blank()
        page.heading("To confirm", _BODY)
        page.paragraph(d.confirm, _BODY + 2)
    if d.symptoms:
        page.blank()
        page.heading("Explains", _BODY)
        for symptom in d.symptoms:
            page.paragraph(f"{symptom.id} ({certainty(symptom)}): {symptom.title}", _BODY + 2, lead="- ")
    if d.notes or d.versions or d.sources:
        page.blank()
        page.heading("How sure, and why", _BODY)
        for text in _grounds(d):
            page.paragraph(text, _BODY + 2, lead="- ")


def _grounds(d: Diagnosis) -> list[str]:
    """What the level rests on: the rule, what moved it, when it was known true, who says so."""
    out = [f"{certainty(d)}, by the rule {d.rule}", *d.notes]
    if d.versions:
        out.append(f"known true: {d.versions}")
    return out + [f"source: {source}" for source in d.sources]


def _evidence(page: Page, d: Diagnosis, most: int) -> None:
    if not d.evidence:
        return
    page.blank()
    page.heading("Evidence", _BODY)
    last = None
    for evidence in d.evidence[:most]:
        at = place(evidence)
        if at != last:
            page.paragraph(at, _BODY + 2)
        last = at
        if evidence.text.strip():
            page.quoted(evidence.text, _BODY + 4, EVIDENCE_LINES)
    if len(d.evidence) > most:
        page.paragraph(f"and {len(d.evidence) - most} more", _BODY + 2)


def _fix(page: Page, d: Diagnosis) -> None:
    if d.fix:
        page.blank()
        page.heading(to_do_heading(d.kind), _BODY)
    for number, step in enumerate(d.fix, 1):
        lead = f"{number}. "
        inner = _BODY + 2 + len(lead)
        page.paragraph(f"{step.do} [{step_tag(step.on, step.risk)}]", _BODY + 2, lead=lead)
        if step.command:
            page.verbatim(step.command, inner + 2)
        if step.undo:
            page.paragraph(f"Undo: {step.undo}", inner)
    for entry in d.avoid:
        page.paragraph(avoided(entry.do, entry.because), _BODY + 2, lead="!  ")


def _possible(page: Page, diagnoses: list[Diagnosis], targets: Mapping[str, str]) -> None:
    """Not sure enough to act upon: cause and evidence are shown, a fix is not."""
    if not diagnoses:
        return
    page.blank()
    page.heading("Possible, not claimed")
    for d in diagnoses:
        page.blank()
        page.paragraph(f"{d.id} ({certainty(d)})", lead="-  ", style="bold")
        page.paragraph(d.title, _BODY)
        at = where_words(d.where, targets)
        if at:
            page.paragraph(f"at {at}", _BODY, style="dim")
        page.blank()
        page.paragraph(d.cause, _BODY)
        for note in d.notes:
            page.paragraph(note, _BODY, lead="- ")
        _evidence(page, d, 2)


def _listing(page: Page, heading: str, entries: list[str]) -> None:
    if not entries:
        return
    page.blank()
    page.heading(heading)
    for entry in entries:
        page.paragraph(entry, 2, lead="- ")


def _next(page: Page, probes: Sequence[NextProbe]) -> None:
    if not probes:
        return
    page.blank()
    page.heading("What to look at next")
    for number, probe in enumerate(probes, 1):
        lead = f"{number}. "
        inner = 2 + len(lead)
        page.paragraph(f"{probe.probe} ({costs(probe.cost)})", 2, lead=lead)
        if probe.do:
            page.paragraph(probe.do, inner)
        if probe.command:
            page.verbatim(probe.command, inner + 2)
        if probe.why_not_run:
            tried = probe.why_not_run.startswith(TRIED)
            page.paragraph(probe.why_not_run if tried else f"not run: {probe.why_not_run}", inner)
        if probe.separates:
            page.paragraph("tells about " + ", ".join(probe.separates), inner)
