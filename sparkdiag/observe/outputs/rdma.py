"""RDMA devices: ibdev2netdev, ibv_devinfo, ibstat, `rdma link`, show_gids, /sys/class/infiniband."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts import Fact
from ...facts.links import Gid, RdmaPort
from ...facts.piece import Piece
from .lines import looked, place

__all__ = ["observe_rdma"]

MAX_TEXT = 100_000

_NETDEV = re.compile(r"(?P<device>\S+) port (?P<port>\d+) ==> (?P<netdev>\S+) \((?P<state>Up|Down)\)")
_RDMA_LINK = re.compile(
    r"(?:\d+/\d+: |link )(?P<device>[\w-]+)/(?P<port>\d+):? .*?state (?P<state>\w+)(?:.*? netdev (?P<netdev>\S+))?"
)
_DEVICE = re.compile(r"(?:hca_id:\s*(?P<hca>\S+)|CA '(?P<ca>[^']+)')")
_STATE = re.compile(r"\s*(?:state:\s+PORT_(?P<verbs>\w+) \(\d\)|State: (?P<stat>\w+)\s*\Z)")
_MTU = re.compile(r"\s*active_mtu:\s+(?P<mtu>\d+)")
_PORT = re.compile(r"\s*(?:port:\s+|Port )(?P<port>\d+)")
_SYS = re.compile(r"/sys/class/infiniband/(?P<device>[\w-]+)/ports/(?P<port>\d+)/state")
_GID = re.compile(
    r"\s*(?P<device>[A-Za-z][\w-]*)\s+(?P<port>\d+)\s+(?P<index>\d+)\s+(?P<gid>(?:[0-9a-f]{4}:){7}[0-9a-f]{4})"
    r"(?:\s+(?P<address>\d+\.\d+\.\d+\.\d+))?\s+(?P<version>v[12])\s+(?P<netdev>\S+)"
)
_SIGNS = ("==>", "hca_id", "CA '", "physical_state", "PORT_", ":ffff:", "fe80:", "/ports/")


def observe_rdma(piece: Piece) -> list[Fact]:
    """RDMA port and GID facts of one piece."""
    text = piece.text
    if len(text) > MAX_TEXT or not (any(sign in text for sign in _SIGNS) or _SYS.search(piece.command or "")):
        return []
    lines = text.split("\n")
    ports = [*_by_line(piece, lines), *_by_device(piece, lines), *_sys_files(piece, lines)]
    gids = list(_gids(piece, lines))
    out: list[Fact] = [*ports, *gids]
    for probe, found in (("rdma-port", ports), ("gid", gids)):
        if found:
            out += looked(piece, probe)
    return out


def _fact(piece: Piece, number: int, line: str, device: str, port: int, state: str | None, **more: object) -> RdmaPort:
    netdev, mtu = more.get("netdev"), more.get("mtu")
    return RdmaPort(
        device=device,
        port=port,
        state=None if state is None else "up" if state.lower() in ("up", "active", "linkup") else "down",
        netdev=netdev if isinstance(netdev, str) else None,
        mtu=mtu if isinstance(mtu, int) else None,
        **place(piece, number, line),
    )


def _by_line(piece: Piece, lines: list[str]) -> Iterator[RdmaPort]:
    for number, line in enumerate(lines):
        match = _NETDEV.search(line) or _RDMA_LINK.match(line.strip())
        if match is not None:
            yield _fact(
                piece, number, line, match["device"], int(match["port"]), match["state"], netdev=match["netdev"]
            )


def _by_device(piece: Piece, lines: list[str]) -> Iterator[RdmaPort]:
    """ibv_devinfo and ibstat: a device, below it its ports, below them their state."""
    device: str | None = None
    port, state, mtu, at, shown = 1, None, None, 0, ""

    def ended() -> Iterator[RdmaPort]:
        if device is not None and state is not None:
            yield _fact(piece, at, shown, device, port, state, mtu=mtu)

    for number, line in enumerate(lines):
        named = _DEVICE.match(line.strip())
        if named is not None:
            yield from ended()
            device, port, state, mtu = named["hca"] or named["ca"], 1, None, None
        elif device is not None:
            if (numbered := _PORT.match(line)) is not None:
                yield from ended()
                port, state, mtu = int(numbered["port"]), None, None
            elif (told := _STATE.match(line)) is not None:
                state, at, shown = told["verbs"] or told["stat"], number, line
            elif (sized := _MTU.match(line)) is not None:
                mtu = int(sized["mtu"])
    yield from ended()


def _sys_files(piece: Piece, lines: list[str]) -> Iterator[RdmaPort]:
    asked = list(_SYS.finditer(piece.command or ""))
    filled = [line for line in lines if re.match(r"\d: \w+", line.strip())]
    if asked and len(asked) == len(filled):
        for number, (file, line) in enumerate(zip(asked, filled, strict=True)):
            yield _fact(piece, number, line, file["device"], int(file["port"]), line.split(":")[1].strip())
        return
    for number, line in enumerate(lines):  # grep -H names the file in each line
        if (named := _SYS.match(line.strip())) is not None and line.count(":") == 2:
            yield _fact(piece, number, line, named["device"], int(named["port"]), line.split(":")[2].strip())


def _gids(piece: Piece, lines: list[str]) -> Iterator[Gid]:
    for number, line in enumerate(lines):
        match = _GID.match(line)
        if match is not None:
            yield Gid(
                device=match["device"],
                port=int(match["port"]),
                index=int(match["index"]),
                gid=match["gid"],
                address=match["address"],
                version=match["version"],
                netdev=match["netdev"],
                **place(piece, number, line),
            )
