"""The OpenSSH client as a subprocess: the user's own configuration, agent, jump hosts and known hosts hold."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import tempfile
from dataclasses import dataclass

from ..capture import Status
from ..errors import UsageError
from ..redact import redact

__all__ = ["Destination", "Master", "Resolved", "container_name", "parse_destination", "resolve", "words_of_failure"]

_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}\Z")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?\.?\Z")
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]{2,45}(?:%[\w.-]{1,15})?\Z")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")


@dataclass(frozen=True, slots=True)
class Destination:
    """Where to log in, as the user named it: a name may be one of the ssh configuration's."""

    host: str
    user: str | None = None
    port: int | None = None

    @property
    def shown(self) -> str:
        """For people and captures, without the user's name."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in (None, 22) else f"{host}:{self.port}"


def parse_destination(text: str) -> Destination:
    """[USER@]HOST[:PORT]; an IPv6 address with a port stands in brackets. UsageError for everything else."""
    user, at, rest = text.strip().rpartition("@")
    if at and not _USER.match(user):
        raise UsageError("--ssh: the user name holds what no user name holds; write [USER@]HOST[:PORT]")
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", rest)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
    elif rest.count(":") > 1:
        host, port = rest, None
    else:
        host, colon, number = rest.partition(":")
        port = number if colon else None
    valid = _ADDRESS.match(host) if ":" in host else _HOST.match(host)
    if not valid:
        shown = f"'{host[:80]}' is no host name" if host.isprintable() and host else "there is no host name"
        raise UsageError(f"--ssh: {shown}; write [USER@]HOST[:PORT]")
    if port is not None and not (port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536):
        raise UsageError("--ssh: a port is a number from 1 to 65535")
    return Destination(host, user or None, None if port is None else int(port))


def container_name(text: str) -> str:
    """A container's name or id that may stand in a command. UsageError for everything else."""
    if not _CONTAINER.match(text):
        raise UsageError(
            "--container: a container's name begins with a letter or a digit, and holds only letters, digits, '_', '.' "
            "and '-'"
        )
    return text


@dataclass(frozen=True, slots=True)
class Resolved:
    """What the ssh configuration makes of a destination."""

    host: str
    port: int
    direct: bool
    """False behind a jump host or a proxy command: then nothing is known of the way there."""


async def resolve(destination: Destination) -> Resolved:
    """Ask the client itself; without an answer the destination is taken as it was named."""
    plain = Resolved(destination.host, destination.port or 22, True)
    try:
        process = await asyncio.create_subprocess_exec(
            "ssh", "-G", *_target(destination),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
    except OSError:
        return plain
    try:
        out, _ = await asyncio.wait_for(process.communicate(), 5.0)
    except TimeoutError:
        return plain
    finally:
        _kill(process)
    told = dict(re.findall(r"(?m)^(hostname|port|proxyjump|proxycommand) (.+)$", out.decode("utf-8", "replace")))
    port = told.get("port", "")
    return Resolved(
        told.get("hostname", destination.host),
        int(port) if port.isdigit() and int(port) < 65536 else plain.port,
        told.get("proxyjump", "none") == "none" and told.get("proxycommand", "none") == "none",
    )


def _target(destination: Destination) -> list[str]:
    user = ["-l", destination.user] if destination.user else []
    port = ["-p", str(destination.port)] if destination.port else []
    return [*user, *port, "--", destination.host]


class Master:
    """One connection that all sessions share, as an async context manager. `up` says whether the login worked."""

    def __init__(self, destination: Destination, connect_seconds: float) -> None:
        self.destination = destination
        self.connect_seconds = connect_seconds
        self.errors = ""
        """ssh's own words."""
        self.missing = False
        """There is no ssh client here."""
        self._folder = tempfile.mkdtemp(prefix="sd-")  # a socket's path is short
        self._socket = os.path.join(self._folder, "s")
        self._process: asyncio.subprocess.Process | None = None
        self._words = bytearray()
        self._reading: asyncio.Task[None] | None = None

    def argv(self) -> list[str]:
        """A session of the shared connection that runs sh; where it gives none, no connection of its own is made."""
        return [*self._options("no"), "-o", "ProxyCommand=false", "-T", *_target(self.destination), "sh", "-s"]

    def _options(self, master: str) -> list[str]:
        settings = {
            "BatchMode": "yes",
            "ConnectTimeout": f"{max(1, round(self.connect_seconds))}",
            "ControlMaster": master,
            "ControlPath": self._socket,
            "ControlPersist": "no",
            "ServerAliveInterval": "3",
            "ServerAliveCountMax": "3",
            "LogLevel": "ERROR",
            "ClearAllForwardings": "yes",
            "ForwardAgent": "no",
            "ForwardX11": "no",
            "PermitLocalCommand": "no",
            "RemoteCommand": "none",
            "RequestTTY": "no",
            "UpdateHostKeys": "no",
        }
        return ["ssh", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]

    async def __aenter__(self) -> Master:
        return self

    async def connect(self) -> bool:
        """Log in; False if that failed, with `errors` saying why. In any case within the time to connect, and a bit."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._options("yes"), "-N", "-T", *_target(self.destination),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self.errors, self.missing = f"the ssh client cannot be started: {error.strerror}", True
            return False
        self._reading = asyncio.ensure_future(self._read_words(self._process))
        loop = asyncio.get_running_loop()
        end = loop.time() + self.connect_seconds + 2.0
        while loop.time() < end and self._process.returncode is None:
            if os.path.exists(self._socket):  # ssh makes it once the login has worked
                return True
            await asyncio.sleep(0.02)
        _kill(self._process)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._reading), 1.0)
        self.errors = self._words.decode("utf-8", "replace").strip() or (
            f"no login within {self.connect_seconds:.0f} s: Connection timed out"
        )
        return False

    async def _read_words(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while chunk := await process.stderr.read(4096):
            self._words += chunk[: 16 * 1024 - len(self._words)]

    @property
    def up(self) -> bool:
        return self._process is not None and self._process.returncode is None and os.path.exists(self._socket)

    async def __aexit__(self, *exc: object) -> None:
        if self._process is not None:
            if self._process.returncode is None:
                self._process.terminate()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._process.wait(), 1.0)
            _kill(self._process)
            await self._process.wait()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        shutil.rmtree(self._folder, ignore_errors=True)


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


_FAILURES: tuple[tuple[str, Status, str], ...] = (
    (r"REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .* has changed",
     "denied", "the host key is another one than before: a new installation, another machine at this address, or "
     "an attack; compare it, then remove the old one with ssh-keygen -R"),
    (r"Host key verification failed|No .* host key is known",
     "denied", "the host key is not known here: log in once by hand and compare it"),
    (r"Permission denied|Too many authentication failures|No supported authentication methods",
     "denied", "the login was refused: the user name, or a key that the node does not accept (nothing is typed in "
     "here: a password login needs a key or an agent)"),
    (r"Could not resolve hostname", "dns", "the name does not resolve"),
    (r"during banner exchange|timed out waiting for.*banner", "timeout", "accepted, no banner in time"),
    (r"No route to host|Network is unreachable|Host is down", "timeout", "unreachable: no route to the host"),
    (r"timed out", "timeout", "no answer in time"),
    (r"Connection refused", "refused", "nothing listens on the SSH port"),
    (r"closed by|Connection reset|Broken pipe|kex_exchange_identification", "reset",
     "the connection was closed before the login"),
    (r"This account is currently not available|nologin", "denied", "the account may not log in"),
    (r"Bad owner or permissions|bad configuration option|no such identity", "exit-error",
     "the ssh configuration here is at fault"),
)  # fmt: skip
"""Words of ssh's, what they mean, and how to say it; the first that are found count."""


def words_of_failure(errors: str) -> tuple[Status, str]:
    """What ssh's words mean, with the last of them for the reader."""
    lines = [line.strip() for line in errors.splitlines() if line.strip(" @\t")]
    last = redact(lines[-1])[:200] if lines else "ssh said nothing"
    for pattern, status, words in _FAILURES:
        if re.search(pattern, errors, re.IGNORECASE):
            return status, f"{words} ({last})"
    return "exit-error", f"ssh failed: {last}"
