"""Judging one proxied reply, as a ratio to parsing it, all measured in one run:

    python bench/exchange.py [--repeats 200]

Each reply of fixtures/exchanges.yaml is judged by `diagnose_exchange` and looked at by `suspicious`, in turns with
`json.loads` of its body; the fastest run of each counts. The goal is the time of 20 json.loads of a reply of ordinary
size: of a shorter one less is parsed, and no less judged.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

import sparkdiag

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
GOAL = 20
SAID = """the pool of a Spark is shared by processor and graphics so what one holds other lacks while weights stay put,
caches grow with every request that comes along. Naïve sums forget this: they count what was free at start – not later –
and then wonder (rightly) why an engine dies; `free -g` shows it, 120 GiB at most, 4 of them for the system."""


def recordings() -> list[tuple[str, dict[str, Any]]]:
    """Name, and the arguments of diagnose_exchange with bodies as a proxy has them: parsed."""
    out = []
    for entry in yaml.safe_load((FIXTURES / "exchanges.yaml").read_text())["recordings"]:
        recording = json.loads((FIXTURES / "servers" / entry["path"]).read_text())
        body = recording.get("body")
        if isinstance(body, dict):
            request = recording["request"]["body"]
            out.append((entry["path"], {"request": request, "response": body, "status": recording["status"]}))
    return out


def long_reply(characters: int) -> dict[str, Any]:
    """An ordinary reply of this length: nothing is wrong with it."""
    rng = random.Random(7)
    words = SAID.split()
    content = " ".join(rng.choice(words) for _ in range(characters // 4))[:characters].strip() + "."
    message = {"role": "assistant", "content": content, "reasoning_content": None, "tool_calls": []}
    usage = {"prompt_tokens": 31, "completion_tokens": characters // 4, "total_tokens": 31 + characters // 4}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    request = {"model": "m", "messages": [{"role": "user", "content": "What is special about it?"}], "max_tokens": 8000}
    return {"request": request, "response": body, "status": 200}


def fastest(work: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def measure(exchange: dict[str, Any], repeats: int) -> tuple[int, float, float, float]:
    """Bytes of the reply; seconds of json.loads, suspicious and diagnose_exchange."""
    text = json.dumps(exchange["response"])
    parse, look, judge = float("inf"), float("inf"), float("inf")
    for _ in range(5):
        parse = min(parse, fastest(lambda: json.loads(text), repeats))
        look = min(look, fastest(lambda: sparkdiag.suspicious(exchange["response"]), repeats))
        judge = min(judge, fastest(lambda: sparkdiag.diagnose_exchange(**exchange), max(1, repeats // 20)))
    return len(text), parse, look, judge


def row(name: str, size: int, parse: float, look: float, judge: float) -> str:
    return (
        f"{name:34} {size:7} B   json.loads {parse * 1e6:7.1f} us   suspicious x {look / parse:6.1f}"
        f"   diagnose_exchange {judge * 1e3:6.2f} ms   x {judge / parse:6.0f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Judging a reply as a ratio to parsing it.")
    parser.add_argument("--repeats", type=int, default=200, help="runs of each (default: 200)")
    options = parser.parse_args()
    for characters in (400, 4_000, 40_000, 400_000):
        print(row(f"ordinary, {characters} characters", *measure(long_reply(characters), options.repeats)))
    recorded = [measure(exchange, options.repeats) for _, exchange in recordings()]
    middle = [statistics.median(column) for column in zip(*recorded, strict=True)]
    print(row(f"{len(recorded)} recorded replies, median", int(middle[0]), *middle[1:]))
    print(f"the goal is x {GOAL}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
