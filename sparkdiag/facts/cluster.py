"""Facts about a launch over several nodes, put together from all that shows a part of it."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLaunch(Fact):
    """One engine over several nodes. One-GPU nodes, as a DGX Spark is: ranks are nodes."""

    kind: ClassVar[str] = "cluster"
    nodes: int
    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    executor: str | None = None
    """ray, mp; None where nothing says so."""
    model: str | None = None
    billions: float | None = None
    """Parameters in the model's name, in billions."""
    weights_gib: float | None = None
    """By the model's config.json; else the name's parameters times the bytes of the format that name or --quantization
    says (16 bit else)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfacePin(Fact):
    """An environment variable that ties a library to an interface or an RDMA device; one fact for each name in it."""

    kind: ClassVar[str] = "pin"
    variable: str
    name: str
    """The interface or device."""
    rdma: bool
    """Names an RDMA device (NCCL_IB_HCA)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAddress(Fact):
    """The address that an engine's process on a node is told to be reached at."""

    kind: ClassVar[str] = "host-address"
    variable: str
    address: str
    on_nodes: int
    """How many different nodes are told this same address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StallTiming(Fact):
    """A kernel compilation in serving, and how it lies to what came after."""

    kind: ClassVar[str] = "stall"
    right_before: bool
    """Tokens stopped within half a minute of the compilation and did not come back before the time-out."""
    seconds: float | None = None
    """From the last compilation line to the time-out."""
