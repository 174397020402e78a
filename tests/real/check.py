"""Real vLLM servers, well and broken in known ways, each diagnosed live; exit 1 where an answer is wrong.

python check.py WORK [NAME...]    WORK as tests/real/run lays it out; NAME: only these checks
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sparkdiag
from sparkdiag import Report

KEY = "a-key-of-this-test"
READY_WITHIN = 300.0
TOOLS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")


@dataclass(frozen=True)
class Server:
    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def engine(self) -> int:
        """Process id of the engine core, a child of the front end."""
        found = subprocess.run(
            ["pgrep", "-P", str(self.process.pid), "-f", "EngineCore"], capture_output=True, text=True, check=False
        )
        return int(found.stdout.split()[0])


@contextmanager
def serving(work: Path, name: str, model: str, *options: str, wait: bool = True) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = work / f"{name}.log"
    settings = {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_NO_USAGE_STATS": "1",
    }
    command = [str(work / "vllm/bin/vllm"), "serve", str(work / "models" / model), "--host", "127.0.0.1"]
    command += ["--port", str(port), "--served-model-name", "tiny", "--dtype", "bfloat16", "--max-model-len", "2048"]
    command += ["--enforce-eager", "--max-num-seqs", "4", *options]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | settings
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    server = Server(f"http://127.0.0.1:{port}", log, process)
    try:
        deadline = time.monotonic() + READY_WITHIN
        while wait and not answers(f"{server.url}/health"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name}: the server did not start, see {log}")
            time.sleep(1)
        if not wait:
            process.wait(READY_WITHIN)
        yield server
    finally:
        for number in (signal.SIGCONT, signal.SIGTERM):
            if process.poll() is None:
                os.killpg(process.pid, number)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@contextmanager
def long_request(server: Server) -> Iterator[None]:
    """One request that is decoded for several seconds."""
    body = {"model": "tiny", "messages": [{"role": "user", "content": "loop forever"}], "max_tokens": 1900}
    command = ["curl", "-s", "-m", "120", "-o", os.devnull, "-H", "content-type: application/json"]
    with subprocess.Popen([*command, "-d", json.dumps(body), f"{server.url}/v1/chat/completions"]) as asking:
        time.sleep(0.5)
        try:
            yield
        finally:
            asking.kill()


def well(work: Path) -> Report:
    with serving(work, "well", "think", "--reasoning-parser", "qwen3", *TOOLS) as server:
        return sparkdiag.diagnose_sync(server.url, log=str(server.log))


def well_and_passive(work: Path) -> Report:
    with serving(work, "passive", "nothink") as server:
        return sparkdiag.diagnose_sync(server.url, passive=True)


def parser_on_plain_model(work: Path) -> Report:
    with serving(work, "plain", "nothink", "--reasoning-parser", "qwen3") as server:
        return sparkdiag.diagnose_sync(server.url)


def no_parser(work: Path) -> Report:
    with serving(work, "no-parser", "think") as server:
        return sparkdiag.diagnose_sync(server.url)


def byte_level(work: Path) -> Report:
    with serving(work, "llamatok", "llamatok", "--api-key", KEY) as server:
        return sparkdiag.diagnose_sync(server.url, api_key=KEY)


def key_wanted(work: Path) -> Report:
    with serving(work, "key", "nothink", "--api-key", KEY) as server:
        return sparkdiag.diagnose_sync(server.url, passive=True)


def frozen(work: Path) -> Report:
    with serving(work, "frozen", "think", "--reasoning-parser", "qwen3") as server, long_request(server):
        engine = server.engine()
        os.kill(engine, signal.SIGSTOP)
        try:
            return sparkdiag.diagnose_sync(server.url)
        finally:
            os.kill(engine, signal.SIGCONT)


def busy(work: Path) -> Report:
    with serving(work, "busy", "think", "--reasoning-parser", "qwen3") as server, long_request(server):
        return sparkdiag.diagnose_sync(server.url, passive=True)


def dead(work: Path) -> Report:
    with serving(work, "dead", "think", "--reasoning-parser", "qwen3") as server:
        os.kill(server.engine(), signal.SIGKILL)
        time.sleep(0.3)
        return sparkdiag.diagnose_sync(server.url, log=str(server.log))


def unknown_option(work: Path) -> Report:
    with serving(work, "option", "think", "--no-such-option", wait=False) as server:
        return sparkdiag.diagnose_text(server.log.read_text())


def context_beyond_native(work: Path) -> Report:
    with serving(work, "context", "think", "--max-model-len", "400000", wait=False) as server:
        return sparkdiag.diagnose_text(server.log.read_text())


CHECKS: dict[str, tuple[Callable[[Path], Report], str]] = {
    "well": (well, "healthy"),
    "well-and-passive": (well_and_passive, "healthy|inconclusive"),
    "parser-on-plain-model": (parser_on_plain_model, "reasoning.parser-on-plain-model"),
    "no-parser": (no_parser, "reasoning.think-tags-leak"),
    "byte-level": (byte_level, "output.byte-level-artifacts"),
    "key-wanted": (key_wanted, "endpoint.auth-required"),
    "frozen": (frozen, "endpoint.engine-frozen"),
    "busy": (busy, "healthy|inconclusive"),
    "dead": (dead, "endpoint.engine-dead|endpoint.server-not-listening"),
    "unknown-option": (unknown_option, "launch.unknown-argument"),
    "context-beyond-native": (context_beyond_native, "launch.context-beyond-native"),
}


def main() -> int:
    work, only = Path(sys.argv[1]).resolve(), sys.argv[2:]
    wrong = 0
    for name, (check, expected) in CHECKS.items():
        if only and name not in only:
            continue
        began = time.monotonic()
        report = check(work)
        claimed = [d.id for d in report.diagnoses if d.claimed and d.kind == "fault"]
        got = claimed[0] if claimed else report.verdict
        good = got in expected.split("|")
        wrong += not good
        print(f"{'ok' if good else 'WRONG':6}{name:24}{got:36}{time.monotonic() - began:5.0f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
