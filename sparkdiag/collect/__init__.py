"""Live probes. Collect asks and notes what came back; it interprets nothing.

Every function returns items with their secrets removed, and never raises for anything that an endpoint does. UsageError
is raised for an address, a key or a name that cannot be used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .settings import Settings

if TYPE_CHECKING:
    from .address import parse_address
    from .below import collect_endpoint
    from .endpoint import collect_active, collect_passive, collect_probe
    from .node import Node, NodeSettings, collect_node, nodes_of

__all__ = [
    "Node",
    "NodeSettings",
    "Settings",
    "collect_active",
    "collect_endpoint",
    "collect_node",
    "collect_passive",
    "collect_probe",
    "nodes_of",
    "parse_address",
]

_HOMES = {
    "parse_address": "address",
    "collect_endpoint": "below",
    **dict.fromkeys(("Node", "NodeSettings", "collect_node", "nodes_of"), "node"),
}


def __getattr__(name: str) -> object:
    """The probes need httpx and asyncio: imported when they are used."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f".{_HOMES.get(name, 'endpoint')}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
