"""Ray's own commands: ray status, ray list nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts import Fact
from ...facts.piece import Piece
from ...facts.ray import RayNode, RayStatus
from .lines import looked, place

__all__ = ["observe_ray"]

MAX_TEXT = 200_000

_GPUS = re.compile(r"\s*(?P<used>\d+(?:\.\d+)?)/(?P<all>\d+(?:\.\d+)?) GPU\b")
_ACTIVE = re.compile(r"\s+\d+ node_[0-9a-f]+")
_WANTED = re.compile(r"'node:(?P<address>\d+\.\d+\.\d+\.\d+)': 0\.001")
_YAML_NODE = re.compile(r"\s*(?:- )?node_ip(?:_address)?: ['\"]?(?P<address>\d+\.\d+\.\d+\.\d+)")
_TABLE_NODE = re.compile(
    r"\s*\d*\s*[0-9a-f]{40,60}\s+(?P<address>\d+\.\d+\.\d+\.\d+)\s+(?:(?:True|False)\s+)?(?P<state>ALIVE|DEAD)?"
)
_JSON_NODE = re.compile(
    r"[\"'](?:node_ip|NodeManagerAddress|node_ip_address)[\"']: [\"'](?P<address>\d+\.\d+\.\d+\.\d+)[\"']"
)


def observe_ray(piece: Piece) -> list[Fact]:
    """The cluster as Ray sees it, where one of its commands was asked."""
    command = piece.command or ""
    text = piece.text
    if len(text) > MAX_TEXT:
        return []
    if re.search(r"\bray (?:status|list nodes|summary)\b|ray\.nodes\(\)", command) is None and not (
        piece.command is None and ("Autoscaler status" in text or " object_store_memory" in text)
    ):
        return []
    lines = text.split("\n")
    nodes = list(_nodes(piece, lines))
    status = list(_status(piece, lines))
    out: list[Fact] = [*nodes, *status]
    for probe, found in (("ray-node", nodes), ("ray-status", status)):
        if found:
            out += looked(piece, probe)
    return out


def _nodes(piece: Piece, lines: list[str]) -> Iterator[RayNode]:
    for number, line in enumerate(lines):
        match = _YAML_NODE.match(line) or _JSON_NODE.search(line) or _TABLE_NODE.match(line)
        if match is None:
            continue
        state = match.groupdict().get("state")
        yield RayNode(
            address=match["address"], alive=None if state is None else state == "ALIVE", **place(piece, number, line)
        )


def _status(piece: Piece, lines: list[str]) -> Iterator[RayStatus]:
    gpus = used = wanted = None
    at, active, pending = 0, 0, False
    for number, line in enumerate(lines):
        pending = pending or line.strip().startswith("Pending:")
        if (found := _GPUS.match(line)) is not None:
            used, gpus, at = float(found["used"]), float(found["all"]), number
        elif (asked := _WANTED.search(line)) is not None:
            wanted = asked["address"]
            at = at or number
        elif _ACTIVE.match(line) and not pending:
            active += 1
    if gpus is None and wanted is None and not active:
        return
    yield RayStatus(
        nodes=active or None, gpus=gpus, gpus_used=used, wanted_address=wanted, **place(piece, at, lines[at])
    )
