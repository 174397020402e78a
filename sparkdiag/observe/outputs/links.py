"""Interfaces, addresses, routes and sockets: ip, ifconfig, nmcli, ethtool, /sys, ss, getent, /etc/hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts import Fact
from ...facts.links import Interface, OwnName, Route, Socket
from ...facts.piece import Piece
from ...records import dataclass
from .lines import looked, place

__all__ = ["observe_links", "sort_of"]

MAX_TEXT = 100_000
"""Characters of a piece that are looked at: these commands print pages, not books."""

_STATES = {
    "UP": "up", "DOWN": "down", "LOWERLAYERDOWN": "down", "DORMANT": "down", "NOTPRESENT": "down", "UNKNOWN": None,
}  # fmt: skip
_NAME = r"[A-Za-z][\w.-]{0,24}(?:@[\w.-]+)?"
_BRIEF = re.compile(
    rf"(?P<name>{_NAME}) +(?P<state>UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT|NOTPRESENT)(?: +(?P<rest>.*?))? *\Z"
)
_BRIEF_REST = re.compile(r"(?:\s*(?:[\da-f.:]+/\d+|(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|<[A-Z_,0-9-]+>|metric \d+))*\s*")
_BLOCK = re.compile(rf"(?:\d+: )(?P<name>{_NAME}): <(?P<flags>[A-Z_,0-9-]+)>(?P<rest>.*)\Z")
_IFCONFIG = re.compile(rf"(?P<name>{_NAME}): flags=\d+<(?P<flags>[A-Z_,]+)> +mtu (?P<mtu>\d+)")
_ONE_LINE = re.compile(rf"(?:\d+: )(?P<name>{_NAME}) +inet6? (?P<address>[0-9a-fA-F.:]+)(?:/\d+)?(?: .*)?\Z")
_INET = re.compile(r"\s+inet (?P<address>\d+\.\d+\.\d+\.\d+)")
_NMCLI = re.compile(
    rf"(?P<name>{_NAME}) +(?P<type>ethernet|wifi|loopback|bridge|infiniband|tun|vlan|bond) +"
    r"(?P<state>connected(?: \(externally\))?|disconnected|unavailable|unmanaged|connecting \([^)]*\))(?: .*)?\Z"
)
_ROUTE = re.compile(rf"(?P<to>\d+\.\d+\.\d+\.\d+)(?: via \S+)? dev (?P<name>{_NAME})(?:.*? src (?P<src>[\d.]+))?")
_SOCKET = re.compile(
    r"(?:(?:tcp|udp)6? +)?"
    r"(?P<state>LISTEN|ESTAB|ESTABLISHED|CLOSE[-_]WAIT|SYN[-_]SENT|FIN[-_]WAIT[-_]?\d|TIME[-_]WAIT|LAST[-_]ACK)"
    r" +\d+ +\d+ +(?P<local>\S+) +(?P<peer>\S+)(?P<rest>.*)\Z"
)
_NETSTAT = re.compile(
    r"(?:tcp|udp)6? +\d+ +\d+ +(?P<local>\S+) +(?P<peer>\S+) +"
    r"(?P<state>LISTEN|ESTABLISHED|CLOSE_WAIT|SYN_SENT|FIN_WAIT\d|TIME_WAIT|LAST_ACK)(?P<rest>.*)\Z"
)
_HOSTS = re.compile(r"(?P<address>\d+\.\d+\.\d+\.\d+|::1)\s+(?P<names>[\w.-]+(?:\s+[\w.-]+)*)\s*\Z")
_SYS_NET = re.compile(r"/sys/class/net/(?P<name>[\w.-]+)/(?P<what>operstate|carrier|mtu|speed)\b")
_LINK_COMMAND = re.compile(r"\b(?:ip|ifconfig|nmcli|ethtool|networkctl)\b")
_NAME_COMMAND = re.compile(r"getent (?:a?hosts\w*)|/etc/hosts\b|hostname -[iI]\b")


def observe_links(piece: Piece) -> list[Fact]:
    """Interface, route, socket and own-name facts of one piece."""
    if len(piece.text) > MAX_TEXT or not _worth_reading(piece):
        return []
    lines = piece.text.split("\n")
    out: list[Fact] = []
    found = [*_interfaces(piece, lines), *_sys_files(piece, lines)]
    if found:
        out += [*found, *looked(piece, "iface")]
    for number, line in enumerate(lines):
        out += _route(piece, number, line)
        out += _socket(piece, number, line)
    if any(fact.kind == "socket" for fact in out) or re.match(r"(?:ss|netstat|lsof)\b", piece.command or ""):
        out += looked(piece, "socket")
    if _NAME_COMMAND.search(piece.command or ""):
        out += [*_names(piece, lines), *looked(piece, "own-name")]
    return out


def sort_of(name: str) -> str:
    """What kind of interface a name means on these machines."""
    if name == "lo":
        return "loopback"
    if name.startswith(("wl", "wlan")):
        return "wifi"
    if re.match(r"en[pP].*np\d+\Z|en[pP]\d+s\d+f\d", name):
        return "fabric"
    if name.startswith(("docker", "br-", "veth", "cni", "flannel", "cali", "virbr", "podman", "lxc")):
        return "container"
    if name.startswith(("tailscale", "tun", "tap", "wg", "zt")):
        return "tunnel"
    return "other"


def _worth_reading(piece: Piece) -> bool:
    if piece.command is not None:
        return True
    text = piece.text
    return any(sign in text for sign in (" inet ", "<BROADCAST", " UP ", " DOWN", "LISTEN ", "CLOSE-WAIT", " dev en"))


@dataclass(slots=True)
class _Seen:
    """An interface while its lines are read."""

    line: int
    text: str
    state: str | None = None
    addresses: list[str] | None = None
    mtu: int | None = None
    speed: int | None = None


def _interfaces(piece: Piece, lines: list[str]) -> Iterator[Fact]:
    command = piece.command or ""
    seen: dict[str, _Seen] = {}
    current: _Seen | None = None
    shows_addresses = not re.search(r"\bip\b(?: -\w+)* l(?:ink|i|in)?\b", command)
    for number, line in enumerate(lines):
        block = _BLOCK.match(line)
        configured = _IFCONFIG.match(line)
        single = _ONE_LINE.match(line)
        brief = _BRIEF.match(line)
        device = _NMCLI.match(line) if "nmcli" in command or " ethernet " in line else None
        if block is not None:
            current = _entry(seen, block["name"], number, line)
            current.state = _flag_state(block["flags"], block["rest"])
            current.mtu = _number(r"mtu (\d+)", block["rest"]) or current.mtu
            current.addresses = current.addresses or ([] if shows_addresses else None)
        elif configured is not None:
            current = _entry(seen, configured["name"], number, line)
            current.state = "up" if "RUNNING" in configured["flags"] else "down"
            current.mtu, current.addresses = int(configured["mtu"]), []
        elif single is not None:
            one = _entry(seen, single["name"], number, line)
            one.addresses = [*(one.addresses or []), single["address"]]
            one.state = one.state or "up"
        elif brief is not None and _BRIEF_REST.fullmatch(brief["rest"] or ""):
            one = _entry(seen, brief["name"], number, line)
            one.state = _STATES[brief["state"]]
            listed = re.findall(r"(?<![\w:])(\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f:]+)/\d+", brief["rest"] or "")
            if listed or not re.search(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", brief["rest"] or ""):
                one.addresses = listed
            current = None
        elif device is not None:
            one = _entry(seen, device["name"], number, line)
            one.state = "up" if device["state"].startswith("connected") else "down"
        elif (ethtool := re.match(rf"Settings for (?P<name>{_NAME}):", line)) is not None:
            current = _entry(seen, ethtool["name"], number, line)
        elif current is not None:
            _detail(current, line)
    for name, one in seen.items():
        yield _interface(piece, name.split("@")[0], one)


def _entry(seen: dict[str, _Seen], name: str, number: int, line: str) -> _Seen:
    return seen.setdefault(name, _Seen(number, line))


def _detail(current: _Seen, line: str) -> None:
    """A line below the name of an interface."""
    address = _INET.match(line)
    if address is not None:
        current.addresses = [*(current.addresses or []), address["address"]]
    elif (link := re.match(r"\s+Link detected: (yes|no)", line)) is not None:
        current.state = "up" if link[1] == "yes" else "down"
        current.text = line
    elif (speed := re.match(r"\s+Speed: (\d+)Mb/s", line)) is not None:
        current.speed = int(speed[1])


def _flag_state(flags: str, rest: str) -> str | None:
    if "NO-CARRIER" in flags or "state DOWN" in rest or "state LOWERLAYERDOWN" in rest:
        return "down"
    words = flags.split(",")
    return "up" if "UP" in words else "down"


def _number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(found[1]) if found else None


def _interface(piece: Piece, name: str, one: _Seen) -> Interface:
    addresses = tuple(dict.fromkeys(one.addresses or ()))
    four = [a for a in addresses if "." in a]
    first = next((a for a in four if not a.startswith("169.254.")), four[0] if four else None)
    return Interface(
        name=name,
        state=one.state,
        sort=sort_of(name),
        address=first or (addresses[0] if addresses else None),
        addresses=addresses,
        has_address=None if one.addresses is None else bool(four) or any(not a.startswith("fe80") for a in addresses),
        mtu=one.mtu,
        speed=one.speed,
        **place(piece, one.line, one.text),
    )


def _sys_files(piece: Piece, lines: list[str]) -> Iterator[Fact]:
    """`cat /sys/class/net/NAME/operstate` and its like; `grep -H . /sys/class/net/*/speed` names the file."""
    asked = list(_SYS_NET.finditer(piece.command or ""))
    filled = [line.strip() for line in lines if line.strip()]
    named = [(n, file, line[file.end() + 1 :]) for n, line in enumerate(lines) if (file := _SYS_NET.match(line))]
    if asked and len(asked) == len(filled):
        named = [(number, file, value) for number, (file, value) in enumerate(zip(asked, filled, strict=True))]
    for number, file, value in named:
        name, what = file["name"], file["what"]
        state = {"up": "up", "down": "down"}.get(value) if what == "operstate" else None
        if what == "carrier":
            state = "up" if value == "1" else "down"
        digits = int(value) if value.isdigit() else None
        yield Interface(
            name=name,
            state=state,
            sort=sort_of(name),
            mtu=digits if what == "mtu" else None,
            speed=digits if what == "speed" else None,
            **place(piece, number, value),
        )


def _route(piece: Piece, number: int, line: str) -> list[Fact]:
    match = _ROUTE.match(line.strip())
    if match is None or "route get" not in (piece.command or "route get"):
        return []
    name = match["name"]
    return [
        Route(
            to=match["to"],
            interface=name,
            source_address=match["src"],
            sort=sort_of(name),
            **place(piece, number, line),
        )
    ]


def _socket(piece: Piece, number: int, line: str) -> list[Fact]:
    match = _SOCKET.match(line.strip()) or _NETSTAT.match(line.strip())
    if match is None:
        return []
    address, port = _endpoint(match["local"])
    peer, peer_port = _endpoint(match["peer"])
    process = re.search(r'users:\(\("([^"]{1,60})"|\s\d+/(\S+)', match["rest"])
    state = match["state"].lower().replace("_", "-")
    return [
        Socket(
            state="established" if state == "estab" else state,
            address=address,
            port=port,
            peer=peer,
            peer_port=peer_port,
            process=(process[1] or process[2]) if process else None,
            **place(piece, number, line),
        )
    ]


def _endpoint(text: str) -> tuple[str | None, int | None]:
    address, _, port = text.rpartition(":")
    address = address.strip("[]").split("%")[0].removeprefix("::ffff:")
    named = {"https": 443, "http": 80}.get(port)
    return (address if address not in ("", "*", "0.0.0.0", "::") else None), int(port) if port.isdigit() else named


def _names(piece: Piece, lines: list[str]) -> Iterator[Fact]:
    """What a host's own name means: a Debian host has 127.0.1.1 for it in /etc/hosts."""
    for number, line in enumerate(lines):
        match = _HOSTS.match(line.split("#")[0].strip())
        if match is not None:
            address, name = match["address"], match["names"].split()[0]
        elif re.search(r"hostname -[iI]\b", piece.command or "") and re.match(r"\s*\d+\.\d+\.\d+\.\d+", line):
            address, name = line.split()[0], "this host"
        else:
            continue
        if name.startswith(("localhost", "ip6-")):
            continue
        yield OwnName(
            name=name,
            address=address,
            loopback=address.startswith("127.") or address == "::1",
            **place(piece, number, line),
        )
