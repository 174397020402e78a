"""What a stretch of lines is: a log, a JSON document, a stream, metrics, a configuration, or just text."""

from __future__ import annotations

import json
import re
from typing import Any

from .patterns import lazy
from .wordlists import words_of

__all__ = [
    "document_kind", "is_env", "is_launch", "is_log_line", "is_metric", "is_setting", "is_system_line", "json_block",
    "kind_of", "looks_logged", "sse_block", "yaml_block",
]  # fmt: skip

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


_SYSTEM = lazy(
    r"(?:\([A-Za-z_]\w* pid=\d+\) )?INFO: +[\d.]+:\d+ - \"[A-Z]+ /"
    r"|\([A-Za-z_]\w* pid=\d+(?:, ip=[\d.]+)?\) (?:DEBUG|INFO|WARNING|ERROR)\b"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ (?:kernel|systemd\S*|[\w@./-]+\[\d+\]): "
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* [\w.-]+ (?:kernel|systemd\S*|[\w@./-]+\[\d+\]): "
    r"|(?:Get|Hit|Ign|Fetched|Err):?\d* (?:https?://|[\d.]+ [kM]?B in)"
    r"|(?:Setting up|Unpacking|Preparing to unpack|Processing triggers for|Selecting previously unselected) \S+"
)


def is_system_line(line: str) -> bool:
    """A line that a system or a server writes by itself, whatever was typed: journal, access log, package manager."""
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


_JSONISH = lazy(
    r"\s*(?:\"[^\"]*\"\s*[:,]|[{}\[\]]+,?\s*\Z|\"[^\"]*\",?\s*\Z|-?\d[\d.eE+-]*,?\s*\Z|(?:true|false|null),?\s*\Z)"
)
_MAX_TRIES = 200


_AFTER_BRACKET = frozenset({"", " ", '"', "{", "[", "]", "-"})
_AFTER_WORDS = ("[null", "[true", "[false")


class JsonTries:
    """How often decoding may still fail in one text: hostile input must not make reading slow."""

    def __init__(self) -> None:
        self.left = _MAX_TRIES


def json_block(lines: list[str], start: int, end: int, tries: JsonTries) -> tuple[int, Any, bool] | None:
    """(end, document, whole) of a JSON document that begins at a line; None where none does."""
    line = lines[start]
    lead = line.lstrip(" ")
    if lead[:1] not in ("{", "["):
        return None
    second = lead[1:2]
    if lead[0] == "[" and not (second in _AFTER_BRACKET or second.isdigit() or lead.startswith(_AFTER_WORDS)):
        return None
    if lead[0] == "{" and second not in ("", " ", '"', "}"):
        return None
    if tries.left <= 0:
        return None
    text = line
    if not _closes(line):
        stop = start + 1
        while stop < end and (
            _JSONISH.match(lines[stop]) or not lines[stop].strip() or lines[stop][:1] in (" ", "\t", "}", "]")
        ):
            stop += 1
        text = "\n".join(lines[start:stop])
    offset = len(text) - len(text.lstrip(" "))
    try:
        document, at = json.JSONDecoder().raw_decode(text, offset)
    except (ValueError, RecursionError):
        tries.left -= 1 + text.count("\n") // 500
        return _broken(lines, start, end)
    last = start + text.count("\n", 0, at)
    rest = text[at:].split("\n", 1)[0].strip()
    if isinstance(document, (dict, list)) and (
        not rest or (isinstance(document, dict) and re.fullmatch(r"\d{3}(?: [\d.]+)?", rest))
    ):
        if (
            isinstance(document, list)
            and last == start
            and len(document) < 2
            and not any(isinstance(i, (dict, str)) for i in document)
        ):
            return None
        return last + 1, document, True
    return None


def _closes(line: str) -> bool:
    stripped = line.strip()
    return len(stripped) > 1 and stripped[-1] in "}]" and stripped.count("{") == stripped.count("}")


def _broken(lines: list[str], start: int, end: int) -> tuple[int, Any, bool] | None:
    """A document that was cut: as far as its lines still look like JSON."""
    head = lines[start].strip()
    if head not in ("{", "[", "[{") and not re.match(r"[\[{]\s*\"[\w.-]+\"\s*:", head):
        return None
    stop = start + 1
    while stop < end and lines[stop].strip() and _JSONISH.match(lines[stop]):
        stop += 1
    if stop == start + 1 and not re.match(r"\{\s*\"[\w.-]+\"\s*:", head):
        return None
    return stop, None, False


def headless_json(lines: list[str], start: int, end: int) -> int:
    """The end of the rest of a document whose beginning was cut off; `start` where there is none."""
    stop = start
    while stop < end and lines[stop].strip() and _JSONISH.match(lines[stop]):
        stop += 1
    keyed = sum(bool(re.match(r"\s+\"[\w.-]+\"\s*:", line)) for line in lines[start:stop])
    return stop if keyed >= 2 else start


def sse_block(lines: list[str], start: int, end: int) -> int:
    """The end of a stream of server-sent events that begins at a line; `start` where none does."""
    if not re.match(r"data: ?(?:[{\[]|\[DONE\])|event: [\w.]+\Z", lines[start]):
        return start
    last, at = start, start
    while at < end:
        line = lines[at]
        if line.startswith(("data:", "event:", "id:", "retry:", ": ")):
            last = at
        elif line.strip():
            break
        at += 1
    return last + 1


_YAML_KEYS = words_of(
    "services version name model runtime container image recipe_version defaults command env environment x-common "
    "agent description metadata executor_config min_nodes max_nodes mode volumes networks apiVersion kind spec "
    "model_list general_settings hosts user cluster default_hosts model-path host port served-model-name providers"
)
_YAML_LINE = lazy(r"(?:[\w.-]+|\"[^\"]+\"):(?:\s|\Z)|\s+\S|- |-\Z|#|---\Z")


def yaml_block(lines: list[str], start: int, end: int) -> tuple[int, str] | None:
    """(end, kind) of a configuration in YAML that begins at a line: compose, recipe or config."""
    key = re.match(r"([\w.-]+):(?:\s|\Z)", lines[start])
    if key is None or key[1] not in _YAML_KEYS:
        return None
    stop = last = start
    while stop < end:
        line = lines[stop]
        if line.strip():
            if not _YAML_LINE.match(line) or looks_logged(line):
                break
            last = stop
        elif stop + 1 < end and not _YAML_LINE.match(lines[stop + 1]):
            break
        stop += 1
    while last > start and lines[last].startswith("#"):
        last -= 1
    if last == start and lines[start].rstrip().endswith(":"):
        return None
    return last + 1, yaml_kind(lines[start : last + 1])


def yaml_kind(lines: list[str]) -> str:
    """compose, recipe or config, by the keys at the margin."""
    keys = {match[1] for line in lines if (match := re.match(r"([\w.-]+):(?:\s|\Z)", line))}
    if "services" in keys:
        return "compose"
    if "model" in keys and keys & {"runtime", "container", "defaults", "recipe_version", "command"}:
        return "recipe"
    return "config"


_CONFIG_KEYS = words_of(
    "architectures model_type torch_dtype quantization_config hidden_size num_hidden_layers tokenizer_class "
    "chat_template eos_token_id bos_token_id transformers_version max_position_embeddings text_config weight_map "
    "producer"
)


def document_kind(document: Any) -> str:
    """config for a model's own files, else json."""
    if (
        isinstance(document, dict)
        and len(_CONFIG_KEYS & set(document)) >= 1
        and "choices" not in document
        and "messages" not in document
    ):
        return "config"
    return "json"


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
