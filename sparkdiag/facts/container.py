"""Facts about containers, from docker ps and docker inspect."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Container(Fact):
    """One container. Fields that the evidence does not show are None."""

    kind: ClassVar[str] = "container"
    by: str
    """ps or inspect."""
    name: str | None = None
    image: str | None = None
    state: str | None = None
    """running, exited, restarting, created, dead, paused."""
    health: str | None = None
    """healthy, unhealthy, starting."""
    exit_code: int | None = None
    oom_killed: bool | None = None
    restarts: int | None = None
    up_seconds: float | None = None
    """How long it has been running, as docker ps puts it (to the unit printed)."""
    entrypoint: tuple[str, ...] | None = None
    command: str | None = None
    env: tuple[str, ...] | None = None
    """NAME=value, secrets removed."""
    user: str | None = None
    ipc: str | None = None
    """host, private, shareable, container:NAME."""
    shm_gib: float | None = None
    network: str | None = None
    privileged: bool | None = None
    gpus: bool | None = None
    """A GPU is passed in: device request, NVIDIA runtime or NVIDIA_VISIBLE_DEVICES with it."""
    runtime: str | None = None
    restart_policy: str | None = None
    memory_limit_gib: float | None = None
    """None without a limit."""
    working_dir: str | None = None
    error: str | None = None
    created: str | None = None
    engine: str | None = None
    """Which model server runs in it, as its image, name or command tell."""
