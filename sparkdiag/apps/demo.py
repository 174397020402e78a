"""`demo`: a recorded server on a loopback port, diagnosed live by the same way as any endpoint."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..diagnosis import Report
from ..errors import UsageError

__all__ = ["CASES", "Demonstration", "run_demo"]

CASES = {
    "parser-eats-reply": "vLLM with a reasoning parser, and a model that never thinks: every reply is empty",
    "think-tags-leak": "vLLM without a reasoning parser, and a model that thinks: the thought is in the reply",
    "healthy": "SGLang, well set up: nothing is wrong",
}
"""The recordings that ship with sparkdiag; the first is the default."""

METRICS_GAP = 0.2
LATER_GAP = 0.5
"""Seconds between two samples: a recording need not be waited for."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What came of it."""

    report: Report
    folder: str
    """The recording, with its expected.yaml."""


def run_demo(case: str | None = None, rule_engine: str | None = None) -> Demonstration:
    """Serve a case, or a folder of recordings, and diagnose it. UsageError for a case that there is not."""
    from ..run import Options, run_sync
    from .demo_server import DemoServer

    folder = _folder(case)
    with DemoServer(folder) as server:
        options = Options(
            api_key=server.api_key,
            tools=_means_tools(folder),
            rule_engine=rule_engine or "auto",
            metrics_gap=METRICS_GAP,
            later_gap=LATER_GAP,
        )
        report = run_sync([server.url], options).report
    return Demonstration(report, folder)


def _folder(case: str | None) -> str:
    name = case or next(iter(CASES))
    if name in CASES:
        package = Path(__file__).resolve().parent.parent
        shipped = package / "data" / "demo" / name
        return str(shipped if shipped.is_dir() else package.parent / "fixtures" / "demo" / name)
    if os.path.isdir(name):
        return name
    known = "\n".join(f"  {known}: {about}" for known, about in CASES.items())
    raise UsageError(f"there is no demo '{name}'; there are\n{known}\nand a folder of recordings can be named")


def _means_tools(folder: str) -> bool:
    """Whether the recording's fault shows in requests with tools."""
    from ..expected import parse_expected

    path = os.path.join(folder, "expected.yaml")
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as file:
        return "tools" in parse_expected(file.read(), path).only_with
