"""Filling the places of a rule's texts with facts. In commands every value is quoted for the shell."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..facts import Fact, Value
from .memory import Memory
from .rules import Pattern

UNKNOWN = "unknown"

PLACE = re.compile(r"\{([a-z_][a-z0-9_-]*)\.([A-Za-z_][\w.-]*)(?::(\w+))?\}")
"""{alias.field} or {alias.field:format} in a text of a rule."""

FORMATS = ("GiB", "pct", "int", "quoted")


def fill(text: str, lookup: Callable[[str, str], Value], *, command: bool = False) -> str:
    """The text with its places filled. An unknown value reads `unknown`, in a command `VALUE`."""

    def put(match: object) -> str:
        alias, name, style = match[1], match[2], match[3]  # type: ignore[index]
        value = lookup(alias, name)
        if value is None or value == ():
            return name.upper().replace(".", "_") if command else UNKNOWN
        shown = _styled(value, style)
        if not command and style != "quoted":
            return shown
        import shlex

        return shlex.quote(shown)

    return PLACE.sub(put, text)


def _styled(value: Value, style: str | None) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, (bool, str)):
        return str(value)
    if value is None:
        return UNKNOWN
    if style == "GiB":
        return f"{value / 2**30:.1f} GiB"
    if style == "pct":
        return f"{value * 100:.0f}%"
    if style == "int" or (isinstance(value, float) and value.is_integer()):
        return str(round(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def lookup_in(bound: Sequence[tuple[Pattern, Fact]], memory: Memory) -> Callable[[str, str], Value]:
    """Values by alias from the facts that a rule matched, else from the first fact of that kind to know the field."""
    names = {pattern.alias: fact for pattern, fact in bound}

    def lookup(alias: str, name: str) -> Value:
        if alias in names:
            return names[alias].get(name)
        for fact in memory.by_kind.get(alias, ()):
            value = fact.get(name)
            if value is not None and all(fact.where.joins(other.where) for _, other in bound):
                return value
        return None

    return lookup
