"""What a stretch of lines is: a log, a JSON document, a stream, metrics, a configuration, or just text."""

from __future__ import annotations

import json

from .patterns import lazy

__all__ = [
    "REQUEST_LINE",
    "STATUS_LINE",
    "is_background_line",
    "is_env",
    "is_launch",
    "is_log_line",
    "is_metric",
    "is_setting",
    "is_system_line",
    "kind_of",
    "looks_logged",
    "starts_http",
]

_LOGGED = lazy(
    r"(?:[\w.-]+ *\| )?(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:?\d\d)? )?(?:"
    r"\([A-Za-z_][\w:.-]*(?: [A-Z]{2}\d+)*(?:,? (?:pid|ip|rank)=[\w.:-]+)+\)"
    r"|\((?:raylet|autoscaler[^()]{0,12}|gcs_server)\) "
    r"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d"
    r"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL): +\S"
    r"|\[\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*[ \t]+[^\s\d]"
    r"|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)? [\w.-]+ [\w@./\\:-]+(?:\[\d+\])?: "
    r"|[\w.-]+ kernel: "
    r"|\[ *\d+\.\d{5,6}\] |\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}\] "
    r"|\[(?:DEBUG|INFO|PROGRESS|WARNING|WARN|ERROR|CRITICAL)\] "
    r"|\[?[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+"
    r"|\[rank\d+\]:"
    r"|[\w.-]+:\d+:\d+ \[\d+\] (?:NCCL|\S+:\d+ NCCL)"
    r"|\[TensorRT-LLM\]"
    r")"
)
_ALSO_LOGGED = lazy(
    r"Traceback \(most recent call last\):|Fatal Python error: |Loading safetensors checkpoint shards: +\d+%|"
    r"Capturing CUDA graphs?[ (]|(?:\w+\.)*\w+(?:Error|Exception|OutOfResources): |NCCL (?:WARN|INFO|ERROR)|nanobind: |"
    r"The server is fired up|Health check failed\.|Process \w+-\d+:|Killed\Z|Segmentation fault|"
    r"usage: (?:vllm|sglang|api_server\.py|launch_server\.py)|vllm(?: serve)?: error: |launch_server\.py: error: |"
    r"==+ CUDA ==+|== (?:vLLM|CUDA|PyTorch|SGLang|TensorRT-LLM) ==|docker: Error response from daemon|"
    r"Error response from daemon:|terminate called after throwing|\S+\.py:\d+: \w*Warning: |sys:1: \w*Warning: "
)


def looks_logged(line: str) -> bool:
    """The line begins as log lines of engines, containers and systems begin."""
    return _LOGGED.match(line) is not None


_OF_AN_ENGINE = lazy(r"\([A-Za-z_]\w* pid=\d+(?:, ip=[\d.]+)?\) (?:DEBUG|INFO|WARNING|ERROR)\b")
_SYSTEM = lazy(
    r"(?:\([A-Za-z_]\w* pid=\d+\) )?INFO: +[\d.]+:\d+ - \"[A-Z]+ /"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ (?:kernel|systemd\S*|[\w@./-]+\[\d+\]): "
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* [\w.-]+ (?:kernel|systemd\S*|[\w@./-]+\[\d+\]): "
    r"|(?:Get|Hit|Ign|Fetched|Err):?\d* (?:https?://|[\d.]+ [kM]?B in)"
    r"|(?:Setting up|Unpacking|Preparing to unpack|Processing triggers for|Selecting previously unselected) \S+"
)


def is_system_line(line: str) -> bool:
    """A line that a system or a server writes by itself, whatever was typed."""
    return is_background_line(line) or _OF_AN_ENGINE.match(line) is not None


def is_background_line(line: str) -> bool:
    """A line that goes on all the time and belongs to nothing else: journal, access log, package manager."""
    return _SYSTEM.match(line) is not None


def is_log_line(line: str) -> bool:
    """The same, or what programs print without any prefix."""
    return _LOGGED.match(line) is not None or _ALSO_LOGGED.search(line[:400]) is not None


_METRIC = lazy(
    r"(?:# (?:HELP|TYPE) [a-zA-Z_:]|"
    r"(?:vllm|sglang|ray|process|python|http|trtllm|llamacpp|nvidia|DCGM|tgi|node|up)[\w:]*"
    r"(?:\{[^}]*\})? +[-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|NaN|[Ii]nf)(?: \d+)?\s*\Z)"
)


def is_metric(line: str) -> bool:
    """One line of Prometheus' text format."""
    return _METRIC.match(line) is not None


_ENV = lazy(r"(?:export +|set -gx +|Environment=|- )?\"?[A-Z][A-Z0-9_]{2,}=\S*.*\Z")
_LAUNCH = lazy(
    r"(?:[A-Z_][A-Z0-9_]*=\S* +)*(?:sudo +(?:-\w+ +)*)?(?:nohup +|exec +|time +|uv run +|numactl \S+ +)*"
    r"(?:\S*/)?(?:vllm serve(?: |\Z)|python3? -m (?:vllm\.entrypoints|sglang\.)|sglang serve |llama-server -|"
    r"(?:docker|podman|nerdctl)(?: container)? run |ray start(?: |\Z)|sparkrun (?:-v+ )?run |torchrun .*vllm|"
    r"transformers serve |trtllm-serve |mpirun .*(?:vllm|sglang))"
)
_UNIT = lazy(r"(?:\[(?:Unit|Service|Install)\]|(?:ExecStart|ExecStartPre|ExecStop|EnvironmentFile)=)")


def is_env(line: str) -> bool:
    """A line of an environment file, or an export."""
    return _ENV.match(line) is not None


def is_launch(line: str) -> bool:
    """A command that starts a server, a line of a unit that does."""
    return _LAUNCH.match(line) is not None or _UNIT.match(line) is not None


_SETTINGS = (
    "set -",
    "source ",
    "ulimit ",
    "cd ",
    "Restart",
    "Type=",
    "User=",
    "Group=",
    "After=",
    "Requires=",
    "WantedBy=",
)
_MORE_SETTINGS = (
    "Description=",
    "Environment",
    "Timeout",
    "KillMode=",
    "PrivateTmp=",
    "WorkingDirectory=",
    "StandardOutput=",
    "Wants=",
    "Limit",
)


def is_setting(line: str) -> bool:
    """A line that scripts and units have around the command that starts a server."""
    return line.startswith(_SETTINGS) or (line.startswith(_MORE_SETTINGS) and "=" in line)


REQUEST_LINE = lazy(
    r"(?P<method>GET|POST|PUT|DELETE|HEAD|OPTIONS|PATCH) (?P<url>(?:https?://[^\s/]+)?/\S*)(?: HTTP/[\d.]+)?"
    r"(?P<body>\s+[{].*)?\s*\Z"
)
STATUS_LINE = lazy(r"HTTP/\d(?:\.\d)? (?P<status>\d{3})(?: (?P<reason>[A-Za-z -]*))?\s*\Z")


def starts_http(line: str) -> bool:
    """Whether a line begins a request or a reply as HTTP writes them (or `curl -v`, with its arrows)."""
    if line[:2] in ("> ", "< "):
        line = line[2:]
    return bool(REQUEST_LINE.match(line) or STATUS_LINE.match(line))


def kind_of(lines: list[str], *, logs: bool = False) -> str:
    """The kind of a command's output as a whole; `logs` says that the command prints logs."""
    filled = [line for line in lines if line.strip()]
    if not filled:
        return "log" if logs else "output"
    first = filled[0]
    if first.startswith(("data: {", "data: [", "data:{")):
        return "sse"
    if first.lstrip()[:1] in ("{", "["):
        text = "\n".join(lines).strip()
        if _is_json(text):
            return "json"
    metrics = sum(map(is_metric, filled[:200]))
    if metrics and metrics >= len(filled[:200]) * 0.8:
        return "metrics"
    if logs or any(map(is_log_line, filled[:5000])):
        return "log"
    return "output"


def _is_json(text: str) -> bool:
    """One JSON document, or several one after the other."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(1000):
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
        if at >= len(text):
            return True
        try:
            _, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return False
    return True
