"""Facts about the machine under the engine: memory, pressure, processors, heat, and the processes on it.

Sizes are GiB (2^30 bytes) as floats, so that rules can be read; percentages are 0 to 100 where programs print them so.
"""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySample(Fact):
    """One look at a node's memory. On unified memory the GPU's share is part of it."""

    kind: ClassVar[str] = "memory"
    by: str
    """free, meminfo, top, vmstat, sar, earlyoom, monitor (a line of some watching script)."""
    total_gib: float | None = None
    free_gib: float | None = None
    """Not used for anything, not even the page cache."""
    available_gib: float | None = None
    """What the kernel could give to programs: free plus reclaimable page cache."""
    used_gib: float | None = None
    reclaimable_gib: float | None = None
    """available - free: page cache that the kernel gives back under pressure, and cudaMemGetInfo counts as used."""
    cache_gib: float | None = None
    """Buffers and page cache."""
    available_share: float | None = None
    """available / total, 0 to 1."""
    free_share: float | None = None
    unaccounted_gib: float | None = None
    """In no category of /proc/meminfo: what the GPU driver holds."""
    swap_total_gib: float | None = None
    swap_used_gib: float | None = None
    swap_share: float | None = None
    """used / total of swap, 0 to 1; None without swap."""
    swapping: bool | None = None
    """Pages move to or from swap at a rate that is felt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPressure(Fact):
    """/proc/pressure/memory: the share of time (percent) in which some or all tasks waited for memory."""

    kind: ClassVar[str] = "pressure"
    some_avg10: float | None = None
    full_avg10: float | None = None
    some_avg60: float | None = None
    full_avg60: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuLoad(Fact):
    """How many processor cores are busy."""

    kind: ClassVar[str] = "cpu"
    by: str
    """mpstat or top."""
    busy_cores: int = 0
    """Cores at 90% or more."""
    cores: int | None = None
    """Cores shown; None where only the busy ones were."""
    busiest: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSeen(Fact):
    """One process, from a process list or the GPU's process table."""

    kind: ClassVar[str] = "process"
    by: str
    """nvidia-smi, ps, top."""
    pid: int | None = None
    ppid: int | None = None
    name: str
    """Its command or title, cut to a readable length."""
    engine: str | None = None
    """vllm, sglang, llama.cpp, ollama, tensorrt-llm, transformers, comfyui ...: what kind of model server it is."""
    role: str | None = None
    """core for the process that stands for one engine instance, api, worker, other."""
    memory_gib: float | None = None
    """GPU memory in the GPU's table, resident memory in others."""
    cpu_percent: float | None = None
    state: str | None = None
    """ps's state letters; D is uninterruptible sleep."""
    orphan: bool | None = None
    """Its parent is gone (parent pid 1), where the list shows parents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepCount(Fact):
    """What `grep -c` counted (or that a grep found nothing): evidence of what a log does not hold."""

    kind: ClassVar[str] = "grep"
    pattern: str
    number: int
    what: str = ""
    """The command whose output was searched, or the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Temperature(Fact):
    """A sensor of the machine."""

    kind: ClassVar[str] = "temperature"
    sensor: str
    celsius: float
