"""A real OpenSSH server on a loopback port, with keys of its own, and a client configuration that fits it."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

import pytest

__all__ = ["SshServer", "free_port", "needs_sshd"]

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
needs_sshd = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh") is None, reason="no OpenSSH server and client here (Debian: openssh-server)"
)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class SshServer:
    """Serves the user who runs the tests, in a home of its own. `path` is put before the PATH of every session.

    `client` is a folder for PATH here: its `ssh` is the real one with a configuration (-F) that knows this server by
    its names.
    """

    def __init__(self, folder: Path, *, path: str = "", names: str = "spark-a", settings: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.names = names
        self.port = free_port()
        self.user = getpass.getuser()
        self.path = path
        self.settings = settings
        self.home = folder / "home"
        self.client = folder / "client"
        self.log = folder / "sshd.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> SshServer:
        self.folder.mkdir(parents=True, exist_ok=True)
        os.chmod(self.folder, 0o700)
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for name in ("host", "user", "stranger"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(self.folder / name)], check=True
            )
        shutil.copy(self.folder / "user.pub", self.folder / "authorized")
        (self.folder / "sshd_config").write_text(self._server_settings())
        self.write_client()
        assert SSHD is not None
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._wait()
        return self

    def _server_settings(self) -> str:
        self.home.mkdir()
        path = f"{self.path}{':' if self.path else ''}/usr/local/bin:/usr/bin:/bin"
        lines = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder}/host",
            f"AuthorizedKeysFile {self.folder}/authorized",
            f"PidFile {self.folder}/sshd.pid",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "LogLevel ERROR",
            f'SetEnv PATH="{path}" HOME="{self.home}" LANG=de_DE.UTF-8',
            *self.settings,
        ]
        return "\n".join(lines) + "\n"

    def write_client(
        self, *, key: str = "user", user: str | None = None, host_key: str | None = "host", beside: tuple[str, ...] = ()
    ) -> None:
        """The client's configuration: which key it offers, as whom it logs in, which host key it knows (None: none).

        `beside` are further lines, as `settings_for` of another server gives them.
        """
        self.client.mkdir(exist_ok=True)
        (self.folder / "config").write_text(
            "\n".join([*self.settings_for(self.names, key=key, user=user, host_key=host_key), *beside]) + "\n"
        )
        wrapper = self.client / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec "{shutil.which("ssh", path=_usual())}" -F "{self.folder}/config" "$@"\n')
        wrapper.chmod(0o755)

    def settings_for(
        self, names: str, *, key: str = "user", user: str | None = None, host_key: str | None = "host"
    ) -> list[str]:
        """The lines of a client's configuration that make names stand for this server."""
        known = self.folder / "known_hosts"
        shown = "" if host_key is None else (self.folder / f"{host_key}.pub").read_text()
        known.write_text(f"[127.0.0.1]:{self.port} {shown}" if shown else "")
        return [
            f"Host {names}",
            "  HostName 127.0.0.1",
            f"  Port {self.port}",
            f"  User {user or self.user}",
            f"  IdentityFile {self.folder}/{key}",
            "  IdentitiesOnly yes",
            "  IdentityAgent none",
            f"  UserKnownHostsFile {known}",
            "  GlobalKnownHostsFile /dev/null",
            "  StrictHostKeyChecking yes",
        ]

    def _wait(self) -> None:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        raise AssertionError("sshd does not listen")

    def cut(self) -> None:
        """End the server and all its sessions, as a node that loses power does."""
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    def processes(self) -> list[int]:
        """The server's own and those of all its sessions."""
        assert self._process is not None
        found, queue = [], [self._process.pid]
        while queue:
            pid = queue.pop()
            found.append(pid)
            listed = Path(f"/proc/{pid}/task/{pid}/children")
            queue += [int(one) for one in listed.read_text().split()] if listed.exists() else []
        return found

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        for pid in reversed(self.processes()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()


def _usual() -> str:
    """PATH without the folders of tests."""
    return "/usr/local/bin:/usr/bin:/bin:" + os.environ.get("PATH", "")
