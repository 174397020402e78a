"""JSON values one after the other in a text, as jq prints them."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["json_values"]


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
