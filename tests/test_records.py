"""The package's dataclasses behave as the standard ones do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from sparkdiag import records


def twins(decorate: Callable[..., Any]) -> tuple[type, type, type]:
    """The same three classes by one decorator."""

    @decorate(frozen=True, slots=True)
    class Point:
        """Two numbers and a note."""

        x: int
        y: int = 0
        note: str = dataclasses.field(default="", compare=False)
        tags: list[str] = dataclasses.field(default_factory=list, repr=False, compare=False)

    @decorate(frozen=True, slots=True, kw_only=True)
    class Named(Point):
        """A point with a name."""

        name: str
        y: int = 7

    @decorate(slots=True)
    class Open:
        """May be changed."""

        a: int
        b: dict[str, int] = dataclasses.field(default_factory=dict)
        kept: str | None = dataclasses.field(default=None, init=False, compare=False, repr=False)

    return Point, Named, Open


OURS, STANDARD = twins(records.dataclass), twins(dataclasses.dataclass)
BOTH = pytest.mark.parametrize("classes", [OURS, STANDARD], ids=["ours", "standard"])


@BOTH
def test_construction_comparison_and_hash(classes: tuple[Any, Any, Any]) -> None:
    point, named, opened = classes
    assert (point(1).x, point(1).y, point(1).note, point(1).tags) == (1, 0, "", [])
    assert point(1).tags is not point(1).tags
    assert named(x=1, name="n").y == 7
    assert point(1, 2) == point(x=1, y=2, note="other")
    assert hash(point(1, 2)) == hash(point(1, 2, note="other"))
    assert point(1, 2) != point(2, 1)
    assert point(1, 7) != named(x=1, name="n")
    assert opened(1) == opened(1, {}) != opened(2)
    with pytest.raises(TypeError):
        hash(opened(1))
    for wrong in (lambda: point(), lambda: point(1, z=2), lambda: named(1, 2, "", [], "n"), lambda: named(x=1)):
        with pytest.raises(TypeError):
            wrong()


@BOTH
def test_frozen_is_frozen_and_open_is_open(classes: tuple[Any, Any, Any]) -> None:
    point, named, opened = classes
    for one in (point(1), named(x=1, name="n")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
            one.x = 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
            del one.x
    free = opened(1)
    free.a, free.kept = 5, "known"
    assert (free.a, free.kept, dataclasses.replace(free, a=6).kept) == (5, "known", None)
    with pytest.raises(TypeError):
        opened(1, kept="known")
    with pytest.raises(AttributeError):
        free.c = 1


@BOTH
def test_words_copies_and_the_functions_of_dataclasses(classes: tuple[Any, Any, Any]) -> None:
    point, named, opened = classes
    assert repr(point(1, note="n")).endswith("Point(x=1, y=0, note='n')")
    assert repr(opened(1)).endswith("Open(a=1, b={})")
    one = named(x=1, name="n", note="kept")
    assert dataclasses.replace(one, y=3) == named(x=1, y=3, name="n")
    assert dataclasses.replace(one, y=3).note == "kept"
    assert copy.copy(one) == copy.deepcopy(one) == one
    assert dataclasses.asdict(one) == {"x": 1, "y": 7, "note": "kept", "tags": [], "name": "n"}
    assert [f.name for f in dataclasses.fields(named)] == ["x", "y", "note", "tags", "name"]
    match point(4, 5):
        case point(x, y):
            assert (x, y) == (4, 5)


def test_facts_come_back_from_a_pickle() -> None:
    from sparkdiag.facts import Finding, Source, Where

    fact = Finding(id="a-finding", where=Where(node="spark-a"), source=Source("a log", line=3))
    assert pickle.loads(pickle.dumps(fact)) == fact
