"""Reading a large log with all the rules' signatures, against ripgrep with the same literals, in one run.

    python bench/scan.py [--megabytes 200] [--repeats 3]

Both read the same file from the page cache, in turns; the smallest time of each counts. sparkdiag's time is that of the
whole diagnosis (a process of its own, start-up included). Needs `rg` on PATH.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sparkdiag.infer import shipped

PREFIX = "(EngineCore pid=188) INFO 09-14 {h:02}:{m:02}:{s:02} "
LINES = (
    "[loggers.py:310] Engine 000: Avg prompt throughput: {a}.1 tokens/s, Avg generation throughput: {b}.7 tokens/s, "
    "Running: {c} reqs, Waiting: 0 reqs, GPU KV cache usage: {c}.3%, Prefix cache hit rate: 41.0%",
    '192.0.2.{c}:5{a} - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "[metrics.py:100] SpecDecoding metrics: Mean acceptance length: 2.{b}, Accepted throughput: {a}.2 tokens/s",
    "[async_llm.py:425] Added request chatcmpl-{a}{b}{c}.",
    "[scheduler.py:221] Preempted nothing in step {a}{b}.",
)
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


def timed(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if shutil.which("rg") is None:
        print("rg (ripgrep) is not on PATH")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        log, literals = Path(folder) / "engine.log", Path(folder) / "literals"
        write_log(log, options.megabytes)
        anchors = sorted({a for s in shipped().signatures.values() for a in s.anchors})
        literals.write_text("\n".join(anchors) + "\n")
        commands = {
            "rg -F -f": ["rg", "-c", "-F", "-f", str(literals), str(log)],
            "rg -j1 -F -f": ["rg", "-j1", "-c", "-F", "-f", str(literals), str(log)],
            "sparkdiag": [sys.executable, "-m", "sparkdiag", str(log), "--format", "line"],
        }
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(options.repeats):
            for name, command in commands.items():
                best[name] = min(best[name], timed(command))
    print(f"{options.megabytes} MB, {len(anchors)} literals of {len(shipped().signatures)} signatures")
    for name, seconds in best.items():
        ratio = seconds / best["rg -F -f"]
        print(f"{name:14} {seconds:6.2f} s   x {ratio:5.2f}   {options.megabytes / seconds:6.0f} MB/s")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest resident size of a child: {peak:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
