"""Facts about disks: how full, how busy, and how much a folder holds."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse(Fact):
    """One row of df."""

    kind: ClassVar[str] = "disk"
    mount: str
    device: str | None = None
    size_bytes: int | None = None
    available_bytes: int | None = None
    used_share: float | None = None
    """0 to 1; of inodes where `inodes` is True."""
    inodes: bool = False
    memory: bool = False
    """A file system in memory (/dev/shm, tmpfs), not a disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLoad(Fact):
    """One sample of how busy a disk is, or of how much one process reads."""

    kind: ClassVar[str] = "disk-load"
    device: str
    """nvme0n1; "process 611" where one process is meant."""
    read_bytes_per_s: float | None = None
    busy_share: float | None = None
    """0 to 1; of a process the share of time in which it waits for a disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSize(Fact):
    """What a folder holds, as du tells it: two of one folder say whether it grows."""

    kind: ClassVar[str] = "folder-size"
    path: str
    size_bytes: int
