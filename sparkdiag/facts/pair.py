"""Facts about two nodes side by side."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Fact):
    """Something that two nodes of one job ought to have alike, and do not."""

    kind: ClassVar[str] = "difference"
    what: str
    """image, driver, kernel, dgx-os, fabric-port (which port of the ConnectX is up), clock."""
    one: str
    """The first node, and `mine` what it has."""
    other: str
    mine: str
    theirs: str
    seconds: float | None = None
    """By how much the clocks differ, without a sign."""
