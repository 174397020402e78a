"""The one evaluator of conditions: true, false with the actual value, or unknown for lack of which evidence.

Engines decide what fires; this module decides what a single test or binding is worth, and explains. It is pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..facts import Fact, Where
from ..records import dataclass
from .comparisons import OPERATORS, Binding, holds
from .memory import Memory
from .rules import Condition, FieldRef, Pattern, Variant

MAX_COMBINATIONS = 200_000
"""Combinations of facts that are tried for one variant; hostile evidence could make them billions."""


def _last_order(fact: Fact) -> int:
    last = fact.get("last_order")
    return last if isinstance(last, int) and not isinstance(last, bool) and last > fact.order else fact.order


def _comparable(first: Fact, second: Fact) -> bool:
    """Both have a time on one clock, and the times differ."""
    return None not in (first.time, second.time) and first.time != second.time and first.clock == second.clock


def in_order(pattern: Pattern, fact: Fact, binding: Binding) -> bool:
    """The pattern's before and after, by time where both facts have one, else by position."""
    for name, wanted in ((pattern.before, "before"), (pattern.after, "after")):
        if name is None:
            continue
        other = binding.get(name)
        if other is None:
            return False
        first, second = (fact, other) if wanted == "before" else (other, fact)
        if _comparable(first, second):
            assert first.time is not None
            assert second.time is not None
            last = second.get("last_time")
            end = last if isinstance(last, float) and last > second.time else second.time
            if not first.time < end:
                return False
        elif not first.order < _last_order(second):
            return False
    return True


def joins(pattern: Pattern, fact: Fact, others: Sequence[tuple[Pattern, Fact]]) -> bool:
    """`where` agrees with all facts bound so far, but for what one of the two patterns reaches across.

    `across: node` speaks of the whole group of nodes: of any endpoint, node, container, rank and turn. Runs are counted
    within one container's log: in one log they stay apart, those of two logs have nothing to do with each other.
    `across: run` speaks of any run; the rest has to agree.
    """
    return all(_meet(fact.where, bound.where, pattern.across + other.across) for other, bound in others)


def _meet(one: Where, other: Where, across: tuple[str, ...]) -> bool:
    if not across:
        return one.joins(other)
    any_run = "run" in across or one.run is None or other.run is None or one.run == other.run
    if "node" in across:
        return any_run or not one.same_log(other)
    return any_run and replace(one, run=None).joins(other)


def matching(
    pattern: Pattern, memory: Memory, binding: Binding, others: Sequence[tuple[Pattern, Fact]], reusable: int = 0
) -> Iterator[Fact]:
    """Facts that fill a pattern beside those already bound; the first `reusable` of these may fill it as well."""
    taken = {id(fact) for _, fact in others[reusable:]}
    return (fact for fact in _filling(pattern, memory, binding, others) if id(fact) not in taken)


def _filling(
    pattern: Pattern, memory: Memory, binding: Binding, others: Sequence[tuple[Pattern, Fact]]
) -> Iterator[Fact]:
    """Facts that fill a pattern, whether they are bound elsewhere or not."""
    alpha = memory.alpha(pattern)
    for fact in alpha.facts:
        if (
            joins(pattern, fact, others)
            and all(holds(test, fact, binding) is True for test in alpha.rest)
            and in_order(pattern, fact, binding)
        ):
            yield fact


def count_holds(pattern: Pattern, memory: Memory, binding: Binding, others: Sequence[tuple[Pattern, Fact]]) -> bool:
    """The pattern's comparisons on how many facts (or distinct values) match."""
    return number_holds(pattern, counted(pattern, memory, binding, others))


def counted(pattern: Pattern, memory: Memory, binding: Binding, others: Sequence[tuple[Pattern, Fact]]) -> int:
    """How many facts match, a folded log fact for as many as it stands for; or how many distinct values."""
    found = list(matching(pattern, memory, binding, others))
    if pattern.distinct is not None:
        return len({fact.get(pattern.distinct) for fact in found} - {None})
    return sum(n if isinstance(n := fact.get("count"), int) else 1 for fact in found)


def number_holds(pattern: Pattern, number: int) -> bool:
    return all(OPERATORS[test.op](number, test.operand) for test in pattern.count)


def guards_hold(variant: Variant, memory: Memory, binding: Binding, bound: Sequence[tuple[Pattern, Fact]]) -> bool:
    """The parts of a variant that bind nothing: counts, none and absent."""
    for pattern in variant.positive:
        if pattern.count and not count_holds(pattern, memory, binding, bound):
            return False
    for pattern in variant.none:
        if _any_match(pattern, memory, binding, bound):
            return False
    return all(
        pattern.probe in memory.looked and not _any_match(pattern, memory, binding, bound) for pattern in variant.absent
    )


def _any_match(pattern: Pattern, memory: Memory, binding: Binding, bound: Sequence[tuple[Pattern, Fact]]) -> bool:
    if pattern.count:
        return count_holds(pattern, memory, binding, bound)
    return any(True for _ in _filling(pattern, memory, binding, bound))  # a bound fact is seen, after all


def bindings(
    variant: Variant, memory: Memory, start: Binding | None = None, bound: Sequence[tuple[Pattern, Fact]] = ()
) -> Iterator[tuple[tuple[Pattern, Fact], ...]]:
    """All ways to fill a variant's positive patterns, guards not yet asked. Plain backtracking, bounded.

    Facts in `bound` join with those found, and may be found again: what a rule matched can support it too.
    """
    todo = [pattern for pattern in variant.positive if not pattern.count]
    left = MAX_COMBINATIONS

    def extend(
        index: int, names: dict[str, Fact], taken: list[tuple[Pattern, Fact]]
    ) -> Iterator[tuple[tuple[Pattern, Fact], ...]]:
        nonlocal left
        if index == len(todo):
            yield tuple(taken)
            return
        pattern = todo[index]
        if index:
            left -= len(memory.alpha(pattern).facts)
            if left < 0:
                memory.cut[id(variant)] = variant
                return
        for fact in matching(pattern, memory, names, taken, len(bound)):
            yield from extend(index + 1, {**names, pattern.alias: fact}, [*taken, (pattern, fact)])

    yield from extend(0, dict(start or {}), list(bound))


def condition_holds(
    condition: Condition, memory: Memory, start: Binding | None = None, bound: Sequence[tuple[Pattern, Fact]] = ()
) -> tuple[tuple[Pattern, Fact], ...] | None:
    """The first binding under which a condition is true, beside what is bound already; None if there is none."""
    for variant in condition.variants:
        for found in bindings(variant, memory, start, bound):
            names = {**(start or {}), **{pattern.alias: fact for pattern, fact in found}}
            if guards_hold(variant, memory, names, found):
                return found[len(bound) :]
    return None


def unlooked(variant: Variant, memory: Memory) -> tuple[str, ...]:
    """Probes behind the variant's `none` parts that have not run: each leaves the rule less sure."""
    return tuple(dict.fromkeys(p.probe for p in variant.none if p.probe not in memory.looked))


@dataclass(frozen=True, slots=True)
class Answer:
    """What one part of a condition came to, and why."""

    state: str
    """true, false or unknown."""
    text: str
    """The part in words, with the actual value or the missing evidence."""
    missing: tuple[str, ...] = ()
    """Probes that would tell, where the state is unknown."""
    facts: tuple[Fact, ...] = ()


def explain_variant(variant: Variant, memory: Memory) -> list[Answer]:
    """Every part of a variant with its own state, under the most complete binding that there is."""
    names: dict[str, Fact] = {}
    taken: list[tuple[Pattern, Fact]] = []
    whole = next(
        (
            found
            for found in bindings(variant, memory)
            if guards_hold(variant, memory, {p.alias: f for p, f in found}, found)
        ),
        None,
    )
    fixed = {id(pattern): fact for pattern, fact in whole or ()}
    answers = []
    for pattern in variant.positive:
        if pattern.count:
            continue
        fact = fixed.get(id(pattern)) or next(matching(pattern, memory, names, taken), None)
        if fact is not None:
            names[pattern.alias] = fact
            taken.append((pattern, fact))
            answers.append(Answer("true", describe(pattern), facts=(fact,)))
        else:
            answers.append(_why_unfilled(pattern, memory, names, taken))
    for pattern in variant.positive:
        if pattern.count:
            answers.append(_explain_count(pattern, memory, names, taken))
    answers += [_explain_negated(pattern, False, memory, names, taken) for pattern in variant.none]
    answers += [_explain_negated(pattern, True, memory, names, taken) for pattern in variant.absent]
    return answers


def _explain_negated(
    pattern: Pattern, absent: bool, memory: Memory, names: Binding, taken: Sequence[tuple[Pattern, Fact]]
) -> Answer:
    words = f"{'looked for and not there:' if absent else 'nothing seen with'} {describe(pattern)}"
    if _any_match(pattern, memory, names, taken):
        seen = None if pattern.count else next(_filling(pattern, memory, names, taken))
        if seen is None:
            return Answer("false", words)
        return Answer("false", f"{words}: {seen.source.place()} shows it", facts=(seen,))
    if not pattern.probe or pattern.probe in memory.looked:
        return Answer("true", words)
    if absent:
        return Answer("unknown", f"{words} (not looked for)", missing=(pattern.probe,))
    return Answer("true", f"{words} (not looked for: {pattern.probe})", missing=(pattern.probe,))


def _explain_count(pattern: Pattern, memory: Memory, names: Binding, taken: Sequence[tuple[Pattern, Fact]]) -> Answer:
    number = counted(pattern, memory, names, taken)
    text = f"{describe(pattern)}: {number} found"
    if number_holds(pattern, number):
        return Answer("true", text)
    if pattern.probe in memory.looked:
        return Answer("false", text)
    return Answer("unknown", text, missing=(pattern.probe,))


def _why_unfilled(pattern: Pattern, memory: Memory, names: Binding, taken: Sequence[tuple[Pattern, Fact]]) -> Answer:
    """The nearest fact and the test that it fails, or the evidence that is missing."""
    words = describe(pattern)
    best: tuple[int, Fact, list[str], bool] | None = None
    for fact in memory.by_kind.get(pattern.kind, ()):
        if not joins(pattern, fact, taken):
            continue
        failed, unknown = [], False
        for test in pattern.tests:
            result = holds(test, fact, names)
            if result is not True:
                failed.append(f"{test.field} is {_shown(fact.get(test.field))}")
                unknown = unknown or result is None
        score = len(failed)
        if best is None or score < best[0]:
            best = (score, fact, failed, unknown and all(holds(t, fact, names) is not False for t in pattern.tests))
    if pattern.probe not in memory.looked:
        return Answer("unknown", f"{words}: not looked for ({pattern.probe})", missing=(pattern.probe,))
    if best is None:
        return Answer("false", f"{words}: looked for ({pattern.probe}), nothing like it seen")
    _, fact, failed, only_unknown = best
    why = ", ".join(failed) if failed else "it stands elsewhere or in another order"
    if only_unknown:
        return Answer("unknown", f"{words}: {why} ({fact.source.place()})", facts=(fact,))
    return Answer("false", f"{words}: {why} ({fact.source.place()})", facts=(fact,))


def _shown(value: object) -> str:
    text = "unknown" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_WORDS = {
    "eq": "=", "ne": "is not", "gt": ">", "ge": ">=", "lt": "<", "le": "<=", "in": "one of", "not_in": "none of",
    "matches": "like", "not_matches": "unlike", "contains": "holding", "version": "in version",
    "not_version": "outside version",
}  # fmt: skip


def describe(pattern: Pattern) -> str:
    """A pattern in words, for why and why-not."""
    parts = []
    for test in pattern.tests:
        if test.op == "present":
            parts.append(f"{test.field} {'known' if test.operand else 'not there'}")
            continue
        value: object = test.operand
        if isinstance(value, FieldRef):
            value = (
                (f"{value.alias}." if value.alias else "")
                + value.field
                + (f" x {value.times:g}" if value.times != 1.0 else "")
            )
        elif isinstance(value, tuple):
            value = ", ".join(str(item) for item in value)
        parts.append(f"{test.field} {_WORDS[test.op]} {value}")
    text = pattern.kind + (f" with {' and '.join(parts)}" if parts else "")
    if pattern.kind == "finding" and pattern.tests:
        text = f"finding {pattern.tests[0].operand}"
    if pattern.count:
        text += " (number " + " and ".join(f"{_WORDS[t.op]} {t.operand}" for t in pattern.count) + ")"
    return text
