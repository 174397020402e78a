"""Text that no command printed, cut where its kind changes: logs, documents, requests, configurations, scripts."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ..records import dataclass
from .patterns import lazy
from .prompts import read_typed
from .transcript_documents import JsonTries, document_kind, headless_json, json_block, sse_block, yaml_block
from .transcript_kinds import (
    is_background_line,
    is_env,
    is_launch,
    is_log_line,
    is_metric,
    is_setting,
    looks_logged,
    starts_http,
)
from .transcript_parts import Part

__all__ = ["Block", "plain_parts", "split"]


@dataclass(slots=True)
class Block:
    """Lines `start` to `end` (exclusive), all of one kind."""

    kind: str
    start: int
    end: int
    meta: dict[str, Any] = field(default_factory=dict)


def split(lines: list[str], start: int, end: int, tries: JsonTries) -> list[Block]:
    """The blocks of a stretch of lines, in order and without gaps; blank lines go with what stands before them."""
    out: list[Block] = []
    at = start
    while at < end:
        if not lines[at].strip():
            if out:
                out[-1].end = at + 1
            else:
                out.append(Block("blank", at, at + 1))
            at += 1
            continue
        block = (
            _document(lines, at, end, tries) or _script(lines, at, end) or _remark(lines, at) or _advice(lines, at, end)
        )
        if block is None:
            if out and out[-1].kind == "loose":
                out[-1].end = at + 1
            else:
                out.append(Block("loose", at, at + 1))
            at += 1
            continue
        out.append(block)
        at = block.end
    return _settled(lines, out)


def _document(lines: list[str], at: int, end: int, tries: JsonTries) -> Block | None:
    line = lines[at]
    if line[:1] in "GPHDO<>" and starts_http(line):
        from .transcript_http import read_http

        answer = read_http(lines, at, end)
        if answer is not None and answer.end > at:
            return Block("exchange", at, answer.end, answer.meta)
    if line.lstrip(" ")[:1] in ("{", "["):
        found = json_block(lines, at, end, tries)
        if found is not None:
            stop, document, whole = found
            return Block(document_kind(document), at, stop, {"doc": document} if whole else {"truncated": True})
    if line[:1] in ' \t"' or line.lstrip()[:1] == '"':
        stop = headless_json(lines, at, end) if line.lstrip()[:1] == '"' else at
        if stop > at:
            return Block("json", at, stop, {"truncated": True})
    if line.startswith(("data:", "event:")):
        stop = sse_block(lines, at, end)
        if stop > at:
            return Block("sse", at, stop)
    if is_metric(line):
        stop = at
        while stop < end and (
            is_metric(lines[stop]) or (not lines[stop].strip() and stop + 1 < end and is_metric(lines[stop + 1]))
        ):
            stop += 1
        return Block("metrics", at, stop)
    if line[:1].isalpha():
        found_yaml = yaml_block(lines, at, end)
        if found_yaml is not None:
            return Block(found_yaml[1], at, found_yaml[0])
    return None


def _remark(lines: list[str], at: int) -> Block | None:
    """A line that only remarks, as in a shell: `# second start`."""
    if lines[at].startswith("# ") and len(lines[at]) < 400:
        return Block("comment", at, at + 1)
    return None


_SYMPTOM = lazy(r"(?i)\b(?:symptoms?|problems?|errors?|issues?|what you see|message)\b")
_REMEDY = lazy(r"(?i)\b(?:fix(?:es)?|solutions?|resolutions?|remed(?:y|ies)|workarounds?|actions?|what to do|try)\b")
_RULER = lazy(r"\|?[\s:|-]*-[\s:|-]*\Z")


def _advice(lines: list[str], at: int, end: int) -> Block | None:
    """A guide's table of symptoms and fixes, in Markdown: what may happen somewhere, nothing that did happen here."""
    head = lines[at].strip()
    if not (head.startswith("|") and at + 1 < end and "|" in lines[at + 1] and _RULER.match(lines[at + 1].strip())):
        return None
    if len(head) > 300 or _SYMPTOM.search(head) is None or _REMEDY.search(head) is None:
        return None
    stop = at + 2
    while stop < end and lines[stop].lstrip().startswith("|"):
        stop += 1
    return Block("comment", at, stop)


def _script(lines: list[str], at: int, end: int) -> Block | None:
    """Commands that start servers, with the variables, comments and line continuations around them."""
    line = lines[at]
    if not (is_launch(line) or line.startswith("#!/") or (is_env(line) and not looks_logged(line))):
        return None
    stop = at
    while stop < end:
        line = lines[stop]
        if not line.strip():
            if stop + 1 < end and _scripted(lines[stop + 1]):
                stop += 1
                continue
            break
        if line.startswith("#!") or is_env(line) or is_setting(line):
            typed = read_typed(lines, stop, weak=False, bare=True)
            stop = typed.end if typed is not None else stop + 1
        elif is_launch(line):
            typed = read_typed(["$ " + line, *lines[stop + 1 : min(end, stop + 400)]], 0)
            stop += typed.end if typed is not None else 1
        elif (stop > at and line.startswith("#") and lines[at].startswith("#!")) or (
            stop > at and lines[at].startswith("#!") and not is_log_line(line)
        ):
            stop += 1
        else:
            break
    return Block("launch", at, min(stop, end)) if stop > at else None


def _scripted(line: str) -> bool:
    return (is_launch(line) or is_env(line) or is_setting(line)) and not looks_logged(line)


def _settled(lines: list[str], blocks: list[Block]) -> list[Block]:
    """Loose lines become log or text; leading blank lines join the first block."""
    out: list[Block] = []
    for block in blocks:
        if out and out[-1].kind == "blank":
            block.start = out.pop().start
        out += _loose(lines, block) if block.kind == "loose" else [block]
    if out and out[-1].kind == "blank":
        out[-1].kind = "text"
    return out


_GOES_ON = 5
"""Background lines in a row that are a log of their own."""


def _loose(lines: list[str], block: Block) -> list[Block]:
    """Log or text. Words that stand before or after a stretch of background lines are no part of it."""
    marks = [is_background_line(line) for line in lines[block.start : block.end]]
    runs = [at for at in range(len(marks) - _GOES_ON + 1) if all(marks[at : at + _GOES_ON])]
    if not runs:
        return [_told(lines, block.start, block.end)]
    first, last = block.start + runs[0], block.start + runs[-1] + _GOES_ON
    before, after = _told(lines, block.start, first), _told(lines, last, block.end)
    middle = Block("log", first, last)
    if before.kind == "log" or not any(map(str.strip, lines[before.start : before.end])):
        middle.start = before.start
    if after.kind == "log" or not any(map(str.strip, lines[after.start : after.end])):
        middle.end = after.end
    out = [middle]
    if middle.start == first and first > block.start:
        out.insert(0, before)
    if middle.end == last and last < block.end:
        out.append(after)
    return out


def _told(lines: list[str], start: int, end: int) -> Block:
    return Block("log" if any(map(is_log_line, lines[start:end])) else "text", start, end)


def plain_parts(lines: list[str], start: int, end: int, tries: JsonTries) -> list[Part]:
    """Text that no command printed."""
    out = []
    for block in split(lines, start, end, tries):
        stop = block.end
        while stop > block.start and not lines[stop - 1].strip():
            stop -= 1
        if stop == block.start:
            continue
        part = Part(block.kind, block.start, block.start, stop, meta=block.meta)
        if block.kind == "comment":
            part.remark = lines[block.start].lstrip("# ").strip()
        elif block.kind == "exchange":
            part.start = min(block.meta.pop("body_line", block.start), stop)
        out.append(part)
    return out
