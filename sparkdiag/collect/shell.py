"""One session of a shell, here or over SSH: a script goes in, the sections that it prints come out.

Bounded in time and size. A command that hangs is waited for by its own limit and a bit more, then the session is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..sections import BEGIN, END, MARK
from .commands import Command

__all__ = ["Session", "Went", "run_script"]

_GRACE = 3.0
"""Seconds beyond a command's own limit: on the node the time is up first, unless not even that helps."""
_START = 10.0
"""Seconds until a session's first word."""
_LAST_WORDS = 1.0
"""Seconds for what is left to say once the output has ended."""
_STDERR = 16 * 1024
_CHUNK = 64 * 1024
_MARK = MARK.encode()


@dataclass(slots=True)
class Went:
    """What one command printed, and how it went."""

    probe: str
    command: str
    node: str
    at: float
    output: bytearray = field(default_factory=bytearray)
    took: float = 0.0
    code: int | None = None
    """None: it did not end before the session was left."""


@dataclass(slots=True)
class Session:
    """All that came out of one session."""

    sections: list[Went] = field(default_factory=list)
    errors: bytearray = field(default_factory=bytearray)
    """What the session itself said: the words of ssh, and of the shell's start-up files."""
    code: int | None = None
    left: str | None = None
    """Why it was left before it ended."""


async def run_script(
    argv: Sequence[str],
    script: str,
    run: str,
    commands: Sequence[Command],
    *,
    now: Callable[[], float],
    seconds: float,
) -> Session:
    """Run argv, which reads sh from its standard input. `run` is the id of its sections, `seconds` what all may take.

    Never raises for what the other side does; OSError where argv cannot be started.
    """
    session = Session()
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # so that all of it can be ended
    )
    reader = _Reader(session, run, now, {one.probe: one for one in commands}, now() + seconds)
    beside = [asyncio.ensure_future(_feed(process, script)), asyncio.ensure_future(_read_errors(process, session))]
    try:
        await _read(process, reader)
        await asyncio.wait(beside, timeout=_LAST_WORDS)
        if session.left is None:
            with contextlib.suppress(TimeoutError):
                session.code = await asyncio.wait_for(process.wait(), _LAST_WORDS)
    finally:
        _end(process)
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await process.wait()
    return session


async def _feed(process: asyncio.subprocess.Process, script: str) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError, BrokenPipeError):
        process.stdin.write(script.encode())
        await process.stdin.drain()
    with contextlib.suppress(ConnectionError, BrokenPipeError):
        process.stdin.close()


async def _read_errors(process: asyncio.subprocess.Process, session: Session) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(_CHUNK):
        session.errors += chunk[: _STDERR - len(session.errors)]


async def _read(process: asyncio.subprocess.Process, reader: _Reader) -> None:
    assert process.stdout is not None
    while True:
        try:
            async with asyncio.timeout(max(0.0, reader.deadline() - reader.now())):
                chunk = await process.stdout.read(_CHUNK)
        except TimeoutError:
            reader.leave()
            return
        if not chunk:
            reader.finish()
            return
        reader.feed(chunk)


def _end(process: asyncio.subprocess.Process) -> None:
    """End the session's own processes here; what hangs on the node is left there."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


class _Reader:
    """Cuts what comes in at the lines of the sections, and knows until when the next word must come."""

    def __init__(
        self, session: Session, run: str, now: Callable[[], float], commands: dict[str, Command], end: float
    ) -> None:
        self.session = session
        self.run = run
        self.now = now
        self.commands = commands
        self.awaited = set(commands)
        self.end = end
        self.rest = bytearray()
        """The line that is not finished yet."""
        self.open: Went | None = None
        self.since = now()

    def deadline(self) -> float:
        """Until when something must come."""
        allowed = _START
        if self.open is not None:
            allowed = self.commands[self.open.probe].seconds + _GRACE
        return min(self.end, self.since + allowed)

    def feed(self, chunk: bytes) -> None:
        self.rest += chunk
        *lines, last = bytes(self.rest).split(b"\n")
        for line in lines:
            self._line(line + b"\n")
        self.rest = bytearray(last)
        if len(last) > _CHUNK and not last.startswith(_MARK):  # a line without end is kept within the limit
            self._keep(last)
            self.rest = bytearray()

    def _line(self, line: bytes) -> None:
        if line.startswith(_MARK):
            text = line.decode("utf-8", "replace").rstrip()
            begun, ended = BEGIN.match(text), END.match(text)
            if begun is not None and begun["id"] == self.run and begun["probe"] in self.awaited:
                self.awaited.discard(begun["probe"])
                self._close(None)
                self.open = Went(begun["probe"], begun["command"], begun["node"], round(self.now(), 4))
                self.session.sections.append(self.open)
                self.since = self.now()
                return
            if ended is not None and ended["id"] == self.run and self.open is not None:
                self._close(int(ended["code"]))
                return
        self._keep(line)

    def _keep(self, data: bytes) -> None:
        if self.open is None:
            return
        limit = self._limit()
        self.open.output += data[: max(0, limit - len(self.open.output))]

    def _limit(self) -> int:
        return 0 if self.open is None else self.commands[self.open.probe].limit + 1

    def _close(self, code: int | None) -> None:
        if self.open is not None:
            if code is not None and self.open.output.endswith(b"\n"):
                del self.open.output[-1:]  # the line end that the section's own end line begins with
            self.open.code = code
            self.open.took = round(self.now() - self.open.at, 4)
            self.open = None
            self.since = self.now()

    def finish(self) -> None:
        """The session ended by itself."""
        if self.rest:
            self._line(bytes(self.rest))
            self.rest = bytearray()
        if self.open is not None:
            self.session.left = f"the session broke off in the middle of '{self.open.command[:80]}'"
        self._close(None)

    def leave(self) -> None:
        if self.rest:
            self._keep(bytes(self.rest))
        if self.now() >= self.end:
            self.session.left = "the time for this run was used up"
        elif self.open is not None:
            self.session.left = f"'{self.open.command[:80]}' did not end within {self.now() - self.since:.0f} s"
        else:
            self.session.left = f"the shell said nothing within {_START:.0f} s"
        self._close(None)
