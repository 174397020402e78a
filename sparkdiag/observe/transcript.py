"""Pasted text into pieces: what was asked and what came back, each recognised for what it is.

Kinds: exchange (a request and its reply), json, sse, metrics, config (a model's own files, or another program's
settings), recipe, compose, launch (a command, script, unit or environment that starts a server), log, output (what a
command printed, if it is nothing else), comment (a remark of the writer), text, repeat (a second paste of the same
text) and command (one whose output stands in the text after it). `Piece.command` is the command without its wrappers
(ssh, docker exec, sudo, bash -c); `meta` holds beside: `typed` (the command with them), `span` (first and last line of
all that the piece covers, prompt and heading included; spans cover every line once), `heading`, `doc` (a JSON document
as data), `file` (whose content it is), `jq`. For an exchange: method, path, url, request, status, headers,
response_text, took, key_sent, request_file, cut, reshaped, no_answer, curl_error, jq_replies, jq_documents (see
jq_shapes); `at` is the seconds that the text says passed before it (sleep), for metrics as well.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..facts import NOWHERE, Where
from ..facts.piece import Piece
from .patterns import lazy
from .prompts import Typed
from .transcript_blocks import plain_parts
from .transcript_clean import clean_text
from .transcript_documents import JsonTries
from .transcript_nodes import NodeNames, heading_node, strip_tags
from .transcript_pairs import joined_requests
from .transcript_parts import Part
from .transcript_segments import Segment, segments

__all__ = ["read_output", "read_text", "read_texts"]


def read_text(text: str, *, source: str = "input", start_order: int = 0) -> list[Piece]:
    """All pieces of a text, in order. `order` of a piece is `start_order` plus the index of its first line."""
    return read_texts([(source, text)], start_orders=[start_order])


def read_texts(texts: Sequence[tuple[str, str]], *, start_orders: Sequence[int] | None = None) -> list[Piece]:
    """The pieces of several texts of one case, each a (source, text), in order.

    They are read together: nodes that one names are told apart in all, a file that one shows is known in all, and what
    a command printed may stand at the beginning of the text after it. Lines are counted in each text from 1; its
    pieces' `order` begins at its start order, by default where the text before it ended.
    """
    book = _Book(texts, start_orders)
    if not book.lines:
        return []
    lines, tags = strip_tags(book.lines)
    repeat = _second_copy(lines)
    end = len(lines) if repeat is None else repeat
    found = segments(lines, tags, book.fences, frozenset(book.starts), end)
    tries = JsonTries()
    for segment in found:
        segment.parts = _parts(segment, lines, tries)
    pieces = _pieces(found, _names(found, book), lines, book)
    if repeat is not None:
        pieces += [
            book.piece("repeat", begin, stop, begin, meta={}, text="\n".join(lines[begin:stop]))
            for begin, stop in book.spans(repeat)
        ]
    return joined_requests(book.spanned(pieces))


def read_output(command: str, text: str, *, source: str = "input", start_order: int = 0) -> list[Piece]:
    """The pieces of what one known command printed."""
    book = _Book([(source, text)], [start_order])
    lines = book.lines
    segment = Segment(0, 0, len(lines), Typed(command, 0, 0))
    segment.parts = _parts(segment, lines, JsonTries())
    return book.spanned(_pieces([segment], _names([segment], book), lines, book))


class _Book:
    """Several texts as one run of lines, and the way back to each text's own lines."""

    def __init__(self, texts: Sequence[tuple[str, str]], start_orders: Sequence[int] | None) -> None:
        self.lines: list[str] = []
        self.fences: dict[int, str] = {}
        self.starts: list[int] = []
        """Index of each text's first line."""
        self.sources: list[str] = []
        self.orders: list[int] = []
        for number, (source, text) in enumerate(texts):
            if not text:
                continue
            cleaned = clean_text(text)
            begin = len(self.lines)
            self.starts.append(begin)
            self.sources.append(source)
            self.orders.append(begin + number if start_orders is None else start_orders[number])
            self.fences.update({begin + at: language for at, language in cleaned.fences.items()})
            self.lines += cleaned.lines

    def text_of(self, line: int) -> int:
        """Which text a line belongs to."""
        return max(0, bisect_right(self.starts, line) - 1)

    def spans(self, begin: int) -> list[tuple[int, int]]:
        """(begin, end) of the lines from `begin` on, text by text."""
        ends = [*self.starts[1:], len(self.lines)]
        return [(max(begin, start), end) for start, end in zip(self.starts, ends, strict=True) if end > begin]

    def piece(
        self, kind: str, start: int, end: int, begin: int, *, meta: dict[str, Any], text: str,
        where: Where = NOWHERE, command: str | None = None,
    ) -> Piece:  # fmt: skip
        """A piece with its place in its own text. `begin` is where all that belongs to it begins."""
        number = self.text_of(min(begin if start == end else start, len(self.lines) - 1))
        first = self.starts[number] if self.starts else 0
        return Piece(
            kind=kind,
            text=text,
            source=self.sources[number] if self.sources else "input",
            first_line=start - first + 1,
            where=where,
            command=command,
            order=(self.orders[number] if self.orders else 0) + start - first,
            meta={**meta, "begin": max(begin, first), "text": number},
        )

    def spanned(self, pieces: list[Piece]) -> list[Piece]:
        """The pieces with their `span`: from each one's beginning to the next one's; the first begins with its text.

        A text without any piece holds the command whose output the next text begins with, or nothing.
        """
        out: list[Piece] = []
        for number, first in enumerate(self.starts):
            end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.lines)
            mine = [piece for piece in pieces if piece.meta["text"] == number]
            if not mine:
                text = "\n".join(self.lines[first:end])
                blank = not text.strip()
                mine = [self.piece("text" if blank else "command", first, end, first, meta={}, text=text)]
            begins = [first, *(piece.meta["begin"] for piece in mine[1:])]
            for piece, begin, stop in zip(mine, begins, [*begins[1:], end], strict=True):
                meta = {key: value for key, value in piece.meta.items() if key not in ("begin", "text")}
                out.append(replace(piece, meta={**meta, "span": (begin - first + 1, stop - first)}))
        return out


def _parts(segment: Segment, lines: list[str], tries: JsonTries) -> list[Part]:
    if segment.typed is not None:
        from .transcript_outputs import command_parts

        return command_parts(segment.typed, lines, segment.start, segment.body, segment.end, tries)
    parts = []
    if segment.remark is not None:
        at = segment.body - 1
        parts = [Part("comment", segment.start, at, at + 1, remark=segment.remark)]
    return parts + plain_parts(lines, segment.body, segment.end, tries)


def _second_copy(lines: list[str]) -> int | None:
    """Where the same text begins once more, if the whole text was pasted twice."""
    filled = [(number, line.rstrip()) for number, line in enumerate(lines) if line.strip()]
    half, odd = divmod(len(filled), 2)
    if odd or half < 2 or filled[0][1] != filled[half][1] or len({line for _, line in filled[:half]}) < 2:
        return None
    if all(a[1] == b[1] for a, b in zip(filled[:half], filled[half:], strict=True)):
        return filled[half][0]
    return None


def _names(found: list[Segment], book: _Book) -> NodeNames:
    """Every name of a node in the texts; each part gets its own. Files may be named for nodes."""
    names = NodeNames()
    standing: str | None = None
    depth, text = 0, -1
    for segment in found:
        number = book.text_of(segment.start)
        if number != text:
            text = number
            called = heading_node(book.sources[number]) if len(book.sources) > 1 else ()
            names.add(*called)
            standing = called[0] if called else None
        if segment.heading is not None:
            called = heading_node(segment.heading)
            names.add(*called)
            if called or segment.depth <= depth:
                standing, depth = called[0] if called else None, segment.depth
        names.add(segment.node)
        for part in segment.parts:
            names.add(part.node)
            if part.node is None and part.kind == "comment":
                called = heading_node(part.remark or "")
                names.add(*called)
                standing = called[0] if called else standing
            part.node = part.node or segment.node or standing
    return names


_CHANGE = lazy(
    r"(?i)\bonly change\b|\bnothing (?:else )?(?:was )?changed\b|\brestarted\b|"
    r"\bsecond (?:start|run|try|attempt|launch)\b|"
    r"\bafter (?:a |the |an )?(?:restart|reboot|change|fix|upgrade|downgrade|re-?install)\b|\bstarted with(?:out)?\b|"
    r"\bnow with(?:out)?\b|\bsame (?:request|image|server|model|command|box|node)\b.*\b(?:with|without|but|started)\b|"
    r"\bwith(?:out)? --?[a-z]|\bnext (?:attempt|try|start)\b|\btry again\b|\bstarted again\b"
)


_SLEEP = lazy(r"sleep (\d+(?:\.\d+)?)([smh]?)\Z")


def _pieces(found: list[Segment], names: NodeNames, lines: list[str], book: _Book) -> list[Piece]:
    changes = sum(part.kind == "comment" and bool(_CHANGE.search(part.remark or "")) for s in found for part in s.parts)
    slept, run = 0.0, 1
    out: list[Piece] = []
    for segment in found:
        for number, part in enumerate(segment.parts):
            if part.kind == "comment" and _CHANGE.search(part.remark or ""):
                run += 1
            where = Where(
                node=names.resolve(part.node) if segment.ran is None else segment.node,
                container=part.container,
                run=str(run) if changes and part.kind != "comment" else None,
            )
            meta: dict[str, Any] = dict(part.meta)
            if segment.heading is not None:
                meta["heading"] = segment.heading
            if segment.ran is not None and number == 0:
                meta["ran"] = segment.ran
            nap = _SLEEP.match(part.command or "")
            if nap:
                slept += float(nap[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[nap[2]]
            if slept and part.kind in ("metrics", "exchange"):
                meta.setdefault("at", slept)
            out.append(
                book.piece(
                    part.kind,
                    part.start,
                    part.end,
                    segment.start if number == 0 else part.begin,
                    meta=meta,
                    text=part.text if part.text is not None else "\n".join(lines[part.start : part.end]),
                    where=NOWHERE if where == NOWHERE else where,
                    command=part.command,
                )
            )
    return out
