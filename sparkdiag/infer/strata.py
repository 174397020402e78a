"""Which rules rest on which: strata, and circles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .rules import Condition, FieldRef, Pattern, Rule


def patterns_of(condition: Condition) -> Iterable[tuple[Pattern, bool]]:
    """Each pattern with whether it is negated or counted, that is, needs complete knowledge."""
    for variant in condition.variants:
        for p in variant.positive:
            yield p, bool(p.count)
        for p in (*variant.none, *variant.absent):
            yield p, True


def asked_values(p: Pattern, field: str) -> tuple[str, ...] | None:
    """The words of which a pattern wants one in a field; None if it does not say."""
    for test in p.tests:
        if test.field == field and test.op in ("eq", "in") and not isinstance(test.operand, FieldRef):
            return tuple(map(str, test.operand if isinstance(test.operand, tuple) else (test.operand,)))
    return None


def asked_finding(p: Pattern) -> str | None:
    """The one finding that a pattern asks for, if it asks for one."""
    names = asked_values(p, "id") if p.kind == "finding" else None
    return names[0] if names and len(names) == 1 else None


def strata(rules: Sequence[Rule]) -> tuple[dict[str, int], list[str] | None]:
    """The stratum of every conclusion: what a rule negates or counts lies in a lower one.

    Returns the strata by conclusion, or a circle through negation, by the names of its conclusions.
    """
    names = {rule.concludes for rule in rules}
    level = dict.fromkeys(names, 0)
    needs: dict[tuple[str, str], int] = {}
    for rule in rules:
        for p, complete in patterns_of(rule.when):
            if p.kind == "finding":
                wanted = asked_values(p, "id")
                for name in names if wanted is None else names.intersection(wanted):
                    key = (rule.concludes, name)
                    needs[key] = max(needs.get(key, 0), int(complete))
    for _ in range(len(names) + 1):
        changed = False
        for (owner, name), step in needs.items():
            if level[owner] < level[name] + step:
                level[owner] = level[name] + step
                changed = True
        if not changed:
            return level, None
    edges: dict[str, set[str]] = {}
    for owner, name in needs:
        edges.setdefault(owner, set()).add(name)
    for (owner, name), step in sorted(needs.items()):
        way = [owner] if owner == name else _way(edges, name, owner)
        if step and way is not None:
            return level, [owner, *way]
    raise AssertionError("levels rise without end only through a circle")


def find_circle(edges: Mapping[str, set[str]]) -> list[str] | None:
    """One circle of a directed graph, its first name at both ends; or None."""
    return next((way for start in sorted(edges) if (way := _way(edges, start, start)) is not None), None)


def _way(edges: Mapping[str, set[str]], start: str, goal: str) -> list[str] | None:
    """A shortest way of at least one edge, both ends included."""
    queue, seen = [[start]], set[str]()
    for path in queue:
        for target in sorted(edges.get(path[-1], set()) - seen):
            if target == goal:
                return [*path, target]
            seen.add(target)
            queue.append([*path, target])
    return None
