"""Start-up as ratios to bare Python, all measured in one run:

    python bench/start.py [--runs 15] [--check]

Each command is run in turn, again and again, so that a busy moment hits all of them; of each the fastest run counts.
Bytecode is cached, as it is in an installed package, in a folder of this run's own.
`--check` exits 1 when a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOG_LINE = "INFO 01-01 00:00:00 [api_server.py:1] Application startup complete.\n"
BASE = "python -c pass"


def commands(log: Path) -> dict[str, tuple[list[str], float | None]]:
    """Name to command line and the greatest ratio that is good enough."""
    python = sys.executable
    return {
        BASE: ([python, "-c", "pass"], None),
        "sparkdiag --help": ([python, "-m", "sparkdiag", "--help"], 4.0),
        "sparkdiag LOG (one line)": ([python, "-m", "sparkdiag", str(log)], 10.0),
        "import sparkdiag": ([python, "-c", "import sparkdiag"], 2.0),
    }


def seconds(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True)
    took = time.perf_counter() - started
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description="Start-up times as ratios to bare Python.")
    parser.add_argument("--runs", type=int, default=15, help="rounds over all commands (default: 15)")
    parser.add_argument("--check", action="store_true", help="exit 1 when a ratio is above its limit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        log = Path(folder) / "serve.log"
        log.write_text(LOG_LINE)
        table = commands(log)
        best = dict.fromkeys(table, float("inf"))
        for _ in range(options.runs):
            for name, (command, _limit) in table.items():
                best[name] = min(best[name], seconds(command, environment))
    slow = False
    for name, (_, limit) in table.items():
        ratio = best[name] / best[BASE]
        over = limit is not None and ratio > limit
        slow = slow or over
        bound = "" if limit is None else f"   limit {limit:g}{'   TOO SLOW' if over else ''}"
        print(f"{name:<26} {best[name] * 1000:7.1f} ms   x {ratio:5.2f}{bound}")
    return 1 if slow and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
