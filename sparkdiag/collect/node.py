"""Everything that is read on one node, over SSH or here: which sessions, in which order, within which time."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from ..capture import Item
from ..errors import UsageError
from ..redact import redact
from ..sections import status_of
from .commands import COMMANDS, ENOUGH_KIB, FIRST, LISTING, Command, container_commands, node_commands
from .reach import Host, host_items
from .scripts import MAX_CONTAINERS, session_script
from .shell import Session, Went, run_script
from .ssh import Destination, Master, container_name, parse_destination, resolve, words_of_failure

__all__ = ["Node", "NodeSettings", "collect_node", "nodes_of", "starved"]

SESSIONS = 8
"""Open at once: sshd allows ten on one connection unless told otherwise."""
MAX_NODES = 8
_SIGN_OF_LIFE = 4.0
"""Seconds within which a node that is alive runs the shortest command."""
_MUTE = "the node stopped answering"
_NO_SERVICE = (
    ("ocker", "the Docker daemon does not run, or not at its usual socket"),
    ("not been booted with systemd", "systemd does not run here"),
    ("bus", "no service manager answers"),
)
"""What it means that a command finds nobody to ask, by words of its own; the first that fits."""
_ORDER = {command.probe: number for number, command in enumerate(COMMANDS)}


@dataclass(frozen=True, slots=True)
class Node:
    """A node to look at, as it was named, and checked: nothing else of what a user says gets into a command."""

    destination: Destination | None
    """None: this machine."""
    container: str | None = None
    """Look into this container, and no other."""

    @property
    def address(self) -> str:
        """What a capture calls the node."""
        if self.destination is not None:
            return self.destination.shown
        return re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()).strip(".-") or "localhost"


def nodes_of(ssh: Sequence[str], local: bool, container: str | None) -> list[Node]:
    """UsageError for what cannot be a destination or a container's name, and for a node that is named twice."""
    name = None if container is None else container_name(container)
    nodes = [Node(parse_destination(text), name) for text in ssh]
    nodes += [Node(None, name)] if local else []
    for at, node in enumerate(nodes):
        if any(node.address == other.address for other in nodes[:at]):
            raise UsageError(f"the node {node.address} is named twice")
    if len(nodes) > MAX_NODES:
        raise UsageError(f"at most {MAX_NODES} nodes are looked at in one run")
    return nodes


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """One node of a run. Times are seconds."""

    target: str
    """Id that the items carry."""
    node: Node
    clock: Callable[[], float]
    """Seconds since the run began."""
    seconds: float = 60.0
    """When the run ends, by `clock`."""
    login_seconds: float = 12.0


async def collect_node(settings: NodeSettings) -> list[Item]:
    """Reachability and login (not for this machine), and every command of the list: what was before what is.

    Never raises for what the node does.
    """
    destination = settings.node.destination
    if destination is None:
        if shutil.which("sh") is None:
            return [_not_run(settings, "there is no POSIX shell here")]
        return await _Node(settings, ["sh", "-s"]).collect()
    where = await resolve(destination)
    host = Host(settings.target, where.host, settings.clock, settings.seconds, where.port)
    looking = asyncio.ensure_future(host_items(host)) if where.direct else None
    async with AsyncExitStack() as stack:
        master = await stack.enter_async_context(Master(destination, min(settings.login_seconds, host.left())))
        at = settings.clock()
        up = await master.connect()
        login = _login(settings, master, up, at)
        node = _Node(settings, master.argv(), master)
        items = await node.collect() if up else []
        below = await looking if looking is not None else []
        if up and looking is not None and (node.mute or not master.up):
            below = await host_items(host)  # it went away in the middle: how it stands now is what counts
    if not up:
        return [*below, login, _not_run(settings, f"no login: {login.why}")]
    return [*items, *below, login]


def _login(settings: NodeSettings, master: Master, up: bool, at: float) -> Item:
    took = round(settings.clock() - at, 4)
    asked = {"host": settings.node.address}
    if up:
        return Item(settings.target, "ssh-login", "ok", asked=asked, at=round(at, 4), took=took)
    status, why = words_of_failure(master.errors)
    if master.missing:
        status, why = "not-found", master.errors
    return Item(settings.target, "ssh-login", status, asked=asked, why=why, at=round(at, 4), took=took)


def _not_run(settings: NodeSettings, why: str) -> Item:
    """One item for all commands: each by itself would say the same."""
    asked = {"probes": [command.probe for command in COMMANDS]}
    return Item(settings.target, "commands", "skipped", asked=asked, why=why, at=round(settings.clock(), 4))


class _Node:
    """The sessions of one node, and what they gave."""

    def __init__(self, settings: NodeSettings, argv: Sequence[str], master: Master | None = None) -> None:
        self.settings = settings
        self.argv = list(argv)
        self.master = master
        self.free = asyncio.Semaphore(SESSIONS)
        self.mute = False
        """It runs nothing any more, not even the shortest command."""
        self.items: list[tuple[tuple[int, int], Item]] = []
        """Each with its place in the capture: the command's in the list, and the container's number."""

    async def collect(self) -> list[Item]:
        """What is left of memory first, alone; then all groups side by side, the cheap ones first in the queue."""
        first = [command for command in COMMANDS if command.group == FIRST]
        await self._session(first)
        if not any(item.status in ("ok", "exit-error") for _, item in self.items):
            why = next((item.why for _, item in self.items if item.why), "the shell ran nothing")
            return [_not_run(self.settings, f"no command could be run: {why}")]
        short = self._short_of_memory()
        groups = _grouped(command for command in node_commands() if command.group not in (FIRST, LISTING))
        cheap = [group for group in groups if group[0].cost == "cheap"]
        heavy = [group for group in groups if group[0].cost == "heavy"]
        for group in heavy if short else ():
            for command in group:
                self._skip(command, short or "")
        await asyncio.gather(
            *(self._session(group) for group in cheap),
            self._containers(short),
            *(self._session(group) for group in heavy if not short),
        )
        return [item for _, item in sorted(self.items, key=lambda one: one[0])]

    async def _containers(self, short: str | None) -> None:
        listing = [command for command in COMMANDS if command.group == LISTING]
        await self._session(listing)
        if self.settings.node.container is not None:
            names = [self.settings.node.container]
        else:
            names = _names(next((item for _, item in self.items if item.probe == "docker-ps"), None))
        sessions = []
        for number, name in enumerate(names, 1):
            for group in _grouped(container_commands()):
                run = [command for command in group if not (short and command.cost == "heavy")]
                for command in group:
                    if command not in run:
                        self._skip(command, short or "", number, name)
                if run:
                    sessions.append(self._session(run, number, name))
        await asyncio.gather(*sessions)

    def _short_of_memory(self) -> str | None:
        """Why heavy commands are not run."""
        left = _available_kib([item for _, item in self.items])
        if left is None or left >= ENOUGH_KIB:
            return None
        what = "what starts programs or reads long logs is not run on a node that is short of memory"
        return f"only {left / 2**20:.1f} GiB are available: {what}"

    async def _session(self, commands: Sequence[Command], number: int = 0, container: str | None = None) -> None:
        """Run some commands one after the other in a session of their own; an item for each, whatever happens."""
        async with self.free:
            session = await self._run(commands, container)
        if isinstance(session, str):
            for command in commands:
                self._skip(command, session, number, container)
            return
        went = {one.probe: one for one in session.sections}
        said = redact(session.errors.decode("utf-8", "replace").strip().split("\n")[-1])[:200]
        for command in commands:
            if command.probe in went:
                item = self._item(command, went[command.probe], session)
                self.items.append(((_ORDER[command.probe], number), item))
            elif session.left is not None:
                self._skip(command, f"not reached: {session.left}", number, container)
            elif not session.sections and session.code != 0:
                told = f" ({said})" if said else ""
                self._skip(command, f"the login gave no shell that runs POSIX sh{told}", number, container)

    async def _run(self, commands: Sequence[Command], container: str | None) -> Session | str:
        """What one session gave, or why there was none. A server that allows fewer at once is waited for."""
        while True:
            left = self.settings.seconds - self.settings.clock()
            if left <= 0.2:
                return "the time for this run was used up"
            if self.mute:
                return _MUTE
            if self.master is not None and not self.master.up:
                return "the connection to the node was lost"
            try:
                session = await self._script(commands, container, left)
            except OSError as error:
                return f"no shell could be started: {error.strerror}"
            if session.hangs and await self._is_mute():
                session.lost, session.left = True, f"{_MUTE} in the middle of this"
            if session.sections:
                return session
            if self.master is not None and not self.master.up:
                return "the connection to the node was lost"
            if b"refused by peer" not in session.errors:
                return session
            await asyncio.sleep(0.1)

    async def _script(self, commands: Sequence[Command], container: str | None, seconds: float) -> Session:
        run = secrets.token_hex(6)
        script = session_script(run, commands, container)
        return await run_script(self.argv, script, run, commands, now=self.settings.clock, seconds=seconds)

    async def _is_mute(self) -> bool:
        """Whether the whole node hangs, not just a command: then it does not run the shortest one either."""
        left = self.settings.seconds - self.settings.clock()
        if self.master is not None and not self.mute and left > _SIGN_OF_LIFE:
            session = await self._script(COMMANDS[:1], None, _SIGN_OF_LIFE)
            self.mute = not session.sections and b"refused by peer" not in session.errors
        return self.mute

    def _item(self, command: Command, went: Went, session: Session) -> Item:
        raw = bytes(went.output)
        truncated = len(raw) >= command.limit
        if truncated:  # a line that was cut may hold half a secret: its other half would have told what it is
            raw = raw[: raw.rfind(b"\n") + 1] if "tail -c" not in command.shell else raw[raw.find(b"\n") + 1 :]
        text = redact(raw.decode("utf-8", "replace"))
        status = status_of(went.code, text)
        why = None
        if went.code is None:
            why = session.left or "the session broke off"
            status = "reset" if session.lost or session.left is None else "timeout"
        elif status == "timeout":
            why = f"ended after {command.seconds:g} s" if went.code == 124 else "killed"
        elif status == "denied":
            why = f"needs {command.right}" if command.right else (text.strip().split("\n")[-1][:200] or None)
        elif status == "refused":
            why = next((words for sign, words in _NO_SERVICE if sign in text), "no answer from what it asks")
        elif status == "not-found":
            why = None if went.code == 127 else text.strip().split("\n")[-1][:200]
        return Item(
            target=self.settings.target,
            probe=command.probe,
            status=status,
            asked={"command": went.command, "on": went.node},
            why=why,
            code=went.code,
            at=went.at,
            took=went.took,
            truncated=truncated,
            text=text,
        )

    def _skip(self, command: Command, why: str, number: int = 0, container: str | None = None) -> None:
        asked = {"container": container} if container is not None else {}
        item = Item(
            self.settings.target, command.probe, "skipped", asked=asked, why=why, at=round(self.settings.clock(), 4)
        )
        self.items.append(((_ORDER[command.probe], number), item))


def _available_kib(items: Iterable[Item]) -> int | None:
    text = next((item.text for item in items if item.probe == "meminfo"), "")
    found = re.search(r"^MemAvailable: +(\d{1,12}) kB$", text, re.M)
    return int(found[1]) if found else None


def starved(items: Sequence[Item]) -> str | None:
    """Why nothing may be generated on a node that looks like this."""
    left = _available_kib(items)
    if left is not None and left < ENOUGH_KIB:
        return f"only {left / 2**20:.1f} GiB of the node's memory are available; nothing is sent that needs more"
    mute = next((item for item in items if item.probe == "ssh-banner" and item.status == "timeout"), None)
    return (
        None if mute is None else f"the node's SSH is silent ({mute.why}); nothing is sent to a node that may be stuck"
    )


def _grouped(commands: Iterable[Command]) -> list[list[Command]]:
    groups: dict[str, list[Command]] = {}
    for command in commands:
        groups.setdefault(command.group, []).append(command)
    return list(groups.values())


_UP = re.compile(r"\sUp (?:\d|About|Less)")
_ROW = re.compile(r"[0-9a-f]{12}\s.*\s([A-Za-z0-9][A-Za-z0-9_.-]{0,127})\s*\Z")


def _names(listing: Item | None) -> list[str]:
    """The containers to look into: those that run, then the newest. Names are checked again: they go into commands."""
    if listing is None or listing.status != "ok":
        return []
    rows = [(row[1], _UP.search(line) is not None) for line in listing.text.split("\n") if (row := _ROW.match(line))]
    ordered = [name for name, up in rows if up] + [name for name, up in rows if not up]
    return list(dict.fromkeys(ordered))[:MAX_CONTAINERS]
