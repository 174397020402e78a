"""One comparison on one fact: what each operator means, and what it comes to where something is unknown."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ..facts import Fact, Value
from .rules import FieldRef, Pattern, Test
from .versions import in_range, parse

__all__ = ["OPERATORS", "Binding", "accepts", "holds", "resolve"]

Binding = Mapping[str, Fact]

MAX_SUBJECT = 4096
"""Regular expressions see at most this many characters of a field."""


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _same(a: Any, b: Any) -> bool:
    """Equality that keeps True apart from 1; a list is equal to each of its items."""
    if type(a) is type(b):
        return bool(a == b)
    if isinstance(a, bool) or isinstance(b, bool):
        return False
    if isinstance(a, tuple) and isinstance(b, str):
        return b in a
    return bool(a == b) and isinstance(a, str) == isinstance(b, str)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(a: Any, b: Any) -> bool:
        numbers = (int, float)
        if isinstance(a, bool) or isinstance(b, bool):
            return False
        if (isinstance(a, numbers) and isinstance(b, numbers)) or (isinstance(a, str) and isinstance(b, str)):
            return compare(a, b)
        return False

    return test


def _text(value: Any) -> str:
    return (" ".join(value) if isinstance(value, tuple) else str(value))[:MAX_SUBJECT]


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _same,
    "ne": lambda a, b: not _same(a, b),
    "gt": _ordered(operator.gt),
    "ge": _ordered(operator.ge),
    "lt": _ordered(operator.lt),
    "le": _ordered(operator.le),
    "in": lambda a, b: any(_same(a, item) for item in b),
    "not_in": lambda a, b: not any(_same(a, item) for item in b),
    "matches": lambda a, b: _compiled(b).search(_text(a)) is not None,
    "not_matches": lambda a, b: _compiled(b).search(_text(a)) is None,
    "contains": lambda a, b: str(b) in (a if isinstance(a, tuple) else _text(a)),
    "version": lambda a, b: in_range(str(a), str(b)),
    "not_version": lambda a, b: parse(str(a)) is not None and not in_range(str(a), str(b)),
    "present": lambda a, b: True,  # decided before: presence is about None
}
"""Each takes the field's value (never None) and the operand."""


def resolve(operand: FieldRef, fact: Fact, binding: Binding) -> Value:
    """The referred value under a binding; None if it is unknown."""
    owner = fact if operand.alias is None else binding.get(operand.alias)
    value = None if owner is None else owner.get(operand.field)
    if operand.times != 1.0:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        try:
            return value * operand.times
        except OverflowError:  # an integer beyond all floats
            return None
    return value


def holds(test: Test, fact: Fact, binding: Binding) -> bool | None:
    """True or False; None where the field, or what it is compared with, is unknown."""
    value = fact.get(test.field)
    if test.op == "present":
        return (value is not None and value != ()) is test.operand
    if value is None:
        return None
    operand: Any = test.operand
    if isinstance(operand, FieldRef):
        operand = resolve(operand, fact, binding)
        if operand is None:
            return None
    return OPERATORS[test.op](value, operand)


def accepts(pattern: Pattern, fact: Fact, binding: Binding) -> bool | None:
    """Whether a fact fills a pattern, all its tests taken together; order and where are the caller's."""
    unknown = False
    for test in pattern.tests:
        result = holds(test, fact, binding)
        if result is False:
            return False
        unknown = unknown or result is None
    return None if unknown else True
