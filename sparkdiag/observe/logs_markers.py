"""Lines by which engines tell how far they are: starts, phases, ends. Ordinary lines, no evidence of any fault."""

from __future__ import annotations

import re

from ..facts import Signature
from .patterns import lazy

__all__ = ["MARKERS", "PHASES", "RESTARTS", "Marker", "is_echoed", "is_spoken_code"]

PHASES = ("starting", "loading", "profiling", "capturing", "serving", "stopping")


class Marker:
    """What a marker line means. `then` is the phase after it, `during` the one it stands in itself."""

    __slots__ = ("banner", "during", "ends", "id", "then")

    def __init__(
        self, id: str, then: str | None, during: str | None, *, banner: bool = False, ends: bool = False
    ) -> None:
        self.id = id
        self.then = then
        self.during = during
        self.banner = banner
        """The first lines of a start: a second one begins a new run."""
        self.ends = ends
        """The run has failed: whatever loads afterwards is another one."""


_TABLE: tuple[tuple[str, str | tuple[str, ...], str, str | None, str | None, bool, bool], ...] = (
    # id, anchor or anchors, expression, phase after it, phase it stands in, banner, ends
    ("logo", "  version ", r"█.*  version (?P<version>\d\S*)", "starting", None, True, False),
    (
        "usage", ("usage: vllm", "usage: sglang", "usage: api_server", "usage: launch_server"),
        r"^usage: (?:vllm|sglang|api_server|launch_server)\b", "starting", None, True, False,
    ),
    ("api-version", "API server version", r"API server version v?(?P<version>\d\S*)", "starting", None, True, False),
    ("non-default-args", "non-default args:", r"non-default args: \{", "starting", None, True, False),
    ("server-args", "server_args", r"server_args(?:=ServerArgs\(|: ?\{)", "starting", None, True, False),
    (
        "engine-init", "LLM engine (v", r"Initializing an? (?:V\d )?LLM engine \(v(?P<version>\d[^)\s]*)\)",
        "starting", None, True, False,
    ),
    ("resolved", "Resolved architecture", r"Resolved architectures?:", "starting", None, False, False),
    ("load-start", "Starting to load model", r"Starting to load model", "loading", "loading", False, False),
    ("load-begin", "Load weight begin", r"Load weight begin", "loading", "loading", False, False),
    ("shards", "checkpoint shards:", r"Loading \S+ checkpoint shards: +\d+%", "loading", "loading", False, False),
    ("weights-took", "Loading weights took", r"Loading weights took", "loading", "loading", False, False),
    ("model-took", "Model loading took", r"Model loading took", "profiling", "loading", False, False),
    ("load-end", "Load weight end", r"Load weight end", "profiling", "loading", False, False),
    ("dynamo", "Dynamo bytecode transform", r"Dynamo bytecode transform time", "profiling", "profiling", False, False),
    ("compiled", "torch.compile takes", r"torch\.compile takes", "profiling", "profiling", False, False),
    ("encoder", "Encoder cache will be", r"Encoder cache will be initialized", "profiling", "profiling", False, False),
    ("available", "Available KV cache memory", r"Available KV cache memory", "profiling", "profiling", False, False),
    ("kv-size", "KV cache size:", r"KV cache size: [\d,]+ tokens", "capturing", "profiling", False, False),
    ("pool-end", "Memory pool end", r"Memory pool end", "capturing", "profiling", False, False),
    ("capture", "Graph capturing started", r"Graph capturing started", "capturing", "capturing", False, False),
    ("captures", "Capturing CUDA graph", r"Capturing CUDA graphs?", "capturing", "capturing", False, False),
    ("capture-begin", "Capture cuda graph begin", r"Capture cuda graph begin", "capturing", "capturing", False, False),
    ("started", "Application startup complete", r"Application startup complete", "serving", "serving", False, False),
    ("fired-up", "The server is fired up", r"The server is fired up", "serving", "serving", False, False),
    ("throughput", "Avg generation throughput: ", r"Avg generation throughput: ", "serving", "serving", False, False),
    ("decode", "Decode batch", r"Decode batch[.,]", "serving", "serving", False, False),
    ("prefill", "Prefill batch", r"Prefill batch[.,]", "serving", "serving", False, False),
    ("shutdown", "Shutting down", r"INFO: +Shutting down", "stopping", "stopping", False, True),
    ("finished", "Finished server process", r"Finished server process", "stopping", "stopping", False, True),
    ("core-failed", "EngineCore failed to start", r"EngineCore failed to start", None, None, False, True),
    ("core-fatal", "encountered a fatal error", r"EngineCore encountered a fatal error", None, None, False, True),
    ("init-failed", "core initialization failed", r"Engine core initialization failed", None, None, False, True),
    ("sigquit", "Received sigquit from a child", r"Received sigquit from a child", None, None, False, True),
)  # fmt: skip

MARKERS: dict[str, Marker] = {
    f"_{name}": Marker(name, then, during, banner=banner, ends=ends)
    for name, _, _, then, during, banner, ends in _TABLE
}
"""By the id of the signature that finds each."""

SIGNATURES: tuple[Signature, ...] = tuple(
    Signature(f"_{name}", (anchor,) if isinstance(anchor, str) else anchor, expression, pieces=("log",), benign=True)
    for name, anchor, expression, *_ in _TABLE
)

RESTARTS = frozenset({"loading", "profiling"})
"""Phases that no server comes back to: seen after serving or failing, they belong to another run."""

_ECHO = lazy(
    r"Received request \S+: |Receive: obj=|Finish: obj=|Generated response |COMMAND=|CRON\[\d+\]: |\bCMD \(|"
    r"prompt: ['\"]|SchedulerOutput\(|bash -c |\bgrep -"
)
"""What follows these words is what somebody asked or typed, not what happened."""
_ECHO_WORDS = (
    "Received request ", "Receive: obj=", "Finish: obj=", "Generated response ", "COMMAND=", "CRON[", "CMD (",
    "prompt: ", "SchedulerOutput(", "bash -c ", "grep -",
)  # fmt: skip
"""A line without any of them needs no look at the expression."""


def is_echoed(match: re.Match[str]) -> bool:
    """The match stands in what somebody asked or typed, which the line only repeats."""
    line = match.string
    for word in _ECHO_WORDS:
        if word in line:
            echo = _ECHO.search(line)
            return echo is not None and match.start() >= echo.end()
    return False


_SPOKEN = lazy(r"\s{2,}(?:raise \w|logger\.\w|log\.\w|warnings\.warn|print\(|[rf]{0,2}[\"'])")


def is_spoken_code(message: str) -> bool:
    """A source line of a traceback that holds a message without saying that it was printed."""
    return _SPOKEN.match(message) is not None
