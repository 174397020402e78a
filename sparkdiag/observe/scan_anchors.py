"""Which of many literals a text holds, by hyperscan where it can be imported and the text is large.

Without hyperscan, lines that differ in their digits alone are looked at once: a log has few shapes of lines.
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

_MANY = 64 * 1024
"""Characters from which a text is looked at by the shapes of its lines."""

_Found = tuple[int, ...]


class Anchors:
    """Literals by their numbers, compiled when a large text first asks for it."""

    def __init__(self, literals: Sequence[str]) -> None:
        self.literals = tuple(literals)
        self._databases: dict[frozenset[int], _Database | None] = {}
        self._shapes = _Shapes(self.literals)

    def held(self, text: str, *, large: bool | None = None, known: frozenset[int] = frozenset()) -> _Found:
        """The numbers of the literals that a text holds, in order.

        `known` ones are named without a look, where that is quicker. `large` overrides whether hyperscan is asked.
        """
        database = self.database(known) if (len(text) >= _LARGE if large is None else large) else None
        if database is None:
            found = self._shapes.found(text) if len(text) >= _MANY else None
            if found is not None:
                return tuple(sorted(found))
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


_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONGEST = 4096
"""Bytes of a line whose shape is remembered."""
_MOST = 20_000
"""Shapes that are remembered."""
_NEW = 2000
"""Shapes not seen before from which looking for each literal in the whole text is quicker."""


class _Shapes:
    """Literals by the shapes of lines that hold them; each digit of a shape is a nought."""

    def __init__(self, literals: Sequence[str]) -> None:
        self._literals = literals
        shaped = [literal.encode().translate(_DIGITS) for literal in literals]
        self._shaped = [(number, shape) for number, shape in enumerate(shaped) if b"\n" not in shape]
        self._ends = {number for number, shape in enumerate(shaped) if b"\n" in shape}
        """Those that no line shows."""
        self._unsure = self._ends | {number for number, shape in self._shaped if b"0" in shape}
        """Those that stand in the text itself if they do: a shape shows only that they may."""
        self._known: dict[bytes, _Found] = {}

    def found(self, text: str) -> set[int] | None:
        """The numbers of the literals that a text holds; None where its lines are too different from one another."""
        shapes = set(text.encode("utf-8", "surrogatepass").translate(_DIGITS).split(b"\n"))
        if sum(shape not in self._known for shape in shapes) > _NEW:
            return None
        out = set(self._ends)
        for shape in shapes:
            numbers = self._known.get(shape)
            if numbers is None:
                numbers = tuple(number for number, literal in self._shaped if literal in shape)
                if len(self._known) >= _MOST:
                    self._known.clear()
                if len(shape) <= _LONGEST:
                    self._known[shape] = numbers
            out.update(numbers)
        return {number for number in out if number not in self._unsure or self._literals[number] in text}


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
