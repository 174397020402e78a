"""Runs of a server in its log: where one start ends and the next begins, and how far each has come."""

from __future__ import annotations

from dataclasses import field

from ..facts.piece import Piece
from ..records import dataclass
from .logs_markers import PHASES, RESTARTS, Marker
from .patterns import lazy
from .prefixes import LogLine

__all__ = ["Run", "StreamKey", "Streams"]

StreamKey = tuple[str | None, ...]
_FEW = 5.0
"""Seconds after a failure in which other processes still finish their lines."""
_APART = 20.0
"""Seconds between first lines of different processes that make them different starts."""
_ONE_OF_ITS_KIND = lazy(r"(?:EngineCore(?:_DP\d+)?|Worker(?:_(?:DP|PP|TP|EP)\d+)+)\Z")


@dataclass(slots=True, eq=False)
class Run:
    """One start of one server, as far as its log shows it."""

    stream: StreamKey
    number: int
    phase: str | None = None
    workers: dict[str, str] = field(default_factory=dict)
    """The phase of each ranked process that tells its own."""
    ended: bool = False
    ended_at: float | None = None
    seen_at: float | None = None
    """The time of its latest line that tells one, on the clock that it tells it by."""
    zoned: bool = False
    banners: dict[str, tuple[str | None, int | None, float | None]] = field(default_factory=dict)
    pids: dict[str, int] = field(default_factory=dict)
    ranks: set[str] = field(default_factory=set)

    def phase_of(self, line: LogLine) -> str | None:
        """The phase at a line: a worker's own where it tells one."""
        if line.process is not None and line.rank is not None:
            return self.workers.get(line.process, self.phase)
        return self.phase

    @property
    def under_way(self) -> bool:
        """Loading has begun, or it has failed: a first line now belongs to another start."""
        return self.ended or (self.phase is not None and self.phase != PHASES[0])


class Streams:
    """The runs of every server whose log a case shows."""

    def __init__(self) -> None:
        self._current: dict[StreamKey, Run] = {}
        self._count: dict[StreamKey, int] = {}

    def several(self, run: Run) -> bool:
        """Whether the stream of a run shows more than one."""
        return self._count[run.stream] > 1

    def run(self, piece: Piece, line: LogLine) -> Run:
        """The run that a line belongs to."""
        host = line.node if line.form in ("journal", "kernel") else None
        key: StreamKey = (
            piece.where.node,
            piece.where.container or line.container,
            piece.where.run,
            host,
            piece.where.target,
        )
        run = self._current.get(key)
        if run is None:
            run = self._new(key)
        if self._after_stop(run, line):
            run = self._new(key)
        if line.time is not None:
            run.seen_at, run.zoned = line.time, line.zoned
        if line.rank is not None:
            run.ranks.add(line.rank)
        name, pid = line.process, line.pid
        if name is not None and pid is not None and _ONE_OF_ITS_KIND.match(name):
            if run.pids.get(name, pid) != pid and run.under_way:
                run = self._new(key)
                run.ranks |= {line.rank} if line.rank is not None else set()
            run.pids[name] = pid
        return run

    def _after_stop(self, run: Run, line: LogLine) -> bool:
        """The server was told to stop, and this is long after, or of another day: somebody started it again."""
        if run.phase != "stopping" or run.ended_at is None or line.time is None or line.zoned != run.zoned:
            return False
        if line.form not in ("vllm", "sglang"):
            return False
        return not -_FEW < line.time - run.ended_at < _APART

    def _new(self, key: StreamKey) -> Run:
        number = self._count.get(key, 0) + 1
        self._count[key] = number
        run = self._current[key] = Run(key, number)
        return run

    def mark(self, run: Run, marker: Marker, line: LogLine) -> Run:
        """A marker line begins a new run, or goes on in the one it stands in; its own phase counts from here."""
        if (marker.banner and self._starts(run, marker, line)) or self._comes_back(run, marker, line):
            run = self._new(run.stream)
        if marker.banner:
            run.banners[marker.id] = (line.process, line.pid, line.time)
        if marker.during is not None:
            self._move(run, marker.during, line)
        return run

    def _starts(self, run: Run, marker: Marker, line: LogLine) -> bool:
        if run.under_way and not self._late(run, line):
            return marker.id != "engine-init" or run.ended or run.phase in ("serving", "stopping")
        known = run.banners.get(marker.id)
        if known is None or known[0] != line.process or known[2] is None or line.time is None:
            return False
        gap = line.time - known[2]
        return gap > (_FEW / 2 if known[1] == line.pid else _APART)

    def _comes_back(self, run: Run, marker: Marker, line: LogLine) -> bool:
        if marker.during not in RESTARTS or marker.id == "available":
            return False
        return (run.ended or run.phase in ("serving", "stopping")) and not self._late(run, line)

    def _late(self, run: Run, line: LogLine) -> bool:
        """A line that other processes of a failed run still wrote."""
        if run.ended_at is None or line.time is None:
            return False
        return 0 <= line.time - run.ended_at < _FEW

    def after(self, run: Run, marker: Marker, line: LogLine) -> None:
        """What holds after a marker line."""
        if marker.ends:
            run.ended = True
            if line.time is not None:
                run.seen_at, run.zoned = line.time, line.zoned
            run.ended_at = run.seen_at
        if marker.then is not None:
            self._move(run, marker.then, line)

    def _move(self, run: Run, phase: str, line: LogLine) -> None:
        """Phases only go forward within a run."""
        rank = PHASES.index(phase)
        if run.phase is None or rank > PHASES.index(run.phase):
            run.phase = phase
        if line.process is not None and line.rank is not None:
            known = run.workers.get(line.process)
            if known is None or rank > PHASES.index(known):
                run.workers[line.process] = phase
