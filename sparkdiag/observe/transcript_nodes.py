"""Which node a part of a transcript speaks of, when it speaks of several.

Names come from prompts, ssh, tags before lines, headings and remarks. A single name says nothing that could be told
apart from anything else, so it is used only where there are two or more.
"""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["NodeNames", "heading_node", "strip_tags"]

_IP = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
_NOT_NODES = re.compile(
    r"(?i)(?:trace|debug|info|notice|progress|warn|warning|error|err|critical|fatal|notset|rank\d+|[dpte]p\d+.*|"
    r"monitor|client|server|proxy|gloo|aiter|pip|ok|fail|skip|done|step|stderr|stdout|cuda|nccl|python|vllm|sglang|ray|docker)\Z"
)
_HOSTLIKE = re.compile(r"(?i)(?:.*\d.*|.*(?:spark|node|head|worker|master|gb10|dgx|gx10|host|left|right|control).*)\Z")
_TAG = re.compile(r"\[(?P<tag>[A-Za-z][A-Za-z0-9.-]*(?: \d{1,2})?|(?:\d{1,3}\.){3}\d{1,3})\] ?")
_PDSH = re.compile(r"(?P<tag>[A-Za-z][A-Za-z0-9.-]*|(?:\d{1,3}\.){3}\d{1,3}): (?=\S)")
_ROLE = re.compile(
    r"(?i)\b(?:(?P<role>head|worker|master|leader|follower|control|primary|secondary)"
    r"(?:[ -]?(?:node|unit|machine|host|side|box|spark))?"
    r"(?: ?#?(?P<number>\d{1,2}))?|(?P<noun>node|host|rank|machine|box|spark|dgx)[ _#-]?(?P<name>\d{1,2}|[a-z])|"
    r"(?P<full>(?:spark|dgx|gb10|gx10|node|host)[\w]*-[\w-]+))\b"
)


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


def heading_node(text: str) -> tuple[str | None, str | None]:
    """(node, address) that a heading or remark names; None where it names none."""
    if len(text) > 100:
        return None, None
    address = _IP.search(text)
    found = _ROLE.search(text)
    name = None
    if found:
        if found["role"]:
            name = found["role"].lower() + (found["number"] or "")
        elif found["noun"]:
            name = f"{found['noun'].lower()}-{found['name'].lower()}"
        else:
            name = found["full"]
    return name or (address.group() if address else None), address.group() if address else None


class NodeNames:
    """All node names of a transcript; tells one node's names from another's."""

    __slots__ = ("_aliases", "_names")

    def __init__(self) -> None:
        self._aliases: dict[str, str] = {}
        self._names: dict[str, None] = {}

    def add(self, name: str | None, address: str | None = None) -> None:
        """One more name, and the address that it was named with."""
        if not name or name in ("localhost", "127.0.0.1", "::1"):
            return
        if address and address != name:
            self._aliases[address] = name
        self._names[name] = None

    def resolve(self, name: str | None) -> str | None:
        """The name to use for a node: None unless two or more different nodes are named."""
        if name is None or not self.several:
            return None
        return self._aliases.get(name, name)

    @property
    def several(self) -> bool:
        return len({self._aliases.get(name, name) for name in self._names}) > 1
