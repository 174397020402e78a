"""Documents that stand in a text without any command: JSON, whole or cut, event streams, and YAML."""

from __future__ import annotations

import json
import re
from typing import Any

from .patterns import lazy
from .transcript_kinds import looks_logged
from .wordlists import words_of

__all__ = ["JsonTries", "document_kind", "headless_json", "json_block", "sse_block", "yaml_block", "yaml_kind"]

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
    "services version name model runtime container image recipe_version defaults command args env environment x-common "
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
    if "services" in keys or keys & {"args", "containers"} or {"apiVersion", "kind", "spec"} <= keys:
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
