"""What both engines share about deriving: the where of a conclusion, its identity, and the order of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..facts import NOWHERE, Fact, Finding, Where
from .engine import Activation, Result
from .rules import Pattern, Rule

Bound = Sequence[tuple[Pattern, Fact]]
Identity = tuple[str, Where, int, float | None]


def conclude(rule: Rule, bound: Bound) -> Finding:
    """The finding that a rule derives from the facts bound: it holds where they hold, and from the last of them on."""
    where: Where = NOWHERE
    order = 0
    time: float | None = None
    source = bound[0][1].source if bound else None
    for pattern, fact in bound:
        if not pattern.across:
            where = where.merged(fact.where)
        order = max(order, fact.order)
        if fact.time is not None:
            time = fact.time if time is None else max(time, fact.time)
    if source is None:
        return Finding(id=rule.concludes, rule=rule.id)
    return Finding(id=rule.concludes, rule=rule.id, where=where, source=source, order=order, time=time)


def identity(finding: Finding) -> Identity:
    """Two findings with this in common are one."""
    return finding.id, finding.where, finding.order, finding.time


def sort_key(activation: Activation) -> tuple[object, ...]:
    places = tuple((f.order, f.kind, f.source.place(), str(f.get("id"))) for _, f in activation.bound)
    return (activation.rule, activation.variant, places)


def result(activations: Iterable[Activation]) -> Result:
    """Activations in a fixed order, with the earliest finding of each identity."""
    ordered = sorted(activations, key=sort_key)
    derived: dict[Identity, Finding] = {}
    for activation in ordered:
        derived.setdefault(identity(activation.derived), activation.derived)
    found = sorted(derived.values(), key=lambda f: (f.id, tuple(p or "" for p in f.where.as_tuple()), f.order))
    return Result(tuple(found), tuple(ordered))
