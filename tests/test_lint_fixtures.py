"""Every setup under fixtures/lint/ is judged as labelled."""

from __future__ import annotations

import pytest

from sparkdiag.advise.lint import lint_case
from sparkdiag.diagnosis import Report
from sparkdiag.infer import shipped
from tests.corpus import Labelled, wrong
from tests.lint_corpus import documents_of, engines_of, setups


def report_of(fixture: Labelled) -> Report:
    return lint_case(documents_of(fixture.path), engines=engines_of(fixture.path), rule_engine="python").report


@pytest.mark.parametrize("fixture", setups(), ids=lambda fixture: fixture.id)
def test_the_setup_is_judged_as_labelled(fixture: Labelled) -> None:
    report = report_of(fixture)
    claimed = {d.id for d in report.claimed}
    expected = fixture.expected
    assert [name for name in expected.expect or () if name not in claimed] == []
    kinds = {name: entry.kind for name, entry in shipped().diagnoses.items()}
    if expected.verdict != "fault":
        assert [name for name in claimed if kinds[name] == "fault"] == []
    else:
        assert {name for name in claimed if kinds[name] == "fault"} == {
            name for name in expected.expect or () if kinds[name] == "fault"
        }
    assert [line for line in wrong(expected, report) if not line.startswith("expect:")] == []


def test_fixtures_name_diagnoses_that_exist() -> None:
    known = set(shipped().diagnoses)
    assert {f.id: {*(f.expected.expect or ()), *f.expected.reject} - known for f in setups()} == {
        f.id: set() for f in setups()
    }
