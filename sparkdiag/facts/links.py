"""Facts about a node's network: interfaces, RDMA ports and GIDs, routes, sockets, what the host name means."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface(Fact):
    """One network interface, as `ip`, ifconfig, nmcli, ethtool or /sys shows it."""

    kind: ClassVar[str] = "iface"
    name: str
    state: str | None = None
    """up (carrier or unknown carrier), down."""
    sort: str = "other"
    """loopback, wifi, fabric (a ConnectX port by its name), container (bridges, veth), tunnel, other."""
    address: str | None = None
    """Its first IPv4 address that is no link-local one, else its first."""
    addresses: tuple[str, ...] = ()
    has_address: bool | None = None
    """None where the command shows no addresses at all (`ip link`)."""
    mtu: int | None = None
    speed: int | None = None
    """Mb/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RdmaPort(Fact):
    """One port of an RDMA device, as ibdev2netdev, ibv_devinfo, ibstat, `rdma link` or /sys shows it."""

    kind: ClassVar[str] = "rdma-port"
    device: str
    port: int = 1
    netdev: str | None = None
    state: str | None = None
    """up or down."""
    mtu: int | None = None
    """Active MTU in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gid(Fact):
    """One line of a GID table (show_gids)."""

    kind: ClassVar[str] = "gid"
    device: str
    port: int
    index: int
    gid: str
    address: str | None = None
    """IPv4 address, for RoCE GIDs that carry one."""
    version: str | None = None
    """v1 or v2."""
    netdev: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Fact):
    """Which way packets to an address take (`ip route get`)."""

    kind: ClassVar[str] = "route"
    to: str
    interface: str
    source_address: str | None = None
    sort: str = "other"
    """The interface's sort, as for iface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Socket(Fact):
    """One line of `ss` or netstat."""

    kind: ClassVar[str] = "socket"
    state: str
    """listen, established, close-wait, syn-sent, time-wait ..."""
    address: str | None = None
    """Local address; None for any."""
    port: int | None = None
    peer: str | None = None
    peer_port: int | None = None
    process: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnName(Fact):
    """What the host's own name resolves to on the host (getent hosts, /etc/hosts, hostname -i)."""

    kind: ClassVar[str] = "own-name"
    name: str
    address: str
    loopback: bool
