"""One echo request and its answer: by whichever way this machine allows."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from ..capture import Status
from .failures import classify

__all__ = ["Pinged", "ping"]

_ECHOES = 3
_BETWEEN = 0.4
_PAYLOAD = b"sparkdiag-echo--"
_SOCKETS = ((socket.SOCK_DGRAM, "icmp socket"), (socket.SOCK_RAW, "raw socket"))


@dataclass(frozen=True, slots=True)
class Pinged:
    """status ok: an echo came back after `took` seconds. denied: no way to send one from here."""

    status: Status
    by: str
    address: str
    why: str | None = None
    took: float | None = None


async def ping(addresses: Sequence[str], seconds: float) -> Pinged:
    """Ping all addresses of one host at once: one that answers is enough."""
    found = await asyncio.gather(*(_one(address, seconds) for address in addresses[:4]))
    answered = [one for one in found if one.status == "ok"]
    if not answered:
        order = ("timeout", "denied")
        return min(found, key=lambda one: (order.index(one.status), not (one.why or "").startswith("unreachable")))
    mute = [one.address for one in found if one.status != "ok"]
    first = min(answered, key=lambda one: one.took or 0.0)
    if not mute:
        return first
    why = f"no reply from {', '.join(mute)}, the host's other address"
    return Pinged("ok", first.by, first.address, why, first.took)


async def _one(address: str, seconds: float) -> Pinged:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for kind, by in _SOCKETS:
        try:
            sock = socket.socket(family, kind, socket.getprotobyname("ipv6-icmp") if ":" in address else 1)
        except OSError:
            continue
        with sock:
            return await _echo(sock, kind, by, address, seconds)
    return await _command(address, seconds)


async def _echo(sock: socket.socket, kind: int, by: str, address: str, seconds: float) -> Pinged:
    loop = asyncio.get_running_loop()
    sock.setblocking(False)
    identity = os.getpid() & 0xFFFF
    began = loop.time()
    try:
        info = socket.getaddrinfo(address, None, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)
        sock.connect(info[0][4])
        async with asyncio.timeout(seconds):
            for sequence in range(1, _ECHOES + 1):
                sent = loop.time()
                await loop.sock_sendall(sock, _request(sock.family, identity, sequence))
                last = sequence == _ECHOES
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(None if last else _BETWEEN):
                        await _answer(loop, sock, kind)
                        return Pinged("ok", by, address, took=round(loop.time() - sent, 5))
    except TimeoutError:
        pass
    except OSError as error:
        status, why = classify(error)
        if status == "denied":
            return Pinged("denied", by, address, "this machine does not allow it to send pings")
        return Pinged("timeout", by, address, why if why.startswith("unreachable") else f"no reply: {why}")
    return Pinged("timeout", by, address, f"no reply to {_ECHOES} packets within {loop.time() - began:.1f} s")


async def _answer(loop: asyncio.AbstractEventLoop, sock: socket.socket, kind: int) -> None:
    """Wait for an echo of ours. A raw socket sees all that the host sends, and with IPv4 the IP header before it."""
    reply = 129 if sock.family == socket.AF_INET6 else 0
    while True:
        data = await loop.sock_recv(sock, 2048)
        if kind == socket.SOCK_RAW and sock.family == socket.AF_INET:
            data = data[(data[0] & 0x0F) * 4 :] if data else b""
        if data[:1] == bytes([reply]) and data[8 : 8 + len(_PAYLOAD)] == _PAYLOAD:
            return


def _request(family: int, identity: int, sequence: int) -> bytes:
    kind = 128 if family == socket.AF_INET6 else 8
    head = struct.pack("!BBHHH", kind, 0, 0, identity, sequence)
    return struct.pack("!BBHHH", kind, 0, _checksum(head + _PAYLOAD), identity, sequence) + _PAYLOAD


def _checksum(data: bytes) -> int:
    """ICMP's own; for IPv6, and for datagram sockets, the kernel puts in its own."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


async def _command(address: str, seconds: float) -> Pinged:
    """The `ping` program, which has rights of its own."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        process = await asyncio.create_subprocess_exec(
            "ping", "-n", "-c", "2", "-W", "2", address,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except OSError:
        why = "this machine may not send pings: no ping socket, no raw socket, no ping command"
        return Pinged("denied", "none", address, why)
    try:
        out, _ = await asyncio.wait_for(process.communicate(), seconds + 2)
    except TimeoutError:
        out = b""
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if b" bytes from " in out:
        return Pinged("ok", "ping command", address, took=_printed_time(out))
    if b"nreachable" in out:
        return Pinged("timeout", "ping command", address, "unreachable: no route to the host")
    if b"ermitted" in out or b"ermission" in out:
        return Pinged("denied", "ping command", address, "this machine may not send pings")
    return Pinged("timeout", "ping command", address, f"no reply to 2 packets within {loop.time() - began:.1f} s")


def _printed_time(out: bytes) -> float | None:
    import re

    found = re.search(rb"time[=<]([\d.]{1,12}) ?ms", out)
    return round(float(found[1]) / 1000, 5) if found else None
