"""Recorded servers on a loopback port, diagnosed live: the expected answer, and the same from the saved capture."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import sparkdiag
from sparkdiag.apps.demo import CASES, run_demo
from sparkdiag.apps.demo_server import DemoServer
from sparkdiag.cli import main
from sparkdiag.diagnosis import Report
from sparkdiag.errors import UsageError
from sparkdiag.expected import parse_expected
from sparkdiag.run import Options, run_sync
from tests.corpus import FIXTURES, SERVERS, Labelled, servers, wrong

OPTIONS = {"rule_engine": "python", "metrics_gap": 0.05, "later_gap": 0.1}
PLAIN = [server for server in servers() if not server.expected.only_with]
WITH_TOOLS = [server for server in servers() if "tools" in server.expected.only_with]
HIDDEN = [server for server in servers() if server.expected.only_with]


@cache
def live(server: Labelled, *, tools: bool, save: str | None = None) -> Report:
    with DemoServer(server.path) as demo:
        options: dict[str, Any] = {**OPTIONS, "api_key": demo.api_key, "tools": tools, "save": save}
        return run_sync([demo.url], Options(**options)).report


@pytest.mark.parametrize("server", PLAIN, ids=lambda server: server.id)
def test_a_server_is_taken_for_what_it_is(server: Labelled) -> None:
    assert wrong(server.expected, live(server, tools=False)) == []


@pytest.mark.parametrize("server", WITH_TOOLS, ids=lambda server: server.id)
def test_what_shows_only_with_tools_is_found_with_tools(server: Labelled) -> None:
    assert wrong(server.expected, live(server, tools=True)) == []


@pytest.mark.parametrize("server", HIDDEN, ids=lambda server: server.id)
def test_what_shows_only_on_request_is_not_claimed_without(server: Labelled) -> None:
    report = live(server, tools=False)
    assert [d.id for d in report.claimed if d.kind == "fault"] == []
    assert report.verdict == "healthy"


@pytest.mark.parametrize("server", servers(), ids=lambda server: server.id)
def test_a_saved_capture_gives_the_same_report(server: Labelled, tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    before = live(server, tools=True, save=str(folder)).to_dict()
    after = sparkdiag.diagnose_capture(folder, rule_engine="python").to_dict()
    assert after == before


def test_what_was_not_recorded_is_skipped_and_no_fault() -> None:
    (server,) = [server for server in servers() if server.id == "vllm-special-qwen3"]
    with DemoServer(server.path) as demo:
        case = run_sync([demo.url], Options(**OPTIONS))
    assert case.capture is not None
    skipped = {item.probe: item.why for item in case.capture.items if item.status == "skipped"}
    assert skipped["metrics"] == "the demo server has no recording of this"
    assert case.report.verdict == "healthy"


@pytest.mark.parametrize("case", CASES)
def test_the_demos_give_what_they_promise(case: str) -> None:
    shown = run_demo(case, "python")
    expected = Path(shown.folder) / "expected.yaml"
    assert wrong(parse_expected(expected.read_text()), shown.report) == []


def test_the_demos_are_parts_of_the_recorded_servers() -> None:
    """The copies that ship are the fixtures' own files."""
    originals = {file.read_bytes() for file in SERVERS.glob("*/*.json")}
    copies = list((FIXTURES / "demo").glob("*/*.json"))
    assert len(copies) > 20
    assert [str(copy) for copy in copies if copy.read_bytes() not in originals] == []
    assert {folder.name for folder in (FIXTURES / "demo").iterdir()} == set(CASES)


def test_a_folder_of_recordings_can_be_shown_and_a_wrong_name_lists_the_cases() -> None:
    shown = run_demo(str(SERVERS / "vllm-think-qwen3"), "python")
    assert [d.id for d in shown.report.claimed] == ["output.tool-call-parser-wrong"]
    with pytest.raises(UsageError, match=r"no demo 'no-such'.*(?s:.)*parser-eats-reply"):
        run_demo("no-such")


def test_the_verb_exits_by_whether_the_answer_is_the_expected_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["demo", "--rule-engine", "python"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("fault: A reasoning parser is set")
    assert text.endswith("as expected\n")
    other = tmp_path / "other"
    shutil.copytree(FIXTURES / "demo" / "healthy", other)
    (other / "expected.yaml").write_text("format: 1\nexpect: [reasoning.think-tags-leak]\n")
    assert main(["demo", str(other), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["as_expected"] is False
