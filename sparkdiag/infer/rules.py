"""The rulebook's own vocabulary: what a rule file becomes once it is loaded. Pure data, no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from ..facts import Scalar, Signature
from ..records import dataclass

if TYPE_CHECKING:
    from .index import Index
    from .memory import Plan


@dataclass(frozen=True, slots=True)
class FieldRef:
    """The value of another field, possibly times a constant: the only arithmetic there is."""

    alias: str | None
    """Alias of an earlier pattern; None for the same fact."""
    field: str
    times: float = 1.0


Operand = Scalar | tuple[Scalar, ...] | FieldRef


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison on one field: `op` is a key of conditions.OPERATORS."""

    field: str
    op: str
    operand: Operand


@dataclass(frozen=True, slots=True)
class Pattern:
    """One fact (or a count of facts) that a condition asks for."""

    kind: str
    tests: tuple[Test, ...]
    alias: str
    probe: str
    """The probe whose having run makes the absence of a match known."""
    named: bool = False
    """The alias was written by the author (else it is the kind's name)."""
    across: tuple[str, ...] = ()
    """What it may differ in from the other patterns: `node`, `run`, or both; see conditions.joins."""
    before: str | None = None
    after: str | None = None
    """Alias of a pattern that this fact must stand before or after."""
    count: tuple[Test, ...] = ()
    """Comparisons on the number of matching facts; such a pattern binds nothing."""
    distinct: str | None = None
    """Count distinct values of this field instead of facts."""
    plan: Plan | None = field(default=None, init=False, compare=False, repr=False)
    """What memories make of the pattern, kept here for the next one."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way in which a condition can hold: `any` is expanded, so that all three parts must hold."""

    positive: tuple[Pattern, ...] = ()
    none: tuple[Pattern, ...] = ()
    """Nothing seen matches; if it was not looked for, the rule falls one level."""
    absent: tuple[Pattern, ...] = ()
    """Looked for, and nothing matches; if it was not looked for, the condition is unknown."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a rule asks for: it holds if one of its variants does."""

    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class StepTemplate:
    """A fix step as written: texts with {alias.field} places."""

    do: str
    on: str = "node"
    risk: str = "none"
    command: str | None = None
    undo: str | None = None


@dataclass(frozen=True, slots=True)
class AvoidTemplate:
    """A contraindication as written; `unless` names a finding that lifts it."""

    do: str
    because: str
    unless: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the rulebook."""

    id: str
    concludes: str
    when: Condition
    level: int
    """Index into diagnosis.LEVELS; findings have the highest."""
    at: str
    """file:line"""
    supports: tuple[Condition, ...] = ()
    weakens: tuple[Condition, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()
    """(engine, range) pairs of which one must hold where the engine is known: `>=0.16,<0.33`, or `*`."""
    explains: tuple[str, ...] = ()
    cause: str | None = None
    fix: tuple[StepTemplate, ...] | None = None
    avoid: tuple[AvoidTemplate, ...] | None = None
    stratum: int = 0


@dataclass(frozen=True, slots=True)
class DiagnosisEntry:
    """One diagnosis of the catalog, as the rulebook describes it."""

    id: str
    title: str
    kind: str
    cause: str
    fix: tuple[StepTemplate, ...]
    at: str
    avoid: tuple[AvoidTemplate, ...] = ()
    confirm: str | None = None
    sources: tuple[str, ...] = ()
    known: str | None = None
    """When and on which versions this was known to be true, for the report."""
    explains: tuple[str, ...] = ()
    """Ids (or `chapter.*`) that this diagnosis explains where it is claimed."""
    explained_by: tuple[str, ...] = ()
    refuted_by: tuple[str, ...] = ()
    """Findings that refute it when they hold later than its evidence."""


@dataclass(frozen=True, slots=True)
class FindingEntry:
    """A named intermediate conclusion."""

    id: str
    means: str
    at: str
    sign: bool = False
    """A positive sign: with no fault claimed it makes the verdict healthy."""


@dataclass(frozen=True, slots=True)
class ProbeEntry:
    """A probe that can be run or asked for."""

    id: str
    supplies: tuple[str, ...]
    """Probe names, as patterns have them, that are known once it has run."""
    cost: str
    weight: int
    """For the order: cheapest first."""
    at: str
    command: str | None = None
    do: str | None = None
    """What to do, when it is no command."""
    tier: str = "manual"
    """passive, active or manual: what a live run may run by itself."""


@dataclass(frozen=True, slots=True)
class Rulebook:
    """All rules with what they speak of, checked and in the order of their ids. Of the compiled rulebook, an entry is
    made when it is first asked for."""

    by_id: Mapping[str, Rule]
    diagnoses: Mapping[str, DiagnosisEntry]
    findings: Mapping[str, FindingEntry]
    signatures: Mapping[str, Signature]
    probes: Mapping[str, ProbeEntry]
    index: Index
    hash: str

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All of them: what a case does not touch is better left unmade."""
        return tuple(self.by_id.values())

    def concluding(self, name: str) -> tuple[Rule, ...]:
        """The rules that conclude a finding or a diagnosis."""
        return tuple(self.by_id[rule] for rule in self.index.concluding(name))
