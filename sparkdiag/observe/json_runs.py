"""JSON values one after the other in a text, as jq prints them."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["json_values", "unwrapped"]

MAX_WRAPPED = 1_000_000


def unwrapped(text: str) -> str:
    """JSON that a terminal or `fold` broke into lines in the middle of its strings, as one line; streams likewise.
    Other text as it is.

    JSON itself has no line break in a string, so lines that are no JSON, and are one once joined, were broken so.
    """
    if text.startswith("data:"):
        return _unwrapped_stream(text)
    if text.lstrip()[:1] not in ("{", "[") or "\n" not in text.strip() or len(text) > MAX_WRAPPED:
        return text
    lines = text.strip("\n").split("\n")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        for joint in ("", " "):
            joined = joint.join(lines)
            try:
                json.loads(joined)
            except (ValueError, RecursionError):
                continue
            return joined
    return text


def _unwrapped_stream(text: str) -> str:
    """A stream whose long lines were all broken at one width."""
    lines = text.split("\n")
    width = max(map(len, lines))
    if sum(len(line) == width for line in lines) < 2:
        return text
    out: list[str] = []
    wrapped = False
    for line in lines:
        if wrapped and line and not line.startswith(("data:", "event:", ":", "id:")):
            out[-1] += line
        else:
            out.append(line)
        wrapped = len(line) == width
    return "\n".join(out)


def json_values(text: str, limit: int = 1000) -> tuple[list[tuple[Any, int, int]], int]:
    """The JSON values one after the other in a text, each with start and end, and where reading stopped."""
    decoder, at = json.JSONDecoder(), 0
    out: list[tuple[Any, int, int]] = []
    while len(out) < limit:
        while at < len(text) and text[at] in " \t\r\n\x1e":
            at += 1
        if at >= len(text):
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        out.append((value, at, end))
        at = end
    return out, at
