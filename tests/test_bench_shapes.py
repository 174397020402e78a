"""What a timed stream and the counters around it come to, for shapes that no server at hand gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkdiag.advise.bench import notes
from sparkdiag.capture import Item
from sparkdiag.cli.bench import _ProgressLine
from sparkdiag.derive.bench import bench_compared
from sparkdiag.facts.bench import BenchCompared, BenchRun
from sparkdiag.observe.bench import bench_runs
from sparkdiag.observe.event_times import arrivals

WORDS = ("bridge ", "over ", "the ", "river ", "stands ", "since ", "long ", "before ", "we ", "came ", "here, ")


def event(delta: dict[str, Any], **more: Any) -> str:
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta}], **more}) + "\n\n"


def stream(count: int, step: float = 0.1, each: int = 1, usage: dict[str, Any] | None = None, **item: Any) -> Item:
    """`count` events of `each` words, one every `step` seconds, each in a read of its own."""
    text, chunks = "", []
    for number in range(count):
        words = "".join(WORDS[(number * each + n) % 11] + str(number) + " " for n in range(each))
        chunks.append((len(text), round(0.5 + number * step, 4)))
        text += event({"content": words})
    if usage is not None:
        text += "data: " + json.dumps({"choices": [], "usage": usage}) + "\n\n"
    asked = {"workload": "prose", "body": {"messages": [{"role": "user", "content": "tell"}], "max_tokens": 999}}
    given: dict[str, Any] = {"status": "ok", "asked": asked, "chunks": tuple(chunks), "text": text, "code": 200}
    given |= {"took": 0.5 + count * step, "media": "text/event-stream", **item}
    return Item(target="t1", probe="bench", **given)


def counters(**values: float) -> Item:
    text = "".join(f'{name.replace("__", ":")}{{m="x"}} {value}\n' for name, value in values.items())
    return Item(target="t1", probe="bench-metrics", status="ok", text=text)


def run_of(*items: Item) -> BenchRun:
    (run,) = [fact for fact in bench_runs(items, {}, 1000) if isinstance(fact, BenchRun)]
    return run


def usage(tokens: int, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": 40, "completion_tokens": tokens, **more}


def test_several_tokens_a_chunk_are_counted_as_what_they_are() -> None:
    run = run_of(stream(50, step=0.1, each=3, usage=usage(150)))
    assert (run.tokens, run.arrivals, run.tokens_per_arrival) == (150, 50, 3.0)
    assert run.tokens_per_s == pytest.approx((150 - 3) / 4.9, rel=0.01)
    assert run.ttft_s == 0.5
    assert (run.gap_median_ms, run.gap_p99_ms) == (100.0, 100.0)


def test_events_that_one_read_brings_are_one_arrival() -> None:
    item = stream(40, usage=usage(40))
    merged = tuple(chunk for number, chunk in enumerate(item.chunks) if number % 2 == 0)
    assert len(arrivals(item.text, item.chunks)) == 40
    assert [moment.seconds for moment in arrivals(item.text, merged)] == [seconds for _, seconds in merged]


def test_an_event_that_two_reads_bring_came_with_its_end() -> None:
    text = event({"content": "one"}) + event({"content": "two"})
    first = len(event({"content": "one"}))
    assert [m.seconds for m in arrivals(text, [(0, 0.1), (first - 20, 0.2), (first + 5, 0.3)])] == [0.2, 0.3]


def test_lines_that_end_in_cr_lf_and_letters_of_several_bytes_do_not_shift_the_times() -> None:
    text = "".join(event({"content": "brücke "}).replace("\\u00fc", "ü").replace("\n", "\r\n") for _ in range(3))
    size = len(text.encode()) // 3
    assert [m.seconds for m in arrivals(text, [(0, 0.1), (size, 0.2), (2 * size, 0.3)])] == [0.1, 0.2, 0.3]


def test_what_is_no_text_is_no_arrival() -> None:
    broken = 'data: {"choices": [{"delta": {"content"\n\n: comment\n\ndata: [DONE]\n\ndata: ' + "[" * 5000 + "\n\n"
    text = event({"role": "assistant", "content": ""}) + broken + event({"tool_calls": [{"index": 0}]})
    assert [m.seconds for m in arrivals(text, [(0, 0.1), (100, 0.2), (len(text) - 60, 0.3)])] == [0.3]


@pytest.mark.parametrize("chunks", [(), ((10_000, 0.1),)])
def test_a_stream_without_times_has_a_speed_over_the_whole_request_only(chunks: tuple[tuple[int, float], ...]) -> None:
    run = run_of(stream(50, usage=usage(50), chunks=chunks))
    assert run.whole
    assert run.tokens_per_s == pytest.approx(50 / 5.5, rel=0.01)
    assert run.ttft_s is None


def test_a_server_that_was_restarted_in_between_tells_nothing() -> None:
    names = ("vllm__generation_tokens_total", "vllm__spec_decode_num_drafts_total")
    names += ("vllm__spec_decode_num_draft_tokens_total", "vllm__spec_decode_num_accepted_tokens_total")
    before = counters(**dict.fromkeys(names, 5000.0))
    run = run_of(before, stream(50, usage=usage(50)), counters(**dict.fromkeys(names, 20.0)))
    assert run.accepted_by is None
    assert run.steps_per_s is None
    assert any("does not tell its drafts" in note for note in notes(run))


def test_an_engine_without_a_count_of_drafts_tells_its_steps_by_what_was_accepted() -> None:
    old = {"vllm__generation_tokens_total": 100.0, "vllm__spec_decode_num_draft_tokens_total": 40.0}
    new = {"vllm__generation_tokens_total": 201.0, "vllm__spec_decode_num_draft_tokens_total": 140.0}
    run = run_of(
        counters(**old, vllm__spec_decode_num_accepted_tokens_total=10.0),
        stream(51, each=2, usage=usage(101)),
        counters(**new, vllm__spec_decode_num_accepted_tokens_total=60.0),
    )
    assert (run.accepted_length, run.tokens_per_step, run.acceptance) == (None, 2.0, 0.5)
    assert run.steps_per_s == pytest.approx((run.tokens_per_s or 0) / 2, rel=0.01)


def test_steps_without_a_draft_count_as_steps() -> None:
    zero = {"vllm__generation_tokens_total": 0.0, "vllm__spec_decode_num_drafts_total": 0.0}
    grown = {"vllm__generation_tokens_total": 101.0, "vllm__spec_decode_num_drafts_total": 10.0}
    run = run_of(
        counters(**zero, vllm__spec_decode_num_draft_tokens_total=0, vllm__spec_decode_num_accepted_tokens_total=0),
        stream(81, usage=usage(101)),
        counters(**grown, vllm__spec_decode_num_draft_tokens_total=40, vllm__spec_decode_num_accepted_tokens_total=20),
    )
    assert (run.accepted_length, run.tokens_per_step, run.depth) == (3.0, 1.25, 4.0)
    assert any("Some steps had no draft" in note for note in notes(run))


def test_a_chain_of_drafts_is_followed_to_its_second_token() -> None:
    names = ("num_drafts", "num_draft_tokens", "num_accepted_tokens", "num_accepted_tokens_per_pos")

    def sample(drafts: float, drafted: float, accepted: float, first: float, second: float, tokens: float) -> Item:
        pairs = zip(names[:3], (drafts, drafted, accepted), strict=True)
        lines = [f'vllm:spec_decode_{name}_total{{m="x"}} {value}' for name, value in pairs]
        lines += [f'vllm:spec_decode_{names[3]}_total{{position="{n}"}} {v}' for n, v in enumerate((first, second))]
        text = "\n".join([*lines, f"vllm:generation_tokens_total {tokens}", ""])
        return Item(target="t1", probe="bench-metrics", status="ok", text=text)

    before, after = sample(10, 40, 20, 8, 4, 500), sample(50, 200, 80, 40, 20, 601)
    run = run_of(before, stream(41, usage=usage(101)), after)
    assert (run.first_position, run.chain, run.drafted_steps) == (0.8, 0.5, 1.0)


def test_usage_that_says_more_than_the_server_counts_is_told() -> None:
    before, after = counters(vllm__generation_tokens_total=0), counters(vllm__generation_tokens_total=60)
    # no gauge of running requests: whether others are served is not known, so nothing is said
    assert not any("own counter" in note for note in notes(run_of(before, stream(50, usage=usage(150)), after)))
    idle = {"vllm__num_requests_running": 0.0}
    run = run_of(
        counters(vllm__generation_tokens_total=0, **idle),
        stream(50, each=3, usage=usage(150)),
        counters(vllm__generation_tokens_total=60, **idle),
    )
    assert (run.tokens, run.counter_tokens) == (150, 60)
    assert any("own counter 60" in note for note in notes(run))


NUMBERS = ("NaN", "Inf", "-1", "0", "7", "1e300", "1e999")
COUNTERS = ("generation_tokens_total", "spec_decode_num_drafts_total", "spec_decode_num_accepted_tokens_total")
COUNTERS += ("spec_decode_num_draft_tokens_total", "num_requests_running")


@given(
    st.text(),
    st.lists(st.tuples(st.integers(-5, 5000), st.floats(0, 1e4)), max_size=20),
    st.lists(st.sampled_from(NUMBERS), min_size=10, max_size=10),
    st.sampled_from([None, -3, 0, 5, "6", 10**18, 1.5, "x", True]),
)
def test_nothing_that_a_server_sends_breaks_the_sums(
    text: str, chunks: list[tuple[int, float]], values: list[str], tokens: Any
) -> None:
    told = event({"content": text}, usage={"completion_tokens": tokens})
    odd = [text, event({"content": text}), 'data: {"choices": 3, "usage": []}\n\n', told]
    item = stream(3, text="\n".join(odd), chunks=tuple(sorted(chunks)))
    samples = [
        Item("t1", "bench-metrics", "ok", text="".join(f"vllm:{n} {v}\n" for n, v in zip(COUNTERS, some, strict=True)))
        for some in (values[:5], values[5:])
    ]
    facts = bench_runs([samples[0], item, samples[1]], {}, 1000)
    assert [fact.kind for fact in facts] == ["bench", "looked"]
    for run in facts[:1]:
        assert isinstance(run, BenchRun)
        assert isinstance(notes(run), list)


def test_sglang_s_settings_give_the_depth_of_its_drafts() -> None:
    info = Item("t1", "server-info", "ok", text='{"model_path": "m", "speculative_num_draft_tokens": 5}')
    before = counters(sglang__generation_tokens_total=0, sglang__spec_verify_calls_total=0)
    after = counters(sglang__generation_tokens_total=101, sglang__spec_verify_calls_total=50)
    run = run_of(info, before, stream(51, each=2, usage=usage(101)), after)
    assert (run.accepted_length, run.depth, run.acceptance) == (2.0, 4.0, 0.25)


def test_thought_that_only_usage_tells_of_is_hidden() -> None:
    told = usage(150, completion_tokens_details={"reasoning_tokens": 100})
    run = run_of(stream(50, usage=told))
    assert run.hidden_tokens == 100
    assert run.whole


def test_prompts_from_the_prefix_cache_are_told() -> None:
    cached, fresh = (run_of(stream(50, usage=usage(50, prompt_tokens_details={"cached_tokens": n}))) for n in (32, 0))
    assert any("prefix cache" in note for note in notes(cached))
    assert not any("prefix cache" in note for note in notes(fresh))


def test_a_loop_proves_nothing_of_the_drafter() -> None:
    common: dict[str, Any] = {"tokens": 100, "tokens_per_s": 20.0, "accepted_by": "counters"}
    prose = BenchRun(workload="prose", acceptance=0.2, **common)
    code = BenchRun(workload="code", acceptance=0.9, **common)
    loop = BenchRun(workload="code", acceptance=0.99, degenerate="repetition", **common)

    def differs(*runs: BenchRun) -> bool | None:
        (found,) = [fact for fact in bench_compared(runs) if isinstance(fact, BenchCompared)]
        return found.acceptance_differs

    assert differs(prose, code) is True
    assert differs(prose, loop) is None


class Terminal:
    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_a_terminal_shows_what_runs_and_is_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    line = _ProgressLine()
    line.draw("code", 2, 3, 7.4)
    line.clear()
    assert terminal.text == "\r\033[Kbench: code (2 of 3), 7 s\r\033[K"
