"""Which of many literals a text holds, by hyperscan where it can be imported and the text is large.

hyperscan lets go of Python's lock while it scans: `ahead` has it look at one stretch of a log while the stretch before
it is read, so that it costs hardly any time of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any

__all__ = ["Anchors", "ahead"]

_LARGE = 256 * 1024
"""Characters from which compiling a database pays."""

_Found = tuple[int, ...]


class Anchors:
    """Literals by their numbers, compiled when a large text first asks for it."""

    def __init__(self, literals: Sequence[str]) -> None:
        self.literals = tuple(literals)
        self._databases: dict[frozenset[int], _Database | None] = {}

    def held(self, text: str, *, large: bool | None = None, known: frozenset[int] = frozenset()) -> _Found:
        """The numbers of the literals that a text holds, in order.

        `known` ones are named without a look, where that is quicker. `large` overrides whether hyperscan is asked.
        """
        database = self.database(known) if (len(text) >= _LARGE if large is None else large) else None
        if database is None:
            return tuple(number for number, literal in enumerate(self.literals) if literal in text)
        return tuple(sorted(known | database.found(text.encode("utf-8", "surrogatepass"))))

    def database(self, known: frozenset[int] = frozenset()) -> _Database | None:
        """The database of all literals but those; None where hyperscan can't be had."""
        if known not in self._databases:
            wanted = {n: literal for n, literal in enumerate(self.literals) if n not in known}
            self._databases = {**dict(list(self._databases.items())[:_KEPT]), known: _compile(wanted)}
        return self._databases[known]


_KEPT = 3
"""Databases that are kept beside the latest."""


class _Database:
    """Literals as hyperscan holds them, with working space for as many threads as scan at a time."""

    def __init__(self, compiled: Any, space: Any) -> None:
        self._compiled = compiled
        self._space = space
        self._free: list[Any] = []

    def found(self, data: bytes) -> set[int]:
        """The numbers of the literals that a text holds."""
        out: set[int] = set()

        def seen(number: int, _start: int, _end: int, _flags: int, _context: object) -> None:
            out.add(number)

        try:
            space = self._free.pop()
        except IndexError:
            space = self._space.clone()
        self._compiled.scan(data, match_event_handler=seen, scratch=space)
        self._free.append(space)
        return out


def _compile(literals: dict[int, str]) -> _Database | None:
    if not literals:
        return None
    try:
        import hyperscan
    except ImportError:
        return None
    try:
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[literal.encode() for literal in literals.values()],
            ids=list(literals),
            elements=len(literals),
            flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(literals),
            literal=True,
        )
        return _Database(database, hyperscan.Scratch(database))
    except hyperscan.error:
        return None


def ahead(texts: Iterable[str], look: Callable[[str], _Found]) -> Iterator[tuple[str, _Found]]:
    """Each text with what `look` finds in it, which it looks for on a thread of its own while the caller is busy."""
    asked: SimpleQueue[str | None] = SimpleQueue()
    told: SimpleQueue[_Found | BaseException] = SimpleQueue()

    def work() -> None:
        while (text := asked.get()) is not None:
            try:
                told.put(look(text))
            except BaseException as error:
                told.put(error)

    def answer() -> _Found:
        found = told.get()
        if isinstance(found, BaseException):
            raise found
        return found

    thread = threading.Thread(target=work, name="sparkdiag: scan", daemon=True)
    thread.start()
    try:
        before: str | None = None
        for text in texts:
            asked.put(text)
            if before is not None:
                yield before, answer()
            before = text
        if before is not None:
            yield before, answer()
    finally:
        asked.put(None)
        thread.join()
