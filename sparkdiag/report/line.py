"""The report as one line for a log field: verdict, fingerprint, first id, level and target; `-` for what is missing."""

from __future__ import annotations

from ..diagnosis import Report
from .harmless import cut, harmless

__all__ = ["render_line"]

MAX_TARGET = 200


def render_line(report: Report) -> str:
    """Five words, separated by single spaces; the first entry is what the report would be quoted for."""
    claimed = report.claimed
    wanted = "fault" if report.verdict == "fault" else None
    first = next((d for d in claimed if wanted in (None, d.kind)), None)
    target = first.where.get("target") if first else None
    target = report.targets.get(target or "") or target
    words = (
        report.verdict,
        report.fingerprint,
        first.id if first else "-",
        first.level if first else "-",
        target or "-",
    )
    return " ".join(_word(word) for word in words) + "\n"


def _word(text: str) -> str:
    return cut("".join("\\x20" if letter.isspace() else letter for letter in harmless(text)), MAX_TARGET)
