"""Facts from nvidia-smi about the GPU itself."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSample(Fact):
    """One look at the GPU. On a GB10 memory, fan and power cap are not reported: that is no defect."""

    kind: ClassVar[str] = "gpu"
    by: str
    """table (plain nvidia-smi), query (--query-gpu), report (-q), dmon."""
    name: str | None = None
    utilization: float | None = None
    """Percent of time in which some kernel was resident: no measure of work."""
    power_w: float | None = None
    sm_clock_mhz: float | None = None
    temperature_c: float | None = None
    pstate: str | None = None
    memory_reported: bool | None = None
    """False where memory shows as N/A or Not Supported, which is normal on unified memory."""
    memory_used_gib: float | None = None
    memory_total_gib: float | None = None
    memory_asked: bool | None = None
    """The command asked for memory figures, and for nothing else."""
    throttle: str | None = None
    """`none`, or what slows the clocks: thermal, power, hardware, setting; `idle` for an idle GPU."""
    wedged: bool | None = None
    """Clocks or power are N/A, as with a driver that no longer answers."""
