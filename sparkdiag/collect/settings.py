"""What may be asked of one endpoint, with which means, and how long it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """One endpoint of a run. Times are in seconds, sizes in bytes, generation in tokens."""

    target: str
    """Id that the items carry."""
    address: str
    """URL or HOST:PORT, as the user wrote it; parse_address says what is taken."""
    api_key: str | None = field(default=None, repr=False)
    """Without one, a netrc entry for the host is used."""
    netrc: str | None = "~/.netrc"
    """None: no netrc is read."""
    model: str | None = None
    """Name to ask for; else the first one that the endpoint serves."""
    tools: bool = False
    """Tool calls are meant to work here."""
    passive: bool = False
    """Nothing is generated."""
    hold: str | None = None
    """Why nothing may be generated, whatever was asked for: what was seen of the node."""
    max_generated: int = 1500
    """Tokens that all probes together may ask for."""
    seconds: float = 60.0
    """When the run ends, by `clock`: no probe goes on after that."""
    clock: Callable[[], float] | None = None
    """Seconds since the run began. Without one, each call begins a run."""
    ssh_port: int = 22
    """Of the endpoint's host, for the look at it where the endpoint does not answer."""
    connect_seconds: float = 5.0
    answer_seconds: float = 10.0
    """For a route that generates nothing."""
    metrics_gap: float = 1.0
    """Between the two samples of the passive tier."""
    later_gap: float = 12.0
    """Between them and the later sample, which tells a frozen engine from a long prefill."""
    body_limit: int = 4 * 2**20
    """Of one answer; what goes beyond is not read."""
