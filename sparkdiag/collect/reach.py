"""How far one gets with a host without logging in: ping, the SSH port, and SSH's first line, each with its time."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..capture import Item, Status
from ..redact import redact
from .failures import classify
from .ping import ping

__all__ = ["Host", "addresses_of", "as_told", "host_items", "ping_item", "ssh_items", "unknown_host"]

CONNECT_SECONDS = 5.0
BANNER_SECONDS = 8.0
"""A healthy sshd takes milliseconds; one that swaps takes minutes."""
PING_SECONDS = 2.0
_MAX_ADDRESSES = 4
_MAX_LINES = 8 * 1024
"""Bytes that may stand before SSH's own line."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host to look at. `clock` gives seconds since the run began, `ends` when it ends by that clock."""

    target: str
    name: str
    clock: Callable[[], float]
    ends: float
    ssh_port: int = 22

    def left(self) -> float:
        return max(0.05, self.ends - self.clock())

    def item(self, probe: str, status: Status, at: float, **more: Any) -> Item:
        why = more.pop("why", None)
        return Item(
            target=self.target, probe=probe, status=status, at=round(at, 4), why=redact(why) if why else None, **more
        )


async def look_up(name: str, seconds: float) -> list[str]:
    """The addresses of a name, in the order of the system's choice. OSError or TimeoutError where there are none.

    The lookup runs in a thread that nothing waits for: a name server that is silent must not hold up the exit.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[list[str]] = loop.create_future()

    def tell(found: list[str], error: Exception | None) -> None:
        if not done.done():
            done.set_result(found) if error is None else done.set_exception(error)

    def work() -> None:
        found: list[str] = []
        error: Exception | None = None
        try:
            infos = socket.getaddrinfo(name, 22, type=socket.SOCK_STREAM)
            found = list(dict.fromkeys(_address(info[4]) for info in infos))
        except (OSError, UnicodeError) as caught:
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, found, error)

    threading.Thread(target=work, name="sparkdiag-dns", daemon=True).start()
    async with asyncio.timeout(seconds):
        return (await done)[:_MAX_ADDRESSES]


def _address(sockaddr: Any) -> str:
    """With the interface of a link-local IPv6 address, which cannot be reached without it."""
    zone = sockaddr[3] if len(sockaddr) == 4 else 0
    return f"{sockaddr[0]}%{zone}" if zone and "%" not in sockaddr[0] else str(sockaddr[0])


async def ping_item(host: Host, addresses: Sequence[str]) -> Item:
    at = host.clock()
    found = await ping(addresses, min(PING_SECONDS, host.left()))
    asked = {"host": host.name, "address": found.address, "by": found.by}
    took = found.took if found.took is not None else round(host.clock() - at, 4)
    return host.item("ping", found.status, at, asked=asked, why=found.why, took=took)


async def ssh_items(host: Host, addresses: Sequence[str]) -> list[Item]:
    """tcp-ssh, and ssh-banner where the port accepts."""
    at = host.clock()
    asked: dict[str, Any] = {"host": host.name, "port": host.ssh_port}
    connected = await _connect(addresses, host.ssh_port, min(CONNECT_SECONDS, host.left()))
    took = round(host.clock() - at, 4)
    if isinstance(connected, tuple):
        status, why = connected
        return [host.item("tcp-ssh", status, at, asked=asked, why=why, took=took)]
    asked = {**asked, "address": connected.address}
    reached = host.item("tcp-ssh", "ok", at, asked=asked, why=connected.note, took=took)
    try:
        began = host.clock()
        told = await _banner(connected, min(BANNER_SECONDS, host.left()))
        took = round(host.clock() - began, 4)
        shown = {"text": told.line} if told.line else {}
        return [reached, host.item("ssh-banner", told.status, began, asked=asked, why=told.why, took=took, **shown)]
    finally:
        connected.writer.transport.abort()


@dataclass(frozen=True, slots=True)
class _Connected:
    address: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    note: str | None
    """What became of the host's other addresses."""


async def _connect(addresses: Sequence[str], port: int, seconds: float) -> _Connected | tuple[Status, str]:
    """A connection to the first address that takes one, all tried side by side; else why there is none."""
    made = list(zip(addresses, await _all([_open(address, port, seconds) for address in addresses]), strict=True))
    failed = [(address, result) for address, result in made if isinstance(result, BaseException)]
    streams = [(address, result) for address, result in made if not isinstance(result, BaseException)]
    if not streams:
        return _worst([error for _, error in failed], seconds)
    for _, (_, writer) in streams[1:]:
        writer.transport.abort()
    note = "; ".join(f"{address}: {_worst([error], seconds)[1]}" for address, error in failed) or None
    address, (reader, writer) = streams[0]
    return _Connected(address, reader, writer, note)


_Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter] | BaseException


async def _all(openings: Sequence[Coroutine[None, None, _Opened]]) -> list[_Opened]:
    """All at once; where the wait for them is given up, so are they."""
    tries = [asyncio.ensure_future(one) for one in openings]
    try:
        await asyncio.wait(tries)
    except asyncio.CancelledError:
        for one in tries:
            one.cancel()
        for done in await asyncio.gather(*tries, return_exceptions=True):
            if isinstance(done, tuple):
                done[1].transport.abort()
        raise
    return [one.result() for one in tries]


async def _open(address: str, port: int, seconds: float) -> _Opened:
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.open_connection(address, port, limit=_MAX_LINES)
    except OSError as error:  # TimeoutError is one
        return error


def _worst(errors: Sequence[BaseException], seconds: float) -> tuple[Status, str]:
    status, why = classify(ExceptionGroup("all addresses", [e for e in errors if isinstance(e, Exception)]))
    return status, f"no connection within {seconds:.3g} s" if why.startswith("no answer") else why


@dataclass(frozen=True, slots=True)
class _Told:
    status: Status
    why: str | None = None
    line: str = ""


async def _banner(connected: _Connected, seconds: float) -> _Told:
    """SSH's first line. Where none comes ours is sent: what is no SSH server then has something to object to."""
    reader, writer = connected.reader, connected.writer
    said = bytearray()
    patience: float | None = min(1.0, seconds / 3)
    try:
        async with asyncio.timeout(seconds):
            while len(said) < _MAX_LINES:
                try:
                    async with asyncio.timeout(patience):
                        chunk = await reader.read(1024)
                except TimeoutError:
                    if patience is None:
                        raise
                    patience = None
                    writer.write(b"SSH-2.0-sparkdiag\r\n")
                    continue
                said += chunk
                line = _ssh_line(bytes(said))
                if line is not None:
                    return _Told("ok", line=line)
                if not chunk or b"HTTP/" in said[:5]:
                    break
    except TimeoutError:
        if not said:
            return _Told("timeout", f"accepted, no banner within {seconds:.3g} s")
    except OSError as error:
        status, why = classify(error)
        return _Told(status, f"{why}, before a banner came")
    if not said:
        return _Told("reset", "closed at once, without a banner")
    words = " ".join(said.decode("utf-8", "replace").split())[:80]
    if "Exceeded MaxStartups" in words:
        return _Told("reset", f"closed: the SSH server takes no more logins at the moment ({words})")
    return _Told("reset", f"no SSH: what listens there says '{words}'")


def _ssh_line(said: bytes) -> str | None:
    for line in said.split(b"\n"):
        if line.startswith(b"SSH-") and (line.endswith(b"\r") or said.endswith(b"\n")):
            return redact(line.decode("utf-8", "replace").strip()[:255])
    return None


async def host_items(host: Host) -> list[Item]:
    """All of it: ping, tcp-ssh and ssh-banner."""
    try:
        addresses = await addresses_of(host)
    except (OSError, UnicodeError) as error:
        return [unknown_host(host, error)]
    pinged, below = await asyncio.gather(ping_item(host, addresses), ssh_items(host, addresses))
    return [as_told(pinged, below), *below]


async def addresses_of(host: Host) -> list[str]:
    return await look_up(host.name, min(CONNECT_SECONDS, host.left()))


def unknown_host(host: Host, error: BaseException) -> Item:
    told = ("dns", "the name server gave no answer") if isinstance(error, TimeoutError) else classify(error)
    return host.item("ping", "dns", host.clock(), asked={"host": host.name}, why=told[1])


def as_told(pinged: Item, others: Sequence[Item]) -> Item:
    """Where no ping may be sent, an accepted connection shows as well that the kernel answers."""
    accepted = next((one for one in others if one.probe in ("tcp-ssh", "tcp-api") and one.status == "ok"), None)
    if pinged.status != "denied" or accepted is None:
        return pinged
    port = accepted.asked.get("port")
    why = f"{pinged.why}; that port {port} accepted a connection shows as well that the kernel answers"
    return replace(pinged, status="ok", why=why)
