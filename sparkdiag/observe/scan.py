"""Finding signatures' lines in text: literal anchors first, by one multi-pattern scan, then a regular expression each.

hyperscan, where it can be imported and the text is large, tells which anchors a stretch of text holds at all, one match
an anchor. Only those are then looked up by `str.find`, so that both ways give the same answers by construction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..facts import Signature

__all__ = ["MAX_EXACT", "MAX_LINE", "Hit", "Scanner", "applies", "scanner_for"]

MAX_LINE = 4096
"""Characters of a line that regular expressions see."""

MAX_EXACT = 1000
"""Lines of one signature that are examined one by one; beyond, only the last of each stretch is."""

_LARGE = 256 * 1024
"""Characters from which compiling a database pays."""

_KEPT = 64 * 1024
"""Characters of a hit line that are kept."""

_BACKWARDS = 50
"""Occurrences that are tried when only the last hit is wanted."""

LOG_LIKE = frozenset({"log", "output", "text"})


def applies(signature: Signature, kind: str) -> bool:
    """Whether a signature is looked for in pieces of a kind.

    `log`, which is the default, also means output of commands and text of no known kind: engines print into all of
    them. Everything else is looked for where it says, and `any` means everywhere but in commands and repeats.
    """
    if kind in ("repeat", "command"):
        return False
    if "any" in signature.pieces or kind in signature.pieces:
        return True
    return kind in LOG_LIKE and "log" in signature.pieces


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that a signature matches."""

    line: int
    """Index of the line in the text, from 0; a carriage return starts no new line."""
    start: int
    """Offset of the line in the text."""
    text: str
    signature: int
    match: re.Match[str]
    skipped: bool = False
    """Lines between the last hit and this one were not examined."""


class Scanner:
    """Compiled signatures of one kind of piece."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self.signatures = tuple(signatures)
        self._regexes: list[re.Pattern[str] | None] = [None] * len(self.signatures)
        by_anchor: dict[str, list[int]] = {}
        for number, signature in enumerate(self.signatures):
            for anchor in signature.anchors:
                by_anchor.setdefault(anchor, []).append(number)
        self._anchors = tuple(sorted(by_anchor))
        self._owners = tuple(tuple(by_anchor[anchor]) for anchor in self._anchors)
        self._database: Any = None

    def hits(self, text: str, spent: Sequence[int] | None = None, *, large: bool | None = None) -> Iterator[Hit]:
        """All hits in the order of lines, then of signatures.

        `spent` holds how many lines of each signature were examined before: beyond MAX_EXACT only the last hit in this
        text is given. `large` overrides whether hyperscan is asked.
        """
        found: dict[tuple[int, int], tuple[int, int]] = {}
        exhausted: dict[int, list[str]] = {}
        for anchor, owners in self._present(text, large):
            eager = [o for o in owners if spent is None or spent[o] < MAX_EXACT]
            for owner in owners:
                if owner not in eager:
                    exhausted.setdefault(owner, []).append(anchor)
            if eager:
                self._collect(text, anchor, eager, found)
        hits = [
            (start, owner, match, False)
            for (start, owner), (end, at) in found.items()
            if (match := self._match(owner, text, start, end, at)) is not None
        ]
        for owner, anchors in exhausted.items():
            last = self._last(text, owner, anchors)
            if last is not None:
                hits.append((last[0], owner, last[1], True))
        hits.sort(key=lambda hit: (hit[0], hit[1]))
        number = position = 0
        for start, owner, match, skipped in hits:
            number += text.count("\n", position, start)
            position = start
            end = min(_line_end(text, start), start + _KEPT)
            yield Hit(number, start, text[start:end], owner, match, skipped)

    def holds_any(self, data: bytes) -> bool:
        """Whether a stretch of bytes holds any anchor at all; True where only a full scan could tell."""
        database = self._compiled()
        return True if database is None else bool(_ask(database, data))

    def _present(self, text: str, large: bool | None) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The anchors that a text holds, with the signatures that each belongs to."""
        database = self._compiled() if (len(text) >= _LARGE if large is None else large) else None
        if database is None:
            for anchor, owners in zip(self._anchors, self._owners, strict=True):
                if anchor in text:
                    yield anchor, owners
            return
        for number in sorted(_ask(database, text.encode("utf-8", "surrogatepass"))):
            yield self._anchors[number], self._owners[number]

    def _collect(
        self, text: str, anchor: str, owners: list[int], found: dict[tuple[int, int], tuple[int, int]]
    ) -> None:
        at = text.find(anchor)
        while at >= 0:
            start, end = _line_start(text, at), _line_end(text, at)
            for owner in owners:
                known = found.get((start, owner))
                if known is None or at < known[1]:
                    found[start, owner] = (end, at)
            at = text.find(anchor, end)

    def _last(self, text: str, owner: int, anchors: list[str]) -> tuple[int, re.Match[str]] | None:
        best: tuple[int, re.Match[str]] | None = None
        for anchor in anchors:
            at = text.rfind(anchor)
            for _ in range(_BACKWARDS):
                if at < 0:
                    break
                start = _line_start(text, at)
                if best is not None and start <= best[0]:
                    break
                match = self._match(owner, text, start, _line_end(text, at), text.find(anchor, start))
                if match is not None:
                    best = (start, match)
                    break
                at = text.rfind(anchor, 0, start)
        return best

    def _match(self, owner: int, text: str, start: int, end: int, at: int) -> re.Match[str] | None:
        """The expression on the line, or on a window around the anchor where the line is long."""
        regex = self._regexes[owner]
        if regex is None:
            regex = self._regexes[owner] = re.compile(self.signatures[owner].regex)
        if end - start <= MAX_LINE or at - start < MAX_LINE - 512:
            return regex.search(text[start : min(end, start + MAX_LINE)])
        low = at - MAX_LINE // 2
        return regex.search(text[low : min(end, low + MAX_LINE)])

    def _compiled(self) -> Any:
        """The database of all anchors; None where hyperscan can't be had."""
        if self._database is None:
            self._database = _compile(self._anchors) or False
        return self._database or None


def _compile(anchors: Sequence[str]) -> Any:
    if not anchors:
        return None
    try:
        import hyperscan
    except ImportError:
        return None
    try:
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        flags = hyperscan.HS_FLAG_SINGLEMATCH
        database.compile(
            expressions=[anchor.encode() for anchor in anchors],
            ids=list(range(len(anchors))),
            elements=len(anchors),
            flags=[flags] * len(anchors),
            literal=True,
        )
        database.scratch = hyperscan.Scratch(database)
    except hyperscan.error:
        return None
    return database


def _ask(database: Any, data: bytes) -> set[int]:
    found: set[int] = set()

    def seen(number: int, _start: int, _end: int, _flags: int, _context: object) -> None:
        found.add(number)

    database.scan(data, match_event_handler=seen)
    return found


def _line_start(text: str, at: int) -> int:
    start = text.rfind("\n", 0, at) + 1
    return max(start, text.rfind("\r", start, at) + 1)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    cut = text.find("\r", at, end)
    return end if cut < 0 else cut


@lru_cache(maxsize=64)
def scanner_for(signatures: tuple[Signature, ...], kind: str) -> Scanner:
    """The scanner of one kind of piece."""
    return Scanner(s for s in signatures if applies(s, kind))
