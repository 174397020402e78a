"""Finding signatures' lines in text: literal anchors first, by one multi-pattern scan, then a regular expression each.

Two ways to find the anchors, with the same answers: hyperscan where it can be imported and the text is large, else
`str.find`, anchor by anchor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..facts import Signature

__all__ = ["MAX_LINE", "Hit", "Scanner", "applies", "scanner_for"]

MAX_LINE = 4096
"""Characters of a line that regular expressions see."""

LOG_LIKE = frozenset({"log", "output", "text"})


def applies(signature: Signature, kind: str) -> bool:
    """Whether a signature is looked for in pieces of a kind.

    `log`, which is the default, also means output of commands and text of no known kind: engines print into all of
    them. Everything else is looked for where it says, and `any` means everywhere.
    """
    if "any" in signature.pieces or kind in signature.pieces:
        return True
    return kind in LOG_LIKE and "log" in signature.pieces


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that a signature matches."""

    line: int
    """Index of the line in the text, from 0; a carriage return starts no new line."""
    text: str
    signature: int
    match: re.Match[str]


class Scanner:
    """Compiled signatures of one kind of piece."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self.signatures = tuple(signatures)
        self._regexes = tuple(re.compile(s.regex) for s in self.signatures)
        by_anchor: dict[str, list[int]] = {}
        for number, signature in enumerate(self.signatures):
            for anchor in signature.anchors:
                by_anchor.setdefault(anchor, []).append(number)
        self._anchors = tuple(sorted(by_anchor))
        self._owners = tuple(tuple(by_anchor[anchor]) for anchor in self._anchors)

    def hits(self, text: str) -> Iterator[Hit]:
        """All hits in the order of lines, then of signatures."""
        found: dict[tuple[int, int], tuple[int, int]] = {}
        for anchor, owners in zip(self._anchors, self._owners, strict=True):
            at = text.find(anchor)
            while at >= 0:
                start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
                end = _line_end(text, at)
                for owner in owners:
                    found[(start, owner)] = (start, end)
                at = text.find(anchor, end)
        number = position = 0
        for (start, owner), (_, end) in sorted(found.items()):
            number += text.count("\n", position, start)
            position = start
            line = text[start:end]
            match = self._regexes[owner].search(line[:MAX_LINE])
            if match:
                yield Hit(number, line, owner, match)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    cut = text.find("\r", at, end)
    return end if cut < 0 else cut


@lru_cache(maxsize=64)
def scanner_for(signatures: tuple[Signature, ...], kind: str) -> Scanner:
    """The scanner of one kind of piece."""
    return Scanner(s for s in signatures if applies(s, kind))
