"""What every fact has: where it holds, and the place in the evidence that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from typing import Any, ClassVar

from ..records import dataclass

Scalar = str | int | float | bool
Value = Scalar | tuple[str, ...] | None

_NOWHERE_FIELDS = ("target", "node", "container", "rank", "run")


@dataclass(frozen=True, slots=True)
class Where:
    """What a fact speaks of. None means unknown, and joins with anything.

    `turn` tells the replies of one conversation turn from those of another; a report drops it.
    """

    target: str | None = None
    node: str | None = None
    container: str | None = None
    rank: str | None = None
    run: str | None = None
    turn: str | None = None

    def joins(self, other: Where) -> bool:
        """True when no known part of one contradicts the other."""
        return all(
            mine is None or theirs is None or mine == theirs
            for mine, theirs in zip(self.as_tuple(), other.as_tuple(), strict=True)
        )

    def same_log(self, other: Where) -> bool:
        """True unless the two are known to speak of different endpoints, nodes or containers: runs are comparable."""
        pairs = ((self.target, other.target), (self.node, other.node), (self.container, other.container))
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in pairs)

    def merged(self, other: Where) -> Where:
        """The union of what both know; this one wins where they differ."""
        pairs = zip(self.as_tuple(), other.as_tuple(), strict=True)
        return Where(*(mine if mine is not None else theirs for mine, theirs in pairs))

    def without_turn(self) -> Where:
        return self if self.turn is None else replace(self, turn=None)

    def as_tuple(self) -> tuple[str | None, ...]:
        return (self.target, self.node, self.container, self.rank, self.run, self.turn)

    def to_dict(self) -> dict[str, str | None]:
        """The report's shape: no turn."""
        return {name: getattr(self, name) for name in _NOWHERE_FIELDS}


NOWHERE = Where()


@dataclass(frozen=True, slots=True)
class Source:
    """The place in the evidence: a named text with a line (from 1), or a JSON document with a path."""

    source: str
    line: int | None = None
    path: str | None = None
    text: str = ""
    """The words themselves, redacted and cut to a readable length."""

    def place(self) -> str:
        if self.line is not None:
            return f"{self.source}:{self.line}"
        return f"{self.source} {self.path}" if self.path else self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Base of all facts. Each kind is a frozen dataclass of its own with a `kind` name for rules to use."""

    kind: ClassVar[str] = "fact"
    where: Where = NOWHERE
    source: Source = Source("")
    order: int = 0
    """Position in the whole evidence: greater is later, within one clock or one text."""
    time: float | None = None
    """Seconds since a fixed moment of its clock, when the evidence tells."""
    clock: str | None = None
    """Times are compared within one clock only: None for wall clocks of logs, `capture`, `sleep` for others."""

    def get(self, name: str) -> Value:
        """The value of a field by the name rules use; None when it is unknown."""
        return getattr(self, name, None)

    def places(self, names: Iterable[str]) -> tuple[Source, ...]:
        """Where the evidence shows these of its fields: its own place, unless a kind knows better."""
        return (self.source,)

    def to_dict(self) -> dict[str, Any]:
        """The fact for a report: its kind, its known fields, its place."""
        skip = {"where", "source", "order", "time", "clock", "lines"}
        known = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in skip}
        return {
            "kind": self.kind,
            **{k: dict(v) if isinstance(v, Mapping) else v for k, v in known.items() if v is not None and v != ()},
            "where": self.where.to_dict(),
            "source": self.source.place(),
        }


def places_among(lines: Mapping[str, Source], names: Iterable[str], own: Source) -> tuple[Source, ...]:
    """The known places of these fields, each once, in the order of the text; a fact's own place if there are none."""
    found = {lines[name]: None for name in names if name in lines}
    return tuple(sorted(found, key=lambda source: (source.source, source.line or 0))) or (own,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked(Fact):
    """A probe ran, or a kind of evidence was read: what it did not show is known to be absent."""

    kind: ClassVar[str] = "looked"
    probe: str
    """The name of the probe or of the kind of evidence, as rules' `probe` keys have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Fact):
    """A conclusion of a rule: a named finding (no dot in its name) or a diagnosis id (chapter.words)."""

    kind: ClassVar[str] = "finding"
    id: str
    rule: str = field(default="", compare=False)
