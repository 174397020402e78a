"""Conditions of rules, from their data to variants of patterns."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

from ..facts import KINDS
from .comparisons import OPERATORS
from .entries import EntryError, keys, nearest
from .memory import KEYS
from .rules import Condition, FieldRef, Operand, Pattern, Test, Variant
from .versions import bounds
from .yaml_source import Located

MAX_VARIANTS = 32

_GROUPS = ("all", "any", "none", "absent")
_PATTERN_KEYS = {"as", "count", "distinct", "before", "after", "probe", "across"}
_ALIAS = re.compile(r"[a-z_][a-z0-9_-]*")
_OWN = ("flag", "env", "docker")
"""Before a dot these begin a field of the same fact, not the name of another."""
_WITH_FIELD = ("eq", "ne", "gt", "ge", "lt", "le", "contains")


def conditions(entry: Located, key: str, what: str) -> tuple[Condition, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise EntryError(entry.lines[key], f"'{key}' of {what} must be a list of conditions")
    out = []
    for item in value:
        grouped = isinstance(item, Located) and any(group in item for group in _GROUPS)
        if grouped:
            out.append(condition(item, entry.lines[key], what))
        else:
            out.append(Condition((Variant((pattern(item, entry.lines[key], what),)),)))
    return tuple(out)


def condition(data: Any, line: int, what: str) -> Condition:
    """`all`, `any`, `none`, `absent`, nested as one likes; expanded into variants."""
    entry = keys(data, set(_GROUPS), set(), f"'when' of {what}", line)
    if not entry:
        raise EntryError(line, f"'when' of {what} asks for nothing")
    variants = [Variant()]
    for group, items in entry.items():
        if not isinstance(items, list) or not items:
            raise EntryError(entry.lines[group], f"'{group}' of {what} must be a list of conditions")
        at = entry.lines[group]
        if group in ("none", "absent"):
            patterns = tuple(pattern(item, at, what) for item in items)
            extra = [Variant(none=patterns) if group == "none" else Variant(absent=patterns)]
            variants = _product(variants, extra, at, what)
        elif group == "all":
            for item in items:
                variants = _product(variants, _branch(item, at, what), at, what)
        else:
            branches = [variant for item in items for variant in _branch(item, at, what)]
            variants = _product(variants, branches, at, what)
    return Condition(tuple(_in_order(_unique_aliases(variant, line, what), line, what) for variant in variants))


def _branch(item: Any, line: int, what: str) -> list[Variant]:
    if isinstance(item, Located) and any(group in item for group in _GROUPS):
        return list(condition(item, line, what).variants)
    return [Variant((pattern(item, line, what),))]


def _product(left: list[Variant], right: list[Variant], line: int, what: str) -> list[Variant]:
    out = [
        Variant(a.positive + b.positive, a.none + b.none, a.absent + b.absent)
        for a, b in itertools.product(left, right)
    ]
    if len(out) > MAX_VARIANTS:
        raise EntryError(line, f"{what}: 'any' expands to more than {MAX_VARIANTS} variants; split it with a finding")
    return out


def _unique_aliases(variant: Variant, line: int, what: str) -> Variant:
    """Named aliases must differ; unnamed ones that repeat get a number."""
    seen: set[str] = set()
    positive = []
    for p in variant.positive:
        alias = p.alias
        if alias in seen:
            if p.named:
                raise EntryError(line, f"{what} uses the name '{alias}' twice")
            alias = next(f"{p.alias}{n}" for n in itertools.count(2) if f"{p.alias}{n}" not in seen)
        seen.add(alias)
        positive.append(p if alias == p.alias else replace(p, alias=alias))
    return Variant(tuple(positive), variant.none, variant.absent)


def _in_order(variant: Variant, line: int, what: str) -> Variant:
    """Every pattern after those that it refers to: they are filled one after the other."""
    left, placed = list(variant.positive), []
    while left:
        waiting = {p.alias for p in left if not p.count}
        free = next((p for p in left if not (_referred(p) & waiting) - {p.alias}), None)
        if free is None:
            names = " and ".join(sorted(waiting))
            raise EntryError(line, f"{what}: {names} refer to each other in a circle; say it on one side only")
        left.remove(free)
        placed.append(free)
    return replace(variant, positive=tuple(placed))


def _referred(p: Pattern) -> set[str]:
    """The names of other patterns that a pattern speaks of."""
    names = {t.operand.alias for t in p.tests if isinstance(t.operand, FieldRef)} | {p.before, p.after}
    return {name for name in names if name is not None}


def pattern(data: Any, line: int, what: str) -> Pattern:
    """`{chat: {finish_reason: length}, as: c}`"""
    if not isinstance(data, Located):
        raise EntryError(line, f"a condition of {what} must be a mapping like 'chat: {{finish_reason: length}}'")
    kinds = [key for key in data if key not in _PATTERN_KEYS]
    if len(kinds) != 1:
        raise EntryError(data.line, f"a condition of {what} must name one kind of fact, not {len(kinds)}")
    kind = kinds[0]
    if kind not in KINDS:
        raise EntryError(data.lines[kind], f"{what}: '{kind}' is no kind of fact{nearest(kind, set(KINDS))}")
    body = data[kind]
    if isinstance(body, str):
        if kind not in KEYS:
            raise EntryError(data.lines[kind], f"{what}: '{kind}: {body}' is short for nothing; write its fields")
        tests: list[Test] = [Test(KEYS[kind], "eq", body)]
    elif body is None or isinstance(body, Located):
        fields = Located() if body is None else body
        tests = [t for name, value in fields.items() for t in _tests(name, value, fields.lines[name], what)]
    else:
        raise EntryError(data.lines[kind], f"{what}: '{kind}' takes a mapping of fields")
    alias = data.get("as", kind)
    for key in ("as", "before", "after", "probe", "distinct"):
        if key in data and not isinstance(data[key], str):
            raise EntryError(data.lines[key], f"{what}: '{key}' must be a word")
    if not _ALIAS.fullmatch(alias) or alias in _OWN:
        raise EntryError(data.lines["as"], f"{what}: 'as: {alias}' is no name; use a lower-case word")
    reaches = data.get("across", [])
    across = tuple(reaches) if isinstance(reaches, list) else (reaches,)
    if not {"node", "run"}.issuperset(one if isinstance(one, str) else "" for one in across):
        raise EntryError(data.lines["across"], f"{what}: 'across' can only be 'node', 'run', or [node, run]")
    count = _count(data["count"], data.lines["count"], what) if "count" in data else ()
    if "distinct" in data and not count:
        raise EntryError(data.lines["distinct"], f"{what}: 'distinct' needs 'count'")
    return Pattern(
        kind=kind,
        tests=tuple(tests),
        alias=alias,
        probe=data.get("probe", kind),
        named="as" in data,
        across=across,
        before=data.get("before"),
        after=data.get("after"),
        count=count,
        distinct=data.get("distinct"),
    )


def _tests(name: str, value: Any, line: int, what: str) -> list[Test]:
    if value in ("present", "missing") and isinstance(value, str):
        return [Test(name, "present", value == "present")]
    if isinstance(value, list):
        return [Test(name, "in", _scalars(value, line, what))]
    if isinstance(value, Located):
        if set(value) <= {"field", "times"}:
            return [Test(name, "eq", _ref(value, line, what))]
        out = []
        for op, operand in value.items():
            if op == "between":
                low, high = _scalars(operand, line, what, size=2)
                out += [Test(name, "ge", low), Test(name, "le", high)]
            elif op not in OPERATORS:
                raise EntryError(value.lines[op], f"{what}: '{op}' is no comparison{nearest(op, set(OPERATORS))}")
            else:
                out.append(Test(name, op, _operand(op, operand, value.lines[op], what)))
        return out
    if not isinstance(value, (str, int, float, bool)):
        raise EntryError(
            line, f"{what}: '{name}' is compared with {value!r}, which is no value; write 'missing' for unknown"
        )
    return [Test(name, "eq", value)]


def _count(value: Any, line: int, what: str) -> tuple[Test, ...]:
    tests = tuple(_tests("count", value, line, what))
    for test in tests:
        numbers = test.operand if isinstance(test.operand, tuple) else (test.operand,)
        plain = all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers)
        if not plain or test.op in ("present", "contains"):
            raise EntryError(line, f"{what}: 'count' is compared with plain numbers, as in {{ge: 2}}")
    return tests


def _operand(op: str, value: Any, line: int, what: str) -> Operand:
    if isinstance(value, Located):
        if op not in _WITH_FIELD:
            raise EntryError(line, f"{what}: '{op}' takes no other field; {', '.join(_WITH_FIELD)} do")
        return _ref(value, line, what)
    if op in ("in", "not_in"):
        return _scalars(value, line, what)
    if op in ("matches", "not_matches"):
        try:
            re.compile(str(value))
        except re.error as error:
            raise EntryError(line, f"{what}: the regular expression does not compile: {error}") from None
        return str(value)
    if op in ("version", "not_version"):
        try:
            bounds(str(value))
        except ValueError as error:
            raise EntryError(line, f"{what}: {error}") from None
        return str(value)
    if op == "present":
        if not isinstance(value, bool):
            raise EntryError(line, f"{what}: 'present' is true or false")
        return value
    if not isinstance(value, (str, int, float, bool)):
        raise EntryError(line, f"{what}: '{op}' takes one value, not {value!r}")
    return value


def _scalars(value: Any, line: int, what: str, size: int | None = None) -> tuple[Any, ...]:
    if not isinstance(value, list) or not all(isinstance(item, (str, int, float, bool)) for item in value):
        raise EntryError(line, f"{what}: a list of plain values is needed, not {value!r}")
    if size is not None and len(value) != size:
        raise EntryError(line, f"{what}: {size} values are needed, not {len(value)}")
    return tuple(value)


def _ref(value: Located, line: int, what: str) -> FieldRef:
    name, times = value.get("field"), value.get("times", 1.0)
    if not isinstance(name, str) or not isinstance(times, (int, float)) or not set(value) <= {"field", "times"}:
        raise EntryError(line, f"{what}: another field is written {{field: name.of_field}} or with 'times: number'")
    alias, dot, rest = name.partition(".")
    if dot and alias in _OWN:
        alias, rest, dot = "", name, ""
    return FieldRef(alias if dot else None, rest if dot else name, float(times))
