"""Facts about a Ray cluster, as Ray's own commands print it."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class RayNode(Fact):
    """One node that Ray knows."""

    kind: ClassVar[str] = "ray-node"
    address: str
    alive: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RayStatus(Fact):
    """The sums of `ray status`."""

    kind: ClassVar[str] = "ray-status"
    nodes: int | None = None
    """Active nodes."""
    gpus: float | None = None
    gpus_used: float | None = None
    wanted_address: str | None = None
    """A pending demand asks for the node with this address."""
