"""Live probes. Collect asks and notes what came back; it interprets nothing.

Every function returns items with their secrets removed, and never raises for anything that an endpoint does. UsageError
is raised for an address or key that cannot be used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .settings import Settings

if TYPE_CHECKING:
    from .address import parse_address
    from .endpoint import collect_active, collect_passive, collect_probe

__all__ = ["Settings", "collect_active", "collect_passive", "collect_probe", "parse_address"]


def __getattr__(name: str) -> object:
    """The probes need httpx and asyncio: imported when they are used."""
    if name == "parse_address":
        from .address import parse_address

        return parse_address
    if name in __all__:
        from . import endpoint

        return getattr(endpoint, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
