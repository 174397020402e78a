"""Reading a large log with all the rules' signatures, against ripgrep with the same literals, in one run.

    python bench/scan.py [--megabytes 200] [--repeats 3]

The literals are the anchors of every signature that is looked for in a log. All read the same file from the page cache,
in turns; the smallest time of each counts, and the least processor time beside it. sparkdiag's time is that of the
whole diagnosis (a process of its own, start-up included), with hyperscan, which scans on a second core if there is one,
and without. `rg -n` says which line a hit is on, as sparkdiag does.
Needs `rg` on PATH.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sparkdiag.infer import shipped
from sparkdiag.observe.logs_markers import SIGNATURES
from sparkdiag.observe.scan import applies
from sparkdiag.observe.tracebacks import EXCEPTION

PREFIX = "(EngineCore pid=188) INFO 09-14 {h:02}:{m:02}:{s:02} "
LINES = (
    "[loggers.py:310] Engine 000: Avg prompt throughput: {a}.1 tokens/s, Avg generation throughput: {b}.7 tokens/s, "
    "Running: {c} reqs, Waiting: 0 reqs, GPU KV cache usage: {c}.3%, Prefix cache hit rate: 41.0%",
    '192.0.2.{c}:5{a} - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "[metrics.py:100] SpecDecoding metrics: Mean acceptance length: 2.{b}, Accepted throughput: {a}.2 tokens/s",
    "[async_llm.py:425] Added request chatcmpl-{a}{b}{c}.",
    "[scheduler.py:221] Preempted nothing in step {a}{b}.",
)
WITHOUT = "import sys; sys.modules['hyperscan'] = None; from sparkdiag.cli import main; main(sys.argv[1:])"
BASE = "rg -c -F -f"
PLANTED = "ERROR 09-14 08:19:31 [core.py:1] EngineDeadError: planted"


def write_log(path: Path, megabytes: int) -> None:
    rng = random.Random(7)
    block = []
    for n in range(20_000):
        prefix = PREFIX.format(h=n // 3600 % 24, m=n // 60 % 60, s=n % 60)
        block.append(
            prefix + rng.choice(LINES).format(a=rng.randrange(100, 999), b=rng.randrange(10, 99), c=rng.randrange(9))
        )
    data = "\n".join(block) + "\n"
    with path.open("w") as file:
        while file.tell() < megabytes * 2**20:
            file.write(data)
        file.write(PLANTED + "\n")


def literals() -> list[str]:
    """The anchors that a log is scanned for; the few that hold a line's end are none for ripgrep."""
    signatures = [s for s in (*shipped().signatures.values(), *SIGNATURES, EXCEPTION) if applies(s, "log")]
    return sorted({a for s in signatures for a in s.anchors if "\n" not in a})


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, float, float]:
    """Seconds that passed, seconds of processor time, and the largest resident size in MB."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if shutil.which("rg") is None:
        print("rg (ripgrep) is not on PATH")
        return 2
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    anchors = literals()
    with tempfile.TemporaryDirectory() as folder:
        log, patterns = Path(folder) / "engine.log", Path(folder) / "literals"
        environment["PYTHONPYCACHEPREFIX"] = f"{folder}/bytecode"
        write_log(log, options.megabytes)
        patterns.write_text("\n".join(anchors) + "\n")
        rg = ["rg", "-F", "-f", str(patterns), str(log)]
        commands = {
            BASE: [*rg, "-c"],
            "rg -j1 -c -F -f": [*rg, "-j1", "-c"],
            "rg -n -F -f": [*rg, "-n"],
            "sparkdiag": [sys.executable, "-m", "sparkdiag", str(log), "--format", "line"],
            "no hyperscan": [sys.executable, "-c", WITHOUT, str(log), "--format", "line"],
        }
        timed(commands["sparkdiag"], environment)  # bytecode is written
        runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
        for _ in range(options.repeats):
            for name, command in commands.items():
                runs[name].append(timed(command, environment))
    print(f"{options.megabytes} MB, {len(anchors)} literals")
    base = min(seconds for seconds, _, _ in runs[BASE])
    for name, times in runs.items():
        seconds, used, peak = (min(part) for part in zip(*times, strict=True))
        print(
            f"{name:16} {seconds:6.2f} s   x {seconds / base:5.2f}   {options.megabytes / seconds:6.0f} MB/s"
            f"   processor {used:5.2f} s   resident {peak:4.0f} MB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
