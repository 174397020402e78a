"""Every fixture of a rule gives what it must: the rule fires there, or must not."""

from __future__ import annotations

import pytest

import sparkdiag
from sparkdiag.infer import shipped
from tests.corpus import FIXTURES, Labelled, captures, exchanges, logs, rule_fixtures, servers, wrong


@pytest.mark.parametrize("fixture", rule_fixtures(), ids=lambda fixture: fixture.id)
def test_the_text_is_taken_for_what_it_is(fixture: Labelled) -> None:
    assert wrong(fixture.expected, sparkdiag.diagnose_text(fixture.text)) == []


@pytest.mark.parametrize("fixture", captures(), ids=lambda fixture: fixture.id)
def test_the_capture_is_taken_for_what_it_is(fixture: Labelled) -> None:
    assert wrong(fixture.expected, sparkdiag.diagnose_capture(fixture.path)) == []


def test_fixtures_name_diagnoses_that_exist() -> None:
    known = shipped().diagnoses
    named = {
        fixture.id: {*(fixture.expected.expect or ()), *fixture.expected.reject}
        for fixture in (*rule_fixtures(), *captures(), *exchanges(), *logs(), *servers())
    }
    assert {name: ids - set(known) for name, ids in named.items() if ids - set(known)} == {}


def test_every_fixture_says_something() -> None:
    fixtures = [*rule_fixtures(), *captures()]
    assert [
        f.id for f in fixtures if f.expected.expect is None and not f.expected.negative and not f.expected.reject
    ] == []
    known = {fixture.path.parent for fixture in rule_fixtures()} | {fixture.path for fixture in captures()}
    assert {*FIXTURES.glob("rules/*/*"), *FIXTURES.glob("captures/*")} == known
