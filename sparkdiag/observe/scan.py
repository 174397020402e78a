"""Finding signatures' lines in text: literal anchors first, by one multi-pattern scan, then a regular expression each.

hyperscan, where it can be imported and the text is large, tells which anchors a stretch of text holds at all, one match
an anchor. Only those are then looked up by `str.find`, so that both ways give the same answers by construction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..facts import Signature
from ..records import dataclass
from .scan_anchors import Anchors

__all__ = ["MAX_EXACT", "MAX_LINE", "Hit", "Scanner", "applies", "scanner_for"]

MAX_LINE = 4096
"""Characters of a line that regular expressions see."""

MAX_EXACT = 1000
"""Hits of one signature that are all given; beyond, only the last of each stretch is."""

_KEPT = 64 * 1024
"""Characters of a hit line that are kept."""

_SHAPE = bytes.maketrans(b"123456789", b"000000000")
_MAX_SHAPES = 4096
"""Shapes of lines that are remembered; a log has few of them."""

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


_Found = tuple[int, int, re.Match[str], bool]
"""Offset of the line, signature, match, whether lines before it were not examined."""


class Scanner:
    """Compiled signatures of one kind of piece."""

    def __init__(self, signatures: Iterable[Signature], *, keep: tuple[Signature, ...] = ()) -> None:
        self.signatures = tuple(signatures)
        self._keep = keep
        self._regexes: list[re.Pattern[str] | None] = [None] * len(self.signatures)
        self._refused: dict[int, set[bytes] | None] = {}
        by_anchor: dict[str, list[int]] = {}
        for number, signature in enumerate(self.signatures):
            for anchor in signature.anchors:
                by_anchor.setdefault(anchor, []).append(number)
        self.anchors = Anchors(sorted(by_anchor))
        self._owners = tuple(tuple(by_anchor[anchor]) for anchor in self.anchors.literals)

    def worn(self, held: Iterable[int], spent: Sequence[int]) -> frozenset[int]:
        """Those of these anchors of which only the last of a text matters: all their signatures were seen often."""
        return frozenset(n for n in held if all(spent[owner] >= MAX_EXACT for owner in self._owners[n]))

    def scan(
        self,
        text: str,
        spent: Sequence[int] | None = None,
        *,
        held: Iterable[int] | None = None,
        large: bool | None = None,
    ) -> tuple[list[Hit], int]:
        """(all hits in the order of lines, then of signatures; how many lines the text ends).

        `spent` holds how many hits each signature had before: beyond MAX_EXACT in all, only the last one in this text
        is given. `held` holds the numbers of the anchors that the text has, and perhaps more, where that is known;
        `large` overrides whether hyperscan is asked.
        """
        found: dict[tuple[int, int], re.Match[str] | None] = {}
        cut: set[int] = set()
        numbers = self.anchors.held(text, large=large) if held is None else held
        present = [(self.anchors.literals[number], self._owners[number]) for number in numbers]
        for anchor, owners in present:
            cut |= self._collect(text, anchor, owners, spent, found)
        hits = [(start, owner, match, False) for (start, owner), match in found.items() if match is not None]
        hits.sort(key=_place)
        if cut and spent is not None:
            by_owner = {owner: [anchor for anchor, owners in present if owner in owners] for owner in cut}
            hits = self._shortened(text, hits, by_owner, spent)
        out: list[Hit] = []
        number = position = 0
        for start, owner, match, skipped in hits:
            number += text.count("\n", position, start)
            position = start
            end = min(_line_end(text, start), start + _KEPT)
            out.append(Hit(number, start, text[start:end], owner, match, skipped))
        return out, number + text.count("\n", position)

    def _collect(
        self,
        text: str,
        anchor: str,
        owners: tuple[int, ...],
        spent: Sequence[int] | None,
        found: dict[tuple[int, int], re.Match[str] | None],
    ) -> set[int]:
        """Every line that holds an anchor, matched; gives the signatures that have had enough before the end."""
        room = {owner: len(text) if spent is None else MAX_EXACT - spent[owner] for owner in owners}
        enough = {owner for owner, left in room.items() if left <= 0}
        live = [owner for owner in owners if owner not in enough]
        at = text.find(anchor) if live else -1
        while at >= 0:
            start, end = _line_start(text, at), _line_end(text, at)
            for owner in live:
                match = found.get((start, owner))
                if match is None:
                    refused = self._shapes(owner)
                    if refused and _shape(text[start:end]) in refused:
                        continue
                    match = found[start, owner] = self._match(owner, text, start, end, at)
                    if match is None and refused is not None:
                        self._refuse(refused, text[start:end])
                if match is not None:
                    room[owner] -= 1
                    if room[owner] <= 0:
                        enough.add(owner)
            if len(enough) + len(live) > len(owners):
                live = [owner for owner in live if owner not in enough]
                if not live:
                    break
            at = text.find(anchor, end)
        return enough

    def _shapes(self, owner: int) -> set[bytes] | None:
        """Lines, each digit a nought, that an expression did not match which takes all digits alike."""
        if owner not in self._refused:
            self._refused[owner] = set() if _digit_blind(self.signatures[owner].regex) else None
        return self._refused[owner]

    def _refuse(self, refused: set[bytes], line: str) -> None:
        """Remember the shape of a line that an expression did not match."""
        if len(refused) >= _MAX_SHAPES:
            refused.clear()
        if len(line) <= MAX_LINE:
            refused.add(_shape(line))

    def _shortened(
        self, text: str, hits: list[_Found], held: Mapping[int, Sequence[str]], spent: Sequence[int]
    ) -> list[_Found]:
        """The hits, those of signatures that have had enough only as far as they are exact, and the last ones.

        `held` names the former, each with its anchors that the text holds.
        """
        room = {owner: MAX_EXACT - spent[owner] for owner in held}
        kept: list[_Found] = []
        latest: dict[int, int] = {}
        for hit in hits:
            owner = hit[1]
            if owner in room:
                room[owner] -= 1
                if room[owner] < 0:
                    continue
                latest[owner] = hit[0]
            kept.append(hit)
        for owner, anchors in held.items():
            last = self._last(text, owner, anchors)
            if last is not None and last[0] > latest.get(owner, -1):
                kept.append((last[0], owner, last[1], True))
        return sorted(kept, key=_place)

    def _last(self, text: str, owner: int, anchors: Sequence[str]) -> tuple[int, re.Match[str]] | None:
        """The last line that a signature matches."""
        best: tuple[int, re.Match[str]] | None = None
        for anchor in anchors:
            at = text.rfind(anchor)
            while at >= 0:
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


_COUNTS = re.compile(r"\{\d*,?\d*\}|\(\?P<\w+>|\\d")


def _digit_blind(regex: str) -> bool:
    """Whether an expression can't tell one digit from another: none stands in it, and nothing refers back."""
    rest = _COUNTS.sub("", regex)
    return not any(char.isdigit() for char in rest) and "(?P=" not in rest and "\\N" not in rest


def _shape(line: str) -> bytes:
    """A line with each digit a nought; one that is too long is no other's shape."""
    return line.encode("utf-8", "surrogatepass").translate(_SHAPE) if len(line) <= MAX_LINE else b""


def _place(found: _Found) -> tuple[int, int]:
    return found[0], found[1]


def _line_start(text: str, at: int) -> int:
    start = text.rfind("\n", 0, at) + 1
    return max(start, text.rfind("\r", start, at) + 1)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    cut = text.find("\r", at, end)
    return end if cut < 0 else cut


_CACHE: dict[tuple[str, tuple[int, ...]], Scanner] = {}
_MAX_CACHED = 64


def scanner_for(signatures: tuple[Signature, ...], kind: str) -> Scanner:
    """The scanner of one kind of piece; one for the same signatures, which it keeps alive so that their ids last."""
    key = (kind, tuple(map(id, signatures)))
    known = _CACHE.get(key)
    if known is None:
        known = Scanner((s for s in signatures if applies(s, kind)), keep=signatures)
        if len(_CACHE) >= _MAX_CACHED:
            _CACHE.clear()
        _CACHE[key] = known
    return known
