"""A naive evaluator of rulebooks: the engines' opponent in tests.

It shares the vocabulary of facts and rules with the product and no code that decides anything. Everything is done in
the plainest way there is: every rule is tried on every tuple of facts, again and again, until nothing new comes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparkdiag.facts import Fact, Finding, Source, Where
from sparkdiag.infer.rules import FieldRef, Pattern, Rule, Test, Variant

Names = dict[str, Fact]
Bound = tuple[tuple[Pattern, Fact], ...]

WHERE_PARTS = ("target", "node", "container", "rank", "run", "turn")


@dataclass
class Fired:
    rule: str
    variant: int
    facts: tuple[Fact, ...]
    conclusion: Finding


class TooMuchError(Exception):
    """The case has more activations than plain loops can deal with."""


def evaluate(rules: Sequence[Rule], facts: Sequence[Fact], limit: int = 300) -> tuple[list[Finding], list[Fired]]:
    """All findings that follow from the facts, and every way in which a rule fires; TooMuchError beyond the limit."""
    world = list(facts)
    derived: list[Finding] = []
    fired: list[Fired] = []
    levels = levels_of(rules)
    for level in range(max(levels.values(), default=0) + 1):
        here = [rule for rule in rules if levels[rule.concludes] == level]
        while True:
            new = [one for rule in here for one in ways(rule, world) if not any(same_firing(one, old) for old in fired)]
            if not new:
                break
            fired += new
            if len(fired) > limit:
                raise TooMuchError
            for one in new:
                if not any(isinstance(f, Finding) and one_finding(f, one.conclusion) for f in world):
                    world.append(one.conclusion)
                    derived.append(one.conclusion)
    return derived, fired


def levels_of(rules: Sequence[Rule]) -> dict[str, int]:
    """Above everything that a conclusion's rules need to be complete, and not below what they rest on."""
    levels = dict.fromkeys((rule.concludes for rule in rules), 0)
    for _ in range(len(levels) ** 2 + 1):
        for rule in rules:
            for variant in rule.when.variants:
                for pattern in variant.positive:
                    for name in may_be(pattern, levels):
                        step = 1 if pattern.count else 0
                        levels[rule.concludes] = max(levels[rule.concludes], levels[name] + step)
                for pattern in (*variant.none, *variant.absent):
                    for name in may_be(pattern, levels):
                        levels[rule.concludes] = max(levels[rule.concludes], levels[name] + 1)
    assert max(levels.values(), default=0) <= len(levels), "a circle runs through negation"
    return levels


def may_be(pattern: Pattern, names: Iterable[str]) -> list[str]:
    if pattern.kind != "finding":
        return []
    for test in pattern.tests:
        if test.field == "id" and test.op in ("eq", "in"):
            return [name for name in names if compare(test.op, name, test.operand)]
    return list(names)


def same_firing(a: Fired, b: Fired) -> bool:
    return (
        a.rule == b.rule
        and a.variant == b.variant
        and len(a.facts) == len(b.facts)
        and all(x is y for x, y in zip(a.facts, b.facts, strict=True))
    )


def one_finding(a: Finding, b: Finding) -> bool:
    same_place = all(part(a, name) == part(b, name) for name in WHERE_PARTS)
    same_moment = a.order == b.order and a.time == b.time and a.clock == b.clock
    return a.id == b.id and same_place and same_moment


def part(fact: Fact, name: str) -> str | None:
    value = getattr(fact.where, name)
    assert value is None or isinstance(value, str)
    return value


def ways(rule: Rule, world: Sequence[Fact]) -> Iterable[Fired]:
    for number, variant in enumerate(rule.when.variants):
        binders = [p for p in variant.positive if len(p.count) == 0]
        for facts in tuples(len(binders), world, binders):
            bound = tuple(zip(binders, facts, strict=True))
            if fills(bound) and surroundings_hold(variant, bound, world):
                yield Fired(rule.id, number, facts, conclusion(rule, bound))


def tuples(length: int, world: Sequence[Fact], binders: Sequence[Pattern]) -> Iterable[tuple[Fact, ...]]:
    """All tuples of different facts of the kinds asked for."""
    if length == 0:
        yield ()
        return
    for start in tuples(length - 1, world, binders):
        for fact in world:
            if fact.kind == binders[length - 1].kind and not any(fact is other for other in start):
                yield (*start, fact)


def fills(bound: Bound) -> bool:
    names: Names = {pattern.alias: fact for pattern, fact in bound}
    for index, (pattern, fact) in enumerate(bound):
        if not fits(pattern, fact, names):
            return False
        if any(not together(pattern, fact, other, there) for other, there in bound[:index]):
            return False
    return True


def surroundings_hold(variant: Variant, bound: Bound, world: Sequence[Fact]) -> bool:
    names: Names = {pattern.alias: fact for pattern, fact in bound}
    asked = {str(fact.get("probe")) for fact in world if fact.kind == "looked"}
    for pattern in variant.positive:
        if pattern.count and not enough(pattern, bound, names, world):
            return False
    if any(seen(pattern, bound, names, world) for pattern in variant.none):
        return False
    return not any(pattern.probe not in asked or seen(pattern, bound, names, world) for pattern in variant.absent)


def seen(pattern: Pattern, bound: Bound, names: Names, world: Sequence[Fact]) -> bool:
    if pattern.count:
        return enough(pattern, bound, names, world)
    return any(stands_beside(pattern, fact, bound, names) for fact in world)


def enough(pattern: Pattern, bound: Bound, names: Names, world: Sequence[Fact]) -> bool:
    """The comparisons on the number of matching facts beside those that are bound."""
    found = [
        fact
        for fact in world
        if stands_beside(pattern, fact, bound, names) and not any(fact is other for _, other in bound)
    ]
    if pattern.distinct is None:
        number = 0
        for fact in found:
            times = fact.get("count")
            number += times if isinstance(times, int) else 1
    else:
        values = [fact.get(pattern.distinct) for fact in found]
        number = len({value for value in values if value is not None})
    return all(compare(test.op, number, test.operand) for test in pattern.count)


def stands_beside(pattern: Pattern, fact: Fact, bound: Bound, names: Names) -> bool:
    return (
        fact.kind == pattern.kind
        and fits(pattern, fact, names)
        and all(together(pattern, fact, other, there) for other, there in bound)
    )


def fits(pattern: Pattern, fact: Fact, names: Names) -> bool:
    if not all(test_holds(test, fact, names) for test in pattern.tests):
        return False
    if pattern.before is not None and (pattern.before not in names or not earlier(fact, names[pattern.before])):
        return False
    return pattern.after is None or (pattern.after in names and earlier(names[pattern.after], fact))


def together(pattern: Pattern, fact: Fact, other: Pattern, there: Fact) -> bool:
    """Two facts speak of one place, as far as is known."""
    reaches = {*pattern.across, *other.across}
    clash = set()
    for name in WHERE_PARTS:
        here, yonder = part(fact, name), part(there, name)
        if here is not None and yonder is not None and here != yonder:
            clash.add(name)
    if "node" in reaches:
        another_log = bool(clash & {"target", "node", "container"})
        return "run" not in clash or "run" in reaches or another_log
    return not clash - reaches


def earlier(first: Fact, second: Fact) -> bool:
    """By time where both have one of one clock and the times differ, else by position.

    A folded fact lasts until its last hit.
    """
    timed = first.time is not None and second.time is not None and first.clock == second.clock
    if timed and first.time != second.time:
        assert first.time is not None
        assert second.time is not None
        last_time = second.get("last_time")
        end = second.time
        if isinstance(last_time, float) and last_time > end:
            end = last_time
        return first.time < end
    last_order = second.get("last_order")
    until = second.order
    if isinstance(last_order, int) and not isinstance(last_order, bool) and last_order > until:
        until = last_order
    return first.order < until


def test_holds(test: Test, fact: Fact, names: Names) -> bool:
    value = fact.get(test.field)
    if test.op == "present":
        known = value is not None and value != ()
        return known if test.operand is True else not known
    if value is None:
        return False
    operand: object = test.operand
    if isinstance(operand, FieldRef):
        owner = fact if operand.alias is None else names.get(operand.alias)
        other = owner.get(operand.field) if owner is not None else None
        if operand.times != 1.0:
            if not number_like(other):
                return False
            try:
                other = other * operand.times  # type: ignore[operator]
            except OverflowError:
                return False
        if other is None:
            return False
        operand = other
    return compare(test.op, value, operand)


def number_like(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def compare(op: str, value: object, operand: object) -> bool:
    if op == "eq":
        return equal(value, operand)
    if op == "ne":
        return not equal(value, operand)
    if op in ("in", "not_in"):
        assert isinstance(operand, tuple)
        found = False
        for item in operand:
            found = found or equal(value, item)
        return found == (op == "in")
    if op in ("gt", "ge", "lt", "le"):
        words = isinstance(value, str) and isinstance(operand, str)
        if not words and not (number_like(value) and number_like(operand)):
            return False
        if op == "gt":
            return value > operand  # type: ignore[operator, no-any-return]
        if op == "ge":
            return value >= operand  # type: ignore[operator, no-any-return]
        if op == "lt":
            return value < operand  # type: ignore[operator, no-any-return]
        return value <= operand  # type: ignore[operator, no-any-return]
    if op in ("matches", "not_matches"):
        hit = re.search(str(operand), text_of(value)[:4096], re.IGNORECASE) is not None
        return hit == (op == "matches")
    if op == "contains":
        if isinstance(value, tuple):
            return any(item == str(operand) for item in value)
        return str(operand) in text_of(value)[:4096]
    if op in ("version", "not_version"):
        number = version_of(str(value))
        return number is not None and inside(number, str(operand)) == (op == "version")
    raise AssertionError(op)


def equal(a: object, b: object) -> bool:
    if isinstance(a, tuple):
        return b in a if isinstance(b, str) else a == b
    sort_a = "truth" if isinstance(a, bool) else "number" if isinstance(a, (int, float)) else "text"
    sort_b = "truth" if isinstance(b, bool) else "number" if isinstance(b, (int, float)) else "text"
    return sort_a == sort_b and a == b


def text_of(value: object) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)


def version_of(text: str) -> list[int] | None:
    """The release as four numbers: 0.19.1rc1 is [0, 19, 1, 0]."""
    text = text.strip()
    text = text[1:] if text.startswith("v") else text
    numbers: list[int] = []
    while text and text[0].isdecimal():
        digits = ""
        while text and text[0].isdecimal():
            digits, text = digits + text[0], text[1:]
        numbers.append(int(digits))
        if not (len(text) > 1 and text[0] == "." and text[1].isdecimal()):
            break
        text = text[1:]
    return [*numbers, 0, 0, 0, 0][:4] if numbers else None


def inside(number: list[int], spec: str) -> bool:
    for bound in spec.split(","):
        if bound.strip() == "*":
            continue
        op = bound.strip().rstrip("0123456789.v ")
        limit = version_of(bound.strip()[len(op) :])
        assert limit is not None
        if op == ">=" and number < limit:
            return False
        if op == "<=" and number > limit:
            return False
        if op == ">" and number <= limit:
            return False
        if op == "<" and number >= limit:
            return False
        if op == "==" and number != limit:
            return False
    return True


def conclusion(rule: Rule, bound: Bound) -> Finding:
    """It holds at the places of its facts (the first that knows a part says it), from the last of them on."""
    parts: dict[str, str | None] = dict.fromkeys(WHERE_PARTS)
    for pattern, fact in bound:
        for name in WHERE_PARTS:
            if parts[name] is None and "node" not in pattern.across and name not in pattern.across:
                parts[name] = part(fact, name)
    times = [fact.time for _, fact in bound if fact.time is not None]
    clocks = [fact.clock for _, fact in bound if fact.time is not None]
    one_clock = len(clocks) > 0 and all(clock == clocks[0] for clock in clocks)
    return Finding(
        id=rule.concludes,
        rule=rule.id,
        where=Where(**parts),
        source=bound[0][1].source if bound else Source(""),
        order=max((fact.order for _, fact in bound), default=0),
        time=max(times) if one_clock else None,
        clock=clocks[0] if one_clock else None,
    )
