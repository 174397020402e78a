"""Hits folded into facts: what is said again counts up, and no signature makes more facts than can be looked at."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import field, replace

from ..facts import Fact, LogHit, Signature, Source, Value, Where
from ..facts.engine import EngineSeen
from ..facts.exceptions import ExceptionSeen
from ..facts.launch import Launch
from ..facts.piece import Piece
from ..records import dataclass
from ..redact import redact
from .logs_runs import Run, Streams
from .prefixes import LogLine
from .scan import Hit
from .tracebacks import Raised

__all__ = ["Folds"]

MAX_FIRST = 50
MAX_LAST = 50
"""Facts of one signature in one run: the first ones and the last ones; what is between is only counted."""
MAX_RUNS_FIRST = 10
MAX_RUNS_LAST = 30
MAX_EXCEPTIONS = 100
_QUOTED = 500

Key = tuple[object, ...]


@dataclass(slots=True)
class _Fold:
    """One fact to be, and what is only known at the end."""

    fact: LogHit | ExceptionSeen | EngineSeen | Launch
    run: Run
    node: str | None = None
    """As the line names it."""
    container: str | None = None
    rank: str | None = None
    benign: bool = True
    again: int = 0
    """How often a log fact was said again."""
    last: tuple[int, int] = (0, 0)
    """Line and order of the last time."""
    last_time: float | None = None


@dataclass(slots=True, eq=False)
class _OfRun:
    """Everything that one run said."""

    first: dict[str, dict[Key, _Fold]] = field(default_factory=dict)
    last: dict[str, deque[tuple[Key, _Fold]]] = field(default_factory=dict)
    exceptions: dict[Key, _Fold] = field(default_factory=dict)
    others: dict[Key, _Fold] = field(default_factory=dict)


class Folds:
    """All folds of a case, by run."""

    def __init__(self) -> None:
        self._runs: dict[Run, _OfRun] = {}

    def _of(self, run: Run) -> _OfRun:
        known = self._runs.get(run)
        if known is None:
            known = self._runs[run] = _OfRun()
            if len(self._runs) > MAX_RUNS_FIRST + MAX_RUNS_LAST:
                del self._runs[list(self._runs)[MAX_RUNS_FIRST]]
        return known

    def hit(
        self, piece: Piece, run: Run, hit: Hit, line: LogLine, signature: Signature, captures: Mapping[str, Value]
    ) -> None:
        """One line that a signature matched."""
        of = self._of(run)
        order, number = piece.order + hit.line, piece.first_line + hit.line
        safe = {name: redact(value) if isinstance(value, str) else value for name, value in captures.items()}
        key: Key = (tuple(sorted(safe.items(), key=str)), line.process, line.node, piece.where)
        first = of.first.setdefault(signature.id, {})
        known = first.get(key) or next((f for k, f in of.last.get(signature.id, ()) if k == key), None)
        if known is not None:
            known.again += line.repeats
            known.last = (number, order)
            known.last_time = line.time if line.time is not None else known.last_time
            return
        fold = _Fold(
            LogHit(
                where=piece.where,
                source=_source(piece, hit),
                order=order,
                time=line.time,
                signature=signature.id,
                captures=safe,
                count=line.repeats,
                last_line=number,
                last_order=order,
                last_time=line.time,
                clock=_clock(line),
                process=line.process,
                phase=run.phase_of(line),
                level=line.level,
                command=piece.command,
            ),
            run,
            line.node,
            line.container,
            line.rank,
            signature.benign,
        )
        if len(first) < MAX_FIRST:
            first[key] = fold
        else:
            of.last.setdefault(signature.id, deque(maxlen=MAX_LAST)).append((key, fold))

    def exception(self, piece: Piece, run: Run, hit: Hit, line: LogLine, raised: Raised) -> None:
        """One exception's last line."""
        of = self._of(run)
        order = piece.order + hit.line
        key: Key = (raised.type, raised.message[:200], line.process, piece.where)
        known = of.exceptions.get(key)
        if known is not None:
            fact = known.fact
            assert isinstance(fact, ExceptionSeen)
            known.fact = replace(
                fact, count=fact.count + line.repeats, last_order=order, cause=fact.cause or raised.cause
            )
            return
        if len(of.exceptions) >= MAX_EXCEPTIONS:
            return
        fact = ExceptionSeen(
            where=piece.where,
            source=_source(piece, hit),
            order=order,
            time=line.time,
            clock=_clock(line),
            type=raised.type,
            message=redact(raised.message),
            frames=raised.frames,
            raised_in=raised.raised_in,
            process=line.process,
            phase=run.phase_of(line),
            level=line.level,
            count=line.repeats,
            last_order=order,
            cause=raised.cause,
            relays=raised.relays,
        )
        of.exceptions[key] = _Fold(fact, run, line.node, line.container, line.rank, False)

    def engine(self, piece: Piece, run: Run, hit: Hit, name: str, version: str | None) -> None:
        """A line that tells the engine, and perhaps its version."""
        of = self._of(run)
        key: Key = ("engine", name, version)
        if key in of.others or (version is None and any(k[:2] == key[:2] for k in of.others)):
            return
        fact = EngineSeen(
            name=name,
            version=version,
            by="log line",
            where=piece.where,
            source=_source(piece, hit),
            order=piece.order + hit.line,
        )
        of.others[key] = _Fold(fact, run)

    def launch(self, run: Run, fact: Launch) -> None:
        """The arguments that an engine printed of itself."""
        of = self._of(run)
        if len(of.others) < MAX_EXCEPTIONS:
            of.others["launch", fact.order] = _Fold(fact, run)

    def facts(self, streams: Streams) -> list[Fact]:
        """The facts, with the parts of `where` that several values of tell apart."""
        folds = [fold for of in self._runs.values() for fold in _all(of)]
        nodes = {fold.node for fold in folds if fold.node and fold.fact.where.node is None}
        containers = {fold.container for fold in folds if fold.container}
        firsts = {id(fold) for of in self._runs.values() if (fold := _first(of)) is not None}
        out: list[Fact] = []
        for run, of in self._runs.items():
            lone = _lone_ranks(of) if len(run.ranks) > 1 else {}
            for fold in _all(of):
                fact: Fact = fold.fact
                where = replace(
                    fact.where,
                    node=fact.where.node or (fold.node if len(nodes) > 1 else None),
                    container=fact.where.container or (fold.container if len(containers) > 1 else None),
                    rank=lone.get(id(fold)),
                    run=_label(fact.where, fold.run, streams),
                )
                changes: dict[str, object] = {"where": where}
                if isinstance(fact, ExceptionSeen) and id(fold) in firsts:
                    changes["first"] = True
                if isinstance(fact, LogHit) and fold.again:
                    changes["count"] = fact.count + fold.again
                    changes["last_line"], changes["last_order"] = fold.last
                    changes["last_time"] = fact.last_time if fold.last_time is None else fold.last_time
                out.append(replace(fact, **changes))  # type: ignore[arg-type]
        return sorted(out, key=lambda fact: fact.order)


def _all(of: _OfRun) -> list[_Fold]:
    out = [fold for table in of.first.values() for fold in table.values()]
    out += [fold for late in of.last.values() for _, fold in late]
    return [*out, *of.exceptions.values(), *of.others.values()]


def _label(where: Where, run: Run, streams: Streams) -> str | None:
    """The run's name: that of the transcript, that of the log, or both."""
    if not streams.several(run):
        return where.run
    return str(run.number) if where.run is None else f"{where.run}.{run.number}"


def _lone_ranks(of: _OfRun) -> dict[int, str]:
    """The rank of failures that only one of several ranks shows."""
    groups: dict[Key, list[_Fold]] = {}
    for name, table in of.first.items():
        for key, fold in table.items():
            if not fold.benign and fold.rank is not None:
                groups.setdefault((name, key[0]), []).append(fold)
    return {
        id(fold): fold.rank
        for group in groups.values()
        if len({fold.rank for fold in group}) == 1
        for fold in group
        if fold.rank is not None
    }


def _first(of: _OfRun) -> _Fold | None:
    """The earliest exception that is no relay; by time where all have one."""
    causes = [fold for fold in of.exceptions.values() if isinstance(fold.fact, ExceptionSeen) and not fold.fact.relays]
    if not causes:
        return None
    if all(fold.fact.time is not None for fold in causes):
        return min(causes, key=lambda fold: (fold.fact.time or 0.0, fold.fact.order))
    return min(causes, key=lambda fold: fold.fact.order)


def _source(piece: Piece, hit: Hit) -> Source:
    return Source(piece.source, piece.first_line + hit.line, text=redact(hit.text.strip()[: 4 * _QUOTED])[:_QUOTED])


def _clock(line: LogLine) -> str | None:
    """Containers, hosts and UTC each have their own time: they are not compared with one another."""
    if line.zoned:
        return "utc"
    return "journal" if line.form in ("journal", "kernel") else None
