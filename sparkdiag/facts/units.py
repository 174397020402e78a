"""Facts about services, logins and what a user may do: units, linger, IPC removal, groups, the docker socket."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit(Fact):
    """One systemd unit, as systemctl or its file shows it."""

    kind: ClassVar[str] = "unit"
    name: str
    user: bool | None = None
    """A unit of a user manager (`systemctl --user`); None where the evidence does not tell."""
    active: str | None = None
    """active, inactive, failed, activating ..."""
    sub: str | None = None
    """running, dead, auto-restart, exited ..."""
    enabled: str | None = None
    """enabled, disabled, static ..."""
    result: str | None = None
    """Why it ended: exit-code, signal, timeout, oom-kill ..."""
    restarts: int | None = None
    exit_code: int | None = None
    starts: str | None = None
    """Its ExecStart."""
    reuses_container: bool | None = None
    """Its ExecStart is `docker start`: the container of the last run, with all that is in its file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login(Fact):
    """What logind does for a user."""

    kind: ClassVar[str] = "login"
    user: str | None = None
    linger: bool | None = None
    remove_ipc: bool | None = None
    """RemoveIPC: the user's shared memory and semaphores go when the last session ends."""
    sessions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups(Fact):
    """The groups that a shell, or the user manager, has."""

    kind: ClassVar[str] = "groups"
    names: tuple[str, ...]
    user: str | None = None
    uid: int | None = None
    of: str = "shell"
    """shell, manager (the systemd user manager), database (what /etc/group says)."""
    docker: bool
    """The docker group is among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerAccess(Fact):
    """Whether docker's socket let a command in."""

    kind: ClassVar[str] = "docker-access"
    allowed: bool
    by: str
    """shell, root (sudo), unit (a systemd unit's output)."""
    verb: str | None = None
    """docker's own command: ps, start, rm ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitStatus(Fact):
    """`echo $?` after a command."""

    kind: ClassVar[str] = "exit-status"
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Home(Fact):
    """The home directory or name of the user of a shell (`echo $HOME`, `whoami`)."""

    kind: ClassVar[str] = "home"
    path: str | None = None
    user: str | None = None
