"""The text report: what stands first, what is told apart, what is harmless, and that it fits the width."""

from __future__ import annotations

import dataclasses
import re

import pytest

from sparkdiag.diagnosis import Avoid, Diagnosis, Evidence, FixStep, NextProbe, Problem, Report, Suppressed
from sparkdiag.report import render
from sparkdiag.report.harmless import cut, harmless, width_of

COMMAND = "vllm serve some/model --reasoning-parser qwen3 --max-model-len 32768 --gpu-memory-utilization 0.7"
NOWHERE: dict[str, str | None] = dict.fromkeys(("target", "node", "container", "rank", "run"))


def diagnosis(id: str = "chapter.a-fault", **changes: object) -> Diagnosis:
    plain = Diagnosis(
        id=id,
        rule="some-rule",
        title=f"Title of {id}",
        kind="fault",
        level="likely",
        cause=f"Cause of {id}.",
        where={**NOWHERE, "target": "http://spark-a:8000"},
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


FULL = diagnosis(
    cause="The reply holds the closing tag alone, and the parser waits for an opening one: all of it is content.",
    fix=(
        FixStep("Start it with the parser that splits on the closing tag", "node", "restarts", COMMAND, "stop it"),
        FixStep("Drop the page cache", "control", "needs-root"),
        FixStep("Load the driver again", "client", "may-hang"),
    ),
    avoid=(Avoid("Remove the reasoning parser.", "because the model does think"),),
    confirm="Ask again and look at `reasoning`.",
    evidence=(
        Evidence("chat", "a thought</think>an answer", path="$.choices[0].message.content"),
        Evidence("serve.log", "INFO started", line=123),
    ),
    symptoms=(diagnosis("chapter.a-symptom", kind="limit", level="strong"),),
    sources=("a playbook, section 4",),
    versions="vllm >=0.16,<0.33; seen 2026-05",
    notes=("supported by something seen",),
)


def report(*diagnoses: Diagnosis, verdict: str = "fault", **more: object) -> Report:
    return Report("1.2.3", "abcdef0123456789", "python", verdict, diagnoses, **more)  # type: ignore[arg-type]


def sections(text: str, *headings: str) -> list[int]:
    """Where each heading stands, as a line of its own."""
    lines = [line.strip() for line in text.split("\n")]
    return [lines.index(heading) for heading in headings]


def test_the_first_line_is_the_verdict_with_title_and_level() -> None:
    assert render(report(FULL)).split("\n")[0] == "fault: Title of chapter.a-fault (likely, 0.70)"


def test_the_first_fault_is_the_headline_even_where_a_limit_is_surer() -> None:
    limit = diagnosis("chapter.a-limit", kind="limit", level="certain")
    first = render(report(limit, FULL)).split("\n")[0]
    assert first == "fault: Title of chapter.a-fault (likely, 0.70)"


def test_healthy_names_its_signs() -> None:
    text = render(report(verdict="healthy", signs=("good-chat-reply", "server-ready")))
    assert text.split("\n")[0] == "healthy: no fault found (good chat reply, server ready)"


def test_inconclusive_says_why() -> None:
    problem = Problem("http://nosuch.invalid", "the name does not resolve")
    text = render(report(verdict="inconclusive", problems=(problem,)))
    assert text.split("\n")[0] == "inconclusive: http://nosuch.invalid: the name does not resolve"
    limit = diagnosis(kind="limit")
    assert render(report(limit, verdict="inconclusive")).startswith("inconclusive: no fault claimed; Title of")
    weak = diagnosis(level="possible")
    assert render(report(weak, verdict="inconclusive")).startswith("inconclusive: nothing is sure enough to claim")
    assert render(report(verdict="inconclusive")).startswith("inconclusive: nothing wrong was seen, and no sign")


def test_a_target_is_shown_by_its_address() -> None:
    there = diagnosis(where={**NOWHERE, "target": "t1", "node": "spark-a"})
    problem = Problem("tcp-api", "the name does not resolve")
    targets = {"t1": "http://spark-a:8000"}
    assert "   at http://spark-a:8000, node spark-a\n" in render(report(there, targets=targets))
    assert "   at t1, node spark-a\n" in render(report(there))
    first = render(report(verdict="inconclusive", problems=(problem,), targets=targets)).split("\n")[0]
    assert first == "inconclusive: http://spark-a:8000: the name does not resolve"
    assert render(report(there, targets=targets), "line").endswith(" http://spark-a:8000\n")


def test_problems_with_one_reason_are_told_together() -> None:
    names = ("health", "models", "x", "health")
    problems = tuple(Problem(name, "404" if name == "x" else "not run") for name in names)
    text = render(report(FULL, problems=problems))
    assert "\n  - health, models: not run\n  - x: 404\n" in text


def test_the_order_within_a_diagnosis() -> None:
    text = render(report(FULL))
    found = sections(text, "Evidence", "Fix", "To confirm", "Explains", "How sure, and why")
    assert found == sorted(found)
    assert text.index("1. chapter.a-fault (likely, 0.70)") < text.index("The reply holds") < text.index("Evidence")


def test_everything_that_a_reader_needs_is_there() -> None:
    text = render(report(FULL))
    flat = " ".join(text.split())
    for words in (
        "at http://spark-a:8000",
        "chat $.choices[0].message.content | a thought</think>an answer",
        "serve.log:123 | INFO started",
        "1. Start it with the parser that splits on the closing tag [on the node; restarts the server]",
        "Undo: stop it",
        "2. Drop the page cache [on the control machine; needs root]",
        "3. Load the driver again [in the client; can hang the machine]",
        "Do not remove the reasoning parser: the model does think.",
        "Ask again and look at `reasoning`.",
        "chapter.a-symptom (strong, 0.85): Title of chapter.a-symptom",
        "likely, 0.70, by the rule some-rule",
        "supported by something seen",
        "known true: vllm >=0.16,<0.33; seen 2026-05",
        "source: a playbook, section 4",
        "sparkdiag 1.2.3, rulebook abcdef01, engine python, fingerprint",
    ):
        assert words in flat


def test_a_command_stands_whole_on_its_own_line() -> None:
    lines = render(report(FULL), width=60).split("\n")
    assert [line.strip() for line in lines].count(COMMAND) == 1


def test_commands_of_several_lines_stay_so() -> None:
    step = FixStep("Do both", command="first --a\n  second --b")
    lines = render(report(diagnosis(fix=(step,)))).split("\n")
    at = next(n for n, line in enumerate(lines) if line.endswith("first --a"))
    assert lines[at + 1].index("second") == lines[at].index("first") + 2


@pytest.mark.parametrize("width", [60, 80, 100])
def test_nothing_but_commands_is_wider_than_the_page(width: int) -> None:
    long = "words of the evidence that go on and on " * 40
    quotes = (Evidence("log", long, line=1), Evidence("log", "x" * 500, line=2))
    wide = diagnosis("chapter.b", evidence=quotes, cause=long)
    probe = NextProbe("some-probe", ("chapter.a", "chapter.b", "chapter.c") * 5, "256 tokens", do=long)
    text = render(report(FULL, wide, next_probes=(probe,), problems=(Problem("what " * 30, "why " * 30),)), width=width)
    assert [line for line in text.split("\n") if len(line) > width and COMMAND not in line] == []


def test_long_evidence_ends_in_an_ellipsis() -> None:
    text = render(report(diagnosis(evidence=(Evidence("log", "word " * 5000, line=1),))))
    quoted = [line for line in text.split("\n") if line.strip().startswith("| ")]
    assert len(quoted) == 3
    assert quoted[-1].endswith("…")


def test_short_evidence_is_not_cut() -> None:
    text = render(report(diagnosis(evidence=(Evidence("log", "one\ntwo\nthree", line=1),))))
    assert "…" not in text


def test_limits_and_advice_are_told_apart_from_faults() -> None:
    limit = diagnosis("chapter.a-limit", kind="limit", fix=(FixStep("Wait"),))
    advice = diagnosis("chapter.advice", kind="advice", fix=(FixStep("Change it"),))
    text = render(report(advice, FULL, limit))
    marks = ("1. chapter.a-fault", "Limits: ", "2. chapter.a-limit", "Advice: ", "3. chapter.advice")
    order = [text.index(mark) for mark in marks]
    assert order == sorted(order)
    assert "In all: 1 fault, 1 limit, 1 piece of advice." in text
    assert sections(text, "Fix", "What helps", "What to do")


def test_the_unclaimed_stand_apart_without_a_fix() -> None:
    weak = diagnosis("chapter.weak", level="possible", fix=(FixStep("Reinstall everything"),))
    text = render(report(FULL, weak))
    assert text.index("Possible, not claimed") < text.index("chapter.weak")
    assert "Reinstall" not in text


def test_what_was_refuted_not_collected_and_to_do_next() -> None:
    text = render(
        report(
            FULL,
            suppressed=(Suppressed("chapter.refuted", "r", "server-ready, seen later: serve.log:300"),),
            problems=(Problem("/metrics", "404"),),
            next_probes=(
                NextProbe("larger-budget", ("chapter.x", "chapter.y"), "2000 tokens", command=COMMAND),
                NextProbe("look", ("chapter.z",), "none", do="Look at the lamp.", why_not_run="nobody there"),
            ),
        )
    )
    for words in (
        "- chapter.refuted: server-ready, seen later: serve.log:300",
        "- /metrics: 404",
        "1. larger-budget (costs 2000 tokens)",
        "tells about chapter.x, chapter.y",
        "Look at the lamp.",
        "not run: nobody there",
    ):
        assert words in text
    assert sections(text, "Refuted by later evidence", "Not collected, or not readable", "What to look at next")
    assert COMMAND in [line.strip() for line in text.split("\n")]


def test_two_faults_with_the_same_title_are_both_shown() -> None:
    other = dataclasses.replace(FULL, where={**NOWHERE, "target": "http://spark-b:8000"})
    text = render(report(FULL, other))
    assert "at http://spark-a:8000" in text
    assert "at http://spark-b:8000" in text
    assert "In all: 2 faults." in text


HOSTILE = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202egnp\u2066 \u200bhid\ufeffden \x00\x7f \r\x08 \u2028 \ud800 \U000e0041"


@pytest.mark.parametrize("format", ["text", "markdown", "line", "json"])
@pytest.mark.parametrize("colour", [False, True])
def test_escapes_from_evidence_are_harmless_everywhere(format: str, colour: bool) -> None:
    bad = diagnosis(
        title=HOSTILE,
        cause=HOSTILE,
        fix=(FixStep(HOSTILE, command=HOSTILE, undo=HOSTILE),),
        avoid=(Avoid(HOSTILE, HOSTILE),),
        confirm=HOSTILE,
        evidence=(Evidence(HOSTILE, HOSTILE, path=HOSTILE),),
        symptoms=(diagnosis(title=HOSTILE),),
        sources=(HOSTILE,),
        versions=HOSTILE,
        notes=(HOSTILE,),
        where={**NOWHERE, "target": HOSTILE, "node": HOSTILE},
    )
    text = render(
        report(
            bad,
            dataclasses.replace(bad, level="possible"),
            suppressed=(Suppressed("chapter.x", "r", HOSTILE),),
            next_probes=(NextProbe("p", (), HOSTILE, command=HOSTILE, do=HOSTILE, why_not_run=HOSTILE),),
            problems=(Problem(HOSTILE, HOSTILE),),
        ),
        format,
        colour=colour,
    )
    own = re.compile(r"\x1b\[(0|1|2|1;3[123])m")
    if colour and format == "text":
        assert own.search(text)
        text = own.sub("", text)
    controls = "\x00-\x09\x0b-\x1f\x7f-\x9f"
    assert not re.search(f"[{controls}\u200b\u202a-\u202e\u2066-\u2069\u2028\ufeff\ud800-\udfff\U000e0041]", text)
    text.encode()


def test_escapes_are_shown_and_not_dropped() -> None:
    assert harmless("a\x1b[31mb\u202ec\rd\te") == "a\\x1b[31mb\\u202ec\\rd    e"
    assert harmless("plain, with é, 漢字 and \n") == "plain, with é, 漢字 and \n"
    assert harmless("\U000e0041") == "\\U000e0041"


def test_no_colour_unless_asked() -> None:
    assert "\x1b" not in render(report(FULL))
    assert render(report(FULL), colour=True).startswith("\x1b[1;31mfault: ")


def test_wide_letters_count_twice() -> None:
    assert width_of("漢字e\u0301") == 5
    assert cut("漢字漢字", 5) == "漢字…"
    lines = render(report(diagnosis(evidence=(Evidence("log", "漢" * 300, line=1),)))).split("\n")
    quoted = [line for line in lines if line.strip().startswith("| ")]
    assert max(width_of(line) for line in quoted) <= 80


def test_blank_lines_are_single_and_the_end_is_one_newline() -> None:
    text = render(report(FULL, diagnosis("chapter.weak", level="hint")))
    assert "\n\n\n" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_an_error_that_no_rule_knows_is_quoted_with_its_place() -> None:
    seen: list[dict[str, object]] = [
        {"kind": "exception", "type": "EngineDeadError", "message": "see above", "first": False, "source": "a.log:9"},
        {"kind": "exception", "type": "ZorkError", "message": "no lamp " * 60, "first": True, "source": "a.log:4"},
    ]
    said = " ".join(render(report(verdict="inconclusive", facts=tuple(seen))).split())
    assert said.startswith("inconclusive: no rule knows the error that is in the evidence: ZorkError: no lamp no lamp")
    assert " ... (a.log:4)" in said[:320]
    only_echo = " ".join(render(report(verdict="inconclusive", facts=tuple(seen[:1]))).split())
    assert "EngineDeadError: see above (a.log:9)" in only_echo
