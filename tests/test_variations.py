"""Evidence pasted in other ways: twice, with Windows line ends, fenced, quoted, cut in two, without its timestamps.

A test judges all fixtures of a chapter in one way, and names those that do not come out right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache, partial

import pytest

import sparkdiag
from bench.variations import (
    WAYS,
    Wanted,
    after_healthy_run,
    cut,
    noise_after,
    noise_before,
    noise_between,
    right,
    right_or_inconclusive,
)
from tests.conditions import text_case
from tests.corpus import Labelled, logs, rule_fixtures

NOISE = 60
Way = Callable[[str], Iterator[tuple[str, ...]]]


@cache
def chapters() -> dict[str, list[Labelled]]:
    found: dict[str, list[Labelled]] = {"recorded-logs": logs()}
    for fixture in rule_fixtures():
        found.setdefault(fixture.id.split("/")[0], []).append(fixture)
    return found


def wanted(fixture: Labelled) -> Wanted:
    expected = fixture.expected
    quiet = expected.negative or expected.expect == ()
    return Wanted(frozenset(expected.expect or ()), frozenset(expected.reject), quiet)


@cache
def right_as_handed(fixture: Labelled) -> bool:
    """What is wrong as it stands is another test's to tell."""
    return right(wanted(fixture), sparkdiag.diagnose_text(fixture.text))


def one_cut(text: str) -> Iterator[tuple[str, ...]]:
    """At one of the places, which depends on the text alone."""
    places = list(cut(text))
    yield from random.Random(len(text)).sample(places, min(1, len(places)))


_START = re.compile(
    r"API server version|non-default args|server_args=|\bvllm serve |sglang\.launch_server|Starting vLLM"
)
_LATER = re.compile(r"ERROR|Error|startup complete|fired up")


def is_whole(fixture: Labelled) -> bool:
    """A log that shows its own start: a part of one, after another log, would be a part of that one's run."""
    if fixture.path.suffix != ".log":
        return False
    start, later = _START.search(fixture.text), _LATER.search(fixture.text)
    return start is not None and (later is None or start.start() < later.start())


def after_the_same_engine(text: str) -> Iterator[tuple[str, ...]]:
    return after_healthy_run(text, "sglang" if "sglang" in text.lower() else "vllm")


def not_right(fixtures: list[Labelled], way: Way, *, losing: bool = False) -> list[str]:
    """Fixtures that are right as handed and not so in this way, with what was said of them."""
    holds = right_or_inconclusive if losing else right
    out = []
    for fixture in filter(right_as_handed, fixtures):
        for pasted in way(fixture.text):
            report = text_case(*pasted).report
            if not holds(wanted(fixture), report):
                out.append(f"{fixture.id}: {', '.join(f'{d.id} {d.level}' for d in report.diagnoses) or 'nothing'}")
    return out


@pytest.mark.parametrize("way", [WAYS["twice"], WAYS["crlf"], WAYS["fenced"], WAYS["quoted"], one_cut])
@pytest.mark.parametrize("chapter", chapters())
def test_pasted_in_another_way(chapter: str, way: Way) -> None:
    assert not_right(chapters()[chapter], way) == []


@pytest.mark.parametrize("chapter", chapters())
def test_without_its_timestamps(chapter: str) -> None:
    timed = [fixture for fixture in chapters()[chapter] if list(WAYS["untimed"](fixture.text)) != [(fixture.text,)]]
    assert not_right(timed, WAYS["untimed"], losing=True) == []


@pytest.mark.parametrize("noisy", [noise_before, noise_after, noise_between])
@pytest.mark.parametrize("chapter", chapters())
def test_with_noise_that_says_nothing(chapter: str, noisy: Callable[[str, int], Iterator[tuple[str, ...]]]) -> None:
    """Every third fixture, each time another third."""
    third = [noise_before, noise_after, noise_between].index(noisy)
    assert not_right(chapters()[chapter][third::3], partial(noisy, number=NOISE)) == []


@pytest.mark.parametrize("chapter", [name for name in chapters() if name != "recorded-logs"])
def test_after_a_healthy_run_of_the_same_server(chapter: str) -> None:
    assert not_right(list(filter(is_whole, chapters()[chapter])), after_the_same_engine) == []


def test_most_fixtures_are_right_as_handed() -> None:
    fixtures = [fixture for group in chapters().values() for fixture in group]
    assert sum(map(right_as_handed, fixtures)) >= 0.95 * len(fixtures)
