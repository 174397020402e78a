"""`explain`: a diagnosis or a rule in words: what it means, when it is named, what to do, who says so."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from ..infer import Rulebook
from ..infer.rules import AvoidTemplate, DiagnosisEntry, FindingEntry, ProbeEntry, Rule, StepTemplate
from ..report.layout import Page
from ..report.words import avoided, step_tag, to_do_heading
from .entries import Entry, as_data, find, level_name, tell_condition
from .output import check_output, emit, emit_json, page

USAGE = "ID [options]"
DESCRIPTION = """\
Explains a diagnosis or a rule (or a finding, a signature, a probe): its cause,
when it is named, the fix and what not to do, how to confirm, and its sources.
A {name.field} stands for a value of the evidence."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def run(options: argparse.Namespace) -> int:
    check_output(options)
    if len(options.words) != 1:
        raise UsageError("explain takes one id (sparkdiag rules list shows them all)")
    from ..infer import shipped

    book = shipped()
    found = find(book, options.words[0])
    if options.format == "json":
        emit_json([_with_rules(entry, book) for entry in found], options)
        return 0
    out = page(options)
    for entry in found:
        out.blank()
        tell(out, entry, book)
    emit(out.text(), options)
    return 0


def _with_rules(entry: Entry, book: Rulebook) -> dict[str, object]:
    data = as_data(entry)
    if isinstance(entry, (DiagnosisEntry, FindingEntry)):
        data["rules"] = [as_data(rule) for rule in book.rules if rule.concludes == entry.id]
    return data


def tell(out: Page, entry: Entry, book: Rulebook) -> None:
    """One entry in words."""
    if isinstance(entry, DiagnosisEntry):
        _diagnosis(out, entry, book)
    elif isinstance(entry, Rule):
        _rule(out, entry, 0)
        concluded = book.diagnoses.get(entry.concludes)
        if concluded is not None:
            out.blank()
            _diagnosis(out, concluded, book, shown=entry)
    elif isinstance(entry, FindingEntry):
        out.heading(f"{entry.id} (finding)")
        out.paragraph(entry.means + (" (a sign of health)" if entry.sign else ""))
        _rules(out, [rule for rule in book.rules if rule.concludes == entry.id])
    elif isinstance(entry, ProbeEntry):
        out.heading(f"{entry.id} (probe)")
        out.paragraph(f"costs {entry.cost}; tells about {', '.join(entry.supplies)}")
        if entry.do:
            out.paragraph(entry.do)
        if entry.command:
            out.verbatim(entry.command, 2)
    else:
        out.heading(f"{entry.id} (signature)")
        out.paragraph(f"a line that holds {' or '.join(repr(anchor) for anchor in entry.anchors)} and matches")
        out.verbatim(entry.regex, 2)


def _diagnosis(out: Page, d: DiagnosisEntry, book: Rulebook, shown: Rule | None = None) -> None:
    out.heading(f"{d.id} ({d.kind})")
    out.paragraph(d.title)
    out.blank()
    out.paragraph((shown.cause if shown else None) or d.cause)
    _to_do(out, d, shown.fix if shown and shown.fix is not None else d.fix, _avoid_of(d, shown))
    if d.confirm:
        _section(out, "To confirm", [d.confirm])
    if shown is None:
        _rules(out, [rule for rule in book.rules if rule.concludes == d.id])
    _section(out, "Explains", d.explains)
    _section(out, "Is explained by", d.explained_by)
    _section(out, "Is refuted by a later", d.refuted_by)
    _section(out, "Known true", [d.known] if d.known else [])
    _section(out, "Sources", d.sources)
    out.blank()
    out.paragraph(f"written in {d.at}", style="dim")


def _avoid_of(d: DiagnosisEntry, shown: Rule | None) -> tuple[AvoidTemplate, ...]:
    return shown.avoid if shown and shown.avoid is not None else d.avoid


def _to_do(out: Page, d: DiagnosisEntry, fix: tuple[StepTemplate, ...], avoid: tuple[AvoidTemplate, ...]) -> None:
    if fix or avoid:
        out.blank()
        out.heading(to_do_heading(d.kind))
    for number, step in enumerate(fix, 1):
        lead = f"{number}. "
        out.paragraph(f"{step.do} [{step_tag(step.on, step.risk)}]", 2, lead=lead)
        if step.command:
            out.verbatim(step.command, 4 + len(lead))
        if step.undo:
            out.paragraph(f"Undo: {step.undo}", 2 + len(lead))
    for entry in avoid:
        unless = f" (unless {entry.unless})" if entry.unless else ""
        out.paragraph(avoided(entry.do, entry.because) + unless, 2, lead="!  ")


def _rules(out: Page, rules: list[Rule]) -> None:
    out.blank()
    out.heading("Named when" if rules else "No rule concludes it yet")
    for rule in rules:
        _rule(out, rule, 2)


def _rule(out: Page, rule: Rule, indent: int) -> None:
    level = f", {level_name(rule)}" if "." in rule.concludes else ""
    out.paragraph(f"{rule.id} (rule{level}; {rule.at})", indent, style="bold")
    tell_condition(out, rule.when, indent + 2)
    for conditions, word in ((rule.supports, "one level surer when"), (rule.weakens, "one level less sure when")):
        for condition in conditions:
            out.paragraph(word, indent + 2)
            tell_condition(out, condition, indent + 4)
    if rule.versions:
        spans = [f"{engine} {'(any version)' if spec.strip() == '*' else spec}" for engine, spec in rule.versions]
        out.paragraph(f"bound to {', '.join(spans)}", indent + 2)


def _section(out: Page, heading: str, entries: tuple[str, ...] | list[str]) -> None:
    if not entries:
        return
    out.blank()
    out.heading(heading)
    for entry in entries:
        out.paragraph(entry, 2, lead="- ")
