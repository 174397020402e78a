"""expected.yaml: read with its lines, compared with a report; and `replay`, whose library is a stand-in here."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import sparkdiag
from sparkdiag.cli import main
from sparkdiag.diagnosis import Diagnosis, FixStep, Report
from sparkdiag.errors import CaptureError
from sparkdiag.expected import differences, parse_expected

NOWHERE: dict[str, str | None] = dict.fromkeys(("target", "node", "container", "rank", "run"))
FIX = (FixStep("Restart it", command="docker x"),)
FAULT = Diagnosis("chapter.a-fault", "r", "A title", "fault", "likely", "A cause.", NOWHERE, fix=FIX)
LIMIT = dataclasses.replace(FAULT, id="chapter.a-limit", kind="limit")
WEAK = dataclasses.replace(FAULT, id="chapter.weak", level="possible")
REPORT = Report("1.2.3", "abc", "python", "fault", (FAULT, LIMIT, WEAK))
HEALTHY = Report("1.2.3", "abc", "python", "healthy", (LIMIT,))


def keys(text: str, report: Report = REPORT, *, strict: bool = False) -> list[str]:
    """The points in which a report differs from an expectation."""
    return [d.key for d in differences(parse_expected(f"format: 1\n{text}"), report, strict=strict)]


@pytest.mark.parametrize(
    ("text", "differing"),
    [
        ("expect: [chapter.a-fault, chapter.other]", []),
        ("expect: [chapter.a-limit]", ["expect"]),
        ("expect: [chapter.weak]", ["expect"]),
        ("expect: []", ["expect"]),
        ("expect: [chapter.a-fault]\nnegative: true", []),
        ("expect: [chapter.a-limit]\nnegative: true", ["expect", "negative"]),
        ("reject: [chapter.other, chapter.weak]", []),
        ("reject: [chapter.a-limit]", ["reject"]),
        ("verdict: fault", []),
        ("verdict: healthy", ["verdict"]),
        ("fix_any: [reboot, RESTART]", []),
        ("fix_any: ['restart.*docker']", []),
        ("fix_any: [reboot]", ["fix_any"]),
        ("fix_none: [reboot]", []),
        ("fix_none: [docker]", ["fix_none"]),
        ("about: a case", []),
    ],
)
def test_what_is_compared(text: str, differing: list[str]) -> None:
    assert keys(text) == differing


def test_an_expectation_of_no_fault_allows_limits() -> None:
    assert keys("expect: []", HEALTHY) == []
    assert keys("negative: true", HEALTHY) == []
    assert keys("expect: [chapter.a-fault]", HEALTHY) == ["expect"]


def test_pins_count_when_strict() -> None:
    exact = "pinned: {chapter.a-fault: likely, chapter.a-limit: likely}"
    assert keys(exact, strict=True) == []
    assert keys("pinned: {chapter.a-fault: likely}", strict=True) == ["pinned"]
    assert keys("pinned: {chapter.a-fault: strong, chapter.a-limit: likely}", strict=True) == ["pinned"]
    assert keys("pinned: {}") == []
    with pytest.raises(CaptureError, match="nothing is pinned"):
        keys("expect: [chapter.a-fault]", strict=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "e.yaml:1: this file is a mapping with 'format: 1'"),
        ("- a", "e.yaml:1: this file is a mapping"),
        ("expect: []", "e.yaml:1: an expected.yaml says 'format: 1'"),
        ("expect: []\nformat: 2", "e.yaml:2: an expected.yaml says 'format: 1'"),
        ("format: 1\nexpcet: []", "e.yaml:2: there is no key 'expcet' here"),
        ("format: 1\n\nexpect: chapter.a", "e.yaml:3: 'expect' is a list of words"),
        ("format: 1\nreject: [1]", "e.yaml:2: 'reject' is a list of words"),
        ("format: 1\nnegative: maybe", "e.yaml:2: 'negative' is true or false"),
        ("format: 1\nverdict: broken", "e.yaml:2: 'verdict' is one of fault, healthy, inconclusive"),
        ("format: 1\nfix_any: ['(']", "e.yaml:2: 'fix_any' holds a regular expression that does not compile"),
        ("format: 1\npinned: [a]", "e.yaml:2: 'pinned' is a mapping of id to level"),
        ("format: 1\npinned: {a: sure}", "e.yaml:2: 'pinned' is a mapping of id to level"),
        ("format: 1\nexpect: [", "e.yaml:"),
        ("format: 1\nexpect: []\nexpect: []", "e.yaml:3: 'expect' is given twice"),
        ("\x00", "e.yaml:1: "),
        ("[" * 5000, "e.yaml:1: "),
    ],
)
def test_a_broken_expectation_is_refused_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(CaptureError) as caught:
        parse_expected(text, "e.yaml")
    assert str(caught.value).startswith(sentence)


@pytest.fixture
def capture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder whose replay gives REPORT."""

    def diagnose_capture(path: str, **options: object) -> Report:
        assert Path(path) == tmp_path
        return REPORT

    monkeypatch.setitem(vars(sparkdiag), "diagnose_capture", diagnose_capture)
    return tmp_path


def expect(capture: Path, text: str) -> None:
    (capture / "expected.yaml").write_text(f"format: 1\n{text}\n")


def test_without_an_expectation_the_verdict_counts(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(capture)]) == 1
    assert "as expected" not in capsys.readouterr().out
    assert main(["replay", str(capture), "--strict"]) == 2
    assert "has none" in capsys.readouterr().err


def test_as_expected_is_0_though_a_fault_is_claimed(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(capture, "expect: [chapter.a-fault]")
    assert main(["replay", str(capture)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("fault: A title (likely, 0.70)\n")
    assert out.endswith("\nas expected\n")


def test_different_is_1_with_what_was_expected_and_got(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(capture, "expect: [chapter.other, chapter.more]\nverdict: healthy")
    assert main(["replay", str(capture)]) == 1
    assert capsys.readouterr().out.endswith(
        "\ndifferent from what is expected\n"
        "  expect\n"
        "    exp: chapter.other first\n"
        "    exp: chapter.more first\n"
        "    got: chapter.a-fault (likely, 0.70)\n"
        "    got: chapter.a-limit (likely, 0.70)\n"
        "  verdict\n"
        "    exp: healthy\n"
        "    got: fault\n"
    )


def test_json_of_a_replay_is_the_report_and_the_comparison(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(capture, "verdict: healthy")
    assert main(["replay", str(capture), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        **REPORT.to_dict(),
        "as_expected": False,
        "differences": [{"key": "verdict", "expected": ["healthy"], "got": ["fault"]}],
    }


def test_other_formats_keep_the_comparison_apart(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(capture, "verdict: fault")
    assert main(["replay", str(capture), "--format", "line"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err == "as expected\n"


def test_strict_compares_pins(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(capture, "expect: [chapter.a-fault]\npinned: {chapter.a-fault: certain}")
    assert main(["replay", str(capture)]) == 0
    assert main(["replay", str(capture), "--strict"]) == 1
    assert "exp: chapter.a-fault: certain\n    got: chapter.a-fault: likely\n" in capsys.readouterr().out


def test_a_broken_expectation_names_its_file(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expect(capture, "verdict: fine")
    assert main(["replay", str(capture)]) == 2
    assert f"{capture / 'expected.yaml'}:2: 'verdict' is one of" in capsys.readouterr().err
    (capture / "expected.yaml").write_bytes(b"\xff\xfe")
    assert main(["replay", str(capture)]) == 2
    assert "is not UTF-8 text" in capsys.readouterr().err


def test_the_expectation_of_an_archive_lies_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(vars(sparkdiag), "diagnose_capture", lambda path, **_: REPORT)
    (tmp_path / "case.expected.yaml").write_text("format: 1\nverdict: healthy\n")
    for name in ("case.tar.gz", "case.zip"):
        assert main(["replay", str(tmp_path / name)]) == 1
        assert "different from what is expected" in capsys.readouterr().out
