"""Pasted text into pieces: what was asked and what came back, each recognised for what it is.

Kinds: exchange (a request and its reply), json, sse, metrics, config (a model's own files, or another program's
settings), recipe, compose, launch (a command, script, unit or environment that starts a server), log, output (what a
command printed, if it is nothing else), comment (a remark of the writer), repeat (a second paste of the same text)
and text. `Piece.command` is the command without its wrappers (ssh, docker exec, sudo, bash -c); what stands in `meta`
beside: `typed` (the command with them), `span` (first and last line of all that the piece covers, prompt and heading
included; spans cover every line once), `heading`, `doc` (a JSON document as data), `file` (whose content it is), `jq`.
For an exchange: method, path, url, request, status, headers, response_text, took, key_sent, request_file, cut,
reshaped, no_answer, curl_error, jq_replies, jq_documents (see jq_shapes); `at` is the seconds that the text says passed
before it (sleep), for metrics as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from ..facts import NOWHERE, Where
from ..facts.piece import Piece
from .prompts import Typed, is_command, read_typed
from .transcript_clean import clean_text
from .transcript_kinds import JsonTries, is_launch
from .transcript_nodes import NodeNames, heading_node, strip_tags
from .transcript_outputs import Part, command_parts, plain_parts
from .transcript_pairs import joined_requests

__all__ = ["read_text"]


@dataclass(slots=True)
class _Segment:
    """Lines under one prompt, or under none."""

    start: int
    body: int
    """Where output, or unprompted text, begins."""
    end: int
    typed: Typed | None = None
    heading: str | None = None
    depth: int = 0
    node: str | None = None
    remark: str | None = None
    parts: list[Part] = field(default_factory=list)


def read_text(text: str, *, source: str = "input", start_order: int = 0) -> list[Piece]:
    """All pieces of a text, in order. `order` of a piece is `start_order` plus the index of its first line."""
    if not text:
        return []
    cleaned = clean_text(text)
    lines, tags = strip_tags(cleaned.lines)
    repeat = _second_copy(lines)
    end = len(lines) if repeat is None else repeat
    segments = _segments(lines, tags, cleaned.fences, end)
    tries = JsonTries()
    for segment in segments:
        if segment.typed is not None and segment.typed.command:
            segment.parts = command_parts(segment.typed, lines, segment.start, segment.body, segment.end, tries)
        elif segment.remark is not None:
            segment.parts = [Part("comment", segment.start, segment.start, segment.start + 1, remark=segment.remark)]
        if not segment.parts or segment.remark is not None:
            segment.parts += plain_parts(lines, segment.body, segment.end, tries)
    names = _names(segments)
    pieces = _pieces(segments, names, lines, source, start_order)
    if repeat is not None:
        pieces.append(
            Piece(
                "repeat",
                "\n".join(lines[repeat:]),
                source,
                repeat + 1,
                order=start_order + repeat,
                meta={"begin": repeat},
            )
        )
    return joined_requests(_spans(pieces, len(lines), text, source, start_order))


def _second_copy(lines: list[str]) -> int | None:
    """Where the same text begins once more, if the whole text was pasted twice."""
    filled = [(number, line.rstrip()) for number, line in enumerate(lines) if line.strip()]
    half, odd = divmod(len(filled), 2)
    if odd or half < 2 or filled[0][1] != filled[half][1]:
        return None
    if all(a[1] == b[1] for a, b in zip(filled[:half], filled[half:], strict=True)):
        return filled[half][0]
    return None


_RULE = re.compile(r"(?:-{3,}|={3,})\s*(?P<title>[^-=\s][^|]{0,100}?)\s*(?:-{2,}|={2,})?\s*\Z")
_TITLE = re.compile(
    r"#{2,6}\s+(?P<title>\S.{0,120})\Z|\*\*(?P<bold>[^*]{2,100})\*\*:?\Z|\s*<summary>(?P<summary>.{1,100})</summary>"
)
_LABEL = re.compile(
    r"(?P<title>(?:on|from|log|logs|output|result|response|request|node|head|worker|master|server|client|launch|command|config|"
    r"compose|docker|container|vllm|sglang|spark|env|environment|recipe|metrics|reply)\b[^:{}\[\]\"=]{0,60}):\s*\Z",
    re.IGNORECASE,
)
_LABEL_DEPTH = 8
"""Labels stand below all headings, and do not end what a command printed."""

_NO_HEADING = re.compile(r".*ping statistics|Logging error|beginning of|[ab]/\S|\S+\.orig\b|Captured ", re.IGNORECASE)


def _heading(lines: list[str], at: int) -> tuple[str, int] | None:
    """The words of a line that only announces what follows it, and how deep it stands below other headings."""
    line = lines[at]
    first = line[:1]
    if first in ("-", "="):
        match = _RULE.match(line)
        if (
            match
            and not _NO_HEADING.match(match["title"])
            and not (at + 1 < len(lines) and lines[at + 1].startswith("+++"))
        ):
            return match["title"], 0
        return None
    if first in ("#", "*", "<") or line.lstrip()[:1] == "<":
        match = _TITLE.match(line)
        if match is None:
            return None
        depth = len(line) - len(line.lstrip("#")) if first == "#" else 7
        return next(filter(None, match.groups())).rstrip(":"), depth
    if line.endswith(":") and first.isalpha() and " " in line.strip()[:-1]:
        match = _LABEL.match(line)
        return (match["title"], _LABEL_DEPTH) if match else None
    return None


_HTTP_TITLE = re.compile(r"(?:GET|POST|PUT|DELETE|HEAD) (?:https?://\S+|/\S*)\Z")
_SIGNS = ("$", "#", "%", "❯", "➜", ">>>")


def _may_prompt(line: str) -> bool:
    return any(sign in line for sign in _SIGNS) or line.startswith("PS ")


def _segments(lines: list[str], tags: list[str | None], fences: dict[int, str], end: int) -> list[_Segment]:
    strong = any(
        _may_prompt(line) and read_typed(lines, at, weak=False) is not None for at, line in enumerate(lines[:end])
    )
    out: list[_Segment] = []
    current: _Segment | None = None
    heading: str | None = None
    heading_at: int | None = None
    depth = 0
    opened_in: int | None = None
    fence: int | None = None
    script = False

    def close(at: int) -> None:
        nonlocal current
        if current is not None:
            current.end = at
            out.append(current)
            current = None

    at = 0
    while at < end:
        if at in fences:
            fence, was = (None, fence) if fence is not None else (at, None)
            if current is not None and (current.typed is None or (was is not None and opened_in == was)):
                close(at)
            script = False
            at += 1
            continue
        line = lines[at]
        if not line.strip():
            at += 1
            continue
        announced = _heading(lines, at)
        if announced is not None and (announced[1] < _LABEL_DEPTH or current is None or current.typed is None):
            close(at)
            heading, heading_at, script = announced[0], at, False
            depth = announced[1]
            asked = _asked(heading)
            if asked is not None:
                named = Typed(asked[0], at, at + 1)
                current = _Segment(at, at + 1, at + 1, named, heading, depth, tags[at] or asked[1])
                heading, opened_in = None, fence
            at += 1
            continue
        typed = None
        if not script or strong:
            typed = (
                read_typed(lines, at, weak=not strong, bare=not strong and not is_launch(line))
                if _asks(line, strong)
                else None
            )
        if typed is not None and typed.end > end:
            typed = replace(typed, end=end)
        if typed is not None:
            close(at)
            node = tags[at] or _host(typed.host)
            current = _Segment(
                heading_at if heading_at is not None else at, typed.end, typed.end, typed, heading, depth, node
            )
            if not typed.command:
                current.typed, current.remark, current.body = None, typed.comment, at + 1
            heading = heading_at = None
            opened_in, script = fence, False
            at = typed.end
            continue
        if current is not None and (
            _other_tag(tags[at], current.node) or (current.typed is not None and _bare_launch(line, strong))
        ):
            close(at)
        if current is None:
            current = _Segment(heading_at if heading_at is not None else at, at, at, None, heading, depth, tags[at])
            script = line.startswith("#!")
            heading_at = None
        elif current.node is None:
            current.node = tags[at]
        at += 1
    close(end)
    return out


def _asks(line: str, strong: bool) -> bool:
    return not strong or _may_prompt(line)


def _bare_launch(line: str, strong: bool) -> bool:
    return not strong and is_launch(line)


def _other_tag(tag: str | None, node: str | None) -> bool:
    return tag is not None and tag != node


def _asked(title: str) -> tuple[str, str | None] | None:
    """(command, node) of a heading that names a command or an HTTP request."""
    if _HTTP_TITLE.match(title):
        method, url = title.split(" ", 1)
        address = url if "://" in url else f"http://server{url}"
        return f"curl -s -X {method} -w '%{{http_code}}' {address}", None
    bare = title.strip("`").removeprefix("$ ")
    match = re.match(r"(?P<command>.+?) (?:on|@|from) (?P<node>[A-Za-z][\w.-]*)\Z", bare)
    if match and is_command(match["command"]):
        return match["command"], match["node"]
    return (bare, None) if is_command(bare) else None


_CONTAINER_ID = re.compile(r"[0-9a-f]{12}\Z")


def _host(name: str | None) -> str | None:
    return None if name is None or _CONTAINER_ID.match(name) else name


def _names(segments: list[_Segment]) -> NodeNames:
    """Every name of a node in the text, and each segment's and part's node as it is named there."""
    names = NodeNames()
    standing: str | None = None
    depth = 0
    for segment in segments:
        if segment.heading is not None:
            node, address = heading_node(segment.heading)
            names.add(node, address)
            if node is not None or segment.depth <= depth:
                standing, depth = node, segment.depth
        if segment.node is not None:
            names.add(segment.node)
        for part in segment.parts:
            if part.node is not None:
                names.add(part.node)
            elif part.kind == "comment":
                node, address = heading_node(part.remark or "")
                if node is not None:
                    names.add(node, address)
                    standing = node
            part.node = part.node or segment.node or standing
    return names


_CHANGE = re.compile(
    r"(?i)\bonly change\b|\bnothing (?:else )?(?:was )?changed\b|\brestarted\b|"
    r"\bsecond (?:start|run|try|attempt|launch)\b|"
    r"\bafter (?:a |the |an )?(?:restart|reboot|change|fix|upgrade|downgrade|re-?install)\b|\bstarted with(?:out)?\b|"
    r"\bnow with(?:out)?\b|\bsame (?:request|image|server|model|command|box|node)\b.*\b(?:with|without|but|started)\b|"
    r"\bwith(?:out)? --?[a-z]|\bnext (?:attempt|try|start)\b|\btry again\b|\bstarted again\b"
)


_SLEEP = re.compile(r"sleep (\d+(?:\.\d+)?)([smh]?)\Z")


def _pieces(segments: list[_Segment], names: NodeNames, lines: list[str], source: str, start_order: int) -> list[Piece]:
    changes = sum(
        part.kind == "comment" and bool(_CHANGE.search(part.remark or "")) for s in segments for part in s.parts
    )
    slept, run, out = 0.0, 1, []
    for segment in segments:
        for number, part in enumerate(segment.parts):
            if part.kind == "comment" and _CHANGE.search(part.remark or ""):
                run += 1
            where = Where(
                node=names.resolve(part.node),
                container=part.container,
                run=str(run) if changes and part.kind != "comment" else None,
            )
            meta: dict[str, Any] = {**part.meta, "begin": segment.start if number == 0 else part.begin}
            if segment.heading is not None:
                meta["heading"] = segment.heading
            nap = _SLEEP.match(part.command or "")
            if nap:
                slept += float(nap[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[nap[2]]
            if slept and part.kind in ("metrics", "exchange"):
                meta.setdefault("at", slept)
            out.append(
                Piece(
                    kind=part.kind,
                    text=part.text if part.text is not None else "\n".join(lines[part.start : part.end]),
                    source=source,
                    first_line=part.start + 1,
                    where=NOWHERE if where == NOWHERE else where,
                    command=part.command,
                    order=start_order + part.start,
                    meta=meta,
                )
            )
    return out


def _spans(pieces: list[Piece], count: int, text: str, source: str, start_order: int) -> list[Piece]:
    """Each piece's `span`: from its own beginning to the next piece's; the first begins with the text."""
    if not pieces:
        return [Piece("text", text, source, 1, order=start_order, meta={"span": (1, count)})]
    begins = [piece.meta["begin"] for piece in pieces]
    begins[0] = 0
    ends = [*begins[1:], count]
    out = []
    for piece, begin, end in zip(pieces, begins, ends, strict=True):
        meta = {key: value for key, value in piece.meta.items() if key != "begin"}
        out.append(replace(piece, meta={**meta, "span": (begin + 1, end)}))
    return out
