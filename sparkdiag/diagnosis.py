"""The vocabulary of results: diagnoses with their fixes and evidence, next probes, problems, and the report.

`Report.to_dict()` is what `--json` prints; its JSON Schema (schemas/report.json) is generated from these classes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import field
from typing import Any, Literal

from .records import dataclass

__all__ = [
    "CLAIM",
    "LEVELS",
    "Avoid",
    "Diagnosis",
    "Evidence",
    "FixStep",
    "NextProbe",
    "Problem",
    "Report",
    "Suppressed",
]

Level = Literal["hint", "possible", "plausible", "likely", "strong", "certain"]
Kind = Literal["fault", "limit", "advice"]
Verdict = Literal["fault", "healthy", "inconclusive"]

LEVELS: dict[str, float] = {
    "hint": 0.2,
    "possible": 0.4,
    "plausible": 0.55,
    "likely": 0.7,
    "strong": 0.85,
    "certain": 0.95,
}
"""Confidence of each level. Ordered from weak to strong."""

CLAIM = 0.5
"""From this confidence on, a diagnosis is claimed."""


@dataclass(frozen=True, slots=True)
class FixStep:
    """One thing to do."""

    do: str
    on: Literal["node", "control", "client"] = "node"
    risk: Literal["none", "restarts", "needs-root", "may-hang"] = "none"
    command: str | None = None
    undo: str | None = None

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"do": self.do, "on": self.on, "risk": self.risk}
        if self.command is not None:
            out["command"] = self.command
        if self.undo is not None:
            out["undo"] = self.undo
        return out


@dataclass(frozen=True, slots=True)
class Avoid:
    """Something that looks like a fix and does harm here, and why."""

    do: str
    because: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words of the evidence with their place: a line of a text, or a JSON path of a document."""

    source: str
    text: str
    line: int | None = None
    path: str | None = None

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"source": self.source}
        if self.line is not None:
            out["line"] = self.line
        if self.path is not None:
            out["path"] = self.path
        out["text"] = self.text
        return out


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause (or limit, or piece of advice) with everything its reader needs."""

    id: str
    rule: str
    title: str
    kind: Kind
    level: Level
    cause: str
    where: dict[str, str | None]
    fix: tuple[FixStep, ...] = ()
    avoid: tuple[Avoid, ...] = ()
    confirm: str | None = None
    """How to see that the fix worked, in one sentence."""
    evidence: tuple[Evidence, ...] = ()
    symptoms: tuple[Diagnosis, ...] = ()
    """Diagnoses that this one explains."""
    sources: tuple[str, ...] = ()
    versions: str | None = None
    """When and on which versions the rule was known to be true."""
    notes: tuple[str, ...] = ()
    """Why the level is what it is: what supported it, what is missing."""

    @property
    def confidence(self) -> float:
        return LEVELS[self.level]

    @property
    def claimed(self) -> bool:
        return self.confidence >= CLAIM

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "rule": self.rule,
            "title": self.title,
            "kind": self.kind,
            "level": self.level,
            "confidence": self.confidence,
            "cause": self.cause,
            "where": dict(self.where),
            "fix": [step.to_dict() for step in self.fix],
            "avoid": [{"do": a.do, "because": a.because} for a in self.avoid],
            "confirm": self.confirm,
            "evidence": [e.to_dict() for e in self.evidence],
            "symptoms": [d.to_dict() for d in self.symptoms],
            "sources": list(self.sources),
            "versions": self.versions,
            "notes": list(self.notes),
        }


TRIED = "tried: "


@dataclass(frozen=True, slots=True)
class NextProbe:
    """A probe that would tell live hypotheses apart."""

    probe: str
    separates: tuple[str, ...]
    cost: str
    """What it costs, in words: `none`, `256 tokens`, `10 s` ..."""
    command: str | None = None
    do: str | None = None
    """What to do, in words, where no one command does it."""
    why_not_run: str | None = None
    """Why it was left out; with TRIED before it, what came of it."""

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"probe": self.probe, "separates": list(self.separates), "cost": self.cost}
        if self.command is not None:
            out["command"] = self.command
        if self.do is not None:
            out["do"] = self.do
        if self.why_not_run is not None:
            out["why_not_run"] = self.why_not_run
        return out


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A diagnosis whose rule fired and that later evidence refuted."""

    id: str
    rule: str
    because: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be collected or read, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """The whole answer on one case."""

    version: str
    rulebook: str
    rule_engine: str
    verdict: Verdict
    diagnoses: tuple[Diagnosis, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    next_probes: Sequence[NextProbe] = ()
    facts: Sequence[dict[str, Any]] = ()
    problems: tuple[Problem, ...] = ()
    signs: tuple[str, ...] = field(default=())
    """Positive signs seen: what makes a case without fault healthy instead of inconclusive."""
    targets: dict[str, str] = field(default_factory=dict)
    """The address behind each target id of a `where`, without secrets."""

    @property
    def claimed(self) -> tuple[Diagnosis, ...]:
        return tuple(d for d in self.diagnoses if d.claimed)

    @property
    def broken_link(self) -> str | None:
        """Where the chain of what a reply depends on breaks; None without a fault that is in it."""
        from .chain import broken_link

        return broken_link(d.id for d in self.claimed if d.kind == "fault")

    @property
    def exit_status(self) -> int:
        return {"fault": 1, "healthy": 0, "inconclusive": 3}[self.verdict]

    @property
    def fingerprint(self) -> str:
        """Equal for cases with the same claimed diagnoses, whatever their words; for grouping."""
        data = "\n".join(sorted({d.id for d in self.claimed}) or [self.verdict]).encode()
        return f"{zlib.crc32(data):08x}{zlib.adler32(data) & 0xFFFF:04x}"

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "format": 1,
            "sparkdiag": self.version,
            "rulebook": self.rulebook,
            "rule_engine": self.rule_engine,
            "verdict": self.verdict,
            "fingerprint": self.fingerprint,
            "broken_link": self.broken_link,
            "diagnoses": [d.to_dict() for d in self.diagnoses],
            "suppressed": [{"id": s.id, "rule": s.rule, "because": s.because} for s in self.suppressed],
            "next_probes": [p.to_dict() for p in self.next_probes],
            "facts": list(self.facts),
            "problems": [{"what": p.what, "why": p.why} for p in self.problems],
            "signs": list(self.signs),
            "targets": dict(self.targets),
        }
