"""Facts about what is installed: packages, tools, the GPU's driver, the machine's architecture."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageVersion(Fact):
    """One installed (or missing) Python package, or a tool of the CUDA toolkit."""

    kind: ClassVar[str] = "package"
    name: str
    """In lower case with dashes: vllm, torch, transformers, nvidia-cutlass-dsl; also nvcc, ptxas."""
    version: str | None = None
    major: int | None = None
    cuda: float | None = None
    """The CUDA release that it was built for: 13.0 of `2.9.1+cu130`; for nvcc and ptxas their own."""
    missing: bool = False
    """It was looked for, and is not installed."""
    path: str | None = None
    by: str = ""
    """What said so: pip, import, tool, report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDriver(Fact):
    """The NVIDIA driver and GPU as nvidia-smi or the kernel module tell them."""

    kind: ClassVar[str] = "driver"
    version: str | None = None
    """580.126.09"""
    release: int | None = None
    """The branch: 580."""
    cuda: float | None = None
    """The newest CUDA release that the driver itself runs: 13.0."""
    gpu: str | None = None
    compute_cap: str | None = None
    works: bool | None = None
    """nvidia-smi answered, or said why it could not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSeen(Fact):
    """The CPU architecture of the host."""

    kind: ClassVar[str] = "machine"
    architecture: str
    """arm64 or amd64, as container images name it."""
