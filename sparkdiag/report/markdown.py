"""The report as Markdown, for an issue or a chat. Words from evidence stand in code blocks, where nothing is obeyed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..diagnosis import Diagnosis, Report
from .harmless import cut, harmless, one_line
from .words import (
    avoided,
    certainty,
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

__all__ = ["render_markdown"]

MAX_EVIDENCE = 600
"""Characters of one quoted piece of evidence."""

_CODE_SPAN = re.compile(r"(`[^`]+`)")
_ACTIVE = re.compile(r"[\\*\[\]|<>~`]|(?<!\w)_|_(?!\w)")


def render_markdown(report: Report) -> str:
    out = [f"**{_prose(headline(report))}**"]
    more = summary(report)
    if more:
        out.append(_prose(more))
    for d in report.claimed:
        out += _diagnosis(d, f"{d.kind.capitalize()}: {titled(d)}", report.targets)
    for d in report.diagnoses:
        if not d.claimed:
            out += [f"### Possible, not claimed: {_prose(titled(d))}", f"`{d.id}`", _prose(d.cause)]
    out += _listing("Refuted by later evidence", [f"{s.id}: {s.because}" for s in report.suppressed])
    out += _listing("Not collected, or not readable", not_collected(report))
    if report.next_probes:
        out.append("### What to look at next")
        for probe in report.next_probes:
            told = f", tells about {', '.join(probe.separates)}" if probe.separates else ""
            out.append(f"- {_prose(f'{probe.probe} ({costs(probe.cost)}){told}')}")
            if probe.do:
                out.append("  " + _prose(probe.do))
            if probe.command:
                out.append(_fenced(probe.command, "sh", "  "))
    out.append(signature(report))
    return "\n\n".join(out) + "\n"


def _diagnosis(d: Diagnosis, heading: str, targets: Mapping[str, str]) -> list[str]:
    at = where_words(d.where, targets)
    out = [f"### {_prose(heading)}", f"`{d.id}`" + (f", at {_prose(at)}" if at else ""), _prose(d.cause)]
    if d.evidence:
        out.append("**Evidence**")
        for evidence in d.evidence:
            out.append(_prose(place(evidence)))
            if evidence.text.strip():
                out.append(_fenced(cut(evidence.text, MAX_EVIDENCE), "text"))
    if d.fix:
        out.append(f"**{to_do_heading(d.kind)}**")
    for number, step in enumerate(d.fix, 1):
        lead = f"{number}. "
        out.append(f"{lead}{_prose(f'{step.do} [{step_tag(step.on, step.risk)}]')}")
        if step.command:
            out.append(_fenced(step.command, "sh", " " * len(lead)))
        if step.undo:
            out.append(" " * len(lead) + _prose(f"Undo: {step.undo}"))
    out += [f"- {_prose(avoided(entry.do, entry.because))}" for entry in d.avoid]
    if d.confirm:
        out.append(f"**To confirm:** {_prose(d.confirm)}")
    out += _listing("Explains", [f"{s.id} ({certainty(s)}): {s.title}" for s in d.symptoms])
    grounds = [f"{certainty(d)}, by the rule {d.rule}", *d.notes]
    if d.versions:
        grounds.append(f"known true: {d.versions}")
    return out + _listing("How sure, and why", [*grounds, *(f"source: {source}" for source in d.sources)])


def _listing(heading: str, entries: list[str]) -> list[str]:
    if not entries:
        return []
    return [f"**{heading}**", "\n".join(f"- {_prose(entry)}" for entry in entries)]


def _prose(text: str) -> str:
    """On one line, with everything escaped that Markdown or HTML would act upon; code spans stay as they are."""
    parts = _CODE_SPAN.split(one_line(text))
    return "".join(part if index % 2 else _escaped(part) for index, part in enumerate(parts))


def _escaped(text: str) -> str:
    return _ACTIVE.sub(lambda match: "\\" + match[0], text).replace("@", "&#64;")


def _fenced(text: str, language: str, indent: str = "") -> str:
    """A code block whose fence is longer than any run of backticks within."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = [harmless(line).rstrip() for line in text.strip("\n").split("\n")]
    return "\n".join(indent + line for line in (f"{fence}{language}", *body, fence))
