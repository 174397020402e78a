"""Facts about the system that a node runs, its clock, and how the commands went that were run on it."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRan(Fact):
    """One command of the fixed list, whether it told something or not. Its output is read into facts of other kinds."""

    kind: ClassVar[str] = "ran"
    probe: str
    """Its name in the list: docker-ps, nvidia-smi ..."""
    status: str
    """ok, exit-error, denied (a right is missing), not-found (a program or container is), timeout (it hung)."""
    code: int | None = None
    """Exit status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSeen(Fact):
    """One look at the operating system: what uname, os-release or dgx-release shows of it."""

    kind: ClassVar[str] = "system"
    kernel: str | None = None
    """Release of the running kernel: 6.14.0-1013-nvidia."""
    os: str | None = None
    """Ubuntu 24.04.3 LTS."""
    dgx_os: str | None = None
    """Version of DGX OS, after the last over-the-air update."""
    up_seconds: float | None = None
    """Since the boot."""
    load: float | None = None
    """Tasks that ran or waited for a disk, averaged over a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSeen(Fact):
    """A node's clock. Two of them differ by the difference of their `ahead`, whatever the clock here shows."""

    kind: ClassVar[str] = "clock"
    epoch: int | None = None
    """Seconds since 1970 by the node's clock."""
    ahead: float | None = None
    """epoch less the moment of the look, in seconds of the capture's own clock: comparable within one capture only."""
    synchronized: bool | None = None
    """By NTP."""
