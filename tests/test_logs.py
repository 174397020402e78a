"""Log facts: folding, order, runs, phases, processes, ranks, nodes, exceptions, and what engines say of themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import pytest

from sparkdiag.facts import Fact, LogHit, Signature
from sparkdiag.facts.engine import EngineSeen
from sparkdiag.facts.exceptions import ExceptionSeen
from sparkdiag.facts.launch import Launch
from sparkdiag.facts.piece import Piece
from sparkdiag.observe.logs import LogReader, observe_log, observe_logs
from sparkdiag.observe.logs_stream import STRETCH, stretches
from sparkdiag.observe.pieces import observe_pieces
from sparkdiag.observe.scan import MAX_EXACT
from sparkdiag.observe.scan_anchors import Anchors
from sparkdiag.observe.transcript import read_text

SIGNATURES = (
    Signature("kv", ("KV cache memory:",), r"memory: (?P<free>-?[\d.]+ \w+)", (("free", "bytes"),), benign=True),
    Signature("ready", ("startup complete", "fired up"), r"startup complete|fired up", benign=True),
    Signature("no-memory", ("No available memory",), r"No available memory"),
    Signature(
        "smem",
        ("out of resource",),
        r"Required: (?P<need>\d+), Hardware limit: (?P<limit>\d+)",
        (("need", "int"), ("limit", "int")),
    ),
    Signature("shm", ("No available shared",), r"found in (?P<seconds>\d+) seconds", (("seconds", "seconds"),)),
)


def facts(text: str) -> list[Fact]:
    return observe_logs(read_text(text), SIGNATURES)


def hits(text: str, signature: str) -> list[LogHit]:
    return [fact for fact in facts(text) if isinstance(fact, LogHit) and fact.signature == signature]


def exceptions(text: str) -> list[ExceptionSeen]:
    return [fact for fact in facts(text) if isinstance(fact, ExceptionSeen)]


START = """(APIServer pid=1) INFO 09-02 06:39:02 [api_server.py:1] vLLM API server version 0.28.0
(APIServer pid=1) INFO 09-02 06:39:03 [utils.py:1] non-default args: {'model': 'a/b', 'tensor_parallel_size': 2}
(EngineCore pid=9) INFO 09-02 06:39:20 [core.py:1] Initializing a V1 LLM engine (v0.28.0) with config: model='a/b'
(Worker_TP0 pid=10) INFO 09-02 06:39:30 [gpu_model_runner.py:1] Starting to load model a/b...
(Worker_TP0 pid=10) INFO 09-02 06:39:50 [gpu_model_runner.py:1] Model loading took 19.32 GiB memory and 5.1 seconds
"""
READY = """(Worker_TP0 pid=10) INFO 09-02 06:40:01 [gpu_worker.py:1] Available KV cache memory: 17.04 GiB
(EngineCore pid=9) INFO 09-02 06:40:02 [kv_cache_utils.py:1] GPU KV cache size: 1,394,129 tokens
(APIServer pid=1) INFO:     Application startup complete.
"""
FAILS = """(Worker_TP0 pid=10) ERROR 09-02 06:40:01 [gpu_worker.py:1] ValueError: No available memory for the blocks.
(EngineCore pid=9) ERROR 09-02 06:40:02 [core.py:1] EngineCore failed to start.
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def test_a_hit_has_its_captures_place_process_and_phase() -> None:
    (hit,) = hits(f"$ docker logs llm\n{START}{READY}", "kv")
    assert hit.captures == {"free": 18296560681}
    assert hit.get("free") == 18296560681
    assert (hit.source.line, hit.order, hit.process, hit.phase, hit.level) == (7, 6, "Worker_TP0", "profiling", "info")
    assert (hit.command, hit.where.container, hit.where.run) == ("docker logs llm", "llm", None)


def test_the_same_again_counts_up() -> None:
    line = (
        "(EngineCore pid=9) INFO 11-30 03:0{}:20 [shm_broadcast.py:705] "
        "No available shared memory broadcast block found in 60 seconds."
    )
    (hit,) = hits("\n".join(line.format(n) for n in (3, 4, 5)), "shm")
    assert (hit.count, hit.source.line, hit.last_line, hit.order, hit.last_order) == (3, 1, 3, 0, 2)
    assert hit.last_time is not None
    assert hit.time is not None
    assert hit.last_time - hit.time == 120


def test_lines_that_a_process_folded_count_as_many() -> None:
    (hit,) = hits("(Worker pid=1) No available memory [repeated 7x across cluster]", "no-memory")
    assert hit.count == 8


@pytest.mark.parametrize(
    ("before", "phase"),
    [
        (START.splitlines()[0], "starting"),
        (START.splitlines()[3], "loading"),
        (START.splitlines()[4], "profiling"),
        (READY.splitlines()[1], "capturing"),
        (READY.splitlines()[2], "serving"),
        ("[2026-09-01 12:00:00] Load weight begin. avail mem=110.11 GB", "loading"),
        ("[2026-09-01 12:00:00] The server is fired up and ready to roll!", "serving"),
        ("(APIServer pid=1) INFO:     Shutting down", "stopping"),
        ("nothing of the kind", None),
    ],
)
def test_the_phase_is_that_of_the_last_marker(before: str, phase: str | None) -> None:
    (hit,) = hits(f"{before}\n(EngineCore pid=9) ERROR 09-02 06:40:31 [core.py:1] No available memory", "no-memory")
    assert hit.phase == phase


def test_a_worker_has_its_own_phase() -> None:
    text = (
        "(Worker_TP0 pid=1) INFO 09-02 06:39:30 [x.py:1] Starting to load model a\n"
        "(Worker_TP1 pid=2) INFO 09-02 06:39:30 [x.py:1] Starting to load model a\n"
        "(Worker_TP0 pid=1) INFO 09-02 06:39:50 [x.py:1] Model loading took 19.32 GiB\n"
        "(Worker_TP1 pid=2) ERROR 09-02 06:39:51 [x.py:1] No available memory\n"
    )
    (hit,) = hits(text, "no-memory")
    assert (hit.phase, hit.where.rank) == ("loading", "TP1")


def test_a_second_start_is_a_second_run() -> None:
    later = (START + READY).replace(" 06:", " 07:").replace("pid=9)", "pid=19)").replace("pid=10)", "pid=20)")
    text = START + FAILS + later
    (failure,) = hits(text, "no-memory")
    (ready,) = hits(text, "ready")
    assert (failure.where.run, ready.where.run) == ("1", "2")
    assert hits(START + FAILS, "no-memory")[0].where.run is None


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(START.replace(" 06:", " 07:").replace("pid=9)", "pid=30)"), id="first lines again"),
        pytest.param("(EngineCore pid=30) INFO 09-02 07:00:00 [x.py:1] Starting to load model a\n", id="loads again"),
        pytest.param("(EngineCore pid=30) ERROR 09-02 07:00:00 [x.py:1] x No available memory\n", id="another process"),
    ],
)
def test_signs_of_another_start(second: str) -> None:
    text = f"{START}{READY}{second}(EngineCore pid=30) ERROR 09-02 07:01:00 [core.py:1] No available memory\n"
    assert {hit.where.run for hit in hits(text, "no-memory")} == {"2"}
    assert {hit.where.run for hit in hits(text, "ready")} == {"1"}


def test_lines_long_after_a_stop_are_another_run() -> None:
    stop = "(APIServer pid=1) INFO 09-02 06:50:00 [x.py:1] bye\n(APIServer pid=1) INFO:     Shutting down\n"
    bad = "(Worker pid=7) ERROR 09-02 {} [x.py:1] No available memory\n"
    stopped = START + READY + stop
    assert {hit.where.run for hit in hits(stopped + bad.format("06:50:03"), "no-memory")} == {None}
    assert {hit.where.run for hit in hits(stopped + bad.format("07:30:00"), "no-memory")} == {"2"}
    assert {hit.where.run for hit in hits(stopped + bad.format("05:00:00"), "no-memory")} == {"2"}


def test_late_lines_of_a_failed_run_start_nothing() -> None:
    late = "(Worker_TP1 pid=11) INFO 09-02 06:40:03 [gpu_model_runner.py:1] Model loading took 19.32 GiB memory\n"
    assert {fact.where.run for fact in facts(START + FAILS + late)} == {None}


def test_a_failure_of_one_rank_of_several_names_it() -> None:
    good = "(Worker_TP0 pid=1) INFO 09-02 06:39:30 [x.py:1] Available KV cache memory: 17.04 GiB\n"
    bad = "(Worker_TP1 pid=2) ERROR 09-02 06:39:31 [x.py:1] No available memory\n"
    assert hits(good + bad, "no-memory")[0].where.rank == "TP1"
    assert hits(good + bad, "kv")[0].where.rank is None
    assert {hit.where.rank for hit in hits(bad + bad.replace("TP1", "TP0"), "no-memory")} == {None}
    assert hits(bad, "no-memory")[0].where.rank is None


def test_nodes_that_lines_name_are_told_apart_when_there_are_several() -> None:
    line = "(RayWorkerWrapper pid=4, ip={}) ERROR 09-02 06:39:31 [x.py:1] No available memory\n"
    several = hits(line.format("192.0.2.10") + line.format("192.0.2.11"), "no-memory")
    assert [hit.where.node for hit in several] == ["192.0.2.10", "192.0.2.11"]
    assert hits(line.format("192.0.2.11"), "no-memory")[0].where.node is None


def test_a_line_that_two_pieces_show_is_one_event() -> None:
    line = "[2026-09-01 12:00:0{}] No available memory\n"
    text = f"{line.format(1)}{line.format(1)}$ docker logs llm | tail -2\n{line.format(1)}{line.format(2)}"
    first, second = hits(text, "no-memory")
    assert (first.count, first.last_order) == (2, 1)
    assert (second.count, second.source.line) == (1, 5)


@pytest.mark.parametrize(
    "line",
    [
        "(APIServer pid=1) INFO 09-02 06:39:31 [x.py:1] Received request c-1: prompt: 'No available memory', a: x",
        "Sep 01 12:00:00 h sudo[9]: me : PWD=/ ; COMMAND=/usr/bin/grep 'No available memory' log",
        "Sep 01 12:00:00 h CRON[9]: (root) CMD (grep -c 'No available memory' /var/log/x)",
        '    raise ValueError("No available memory for the cache blocks.")',
        "        logger.error('No available memory')",
    ],
)
def test_what_is_only_repeated_or_spoken_of_is_no_hit(line: str) -> None:
    assert hits(f"[2026-09-01 12:00:00] x\n{line}\n", "no-memory") == []
    assert len(hits("[2026-09-01 12:00:00] x\nValueError: No available memory\n", "no-memory")) == 1


def test_a_line_without_prefix_belongs_to_the_process_above() -> None:
    text = "[2026-09-02 10:15:54 TP1] Scheduler hit an exception: Traceback (most recent call last):\n" + (
        '  File "/opt/sglang/managers/scheduler.py", line 2937, in run_scheduler_process\n    scheduler = Scheduler(\n'
        "ValueError: No available memory\n"
    )
    (hit,) = hits(text, "no-memory")
    assert (hit.process, hit.level) == ("TP1", None)
    (raised,) = exceptions(text)
    assert (raised.type, raised.message, raised.frames) == (
        "ValueError",
        "No available memory",
        ("scheduler.py:run_scheduler_process",),
    )


def test_the_first_exception_is_the_one_that_relays_no_other() -> None:
    first, relayed = exceptions(START + FAILS)
    assert (first.type, first.first, first.relays, first.phase) == ("ValueError", True, False, "profiling")
    assert (relayed.type, relayed.first, relayed.relays) == ("RuntimeError", False, True)


def test_a_chained_exception_knows_its_cause() -> None:
    text = (
        "(EngineCore pid=1) ERROR 09-02 06:39:31 [x.py:1] KeyError: 'a'\n"
        "(EngineCore pid=1) ERROR 09-02 06:39:31 [x.py:1] \n"
        "(EngineCore pid=1) ERROR 09-02 06:39:31 [x.py:1] "
        "The above exception was the direct cause of the following exception:\n"
        "(EngineCore pid=1) ERROR 09-02 06:39:31 [x.py:1] pydantic_core.ValidationError: 1 validation error for X\n"
        "(EngineCore pid=1) ERROR 09-02 06:39:31 [x.py:1]   Value error, no such thing\n"
    )
    cause, effect = exceptions(text)
    assert (cause.cause, effect.cause) == (True, False)
    assert effect.message == "1 validation error for X Value error, no such thing"


@pytest.mark.parametrize(
    "line", ["Error: container exited", "an Error occurred", "no ValueError here: fine", "0 Errors"]
)
def test_what_is_no_exception(line: str) -> None:
    assert exceptions(f"[2026-09-01 12:00:00] x\n{line}\n") == []


def test_engines_tell_their_version_and_arguments() -> None:
    found = facts(START)
    (engine,) = (fact for fact in found if isinstance(fact, EngineSeen))
    assert (engine.name, engine.version) == ("vllm", "0.28.0")
    (launch,) = (fact for fact in found if isinstance(fact, Launch))
    assert (launch.form, launch.model, launch.get("flag.tensor_parallel_size")) == ("args", "a/b", 2)
    (sglang,) = (
        fact
        for fact in facts("[2026-09-02 10:15:31] server_args=ServerArgs(model_path='a/b', tp_size=2)")
        if isinstance(fact, Launch)
    )
    assert (sglang.engine, sglang.get("flag.tp_size"), sglang.get("flag.tensor_parallel_size")) == ("sglang", 2, 2)


def test_secrets_do_not_get_into_facts() -> None:
    secret = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
    (hit,) = hits(f"[2026-09-01 12:00:00] No available memory, HF_TOKEN={secret}", "no-memory")
    assert secret not in hit.source.text


def test_facts_of_a_repetitive_log_are_bounded() -> None:
    line = "(Worker_TP0 pid=1) ERROR 09-02 06:39:31 [x.py:1] out of resource: Required: {}, Hardware limit: 101376\n"
    found = hits("".join(line.format(n) for n in range(3000)), "smem")
    assert len(found) <= 101
    assert found[0].captures["need"] == 0
    assert found[-1].captures["need"] == 2999
    assert found[-1].source.line == 3000


def test_counts_are_exact_up_to_a_thousand() -> None:
    line = "(EngineCore pid=1) ERROR 09-02 06:39:31 [x.py:1] No available memory\n"
    assert hits(line * 900, "no-memory")[0].count == 900
    piece = Piece("log", line * 3000)
    (hit,) = (fact for fact in observe_log(piece, SIGNATURES) if isinstance(fact, LogHit))
    assert hit.count >= MAX_EXACT


def chunks(text: str, size: int) -> Iterable[bytes]:
    data = text.encode()
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 7, 4096, 10**9])
def test_a_stream_gives_what_the_whole_gives(size: int) -> None:
    text = (START + READY).replace("\n", "\r\n") + FAILS
    reader = LogReader(SIGNATURES)
    reader.read_stretches(stretches(chunks(text, size)), Piece("log", "", "big.log"))
    whole = observe_log(Piece("log", text.replace("\r\n", "\n"), "big.log"), SIGNATURES)
    assert [fact.to_dict() for fact in reader.facts()] == [fact.to_dict() for fact in whole]


@pytest.mark.parametrize("stretch", [400, 1000, 5000])
@pytest.mark.parametrize("size", [3, 64, 1000])
def test_where_a_log_is_cut_into_stretches_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, stretch: int, size: int
) -> None:
    monkeypatch.setattr("sparkdiag.observe.logs_stream.STRETCH", stretch)
    monkeypatch.setattr("sparkdiag.observe.scan_anchors._LARGE", 0)
    texts = list(stretches(chunks(START + READY + FAILS, size)))
    assert "".join(texts) == START + READY + FAILS
    assert all(text.endswith("\n") for text in texts[:-1])
    reader = LogReader(SIGNATURES)
    reader.read_stretches(texts, Piece("log", "", "big.log"))
    whole = observe_log(Piece("log", START + READY + FAILS, "big.log"), SIGNATURES)
    assert [fact.to_dict() for fact in reader.facts()] == [fact.to_dict() for fact in whole]


def test_a_long_log_gives_the_same_with_and_without_hyperscan(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hyperscan")
    busy = "[2026-09-01 12:00:00] No available memory\n[2026-09-01 12:00:00] an ordinary line\n" * 60
    text = START + busy + READY + busy + START + FAILS + busy + "[2026-09-01 13:00:00] No available memory\n" + READY
    for module, name, value in (("logs_stream", "STRETCH", 2000), ("logs", "_LONG", 3), ("scan", "MAX_EXACT", 10)):
        monkeypatch.setattr(f"sparkdiag.observe.{module}.{name}", value)
    monkeypatch.setattr("sparkdiag.observe.scan_anchors._LARGE", 0)
    worn, told = set[frozenset[int]](), []
    held = Anchors.held

    def noted(self: Anchors, text: str, *, large: bool | None = None, known: frozenset[int] = NONE) -> tuple[int, ...]:
        worn.add(known)
        return held(self, text, large=large, known=known)

    monkeypatch.setattr(Anchors, "held", noted)
    for without in (False, True):
        monkeypatch.setattr("sparkdiag.observe.scan._CACHE", {})
        if without:
            monkeypatch.setitem(sys.modules, "hyperscan", None)
        reader = LogReader(SIGNATURES)
        reader.read_stretches(stretches(chunks(text, 500)), Piece("log", "", "big.log"))
        told.append([fact.to_dict() for fact in reader.facts()])
    assert told[0] == told[1] != []
    assert len(worn) == 2, "the line that stands everywhere is looked for no more"


NONE: frozenset[int] = frozenset()


@pytest.mark.parametrize(
    "line",
    [
        "Received request chatcmpl-1: prompt: No available memory",
        "Receive: obj=GenerateReqInput(text='No available memory')",
        "Finish: obj=GenerateReqInput(text='No available memory')",
        "Generated response chatcmpl-1: output: 'No available memory'",
        "sudo: operator : COMMAND=/bin/echo No available memory",
        "CRON[12]: (root) No available memory",
        "(root) CMD (echo No available memory)",
        "params: prompt: 'No available memory'",
        "SchedulerOutput(scheduled_new_reqs=['No available memory'])",
        "bash -c 'echo No available memory'",
        "docker logs vllm | grep -c No available memory",
    ],
)
def test_what_somebody_asked_or_typed_is_no_event(line: str) -> None:
    stamp = "[2026-09-01 12:00:00] "
    assert hits(f"{stamp}{line}\n", "no-memory") == []
    assert len(hits(f"{stamp}No available memory; then {line}\n", "no-memory")) == 1


def test_line_numbers_are_exact_across_stretches_and_endless_lines() -> None:
    filler = "an ordinary line\n" * (STRETCH // 17 + 1000)
    endless = "x" * (STRETCH * 2) + "\n"
    text = filler + endless + filler + "[2026-09-01 12:00:00] No available memory\n"
    reader = LogReader(SIGNATURES)
    reader.read_stretches(stretches(chunks(text, 1 << 20)), Piece("log", "", "big.log"))
    (hit,) = reader.facts()
    assert hit.source.line == text.count("\n")


def test_lines_that_come_twice_in_one_log_did_happen_twice() -> None:
    line = "[2026-09-01 12:00:00] No available memory\n"
    filler = "an ordinary line\n" * (STRETCH // 17 + 1000)
    reader = LogReader(SIGNATURES)
    reader.read_stretches(stretches(chunks(line + filler + line, 1 << 20)), Piece("log", "", "big.log"))
    (hit,) = reader.facts()
    assert isinstance(hit, LogHit)
    assert hit.count == 2


@pytest.mark.parametrize(
    ("places", "benign", "read"),
    [(("text",), False, True), (("text",), True, False), (("any",), False, False), (("log",), False, True)],
)
def test_a_programs_error_in_plain_text_is_a_log_that_was_read(
    places: tuple[str, ...], benign: bool, read: bool
) -> None:
    piece = Piece(kind="text", text="and then it said No available memory again", source="input")
    signature = Signature("no-memory", ("No available memory",), r"No available memory", (), places, benign=benign)
    looked = [fact for fact in observe_pieces([piece], [signature]) if fact.kind == "looked"]
    assert any(fact.get("probe") == "log" for fact in looked) is read


def test_an_exception_tells_where_it_was_raised() -> None:
    text = """Traceback (most recent call last):
  File "/opt/env/lib/python3.12/site-packages/vllm/entrypoints/cli/main.py", line 54, in main
    args.dispatch_function(args)
  File "{file}", line 402, in check
    raise ValueError("no")
ValueError: no such thing here
"""
    for file, shown in (
        ("/opt/env/lib/python3.12/site-packages/vllm/config/cache.py", "vllm/config/cache.py:check"),
        ("/sgl-workspace/sglang/python/sglang/srt/server_args.py", "sglang/srt/server_args.py:check"),
        ("/home/a/b/c/d/e/f.py", "b/c/d/e/f.py:check"),
    ):
        (found,) = exceptions(text.replace("{file}", file))
        assert (found.raised_in, found.frames) == (shown, ("main.py:main", f"{file.rsplit('/', 1)[-1]}:check"))
    (bare,) = exceptions("ValueError: no such thing here")
    assert bare.raised_in is None
