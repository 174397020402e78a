"""The same evidence pasted in other ways must give the same diagnosis.

    python bench/variations.py FOLDER [--only NAME,...] [--every N]

FOLDER holds case files (*.yaml with `input`, `expect`, `reject`, `negative`). Each case that comes out right as handed
is pasted twice, with Windows line ends, in a Markdown fence, quoted, cut in two at the start of every piece, without
its timestamps, with noise before, after and between its pieces, and after a healthy run of the same engine. Prints what
does not come out right, and exits 1 if anything does not.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import yaml

import sparkdiag
from sparkdiag.diagnosis import Report
from sparkdiag.observe.transcript import read_text

HEALTHY_LOGS = Path(__file__).resolve().parent.parent / "fixtures" / "logs"
NOISE_LINES = 5000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a case must give."""

    expect: frozenset[str]
    reject: frozenset[str]
    negative: bool


def right(wanted: Wanted, report: Report) -> bool:
    """The right cause first, nothing rejected, and no fault where nothing is wrong."""
    return named(wanted, report) and not rejected(wanted, report)


def named(wanted: Wanted, report: Report) -> bool:
    claimed = report.claimed
    if wanted.negative and any(d.kind == "fault" and d.id not in wanted.expect for d in claimed):
        return False
    return not wanted.expect or (bool(claimed) and claimed[0].id in wanted.expect)


def rejected(wanted: Wanted, report: Report) -> bool:
    return bool(wanted.reject & ({d.id for d in report.claimed} | {d.id for d in report.diagnoses[:1]}))


def right_or_inconclusive(wanted: Wanted, report: Report) -> bool:
    """For evidence that lost something: silence will do, a wrong word will not."""
    return right(wanted, report) or (not rejected(wanted, report) and report.verdict != "fault")


# --- ways to paste


def twice(text: str) -> Iterator[tuple[str, ...]]:
    yield (f"{text.rstrip()}\n\n{text}",)


def crlf(text: str) -> Iterator[tuple[str, ...]]:
    yield (text.replace("\r\n", "\n").replace("\n", "\r\n"),)


def fenced(text: str) -> Iterator[tuple[str, ...]]:
    fence = "~~~" if "```" in text else "```"
    yield (f"This is what I see:\n\n{fence}\n{text.rstrip()}\n{fence}\n\nAny idea?\n",)


def quoted(text: str) -> Iterator[tuple[str, ...]]:
    yield ("\n".join(f"> {line}" for line in text.rstrip("\n").split("\n")) + "\n",)


def cut(text: str) -> Iterator[tuple[str, ...]]:
    """In two texts, at the start of every piece."""
    lines = text.split("\n")
    for first in starts(text):
        yield "\n".join(lines[:first]) + "\n", "\n".join(lines[first:])


def starts(text: str, *, within_output: bool = True) -> list[int]:
    """Indexes of the lines at which pieces begin, the first one left out; also those in the midst of one output."""
    found = set()
    for piece in read_text(text):
        first = int(piece.meta.get("span", (piece.first_line,))[0])
        if within_output or piece.command is None or first < piece.first_line:
            found.add(first - 1)
    return sorted(found - {0})


_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?(?: UTC)?"
_SHORT_DAY = r"\b\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?"
_TIMES = re.compile(
    rf"(?:\[(?:{_DAY}|{_SHORT_DAY})\]|(?:{_DAY}|{_SHORT_DAY})):? ?"
    rf"|^\[?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?{_MONTH} [ \d]\d \d\d:\d\d:\d\d(?: \d{{4}})?\]? ?"
    r"|^\[ *\d+\.\d{6}\] ?"
    r"|^\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]? ",
    re.MULTILINE,
)


def untimed(text: str) -> Iterator[tuple[str, ...]]:
    yield (_TIMES.sub("", text),)


def noise(number: int) -> str:
    """Lines that every healthy node writes, none of which says anything about a server's state."""
    kinds: tuple[Callable[[int], str], ...] = (
        lambda n: f'INFO:     198.51.100.7:{40000 + n % 9000} - "GET /health HTTP/1.1" 200 OK',
        lambda n: f'(APIServer pid=1) INFO:     198.51.100.8:{40000 + n % 9000} - "GET /v1/models HTTP/1.1" 200 OK',
        lambda n: f"{_clock(n)} node-a CRON[{1000 + n}]: (root) CMD (cd / && run-parts --report /etc/cron.hourly)",
        lambda n: f"{_clock(n)} node-a CRON[{1000 + n}]: pam_unix(cron:session): session closed for user root",
        lambda n: f"Get:{n} http://ports.ubuntu.com/ubuntu-ports noble-updates/main arm64 Packages [{n % 900} kB]",
        lambda n: f"Setting up libfoo{n % 50}:arm64 (1.2.{n % 30}-1ubuntu1) ...",
        lambda n: f"{_clock(n)} node-a kernel: usb 1-1: new high-speed USB device number {n % 100} using xhci_hcd",
        lambda n: f"{_clock(n)} node-a kernel: docker0: port {n % 9}(veth{n % 9999:04x}) entered forwarding state",
        lambda n: f"{_clock(n)} node-a systemd[1]: Started session-{n}.scope - Session {n} of User operator.",
        lambda n: f'{_clock(n)} node-a dockerd[900]: level=info msg="image pulled" digest="sha256:{n:064x}"',
        lambda n: f"{_clock(n)} node-a systemd[1]: logrotate.service: Deactivated successfully.",
    )
    return "\n".join(kinds[n % len(kinds)](n) for n in range(number)) + "\n"


def _clock(n: int) -> str:
    return f"Nov {1 + n // 2880 % 28:2d} {n // 120 % 24:02d}:{n // 2 % 60:02d}:{n * 30 % 60:02d}"


def noise_before(text: str, number: int = NOISE_LINES) -> Iterator[tuple[str, ...]]:
    yield (noise(number) + "\n" + text,)


def noise_after(text: str, number: int = NOISE_LINES) -> Iterator[tuple[str, ...]]:
    yield (text.rstrip("\n") + "\n\n" + noise(number),)


def noise_between(text: str, number: int = NOISE_LINES) -> Iterator[tuple[str, ...]]:
    """The noise spread over all places where a new command or another text begins."""
    places = starts(text, within_output=False)
    if not places:
        return
    lines, all_noise = text.split("\n"), noise(number).rstrip("\n").split("\n")
    share = max(1, number // len(places))
    for index, place in reversed(list(enumerate(places))):
        lines[place:place] = all_noise[index * share : (index + 1) * share]
    yield ("\n".join(lines),)


def after_healthy_run(text: str, engine: str) -> Iterator[tuple[str, ...]]:
    """An earlier start, service and stop, of which nothing is known but that all went well."""
    yield (_earlier(_SGLANG_RUN if "sglang" in engine.lower() else _VLLM_RUN, text) + "\n" + text,)


def after_recorded_run(text: str, engine: str) -> Iterator[tuple[str, ...]]:
    """A recorded run of the same engine, with a tiny model on a machine without a GPU."""
    name = "sglang-nothink-qwen3.log" if "sglang" in engine.lower() else "vllm-think-qwen3.log"
    yield (_earlier((HEALTHY_LOGS / name).read_text().rstrip("\n"), text) + "\n" + text,)


_VLLM_RUN = """\
(EngineCore pid=12) INFO 11-30 10:00:05 [gpu_model_runner.py:3049] Starting to load model /models/m...
(EngineCore pid=12) INFO 11-30 10:02:31 [default_loader.py:291] Loading weights took 141.40 seconds
(EngineCore pid=12) INFO 11-30 10:02:40 [gpu_worker.py:298] Available KV cache memory: 40.10 GiB
(EngineCore pid=12) INFO 11-30 10:02:41 [kv_cache_utils.py:1087] GPU KV cache size: 310,000 tokens
(EngineCore pid=12) INFO 11-30 10:03:20 [core.py:281] init engine (profile, create kv cache) took 44.12 seconds
(APIServer pid=11) INFO 11-30 10:03:21 [api_server.py:1346] Starting vLLM API server 0 on http://0.0.0.0:8000
(APIServer pid=11) INFO:     Started server process [11]
(APIServer pid=11) INFO:     Waiting for application startup.
(APIServer pid=11) INFO:     Application startup complete.
(APIServer pid=11) INFO:     192.0.2.20:51934 - "POST /v1/chat/completions HTTP/1.1" 200 OK
(APIServer pid=11) INFO:     Shutting down
(APIServer pid=11) INFO:     Waiting for application shutdown.
(APIServer pid=11) INFO:     Application shutdown complete.
(APIServer pid=11) INFO:     Finished server process [11]"""
_SGLANG_RUN = """\
[2026-11-30 10:00:05] Load weight begin. avail mem=109.40 GB
[2026-11-30 10:02:31] Load weight end. dtype=torch.bfloat16, avail mem=90.10 GB, mem usage=19.30 GB.
[2026-11-30 10:03:20] INFO:     Started server process [11]
[2026-11-30 10:03:20] INFO:     Application startup complete.
[2026-11-30 10:03:21] The server is fired up and ready to roll!
[2026-11-30 10:04:20] INFO:     192.0.2.20:51934 - "POST /v1/chat/completions HTTP/1.1" 200 OK
[2026-11-30 10:09:20] INFO:     Shutting down
[2026-11-30 10:09:20] INFO:     Application shutdown complete.
[2026-11-30 10:09:20] INFO:     Finished server process [11]"""


_CLOCK = re.compile(r"\b(?:(?P<year>\d{4})-)?(?P<rest>\d\d-\d\d[T ]\d\d:\d\d:\d\d)")


def _earlier(log: str, text: str) -> str:
    """The log with its times moved to the hour before the text's first one, if that has one."""
    first, last = _CLOCK.search(text), list(_CLOCK.finditer(log))[-1]
    if first is None:
        return log
    shift = _time(first) - timedelta(minutes=10) - _time(last)
    return _CLOCK.sub(
        lambda m: (_time(m) + shift).strftime("%Y-%m-%d %H:%M:%S" if m["year"] else "%m-%d %H:%M:%S"), log
    )


def _time(match: re.Match[str]) -> datetime:
    """Without a year, that of the healthy logs."""
    return datetime.strptime(f"{match['year'] or 2026}-{match['rest'].replace('T', ' ')}", "%Y-%m-%d %H:%M:%S")


WAYS: dict[str, Callable[[str], Iterator[tuple[str, ...]]]] = {
    "twice": twice,
    "crlf": crlf,
    "fenced": fenced,
    "quoted": quoted,
    "cut": cut,
    "untimed": untimed,
    "noise-before": noise_before,
    "noise-after": noise_after,
    "noise-between": noise_between,
}
AFTER: dict[str, Callable[[str, str], Iterator[tuple[str, ...]]]] = {
    "after-healthy-run": after_healthy_run,
    "after-recorded-run": after_recorded_run,
}
"""Ways that put another run of the engine before a log."""
LOSING = ("untimed",)
"""Ways that take something away."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="ways to paste, separated by commas")
    parser.add_argument("--every", type=int, default=1, help="take every Nth case")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else [*WAYS, *AFTER]
    begin = time.perf_counter()
    tried, broken, wrong_as_handed = Counter[str](), Counter[str](), []
    for file in sorted(options.folder.glob("*.yaml"))[:: options.every]:
        case = yaml.safe_load(file.read_text())
        wanted = Wanted(frozenset(case["expect"]), frozenset(case.get("reject") or ()), bool(case.get("negative")))
        text = case["input"]
        if not right(wanted, sparkdiag.diagnose_text(text)):
            wrong_as_handed.append(file.stem)
            continue
        for name in names:
            if name in AFTER and case.get("kind") != "log":
                continue
            pasted = AFTER[name](text, str(case.get("engine", ""))) if name in AFTER else WAYS[name](text)
            holds = right_or_inconclusive if name in LOSING else right
            for number, texts in enumerate(pasted, 1):
                tried[name] += 1
                report = sparkdiag.diagnose_text(*texts)
                if not holds(wanted, report):
                    broken[name] += 1
                    got = ", ".join(f"{d.id} {d.confidence:.2f}" for d in report.diagnoses[:3]) or "nothing"
                    want = " | ".join(sorted(wanted.expect)) or "no fault"
                    print(f"{file.stem} {name} {number}: want {want}; got {got}")
    print(f"{len(wrong_as_handed)} cases are wrong as handed, and not varied: {', '.join(wrong_as_handed)}")
    for name in names:
        print(f"{name:18} {tried[name] - broken[name]:5} of {tried[name]} right")
    print(f"{time.perf_counter() - begin:.1f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
