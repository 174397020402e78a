"""Evidence pasted in other ways: twice, with Windows line ends, fenced, quoted, cut in two, without its timestamps."""

from __future__ import annotations

import random
from functools import cache

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
from tests.corpus import Labelled, logs, rule_fixtures

FIXTURES = [*rule_fixtures(), *logs()]
NOISE = 60
CUTS = 3
"""Places of each fixture at which it is cut."""


def wanted(fixture: Labelled) -> Wanted:
    expected = fixture.expected
    quiet = expected.negative or expected.expect == ()
    return Wanted(frozenset(expected.expect or ()), frozenset(expected.reject), quiet)


@cache
def right_as_handed(fixture: Labelled) -> bool:
    """What is wrong as it stands is another test's to tell."""
    return right(wanted(fixture), sparkdiag.diagnose_text(fixture.text))


def check(fixture: Labelled, pasted: tuple[str, ...], *, losing: bool = False) -> None:
    if right_as_handed(fixture):
        report = sparkdiag.diagnose_text(*pasted)
        holds = right_or_inconclusive if losing else right
        assert holds(wanted(fixture), report), [(d.id, d.level) for d in report.diagnoses]


@pytest.mark.parametrize("way", ["twice", "crlf", "fenced", "quoted"])
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.id)
def test_pasted_in_another_way(fixture: Labelled, way: str) -> None:
    for pasted in WAYS[way](fixture.text):
        check(fixture, pasted)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.id)
def test_cut_in_two_at_the_start_of_a_piece(fixture: Labelled) -> None:
    places = list(cut(fixture.text))
    for pasted in random.Random(fixture.id).sample(places, min(CUTS, len(places))):
        check(fixture, pasted)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.id)
def test_without_its_timestamps(fixture: Labelled) -> None:
    for pasted in WAYS["untimed"](fixture.text):
        check(fixture, pasted, losing=True)


@pytest.mark.parametrize("noisy", [noise_before, noise_after, noise_between])
@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.id)
def test_with_noise_that_says_nothing(fixture: Labelled, noisy: object) -> None:
    assert callable(noisy)
    for pasted in noisy(fixture.text, NOISE):
        check(fixture, pasted)


@pytest.mark.parametrize("fixture", rule_fixtures(), ids=lambda fixture: fixture.id)
def test_after_a_healthy_run_of_the_same_server(fixture: Labelled) -> None:
    if fixture.path.suffix == ".log":
        for pasted in after_healthy_run(fixture.text, "sglang" if "sglang" in fixture.text else "vllm"):
            check(fixture, pasted)


def test_most_fixtures_are_right_as_handed() -> None:
    assert sum(map(right_as_handed, FIXTURES)) >= 0.95 * len(FIXTURES)
