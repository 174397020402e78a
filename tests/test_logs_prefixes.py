"""What stands before the message on a log line, and captures as typed values."""

from __future__ import annotations

from typing import Any

import pytest

from sparkdiag.observe.captures import read_capture
from sparkdiag.observe.prefixes import parse_line


@pytest.mark.parametrize(
    ("line", "message", "known"),
    [
        (
            "(APIServer pid=1) INFO 09-14 08:19:31 [loggers.py:310] m",
            "m",
            {
                "process": "APIServer",
                "pid": 1,
                "level": "info",
                "logger": "loggers.py:310",
                "form": "vllm",
                "rank": None,
            },
        ),
        ("INFO 05-12 10:11:12 llm_engine.py:237] m", "m", {"level": "info", "logger": "llm_engine.py:237"}),
        (
            "(VllmWorker rank=1 pid=9) ERROR 05-27 05:58:26 [x.py:9] m",
            "m",
            {"process": "VllmWorker", "rank": "1", "pid": 9},
        ),
        (
            "(Worker_TP1 pid=288, ip=192.0.2.11) ERROR 05-27 05:58:26 [x.py:9] m",
            "m",
            {"process": "Worker_TP1", "rank": "TP1", "node": "192.0.2.11", "level": "error"},
        ),
        ("(EngineCore_DP0 pid=7) m", "m", {"process": "EngineCore_DP0", "rank": None}),
        ("(EngineCore pid=5) (RayWorkerWrapper pid=6) m", "m", {"process": "RayWorkerWrapper", "pid": 6}),
        ("(APIServer pid=1) INFO:     Started", "Started", {"process": "APIServer", "level": "info"}),
        (
            'INFO:     127.0.0.1:4 - "GET / HTTP/1.1" 200 OK',
            '127.0.0.1:4 - "GET / HTTP/1.1" 200 OK',
            {"form": "uvicorn"},
        ),
        ("[2026-09-01 12:00:00 TP0] m", "m", {"rank": "TP0", "process": "TP0", "form": "sglang"}),
        ("[2026-09-01 12:00:00 DP0 TP1 EP2] m", "m", {"rank": "DP0_TP1_EP2"}),
        ("[2026-09-01 12:00:00] INFO:     m", "m", {"level": "info", "form": "sglang"}),
        ("[12:00:00 TP3] m", "m", {"rank": "TP3", "time": None}),
        (
            "(raylet, ip=192.0.2.11) [2026-08-28 10:44:03,117 E 210 211] (raylet) m",
            "m",
            {"node": "192.0.2.11", "level": "error"},
        ),
        ("(autoscaler +18s) m", "m", {"process": "autoscaler"}),
        ("2026-05-02 21:11:02,771 INFO worker.py:1821 -- m", "m", {"level": "info", "logger": "worker.py:1821"}),
        ("2026-05-02 21:11:02,771 - httpx - WARNING - m", "m", {"level": "warning", "logger": "httpx"}),
        ("[INFO] sparkrun.core: m", "m", {"level": "info", "logger": "sparkrun.core"}),
        (
            "Sep 01 12:00:00 spark-b sshd[90]: m",
            "m",
            {"node": "spark-b", "process": "sshd", "pid": 90, "form": "journal"},
        ),
        ("2026-09-13T07:47:06-0400 spark-a kernel: m", "m", {"node": "spark-a", "form": "kernel", "zoned": True}),
        ("spark-a kernel: m", "m", {"node": "spark-a", "form": "kernel"}),
        ("[  123.456789] m", "m", {"form": "kernel", "time": None}),
        ("[Tue Sep  1 12:00:00 2026] m", "m", {"form": "kernel"}),
        ("llm-1  | INFO 05-12 10:11:12 [x.py:1] m", "m", {"container": "llm-1", "level": "info"}),
        ("[rank0]:[W1130 16:48:08.261435524 utils.cpp:68] m", "m", {"rank": "rank0", "level": "warning"}),
        ("spark-a:210:211 [0] NCCL WARN m", "NCCL WARN m", {"node": "spark-a", "pid": 210, "form": "nccl"}),
        ("ValueError: m", "ValueError: m", {"form": None, "level": None, "process": None}),
        ("  indented (x pid=1)", "  indented (x pid=1)", {"form": None}),
        ("", "", {"form": None}),
    ],
)
def test_prefixes_are_peeled_off(line: str, message: str, known: dict[str, Any]) -> None:
    parsed = parse_line(line)
    assert parsed.message == message
    assert {name: getattr(parsed, name) for name in known} == known


def test_times_of_one_moment_agree() -> None:
    moment = 22234771.0
    for line in (
        "INFO 09-14 08:19:31 [x.py:1] m",
        "[2026-09-14 08:19:31] m",
        "Sep 14 08:19:31 h u[1]: m",
        "2026-09-14T08:19:31Z m",
        "2026-09-14T10:19:31+02:00 h u[1]: m",
        "2026-09-14T04:19:31-0400 h kernel: m",
    ):
        assert parse_line(line).time == moment, line
    assert parse_line("INFO 13-41 08:19:31 [x.py:1] m").time is None


def test_the_outermost_time_counts() -> None:
    line = parse_line("2026-09-14T08:19:31.5Z (APIServer pid=1) INFO 09-14 10:00:00 [x.py:1] m")
    assert (line.time, line.zoned, line.message) == (22234771.5, True, "m")


def test_folded_lines_are_counted() -> None:
    assert parse_line("(Worker pid=1) m [repeated 3x across cluster]").repeats == 4


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "394,633", 394633),
        ("int", "x", None),
        ("float", "13.3%", 13.3),
        ("float", "-2.26", -2.26),
        ("text", "  a \n b ", "a b"),
        ("version", "v0.28.0rc1+cu130", "0.28.0rc1+cu130"),
        ("tokens", "1,394,129", 1394129),
        ("tokens", "128k", 128000),
        ("bytes", "121.63 GiB", 130599218053),
        ("bytes", "1.5GB", 1_500_000_000),
        ("bytes", "127600524 kB", 130662936576),
        ("bytes", "33030532", 33030532),
        ("bytes", "64M", 67108864),
        ("bytes", "12 parsecs", None),
        ("seconds", "60", 60.0),
        ("seconds", "600000ms", 600.0),
        ("seconds", "1h 2m", 3720.0),
        ("seconds", "01:02:44", 3764.0),
        ("seconds", "1-00:00:01", 86401.0),
        ("seconds", "soon", None),
    ],
)
def test_captures_are_typed(kind: str, text: str, value: object) -> None:
    assert read_capture(kind, text) == value
