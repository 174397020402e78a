"""What differs between the nodes of a pair: image, driver, kernel, DGX OS, the port that is cabled, the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..facts import Fact, Looked
from ..facts.pair import Difference

__all__ = ["differences"]

_CLOCK = 5.0
"""Seconds that two clocks may differ: the looks at them are not exact, and nothing minds less."""

_Read = Callable[[Sequence[Fact]], "tuple[str, Fact] | None"]


def differences(facts: Sequence[Fact]) -> list[Fact]:
    """Each node against the first one, for everything that both show."""
    nodes: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.where.node is not None and fact.kind in _KINDS:
            nodes.setdefault(fact.where.node, []).append(fact)
    if len(nodes) < 2:
        return []
    one, *others = sorted(nodes, key=lambda node: min(fact.order for fact in nodes[node]))
    out: list[Fact] = []
    for other in others:
        out += _of_values(one, other, nodes[one], nodes[other])
        out += _of_clocks(one, other, nodes[one], nodes[other])
    order = max(fact.order for found in nodes.values() for fact in found)
    first = nodes[one][0]
    return [*out, Looked(probe="difference", order=order, source=first.source)]


def _of_values(one: str, other: str, mine: Sequence[Fact], theirs: Sequence[Fact]) -> Iterator[Fact]:
    for what, read in _READERS:
        left, right = read(mine), read(theirs)
        if left is None or right is None or left[0] == right[0]:
            continue
        yield _difference(what, (one, *left), (other, *right))


def _of_clocks(one: str, other: str, mine: Sequence[Fact], theirs: Sequence[Fact]) -> Iterator[Fact]:
    left, right = (next((f for f in found if f.kind == "clock" and f.get("ahead")), None) for found in (mine, theirs))
    if left is None or right is None:
        return
    apart = float(str(left.get("ahead"))) - float(str(right.get("ahead")))
    if abs(apart) >= _CLOCK:
        told = ("ahead", "behind") if apart > 0 else ("behind", "ahead")
        yield _difference("clock", (one, told[0], left), (other, told[1], right), seconds=round(abs(apart), 1))


def _difference(
    what: str, one: tuple[str, str, Fact], other: tuple[str, str, Fact], seconds: float | None = None
) -> Difference:
    later = max(one[2], other[2], key=lambda fact: fact.order)
    return Difference(
        what=what, one=one[0], other=other[0], mine=one[1], theirs=other[1], seconds=seconds,
        order=later.order, time=later.time, clock=later.clock, source=later.source,
    )  # fmt: skip


def _field(kind: str, name: str) -> _Read:
    def read(facts: Sequence[Fact]) -> tuple[str, Fact] | None:
        for fact in facts:
            value = fact.get(name) if fact.kind == kind else None
            if isinstance(value, str) and value:
                return value, fact
        return None

    return read


def _image(facts: Sequence[Fact]) -> tuple[str, Fact] | None:
    """The image of the engine's container by its digest, which a tag may hide; without digests, by its name."""
    images = [fact for fact in facts if fact.kind == "image" and fact.get("digest")]
    if len({fact.get("digest") for fact in images}) == 1:
        fact = images[0]
        return f"{fact.get('name')}:{fact.get('tag') or 'latest'} at {fact.get('digest')}", fact
    running = [f for f in facts if f.kind == "container" and f.get("engine") and f.get("state") == "running"]
    names = {str(fact.get("image")) for fact in running if fact.get("image")}
    return (names.pop(), running[0]) if len(names) == 1 and not images else None


def _fabric_ports(facts: Sequence[Fact]) -> tuple[str, Fact] | None:
    """The ports of the ConnectX that are up, by name; its second names (enP2p...) go with the first."""
    ports = [
        fact
        for fact in facts
        if fact.kind == "iface" and fact.get("sort") == "fabric" and fact.get("state") == "up"
    ]  # fmt: skip
    names = sorted({str(fact.get("name")) for fact in ports})
    return (", ".join(names), ports[0]) if names else None


_READERS: tuple[tuple[str, _Read], ...] = (
    ("image", _image),
    ("driver", _field("driver", "version")),
    ("kernel", _field("system", "kernel")),
    ("dgx-os", _field("system", "dgx_os")),
    ("fabric-port", _fabric_ports),
)
_KINDS = frozenset({"image", "container", "driver", "system", "iface", "clock"})
