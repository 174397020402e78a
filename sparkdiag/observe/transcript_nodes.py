"""Which node a part of a transcript speaks of, when it speaks of several.

Names come from prompts, ssh, tags before lines, headings and remarks. A single name says nothing that could be told
apart from anything else, so it is used only where there are two or more.
"""

from __future__ import annotations

from collections import Counter

from .patterns import lazy

__all__ = ["NodeNames", "heading_node", "strip_tags"]

_IP = lazy(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
_NOT_NODES = lazy(
    r"(?i)(?:trace|debug|info|notice|progress|warn|warning|error|err|critical|fatal|notset|rank\d+|[dpte]p\d+.*|"
    r"monitor|client|server|proxy|gloo|aiter|pip|ok|fail|skip|done|step|stderr|stdout|cuda|nccl|python|vllm|sglang|ray|docker)\Z"
)
_HOSTLIKE = lazy(r"(?i)(?:.*\d.*|.*(?:spark|node|head|worker|master|gb10|dgx|gx10|host|left|right|control).*)\Z")
_TAG = lazy(r"\[(?P<tag>[A-Za-z][A-Za-z0-9.-]*(?: \d{1,2})?|(?:\d{1,3}\.){3}\d{1,3})\] ?")
_PDSH = lazy(r"(?P<tag>[A-Za-z][A-Za-z0-9.-]*|(?:\d{1,3}\.){3}\d{1,3}): (?=\S)")
_ROLE = lazy(
    r"(?i)\b(?P<role>head|worker|master|leader|follower|control|primary|secondary)"
    r"(?:[ -]?(?:node|unit|machine|host|side|box|spark))?(?: ?#?(?P<number>\d{1,2}))?\b"
)
_NUMBERED = lazy(r"(?i)\b(?P<noun>node|host|rank|machine|box|spark|dgx)[ _#-]?(?P<name>\d{1,2}|[a-z])\b")
_HOST = lazy(r"(?i)\b(?:spark|dgx|gb10|gx10)\w*-[\w-]+\b")
_PLACED = lazy(r"(?i)\b(?:on|at|from|@) +(?P<host>[a-z][\w-]*[\d-][\w-]*)\b")


def strip_tags(lines: list[str]) -> tuple[list[str], list[str | None]]:
    """Lines without the `[spark-b] ` (or pdsh's `spark-b: `) before them, and the node that each was tagged with."""
    for pattern, every in ((_TAG, False), (_PDSH, True)):
        tags = [match["tag"] if (match := pattern.match(line)) else None for line in lines]
        counts = Counter(tag for tag in tags if tag and _HOSTLIKE.match(tag) and not _NOT_NODES.match(tag))
        filled = sum(1 for line in lines if line.strip())
        if len(counts) < 2 or len(counts) > 64:
            continue
        if every and (sum(counts.values()) < filled * 0.95 or filled < 4):
            continue
        if not every and sum(counts.values()) < 2:
            continue
        nodes = [tag if tag in counts else None for tag in tags]
        return [
            line if node is None else line[match.end() :] if (match := pattern.match(line)) else line
            for line, node in zip(lines, nodes, strict=True)
        ], nodes
    return lines, [None] * len(lines)


def heading_node(text: str) -> tuple[str, ...]:
    """The names of the node that a heading or remark speaks of, the best one first; none where it is not clear."""
    if len(text) > 100:
        return ()
    hosts = list(dict.fromkeys(_HOST.findall(text)))
    placed = _PLACED.search(text)
    if placed and placed["host"] not in hosts and not _NUMBERED.fullmatch(placed["host"]):
        hosts.append(placed["host"])
    if len(hosts) > 1:
        hosts = [placed["host"]] if placed else []
        if not hosts:
            return ()
    role, numbered = _ROLE.search(text), _NUMBERED.search(text)
    names = list(hosts)
    if role:
        names.append(role["role"].lower() + (role["number"] or ""))
    if numbered and numbered.group() not in hosts:
        names.append(f"{numbered['noun'].lower()}-{numbered['name'].lower()}")
    addresses = list(dict.fromkeys(_IP.findall(text)))
    return tuple(dict.fromkeys([*names, *(addresses if len(addresses) == 1 else [])]))


class NodeNames:
    """All node names of a transcript; tells one node's names from another's."""

    __slots__ = ("_aliases", "_names")

    def __init__(self) -> None:
        self._aliases: dict[str, str] = {}
        self._names: dict[str, None] = {}

    def add(self, *names: str | None) -> None:
        """The names of one node; the first is the one to use, unless it is known by another already."""
        told = [name for name in names if name and name not in ("localhost", "127.0.0.1", "::1")]
        if not told:
            return
        main = next((self._aliases[name] for name in told if name in self._aliases), told[0])
        for name in told:
            if name != main:
                self._aliases.setdefault(name, main)
        self._names[main] = None

    def resolve(self, name: str | None) -> str | None:
        """The name to use for a node: None unless two or more different nodes are named."""
        if name is None or not self.several:
            return None
        return self._aliases.get(name, name)

    @property
    def several(self) -> bool:
        """Two different nodes, or more, have been named."""
        return len({self._aliases.get(name, name) for name in self._names}) > 1
