"""rules, explain, why and why-not on a small rulebook, and --version."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sparkdiag.case import judge
from sparkdiag.cli import main
from sparkdiag.facts import Fact, Looked, Source
from sparkdiag.facts.replies import ChatReply
from sparkdiag.infer import Rulebook
from sparkdiag.infer.rulebook import load_texts

RULES = """\
format: 1
chapter: demo
diagnoses:
  - id: demo.budget-spent
    title: The budget ran out in mid-thought
    kind: fault
    cause: "{chat.max_tokens} tokens were spent on the thought."
    fix:
      - {do: Ask again with more., on: client}
      - {do: Start it again., risk: restarts, command: "docker restart engine", undo: stop it}
    avoid:
      - {do: Remove the parser., because: the model does think, unless: never-thinks}
    confirm: Content is filled.
    sources: [a playbook, section 4]
    known: 2019-02 on vllm 0.16
    explains: [demo.cut-off]
  - id: demo.cut-off
    title: The reply is cut off
    kind: limit
    cause: The cap was reached.
    fix:
      - {do: Ask for more., on: client}
    sources: [a playbook]
findings:
  - {id: never-thinks, means: The model never thinks}
probes:
  - {id: ask-again, supplies: [chat, completion], cost: 2000 tokens, weight: 5, do: Ask with a larger budget.}
rules:
  - id: empty-at-cap
    concludes: demo.budget-spent
    when:
      any:
        - chat: {finish_reason: length, content_chars: 0, at_token_cap: true}
        - chat: {finish_reason: length, content_chars: 0, reasoning_chars: {gt: 0}}
      none:
        - finding: never-thinks
    confidence: strong
    weakens: [{chat: {temperature: {gt: 1}}}]
  - id: at-cap
    concludes: demo.cut-off
    when: {all: [{chat: {finish_reason: length}}]}
    confidence: likely
  - id: plain
    concludes: never-thinks
    when: {all: [{completion: {text_chars: {gt: 5}}}]}
"""
AT = {name: RULES[: RULES.index(f"id: {name}\n")].count("\n") + 1 for name in ("empty-at-cap", "at-cap")}
CHAT = Source("reply.json", path="$.choices[0]", text='"finish_reason": "length"')


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> Rulebook:
    small = load_texts({"rules/demo.yaml": RULES})
    monkeypatch.setattr("sparkdiag.infer.shipped", lambda: small)
    monkeypatch.setattr("sparkdiag.cli.rule_files.rules_folder", lambda: None)
    return small


@pytest.fixture
def evidence(book: Rulebook, monkeypatch: pytest.MonkeyPatch) -> list[Fact]:
    """Facts that a target holds, whatever its name; add to them before the call."""
    facts: list[Fact] = []

    def case_from_targets(targets: Sequence[str], options: dict[str, Any]) -> object:
        return judge(lambda _: facts, book=book, rule_engine="python")

    run = types.ModuleType("sparkdiag.run")
    run.case_from_targets = case_from_targets  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sparkdiag.run", run)
    return facts


def chat(**fields: Any) -> list[Fact]:
    plain = {"finish_reason": "length", "content_chars": 0, "max_tokens": 64, "at_token_cap": True}
    return [Looked(probe="chat"), ChatReply(source=CHAT, **{**plain, **fields})]


def said(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> str:
    """Standard output of a call with the exit status that it must have, white space folded."""
    assert main(argv) == status
    out, err = capsys.readouterr()
    assert err == ""
    return " ".join(out.split())


def data(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> Any:
    assert main([*argv, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_version_names_rules_and_engine(book: Rulebook, capsys: pytest.CaptureFixture[str]) -> None:
    from sparkdiag._version import __version__

    line = f"sparkdiag {__version__}, 3 rules, rule engine python"
    assert said(capsys, "--version", "--rule-engine", "python") == line
    found = data(capsys, "--version", "--rule-engine", "python")
    assert found == {
        "sparkdiag": __version__, "rules": 3, "diagnoses": 2, "rulebook": book.hash, "rule_engine": "python"
    }  # fmt: skip


def test_rules_list(book: Rulebook, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "rules", "list")
    assert "demo.budget-spent [fault] The budget ran out in mid-thought empty-at-cap (strong)" in text
    assert "never-thinks [finding] The model never thinks plain" in text
    found = data(capsys, "rules", "list")
    assert [rule["id"] for rule in found["rules"]] == ["at-cap", "empty-at-cap", "plain"]
    assert [d["id"] for d in found["diagnoses"]] == ["demo.budget-spent", "demo.cut-off"]


def test_rules_show_without_the_files(book: Rulebook, capsys: pytest.CaptureFixture[str]) -> None:
    assert "finish_reason = length" in said(capsys, "rules", "show", "empty-at-cap")
    (entry,) = data(capsys, "rules", "show", "ask-again")
    assert (entry["entry"], entry["cost"]) == ("probe", "2000 tokens")


def test_rules_show_prints_the_entry_as_written(
    book: Rulebook, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "demo.yaml").write_text(RULES)
    monkeypatch.setattr("sparkdiag.cli.rule_files.rules_folder", lambda: tmp_path)
    assert main(["rules", "show", "at-cap"]) == 0
    assert capsys.readouterr().out == (
        f"# rule, rules/demo.yaml:{AT['at-cap']}\n"
        "- id: at-cap\n"
        "  concludes: demo.cut-off\n"
        "  when: {all: [{chat: {finish_reason: length}}]}\n"
        "  confidence: likely\n"
    )


def test_an_unknown_id_gets_a_hint(book: Rulebook, capsys: pytest.CaptureFixture[str]) -> None:
    near = {"demo.budget-spend": "demo.budget-spent", "cut-off": "demo.cut-off", "empty-at-cp": "empty-at-cap"}
    for name, hint in near.items():
        for verb in (("rules", "show"), ("explain",)):
            assert main([*verb, name]) == 2
            assert f"no rule or diagnosis '{name}'; did you mean {hint}?" in capsys.readouterr().err


def test_explain_a_diagnosis(book: Rulebook, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "explain", "demo.budget-spent")
    words = (
        "demo.budget-spent (fault) The budget ran out in mid-thought {chat.max_tokens} tokens were spent on",
        "Fix 1. Ask again with more. [in the client] 2. Start it again. [on the node; restarts the server]",
        "docker restart engine Undo: stop it",
        "Do not remove the parser: the model does think. (unless never-thinks)",
        "To confirm - Content is filled.",
        f"Named when empty-at-cap (rule, strong; rules/demo.yaml:{AT['empty-at-cap']})",
        "- nothing seen with finding never-thinks - and one of 1. - chat with finish_reason = length and content",
        "one level less sure when - chat with temperature > 1",
        "Explains - demo.cut-off",
        "Known true - 2019-02 on vllm 0.16",
        "Sources - a playbook - section 4",
    )
    positions = [text.find(part) for part in words]
    assert -1 not in positions
    assert positions == sorted(positions)


def test_explain_a_rule_a_finding_and_a_probe(book: Rulebook, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "explain", "at-cap").startswith(
        f"at-cap (rule, likely; rules/demo.yaml:{AT['at-cap']}) - chat with finish_reason = length demo.cut-off (limit)"
    )
    assert "The model never thinks Named when plain (rule; " in said(capsys, "explain", "never-thinks")
    assert "costs 2000 tokens; tells about chat, completion" in said(capsys, "explain", "ask-again")
    (entry,) = data(capsys, "explain", "demo.budget-spent")
    assert [rule["id"] for rule in entry["rules"]] == ["empty-at-cap"]


def test_why_shows_what_fired_with_its_places(evidence: list[Fact], capsys: pytest.CaptureFixture[str]) -> None:
    evidence += chat(reasoning_chars=10)
    text = said(capsys, "why", "demo.budget-spent", "reply.json")
    assert text.startswith("demo.budget-spent: fired The report claims it: ")
    assert "yes chat with finish_reason = length and content_chars = 0 and at_token_cap" in text
    assert "seen in reply.json $.choices[0]" in text
    assert "to tell: completion is missing; the probe ask-again (costs 2000 tokens) gives it" in text


def test_why_tells_a_symptom_from_a_claim(evidence: list[Fact], capsys: pytest.CaptureFixture[str]) -> None:
    evidence += [*chat(reasoning_chars=10), *chat(reasoning_chars=10)[1:]]
    text = said(capsys, "why", "demo.cut-off", "reply.json")
    assert "The report shows it as a symptom of demo.budget-spent: likely, 0.70, by the rule at-cap" in text


def test_why_not_gives_the_value_that_rules_it_out(evidence: list[Fact], capsys: pytest.CaptureFixture[str]) -> None:
    evidence += chat(finish_reason="stop", content_chars=5)
    text = said(capsys, "why-not", "demo.budget-spent", "reply.json")
    at = f"rules/demo.yaml:{AT['empty-at-cap']}"
    assert text.startswith(f"demo.budget-spent: ruled out rule empty-at-cap ({at}): ruled out no chat with")
    assert "to tell" not in text
    assert "finish_reason is 'stop'" in text
    assert "reply.json $.choices[0]" in text


def test_why_not_says_what_is_missing(evidence: list[Fact], capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "why-not", "demo.budget-spent", "reply.json", status=3)
    assert text.startswith("demo.budget-spent: cannot tell")
    assert "chat is missing; the probe ask-again (costs 2000 tokens) gives it: Ask with a larger budget." in text


def test_why_of_a_finding_and_as_json(evidence: list[Fact], capsys: pytest.CaptureFixture[str]) -> None:
    evidence += chat()
    found = data(capsys, "why", "never-thinks", "reply.json", status=3)
    assert (found["answer"], found["rules"][0]["missing"]) == ("cannot tell", ["completion"])
    found = data(capsys, "why", "at-cap", "reply.json")
    assert found["answer"] == "fired"
    assert found["rules"][0]["conditions"] == [
        {
            "state": "true",
            "text": "chat with finish_reason = length",
            "missing": [],
            "places": ["reply.json $.choices[0]"],
        }
    ]


def test_an_unknown_id_is_refused_before_the_evidence_is_read(
    book: Rulebook, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", "demo.cut-of", "/no/such/file"]) == 2
    assert "did you mean demo.cut-off?" in capsys.readouterr().err


def folder(tmp_path: Path, text: str) -> Path:
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "demo.yaml").write_text(text)
    return rules


def test_rules_check_passes_and_warns_of_old_sources(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = folder(tmp_path, RULES)
    assert main(["rules", "check", str(rules)]) == 0
    warning, result = capsys.readouterr().out.splitlines()
    assert warning == (
        "rules/demo.yaml:4: warning: diagnosis 'demo.budget-spent': its newest source is of 2019-02, over a year ago"
    )
    assert result == f"{rules}: no problems (3 rules, 2 diagnoses, 1 findings, 0 signatures, 1 probes)"


COMMON = """\
format: 1
chapter: demo
signatures:
  - id: usage-printed
    anchor: "usage: "
    regex: "^usage: "
probes:
  - {id: read-log, supplies: [log], cost: nothing, weight: 1, do: Hand in the log.}
rules:
  - id: usage-shown
    concludes: never-thinks
    when: {all: [{log: {signature: usage-printed}}]}
"""


def test_rules_check_warns_of_anchors_that_stand_in_ordinary_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = folder(tmp_path, RULES)
    (rules / "more.yaml").write_text(COMMON)
    assert main(["rules", "check", str(rules)]) == 0
    _, warning, _ = capsys.readouterr().out.splitlines()
    assert warning.startswith(
        "rules/more.yaml:4: warning: signature 'usage-printed': its anchor 'usage: ' stands in ordinary lines, "
    )


def test_rules_check_names_file_and_line_of_every_problem(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = RULES.replace("kind: limit", "kind: lmit").replace("confidence: strong", "confidence: stron")
    confidence = broken[: broken.index("stron")].count("\n") + 1
    rules = folder(tmp_path, broken)
    assert main(["rules", "check", str(rules)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("rules/demo.yaml:") and "'lmit'" in line for line in lines)
    assert any(line.startswith(f"rules/demo.yaml:{confidence}: ") and "'stron'" in line for line in lines)
    assert main(["rules", "check", str(rules), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["problems"]
    assert all(problem["file"] == "rules/demo.yaml" and problem["line"] > 0 for problem in found)
    assert any("lmit" in problem["message"] for problem in found)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"rules: [", b"- 1", b"\x00", b"format: 2"])
def test_rules_check_of_rubbish_is_a_problem_with_a_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    rules = folder(tmp_path, "")
    (rules / "demo.yaml").write_bytes(content)
    assert main(["rules", "check", str(rules), "--json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["line"] in (1, 2)
    assert problem["message"]


def test_rules_check_of_no_folder_and_of_no_rules(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["rules", "check", str(tmp_path / "none")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    assert main(["rules", "check", str(tmp_path)]) == 1
    assert "no rule files" in capsys.readouterr().out


def test_rules_check_sees_that_the_compiled_rulebook_is_not_current(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rules = folder(tmp_path, RULES)
    compiled = tmp_path / "rulebook.json"
    monkeypatch.setattr("sparkdiag.cli.rule_files.rules_folder", lambda: rules)
    monkeypatch.setattr("sparkdiag.infer.rulebook.COMPILED", compiled)
    assert main(["rules", "check"]) == 1
    assert "rulebook.json:1: the compiled rulebook cannot be read" in capsys.readouterr().out
    assert main(["rules", "compile", str(rules), "--output", str(compiled)]) == 0
    assert capsys.readouterr().out.endswith(", 3 rules\n")
    assert main(["rules", "check"]) == 0
    capsys.readouterr()
    (rules / "demo.yaml").write_text(RULES.replace("confidence: likely", "confidence: strong"))
    assert main(["rules", "check"]) == 1
    assert "rulebook.json:1: not current with the rule files; run: sparkdiag rules compile" in capsys.readouterr().out


def test_rules_compile_refuses_what_check_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = folder(tmp_path, "format: 1\nrulez: []\n")
    assert main(["rules", "compile", str(rules), "--output", str(tmp_path / "out.json")]) == 2
    assert "rules/demo.yaml:2: a rule file has no section 'rulez'" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
    (rules / "demo.yaml").write_text(RULES)
    assert main(["rules", "compile", str(rules), "--output", "/dev/full"]) == 2
    assert "/dev/full cannot be written" in capsys.readouterr().err
