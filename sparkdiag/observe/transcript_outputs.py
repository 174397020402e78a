"""Typed commands with their output, and text without any command, into parts: pieces before they get their place."""

from __future__ import annotations

import re

from .json_runs import json_values
from .patterns import lazy
from .prompts import Typed
from .shell import lists, pipeline
from .transcript_blocks import plain_parts, split
from .transcript_commands import assign_output, log_source, unwrap
from .transcript_documents import JsonTries, document_kind, yaml_kind
from .transcript_kinds import is_launch, is_system_line, kind_of, looks_logged
from .transcript_parts import Part

__all__ = ["command_parts"]


def command_parts(typed: Typed, lines: list[str], at: int, body: int, end: int, tries: JsonTries) -> list[Part]:
    """A typed command and what it printed."""
    stop = end
    while stop > body and not lines[stop - 1].strip():
        stop -= 1
    printed = lines[body:stop]
    cut = _later_log(typed.command, printed)
    after = plain_parts(lines, body + cut, stop, tries) if cut is not None else []
    stop = stop if cut is None else body + cut
    while stop > body and not lines[stop - 1].strip():
        stop -= 1
    out: list[Part] = []
    if typed.command.startswith("for ") and "curl" in typed.command:
        from .transcript_asked import loop

        out = loop(typed.command, lines, body, stop)
    if not out:
        for command, first, last in assign_output(typed.command, lines[body:stop]):
            out += _one(command, lines, body + first, min(body + last, stop), at if not out else body + first, tries)
    if out and typed.comment:
        out[0].meta["comment"] = typed.comment
    return out + after


def _later_log(command: str, printed: list[str]) -> int | None:
    """Where lines begin that the command did not print: a log after a blank line, or what a system writes by itself."""
    inner = unwrap(command).command
    if log_source(inner)[0] or (_launches(inner) and _serves(inner)):
        return None
    if printed and printed[0].startswith(("{", "HTTP/", "*", "<")) and "curl" in inner:
        from .transcript_asked import past_reply

        past = past_reply(inner, printed)
        if past is not None:
            return past
    for number, line in enumerate(printed):
        if is_system_line(line):
            return number
        if number and not printed[number - 1].strip() and looks_logged(line) and any(map(str.strip, printed[:number])):
            return None if any(map(looks_logged, printed[:number])) else number
    return None


def _one(command: str, lines: list[str], start: int, end: int, begin: int, tries: JsonTries) -> list[Part]:
    """One command of a list, with its share of the output."""
    text = "\n".join(lines[start:end])
    inner = unwrap(command, text)
    base = Part("output", begin, start, end, inner.command, node=inner.node, container=inner.container)
    if inner.command != command:
        base.meta["typed"] = command
    logs, container = log_source(inner.command)
    base.container = base.container or container
    if "curl" in inner.command:
        from .transcript_asked import asked

        replies = asked(inner.command, lines, base)
        if replies:
            return replies
    written = _written_file(inner.command, begin, tries)
    if written is not None:
        base.begin = start
        return [written, base] if text.strip() else [written]
    if _launches(inner.command):
        launch = Part(
            "launch", begin, begin, start, None, inner.command, inner.node, inner.container, meta=dict(base.meta)
        )
        base.begin = start
        base.kind = kind_of(lines[start:end])
        return [launch, base] if end > start else [launch]
    base.kind = kind_of(lines[start:end], logs=logs)
    stages = pipeline(inner.command)
    jq = next((s for s in stages if s.words[:1] == ("jq",)), None)
    if jq is not None and base.kind in ("json", "output"):
        _filtered(jq.words[1:], stages[-1] is jq, text, base)
    elif base.kind == "json":
        values, _ = json_values(text, 2)
        if len(values) == 1:
            base.meta["doc"] = values[0][0]
            base.kind = document_kind(values[0][0])
    shown = _shown_file(stages[0].words)
    if shown is not None:
        base.meta["file"] = shown
        if not shown.startswith("/proc/") and base.kind == "output":
            base.kind = _file_kind(shown, lines[start:end], tries)
    return [base]


_WRITES = lazy(
    r"(?:cat|(?:sudo )?tee)\b[^\n]*?(?:>{1,2} *|tee (?:-a )?)(?P<file>[\w./~-]+)[^\n]*\n(?P<body>.*)\n", re.S
)


def _written_file(command: str, begin: int, tries: JsonTries) -> Part | None:
    """A file that a here-document writes, as what it is."""
    match = _WRITES.match(command) if "<<" in command else None
    if match is None:
        return None
    lines = match["body"].split("\n")
    kind = _file_kind(match["file"], lines, tries)
    start = begin + 1
    return Part(kind, begin, start, start + len(lines), None, match["body"], meta={"file": match["file"]})


def _launches(command: str) -> bool:
    return is_launch(command) or any(is_launch(part) for part in lists(command))


def _serves(command: str) -> bool:
    """A launch that prints its server's log: no container in the background, none that runs something else."""
    from .launch_commands import launches_of_command

    shown = launches_of_command(command)
    return (
        any((one.flags or one.model) and not one.docker.get("detach") for one in shown) and "ray start" not in command
    )


def _filtered(argv: tuple[str, ...], last: bool, text: str, base: Part) -> None:
    """jq over a file: the document as far as it was printed."""
    from .jq_filters import read_filter
    from .jq_shapes import restore

    shaped = read_filter(argv)
    files = [w for w in argv if w.endswith((".json", ".jsonl"))]
    if files:
        base.meta["file"] = files[-1]
    if shaped is None:
        return
    base.meta["jq"] = shaped.text
    if not last:
        return
    printed = restore(shaped, text.strip("\n"))
    if len(printed) == 1:
        document = printed[0].document()
        if isinstance(document, dict):
            for path, size in printed[0].measures.items():
                if len(path) == 1 and isinstance(size, int) and path[0] not in document:
                    base.meta.setdefault("measures", {})[path[0]] = size
            base.meta["doc"] = document
            base.kind = "config" if files and _is_model_file(files[-1]) else "json"


def _is_model_file(name: str) -> bool:
    return name.rsplit("/", 1)[-1] in (
        "config.json", "tokenizer_config.json", "generation_config.json", "hf_quant_config.json", "chat_template.json",
        "tokenizer.json", "model.safetensors.index.json", "special_tokens_map.json", "preprocessor_config.json",
    )  # fmt: skip


def _shown_file(argv: tuple[str, ...]) -> str | None:
    """The file whose content, whole or in part, a command prints."""
    if not argv or argv[0] not in ("cat", "sed", "head", "tail", "less", "bat", "grep", "egrep", "awk", "zcat"):
        return None
    names = [w for w in argv[1:] if not w.startswith("-") and re.search(r"[/.]", w)]
    return names[-1] if names and re.fullmatch(r"[\w./~@+:-]+", names[-1]) else None


def _file_kind(name: str, lines: list[str], tries: JsonTries) -> str:
    """A file's kind by its content, with its name as a hint. os-release and its like look like an environment."""
    if name.endswith("-release"):
        return "output"
    blocks = [b for b in split(lines, 0, len(lines), tries) if b.kind not in ("comment", "blank")]
    kinds = {block.kind for block in blocks}
    if len(kinds) == 1 and not kinds & {"text", "log", "json"}:
        return kinds.pop()
    if name.endswith((".yaml", ".yml")):
        stem = name.rsplit("/", 1)[-1]
        return next((kind for kind in ("compose", "recipe") if kind in stem), yaml_kind(lines))
    if name.endswith((".sh", ".service", ".env")) or "launch" in kinds:
        return "launch"
    return "output"
