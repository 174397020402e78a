"""A bench over a real connection: relations between figures whose ratios the server fixes, never wall times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparkdiag.advise.bench import Bench, bench_of, notes
from sparkdiag.cli import main
from sparkdiag.collect.workloads import WORKLOADS
from sparkdiag.errors import UsageError
from sparkdiag.evidence import Evidence
from sparkdiag.facts.bench import BenchRun
from sparkdiag.run_bench import BenchOptions, run_bench
from tests.bench_server import TimedEngine
from tests.corpus import FIXTURES
from tests.endpoint_server import Answer, Asked, Engine, as_json

FAST: dict[str, Any] = {"rule_engine": "python", "metrics_gap": 0.02}
TOKENS = 64
"""Of a workload."""


def measure(server: TimedEngine, *workloads: str, **more: Any) -> Bench:
    with Engine(server.routes()) as engine:
        tokens = 32 + TOKENS * (len(workloads) or len(WORKLOADS))
        options = BenchOptions(**{**FAST, "max_generated": tokens, "workloads": workloads, **more})
        return bench_of(run_bench([engine.url], options, Evidence()))


def one(bench: Bench, workload: str) -> BenchRun:
    return next(run for run in bench.runs if run.workload == workload)


def about(value: float | None, expected: float, share: float = 0.25) -> bool:
    """The machine may be busy: what a ratio must be, within a share of it."""
    return value is not None and abs(value - expected) <= share * expected


def test_throughput_is_tokens_per_step_times_steps_per_second_for_each_workload() -> None:
    server = TimedEngine(speculates=True, per_step={"prose": 1, "code": 4, "structured": 3}, step=0.01)
    bench = measure(server)
    prose, code, structured = (one(bench, name) for name in WORKLOADS)
    assert bench.answered
    assert (bench.engine, bench.version, bench.model) == ("vllm", "0.33.0", "served")
    assert [run.accepted_length for run in (prose, code, structured)] == pytest.approx([1, 4, 3], abs=0.2)
    assert prose.acceptance == 0.0
    assert about(code.acceptance, 0.97, 0.05)
    assert about(structured.acceptance, 0.66, 0.05)
    for run in bench.runs:
        assert run.tokens_per_s is not None
        assert run.tokens_per_step is not None
        assert run.steps_per_s is not None
        assert about(run.tokens_per_step * run.steps_per_s, run.tokens_per_s, 0.02)
        assert (run.tokens, run.counted_by, run.accepted_by) == (run.max_tokens, "usage", "counters")
        assert run.others is False
    assert prose.steps_per_s is not None
    assert prose.tokens_per_s is not None
    assert about(code.steps_per_s, prose.steps_per_s, 0.5)
    assert about(code.tokens_per_s, 3.9 * prose.tokens_per_s, 0.5)
    assert (code.depth, code.first_position) == (3.0, 1.0)
    assert code.arrivals < (code.tokens or 0) / 3  # chunks are no tokens
    assert about(code.tokens_per_arrival, 4)


def test_the_first_text_comes_after_the_prefill_and_gaps_are_steps() -> None:
    run = one(measure(TimedEngine(prefill=0.3, step=0.01), "prose"), "prose")
    assert run.ttft_s is not None
    assert run.seconds is not None
    assert run.gap_median_ms is not None
    assert run.ttft_s >= 0.3
    assert run.ttft_s * 1000 > 15 * run.gap_median_ms
    assert run.gap_median_ms <= (run.gap_p99_ms or 0) <= (run.gap_longest_ms or 0)
    assert (run.accepted_length, run.accepted_by, run.tokens_per_step) == (1.0, "no speculation", 1.0)
    assert about(run.seconds * 1000, run.gap_median_ms * ((run.tokens or 0) - 1), 0.4)


def test_thought_counts_and_is_told() -> None:
    code = one(measure(TimedEngine(thinks=0.75), "code"), "code")
    assert code.thought_share is not None
    assert 0.7 < code.thought_share < 0.8
    assert any("is thought" in note for note in notes(code))
    whole = one(measure(TimedEngine(), "code"), "code")
    assert whole.thought_share == 0.0
    assert about(code.tokens_per_s, whole.tokens_per_s or 0, 0.5)


def test_without_usage_the_server_s_counter_counts() -> None:
    run = one(measure(TimedEngine(usage=False, speculates=True, per_step={"code": 4}), "code"), "code")
    assert (run.counted_by, run.tokens) == ("metrics", run.max_tokens)
    assert about(run.tokens_per_step, 3.9, 0.1)
    assert any("no usage" in note for note in notes(run))


def test_without_any_count_there_is_no_speed_and_chunks_are_not_taken_for_tokens() -> None:
    bench = measure(TimedEngine(usage=False, metrics=False, engine="somebody"), "prose")
    run = one(bench, "prose")
    assert run.tokens is None
    assert run.tokens_per_s is None
    assert run.arrivals > 40
    assert not bench.answered
    assert [(name, "chunks are no tokens" in why) for name, why in bench.missing] == [("prose", True)]


def test_tokens_that_leave_no_text_are_noticed_and_do_not_make_the_server_fast() -> None:
    shown = one(measure(TimedEngine(engine="somebody"), "prose"), "prose")
    hidden = one(measure(TimedEngine(engine="somebody", metrics=False, hides_thought=0.7), "prose"), "prose")
    assert shown.hidden_tokens is None
    assert not shown.whole
    assert about(hidden.hidden_tokens, 0.7 * (hidden.tokens or 0), 0.2)
    assert hidden.whole
    assert about(hidden.tokens_per_s, shown.tokens_per_s or 0, 0.5)
    assert any("left no text" in note for note in notes(hidden))


def test_where_each_event_counts_hidden_tokens_do_not_matter() -> None:
    hidden = one(measure(TimedEngine(hides_thought=0.7), "prose"), "prose")
    assert hidden.hidden_tokens is not None
    assert not hidden.whole
    assert about(hidden.tokens_per_s, one(measure(TimedEngine(), "prose"), "prose").tokens_per_s or 0, 0.5)


def test_a_stream_that_is_held_back_on_the_way_has_no_pace() -> None:
    run = one(measure(TimedEngine(held_back=True), "prose"), "prose")
    assert run.whole
    assert run.gap_p99_ms is None
    assert any("held back" in note for note in notes(run))


def test_others_are_not_disturbed_unless_told_to() -> None:
    server = TimedEngine(running=2)
    bench = measure(server)
    assert server.served == []
    assert not bench.answered
    assert "2 requests are being served" in bench.missing[0][1]
    told = measure(server, "prose", over_traffic=True)
    assert told.answered
    assert one(told, "prose").others is True
    assert any("Others were served" in note for note in notes(one(told, "prose")))


def test_who_comes_between_two_workloads_is_left_alone_with_the_server() -> None:
    server = TimedEngine(joined_after=2)
    bench = measure(server)
    assert len(server.served) == 2
    assert [run.workload for run in bench.runs] == ["prose"]
    assert [(name, "is being served here" in why) for name, why in bench.missing] == [
        ("code", True),
        ("structured", True),
    ]
    assert measure(TimedEngine(joined_after=2), "prose", "code", over_traffic=True).answered


def test_others_that_come_meanwhile_are_noticed() -> None:
    bench = measure(TimedEngine(others=300, speculates=True, per_step={"prose": 2}), "prose")
    assert one(bench, "prose").others is True
    assert bench.compared is not None
    assert bench.compared.others is True
    assert bench.compared.steps_per_s is None


def test_sglang_tells_its_steps_by_verify_calls_or_by_its_gauge() -> None:
    speculating = {"engine": "sglang", "speculates": True, "per_step": {"code": 4}}
    counted = one(measure(TimedEngine(**speculating), "code"), "code")
    assert counted.accepted_by == "verify calls"
    assert about(counted.tokens_per_step, 3.9, 0.1)
    gauge = one(measure(TimedEngine(**speculating, verify_counter=False), "code"), "code")
    assert (gauge.accepted_by, gauge.tokens_per_step) == ("gauge", 2.5)
    assert any("last window" in note for note in notes(gauge))
    plain = one(measure(TimedEngine(engine="sglang"), "code"), "code")
    assert (plain.accepted_by, plain.tokens_per_step) == ("no speculation", 1.0)


def test_a_bench_keeps_to_its_tokens_and_its_time() -> None:
    server = TimedEngine()
    measure(server, max_generated=200)
    assert sum(body["max_tokens"] for body in server.served) <= 200
    slow = TimedEngine(step=0.05)
    bench = measure(slow, "prose", timeout=6.0, max_generated=1500)
    asked = [body["max_tokens"] for body in slow.served]
    assert asked[0] == 32
    assert 24 <= asked[1] <= 60
    assert one(bench, "prose").cut_by is None
    few = measure(TimedEngine(), max_generated=60)
    assert [run.max_tokens for run in few.runs] == [24]
    assert [name for name, why in few.missing if "too little is left" in why] == ["code", "structured"]


def test_a_workload_that_is_refused_is_missing_and_the_others_are_measured() -> None:
    bench = measure(TimedEngine(refuses="response_format"))
    assert [run.workload for run in bench.runs] == ["prose", "code"]
    assert not bench.answered
    ((name, why),) = bench.missing
    assert name == "structured"
    assert "status 400" in why
    assert "not supported here" in why


def test_keys_of_its_own_go_only_to_engines_that_know_them() -> None:
    server = TimedEngine()
    measure(server, "code")
    stranger = TimedEngine(engine="somebody", metrics=False)
    measure(stranger, "code")
    assert server.served[-1]["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    assert server.served[-1]["stream_options"]["continuous_usage_stats"] is True
    assert "chat_template_kwargs" not in stranger.served[-1]
    assert stranger.served[-1]["stream_options"] == {"include_usage": True}


def test_a_saved_bench_gives_the_same_figures_and_the_same_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = TimedEngine(speculates=True, per_step={"code": 4}, model="Qwen/Qwen3-8B-FP8")
    folder = str(tmp_path / "saved")
    with Engine(server.routes()) as engine:
        assert main(["bench", engine.url, "--max-generated", "200", "--save", folder, "--json"]) == 0
    live = json.loads(capsys.readouterr().out)
    assert main(["bench", folder, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == live
    assert main(["replay", folder, "--json"]) in (0, 1, 3)
    report = json.loads(capsys.readouterr().out)
    assert report["diagnoses"] == live["diagnoses"]
    assert [fact["workload"] for fact in report["facts"] if fact["kind"] == "bench"] == list(WORKLOADS)


def test_the_page_shows_every_workload_and_the_roofline(capsys: pytest.CaptureFixture[str]) -> None:
    with Engine(TimedEngine(model="Qwen/Qwen3-8B-FP8", step=0.04).routes()) as engine:
        assert main(["bench", engine.url, "--workload", "prose", "--max-generated", "70", "--timeout", "20"]) == 0
    text = capsys.readouterr().out
    assert "prose: prose with reasoning, prompt of 120 tokens" in " ".join(text.split())
    assert "273 GB/s allow 33.1 steps a second" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_what_cannot_be_measured_exits_3_or_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["bench", "127.0.0.1:1"]) == 3
    assert "nothing was measured" in capsys.readouterr().out
    assert main(["bench"]) == 2
    assert main(["bench", "127.0.0.1:1", "127.0.0.1:2"]) == 2
    assert main(["bench", "127.0.0.1:1", "--workload", "poetry"]) == 2
    assert "prose, code, structured" in capsys.readouterr().err
    (tmp_path / "engine.log").write_text("nothing\n")
    with pytest.raises(UsageError, match="takes an endpoint"):
        run_bench([str(tmp_path / "engine.log")], BenchOptions(), Evidence())


def test_server_info_tells_of_others_where_there_are_no_metrics() -> None:
    server = TimedEngine(engine="sglang", metrics=False)
    routes = server.routes()
    routes["GET /server_info"] = as_json({"model_path": "m", "internal_states": [{"load": 3}]})
    with Engine(routes) as engine:
        bench = bench_of(run_bench([engine.url], BenchOptions(**FAST), Evidence()))
    assert server.served == []
    assert "3 requests are being served" in bench.missing[0][1]


def test_an_interrupt_leaves_what_was_measured() -> None:
    told: list[str] = []

    def stop(what: str, *rest: Any) -> None:
        told.append(what)
        if what == "code":
            raise KeyboardInterrupt

    evidence = Evidence()
    with Engine(TimedEngine().routes()) as engine, pytest.raises(KeyboardInterrupt):
        run_bench([engine.url], BenchOptions(**{**FAST, "max_generated": 200, "tell": stop}), evidence)
    assert [run.workload for run in bench_of(evidence.judged()).runs] == ["prose"]
    assert told[:2] == ["a look at the server", "warm-up"]


def test_a_server_that_refuses_keys_of_its_own_kind_is_asked_without_them() -> None:
    server = TimedEngine(refuses="chat_template_kwargs")
    bench = measure(server, "prose", "code")
    assert bench.answered
    assert [run.workload for run in bench.runs] == ["prose", "code"]
    sent = ["chat_template_kwargs" in body for body in server.served]
    assert sent == [False, False, True, False]
    assert one(bench, "code").tokens == one(bench, "code").max_tokens


def test_a_server_that_stops_now_and_then_is_told() -> None:
    steady, stalling = (one(measure(TimedEngine(stall=stall), "prose"), "prose") for stall in (None, 50))
    assert not any("stops now and then" in note for note in notes(steady))
    assert (stalling.gap_longest_ms or 0) > 20 * (stalling.gap_median_ms or 1)
    assert about(stalling.gap_median_ms, steady.gap_median_ms or 0, 0.5)


def test_few_tokens_are_held_against_nothing() -> None:
    bench = measure(TimedEngine(model="Qwen/Qwen3-8B-FP8"), max_generated=110)
    assert [run.tokens for run in bench.runs] == [26, 26, 26]
    assert bench.compared is None
    assert any("first impression" in note for note in notes(bench.runs[0]))


def test_addresses_are_numbered_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for more in ((), ("--anonymize",)):
        assert main(["bench", str(FIXTURES / "captures" / "bench-dense-at-its-ceiling"), "--json", *more]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["endpoint"] == "http://192.0.2.10:8000" != told[1]["endpoint"]
    assert told[0]["workloads"] == told[1]["workloads"]
    assert told[0]["workloads"][0]["share"] == pytest.approx(0.8, abs=0.01)


def test_a_page_and_an_error_are_no_speed_whatever_the_counters_say() -> None:
    server = TimedEngine()
    counting = server.routes()["GET /metrics"]

    def counts(asked: Asked) -> Answer:
        server.tokens += 3
        return counting(asked)

    def answered(body: bytes, media: str) -> Bench:
        routes = {**server.routes(), "GET /metrics": counts}
        routes["POST /v1/chat/completions"] = lambda asked: (200, {"content-type": media}, body)
        with Engine(routes) as engine:
            options = BenchOptions(**FAST, workloads=("prose",), over_traffic=True)
            return bench_of(run_bench([engine.url], options, Evidence()))

    page = answered(b"<html>hello</html>", "text/html")
    error = answered(b'data: {"error": {"message": "out of blocks", "code": 500}}\n\n', "text/event-stream")
    assert page.missing == (("prose", "the reply holds no text"),)
    assert error.missing == (("prose", "the reply ended in an error: out of blocks"),)
