"""From what fired to what is said: levels, an entry per diagnosis and place, refutations, symptoms under causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..diagnosis import CLAIM, LEVELS, Avoid, Diagnosis, Evidence, FixStep, Suppressed
from ..facts import Fact, Finding, Where
from ..records import dataclass
from .conditions import condition_holds, describe, unlooked
from .engine import Activation, Result
from .memory import Memory
from .rules import DiagnosisEntry, FieldRef, Pattern, Rule, Rulebook
from .texts import fill, lookup_in

LEVEL_NAMES = tuple(LEVELS)
SHOWN_FROM = LEVELS["possible"]
"""Weaker diagnoses are no entries of a report: they live on as next probes."""

MAX_EVIDENCE = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """One diagnosis at one place, from its strongest activation."""

    entry: DiagnosisEntry
    rule: Rule
    activation: Activation
    level: int
    where: Where
    notes: tuple[str, ...]

    @property
    def confidence(self) -> float:
        return LEVELS[LEVEL_NAMES[self.level]]

    @property
    def claimed(self) -> bool:
        return self.confidence >= CLAIM


def rank(book: Rulebook, result: Result, memory: Memory) -> tuple[list[Diagnosis], list[Suppressed]]:
    """The diagnoses in the order of a report, and those that later evidence refuted."""
    candidates, suppressed = _candidates(book, result, memory)
    provenance = _provenance(result)
    parents = _explained(candidates)
    roots = [c for c in candidates if id(c) not in parents]
    by_root: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        parent = parents.get(id(candidate))
        if parent is None:
            continue
        seen = {id(candidate)}
        while id(parent) in parents and id(parent) not in seen:
            seen.add(id(parent))
            parent = parents[id(parent)]
        by_root.setdefault(id(parent), []).append(candidate)
    out = []
    for root in sorted(roots, key=_order):
        symptoms = tuple(_diagnosis(c, memory, provenance) for c in sorted(by_root.get(id(root), []), key=_order))
        if root.confidence >= SHOWN_FROM:
            out.append(replace(_diagnosis(root, memory, provenance), symptoms=symptoms))
    return out, suppressed


def _order(c: Candidate) -> tuple[object, ...]:
    return (not c.claimed, -c.confidence, c.entry.id, tuple(part or "" for part in c.where.as_tuple()))


def _candidates(book: Rulebook, result: Result, memory: Memory) -> tuple[list[Candidate], list[Suppressed]]:
    grouped: dict[str, list[Candidate]] = {}
    refuted: dict[str, Suppressed] = {}
    for activation in result.activations:
        rule = book.by_id[activation.rule]
        entry = book.diagnoses.get(rule.concludes)
        if entry is None:
            continue
        against = _refutation(entry, activation, memory)
        if against is not None:
            refuted.setdefault(
                entry.id, Suppressed(entry.id, rule.id, f"{against.id}, seen later: {against.source.place()}")
            )
            continue
        level, notes = _level(rule, activation, memory)
        where = activation.derived.where.without_turn()
        grouped.setdefault(entry.id, []).append(Candidate(entry, rule, activation, level, where, notes))
    out: list[Candidate] = []
    for group in grouped.values():
        kept: list[Candidate] = []
        for candidate in sorted(group, key=lambda c: (-c.level, c.rule.id, c.activation.derived.order)):
            if not any(candidate.where.joins(other.where) for other in kept):
                kept.append(candidate)
        out += kept
    named = {c.entry.id for c in out}
    return out, sorted((s for s in refuted.values() if s.id not in named), key=lambda s: s.id)


def _refutation(entry: DiagnosisEntry, activation: Activation, memory: Memory) -> Finding | None:
    for fact in memory.by_kind.get("finding", ()):
        if not isinstance(fact, Finding) or fact.id not in entry.refuted_by:
            continue
        last = max((_last(f) for _, f in activation.bound), default=0)
        here = activation.derived.where.without_turn()
        if fact.order > last and (
            fact.where.without_turn().joins(here) or _started_anew(last, replace(here, container=None), fact, memory)
        ):
            return fact
    return None


def _started_anew(last: int, here: Where, fact: Finding, memory: Memory) -> bool:
    """The sign comes from another container of the place, which was launched after what it refutes was seen."""
    return fact.where.without_turn().joins(here) and any(
        last < launch.order < fact.order and launch.where.joins(here) for launch in memory.by_kind.get("launch", ())
    )


def _last(fact: Fact) -> int:
    last = fact.get("last_order")
    return last if isinstance(last, int) and last > fact.order else fact.order


def _level(rule: Rule, activation: Activation, memory: Memory) -> tuple[int, tuple[str, ...]]:
    """The rule's level, moved by what supports and weakens it and by what was not looked for."""
    names = {pattern.alias: fact for pattern, fact in activation.bound}
    level, notes = rule.level, []
    for conditions, step, word in ((rule.supports, 1, "supported by"), (rule.weakens, -1, "weakened by")):
        for condition in conditions:
            found = condition_holds(condition, memory, names, activation.bound)
            if found is not None:
                level += step
                shown = "; ".join(describe(pattern) for pattern, _ in found) or "what was not seen"
                notes.append(f"{word} {shown}")
    missing = [p for p in unlooked(rule.when.variants[activation.variant], memory) if p]
    if missing:
        level -= 1
        notes.append(f"one level lower: not looked for: {', '.join(missing)}")
    if rule.versions and not _version_known(rule, activation, memory):
        level -= 1
        notes.append("one level lower: the engine's version is not known")
    return max(0, min(level, len(LEVEL_NAMES) - 1)), tuple(notes)


def _version_known(rule: Rule, activation: Activation, memory: Memory) -> bool:
    """Some sign names an engine of the rule, with its version where the range is bounded."""
    for fact in memory.by_kind.get("engine", ()):
        if not fact.where.without_turn().joins(activation.derived.where.without_turn()):
            continue
        for engine, spec in rule.versions:
            if fact.get("name") == engine and (spec.strip() == "*" or fact.get("version") is not None):
                return True
    return False


def may_explain(cause: DiagnosisEntry, rule: Rule, symptom: DiagnosisEntry) -> bool:
    """A diagnosis, concluded by this rule, is by its kind and by what the rulebook says a cause of the other."""
    if cause.id == symptom.id or (cause.kind == "advice" and symptom.kind != "advice"):
        return False
    by = symptom.explained_by
    named = {*cause.explains, *rule.explains}
    chapter = symptom.id.split(".")[0] + ".*"
    if symptom.id in named or chapter in named:
        return True
    if cause.id in by or cause.id.split(".")[0] + ".*" in by:
        return True
    return "*" in by and cause.kind == "fault" and "*" not in cause.explained_by


def _explains(cause: Candidate, symptom: Candidate) -> bool:
    general = "*" in symptom.entry.explained_by
    return (
        cause.claimed
        and _spot(cause.where, general).joins(_spot(symptom.where, general))
        and may_explain(cause.entry, cause.rule, symptom.entry)
    )


def _spot(where: Where, general: bool) -> Where:
    """Where a cause and its symptom must meet. A general symptom is the echo of a fault on any node of the group."""
    return Where(target=where.target, run=where.run) if general else where


def _explained(candidates: Sequence[Candidate]) -> dict[int, Candidate]:
    """Each explained candidate's cause: the strongest of those that explain it. No circles: of two that explain each
    other the stronger is the cause."""
    parents: dict[int, Candidate] = {}
    for symptom in sorted(candidates, key=_order, reverse=True):
        causes = sorted((c for c in candidates if _explains(c, symptom)), key=_order)
        for cause in causes:
            walk: Candidate | None = cause
            while walk is not None and walk is not symptom:
                walk = parents.get(id(walk))
            if walk is None:
                parents[id(symptom)] = cause
                break
    return parents


def _provenance(result: Result) -> dict[int, Activation]:
    """The activation behind each derived fact, by the fact's identity in memory and by its key."""
    out: dict[int, Activation] = {}
    by_key: dict[tuple[object, ...], Activation] = {}
    for activation in result.activations:
        finding = activation.derived
        by_key.setdefault((finding.id, finding.where, finding.order), activation)
    for activation in result.activations:
        for _, fact in activation.bound:
            if isinstance(fact, Finding):
                known = by_key.get((fact.id, fact.where, fact.order))
                if known is not None:
                    out[id(fact)] = known
    return out


def supporting_facts(activation: Activation, provenance: dict[int, Activation]) -> list[tuple[Fact, tuple[str, ...]]]:
    """The observed facts behind an activation, through findings too, each with the fields that were asked for."""
    asked: dict[int, tuple[Fact, list[str]]] = {}
    queue = list(activation.bound)
    seen: set[tuple[int, int]] = set()
    while queue:
        pattern, fact = queue.pop(0)
        if (id(pattern), id(fact)) in seen:
            continue
        seen.add((id(pattern), id(fact)))
        if isinstance(fact, Finding):
            behind = provenance.get(id(fact))
            queue += behind.bound if behind else ()
        else:
            asked.setdefault(id(fact), (fact, []))[1].extend(_asked_of(pattern))
    return [(fact, tuple(dict.fromkeys(names))) for fact, names in asked.values()]


def _asked_of(pattern: Pattern) -> Iterator[str]:
    """The fields of its fact that a pattern speaks of."""
    for test in pattern.tests:
        yield test.field
        if isinstance(test.operand, FieldRef) and test.operand.alias is None:
            yield test.operand.field


def _evidence(facts: Iterable[tuple[Fact, tuple[str, ...]]]) -> tuple[Evidence, ...]:
    """In the order in which it was seen; what only tells which engine this is comes last."""
    out: list[Evidence] = []
    for fact, names in sorted(facts, key=lambda pair: (pair[0].kind == "engine", pair[0].order)):
        for source in fact.places(names):
            item = Evidence(source.source, source.text, source.line, source.path)
            if source.text and item not in out:
                out.append(item)
    return tuple(out[:MAX_EVIDENCE])


def _diagnosis(c: Candidate, memory: Memory, provenance: dict[int, Activation]) -> Diagnosis:
    bound = c.activation.bound
    lookup = lookup_in(bound, memory)

    def put(text: str) -> str:
        return fill(text, lookup)

    fix = c.entry.fix if c.rule.fix is None else c.rule.fix
    avoid = c.entry.avoid if c.rule.avoid is None else c.rule.avoid
    lifted = {fact.get("id") for fact in memory.by_kind.get("finding", ())}
    return Diagnosis(
        id=c.entry.id,
        rule=c.rule.id,
        title=c.entry.title,
        kind=c.entry.kind,  # type: ignore[arg-type]
        level=LEVEL_NAMES[c.level],  # type: ignore[arg-type]
        cause=put(c.rule.cause or c.entry.cause),
        where=c.where.to_dict(),
        fix=tuple(
            FixStep(
                do=put(step.do),
                on=step.on,  # type: ignore[arg-type]
                risk=step.risk,  # type: ignore[arg-type]
                command=None if step.command is None else fill(step.command, lookup, command=True),
                undo=None if step.undo is None else put(step.undo),
            )
            for step in fix
        ),
        avoid=tuple(Avoid(put(a.do), put(a.because)) for a in avoid if a.unless not in lifted or a.unless is None),
        confirm=None if c.entry.confirm is None else put(c.entry.confirm),
        evidence=_evidence(supporting_facts(c.activation, provenance)),
        sources=c.entry.sources,
        versions=_known(c),
        notes=c.notes,
    )


def causes_of(
    name: str, book: Rulebook, result: Result, memory: Memory
) -> list[tuple[str, Where, tuple[Evidence, ...]]]:
    """(cause, place, evidence) of all that concluded a diagnosis and is sure enough to claim, the strongest first."""
    entry = book.diagnoses[name]
    found = []
    for activation in result.activations:
        rule = book.by_id[activation.rule]
        if rule.concludes == name:
            level, notes = _level(rule, activation, memory)
            where = activation.derived.where.without_turn()
            found.append(Candidate(entry, rule, activation, level, where, notes))
    found.sort(key=lambda c: (-c.level, c.rule.id, c.activation.derived.order))
    provenance = _provenance(result)
    return [
        (
            fill(c.rule.cause or entry.cause, lookup_in(c.activation.bound, memory)),
            c.where,
            _evidence(supporting_facts(c.activation, provenance)),
        )
        for c in found
        if c.claimed
    ]


def _known(c: Candidate) -> str | None:
    spans = ", ".join(
        f"{engine} {spec if spec.strip() != '*' else '(any version)'}" for engine, spec in c.rule.versions
    )
    return "; ".join(part for part in (spans, c.entry.known) if part) or None
