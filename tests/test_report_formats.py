"""JSON, one line, Markdown, and the choice of a format."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from sparkdiag.diagnosis import Diagnosis, Evidence, FixStep, Report
from sparkdiag.errors import UsageError
from sparkdiag.report import FORMATS, PLANNED, render

WHERE: dict[str, str | None] = dict.fromkeys(("target", "node", "container", "rank", "run"))
WHERE["target"] = "http://spark-a:8000"
FAULT = Diagnosis(
    id="chapter.a-fault",
    rule="r",
    title="The template opens <think> itself",
    kind="fault",
    level="strong",
    cause="The *first* tag `<think>` is in the prompt [see @someone](http://evil).",
    where=WHERE,
    fix=(FixStep("Restart", risk="restarts", command="run ``` it"),),
    evidence=(Evidence("serve.log", "a line\nwith ``` a fence\n# and a heading", line=7),),
)
REPORT = Report("1.2.3", "abc", "python", "fault", (FAULT,), facts=({"kind": "metrics", "running": math.nan},))


def test_json_is_the_dictionary_of_the_report() -> None:
    plain = dataclasses.replace(REPORT, facts=())
    assert json.loads(render(plain, "json")) == plain.to_dict()


def test_json_has_no_number_that_json_does_not_have() -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    data = json.loads(render(REPORT, "json"), parse_constant=refuse)
    assert data["facts"] == [{"kind": "metrics", "running": None}]


def test_json_is_ascii_whatever_the_evidence_holds() -> None:
    odd = dataclasses.replace(FAULT, cause="Ġ \ud800 \u202e \x1b 漢")
    text = render(dataclasses.replace(REPORT, diagnoses=(odd,)), "json")
    assert text.isascii()
    assert json.loads(text)["diagnoses"][0]["cause"] == odd.cause


def test_the_line_has_five_words() -> None:
    expected = f"fault {REPORT.fingerprint} chapter.a-fault strong http://spark-a:8000\n"
    assert render(REPORT, "line") == expected


def test_the_line_names_the_fault_where_a_limit_stands_first() -> None:
    limit = dataclasses.replace(FAULT, id="chapter.a-limit", kind="limit", level="certain")
    assert render(dataclasses.replace(REPORT, diagnoses=(limit, FAULT)), "line").split()[2] == "chapter.a-fault"


def test_the_line_of_nothing() -> None:
    empty = Report("1.2.3", "abc", "python", "healthy")
    assert render(empty, "line") == f"healthy {empty.fingerprint} - - -\n"


def test_the_line_is_one_line_of_five_words_whatever_the_target_is() -> None:
    odd = dataclasses.replace(FAULT, where={**WHERE, "target": "a b\nc\u3000d" + "x" * 900})
    text = render(dataclasses.replace(REPORT, diagnoses=(odd,)), "line")
    assert text.count("\n") == 1
    assert len(text.split()) == 5
    assert len(text) < 400


def test_markdown_escapes_what_markdown_would_act_upon() -> None:
    text = render(REPORT, "markdown")
    assert text.startswith("**fault: The template opens \\<think\\> itself (strong, 0.85)**\n")
    assert "The \\*first\\* tag `<think>` is in the prompt \\[see &#64;someone\\](http://evil)." in text


def test_markdown_fences_hold_what_they_hold() -> None:
    lines = render(REPORT, "markdown").split("\n")
    at = lines.index("````text")
    assert lines[at + 1 : at + 5] == ["a line", "with ``` a fence", "# and a heading", "````"]
    assert "   run ``` it" in lines
    assert lines.count("   ````sh") == 1


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_ends_in_one_newline(format: str) -> None:
    text = render(REPORT, format)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("format", PLANNED)
def test_formats_of_later_are_refused_with_those_of_now(format: str) -> None:
    with pytest.raises(UsageError, match=f"the format {format} is not built yet; there are text, json, line, markdown"):
        render(REPORT, format)


def test_a_misspelt_format_gets_a_hint() -> None:
    with pytest.raises(UsageError, match="no format 'markdwn'; did you mean markdown"):
        render(REPORT, "markdwn")
