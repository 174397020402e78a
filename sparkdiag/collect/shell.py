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
    hangs: bool = False
    """It was left because nothing came from it any more: of its command, or of the whole node."""
    lost: bool = False
    """The connection or the node went away."""


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
    reader = _Reader(session, run, now, {one.probe: one for one in commands}, now() + seconds)
    transport, protocol = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Protocol(reader, session),
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # so that all of it can be ended
    )
    try:
        given = transport.get_pipe_transport(0)
        assert isinstance(given, asyncio.WriteTransport)
        given.write(script.encode())
        given.write_eof()
        while not protocol.ended:
            left = reader.deadline() - now()
            if left <= 0:
                reader.leave()
                return session
            await protocol.news(left)
        reader.finish()
        end = now() + _LAST_WORDS
        while transport.get_returncode() is None and now() < end:
            await protocol.news(end - now())
        session.code = transport.get_returncode()
        return session
    finally:
        # A shared connection keeps the pipes open for as long as the command on the node runs: they are closed here.
        if transport.get_returncode() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            await protocol.ended_process()  # closed earlier, the transport would take the exit status from the loop
        transport.close()
        await protocol.gone()


class _Protocol(asyncio.SubprocessProtocol):
    """Hands what comes out of the process to the reader, and wakes who waits for it."""

    def __init__(self, reader: _Reader, session: Session) -> None:
        self.reader = reader
        self.session = session
        self.ended = False
        """The output has ended."""
        self._changed = asyncio.Event()
        self._exited = asyncio.Event()
        self._gone = asyncio.Event()

    async def news(self, seconds: float) -> None:
        """Wait until something has happened, or for so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.reader.feed(data)
        else:
            self.session.errors += data[: _STDERR - len(self.session.errors)]
        self._changed.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self.ended = self.ended or fd == 1
        self._changed.set()

    def process_exited(self) -> None:
        self._exited.set()
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()

    async def ended_process(self) -> None:
        await _wait(self._exited)

    async def gone(self) -> None:
        """The process and its pipes are done with: the loop may be closed after that."""
        await _wait(self._gone)


async def _wait(event: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS):
            await event.wait()


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
            self.session.lost = True
        self._close(None)

    def leave(self) -> None:
        if self.rest:
            self._keep(bytes(self.rest))
        if self.now() >= self.end:
            self.session.left = "the time for this run was used up"
        elif self.open is not None:
            self.session.left = f"'{self.open.command[:80]}' did not end within {self.now() - self.since:.0f} s"
            self.session.hangs = True
        else:
            self.session.left = f"the shell said nothing within {_START:.0f} s"
            self.session.hangs = True
        self._close(None)
