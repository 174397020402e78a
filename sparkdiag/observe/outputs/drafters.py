"""The depth that a drafter was trained to, from its config file or the part of it that was printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...facts import Fact
from ...facts.piece import Piece
from ...facts.sums import Drafter
from .lines import looked, place

__all__ = ["observe_drafter"]

_KEYS: dict[str, bool | None] = {
    "dspark_block_size": False, "dflash_block_size": None, "draft_block_size": None, "spec_block_size": None,
    "speculative_tokens": False, "num_speculative_tokens": False, "num_draft_tokens": False, "max_draft_len": False,
}  # fmt: skip
"""Keys of drafters' configs, and whether the number counts the anchor token, as far as it is known."""
_IN_DRAFTERS = ("dflash_config", "proposal_methods", "speculators_config", "speculative_config", "draft_config")
_DRAFTER_FILE = re.compile(r"dflash|dspark|draft|eagle|speculator|mtp", re.IGNORECASE)
_PRINTED = re.compile(
    r"['\"]?\b(?P<key>dspark_block_size|dflash_block_size|draft_block_size|spec_block_size|"
    r"dflash\.block_size)['\"]?\s*[:=]\s*(?P<value>\d{1,3})\b"
)


def observe_drafter(piece: Piece) -> list[Fact]:
    """Drafter facts of a config, of jq's answer about one, or of text that prints the key."""
    out: dict[tuple[str, int], Drafter] = {}
    document = piece.meta.get("doc")
    if isinstance(document, (dict, list)):
        drafter_file = bool(_DRAFTER_FILE.search(str(piece.meta.get("file") or ""))) or _is_drafter(document)
        for key, value in _numbers(document, 0):
            if (key in _KEYS or (key == "block_size" and drafter_file)) and 1 <= value <= 128:
                line = _line_of(piece, key)
                out.setdefault((key, value), _drafter(piece, key, value, line))
    for at, text in enumerate(piece.text.split("\n") if "block_size" in piece.text else ()):
        match = _PRINTED.search(text) if len(text) < 2000 else None
        if match is not None and not any(value == int(match["value"]) for _, value in out):
            key = match["key"].replace("dflash.block_size", "dflash_block_size")
            out.setdefault((key, int(match["value"])), _drafter(piece, key, int(match["value"]), (at, text)))
    return [*out.values(), *(looked(piece, "drafter") if out else [])]


def _drafter(piece: Piece, key: str, value: int, line: tuple[int, str]) -> Drafter:
    return Drafter(block=value, key=key, counts_anchor=_KEYS.get(key), **place(piece, *line))


def _is_drafter(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    named = (
        str(document.get("architectures", ""))
        + str(document.get("model_type", ""))
        + str(document.get("speculators_model_type", ""))
    )
    return bool(_DRAFTER_FILE.search(named)) or any(key in document for key in _IN_DRAFTERS)


def _numbers(document: Any, depth: int) -> Iterator[tuple[str, int]]:
    if depth > 4:
        return
    if isinstance(document, Mapping):
        for key, value in document.items():
            if isinstance(value, int) and not isinstance(value, bool):
                yield str(key), value
            elif isinstance(value, (Mapping, list)):
                yield from _numbers(value, depth + 1)
    elif isinstance(document, list):
        for item in document[:8]:
            yield from _numbers(item, depth + 1)


def _line_of(piece: Piece, key: str) -> tuple[int, str]:
    for at, text in enumerate(piece.text.split("\n")):
        if key in text:
            return at, text
    return 0, f"{piece.command or key}: {piece.text.strip()[:80]}"
