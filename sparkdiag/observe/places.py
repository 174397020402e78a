"""Where the facts of a capture's targets are: a node's facts carry the node, an endpoint's its target.

An endpoint's facts carry a node as well where the capture shows which node it is on; unknown parts join with anything.
"""

from __future__ import annotations

import re

from ..capture import Capture, Target
from ..facts import Where

__all__ = ["places_of"]

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


def places_of(capture: Capture) -> dict[str, Where]:
    """The place of each target, by its id."""
    nodes = [target for target in capture.targets if target.kind == "node"]
    names = {target.id: _names(capture, target) for target in nodes}
    out = {node.id: Where(node=node.address or node.id) for node in nodes}
    for target in capture.targets:
        if target.kind == "endpoint" and nodes:
            mine = _names(capture, target)
            on = [out[node.id].node for node in nodes if names[node.id] & mine]
            out[target.id] = Where(target=target.id, node=on[0] if len(on) == 1 else None)
    return out


def _names(capture: Capture, target: Target) -> set[str]:
    """All names and addresses of a target's host: its own, and those that were reached. Of this machine: loopback."""
    found = {_host(target.address)}
    reached = [item for item in capture.items if item.target == target.id]
    for item in reached:
        if item.probe in ("tcp-api", "tcp-ssh", "ping"):
            found |= {value for key in ("host", "address") if isinstance(value := item.asked.get(key), str)}
    if target.kind == "node" and not any(item.probe == "ssh-login" for item in reached):
        found |= _HERE
    return {name.lower() for name in found if name}


def _host(address: str) -> str:
    """The host of `http://spark-a:8000/x`, `spark-a:22` or `[2001:db8::1]:22`."""
    bare = re.sub(r"\A[a-z][a-z0-9+.-]*://", "", address)
    bracketed = re.match(r"\[([^\]]*)\]", bare)
    if bracketed is not None:
        return bracketed[1]
    bare = re.split(r"[/?#]", bare, maxsplit=1)[0]
    return bare if bare.count(":") > 1 else bare.split(":")[0]
