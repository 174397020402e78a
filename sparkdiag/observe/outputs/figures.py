"""Figures of memory, with and without units, and a sample of them before it becomes a fact."""

from __future__ import annotations

import re

from ...facts.node import MemorySample
from ...facts.piece import Piece
from ...records import dataclass
from .lines import number, place

__all__ = ["UNITS", "Figures", "guessed", "in_bytes"]

_GIB = 2.0**30
UNITS = {
    "b": 1.0, "": 1.0, "k": 2.0**10, "kb": 2.0**10, "kib": 2.0**10, "ki": 2.0**10, "m": 2.0**20, "mib": 2.0**20,
    "mi": 2.0**20,
    "mb": 10.0**6, "g": _GIB, "gib": _GIB, "gi": _GIB, "gb": 10.0**9, "t": 2.0**40, "ti": 2.0**40, "tib": 2.0**40,
    "tb": 10.0**12,
}  # fmt: skip


@dataclass(slots=True)
class Figures:
    """One sample in bytes, before it becomes a fact."""

    total: float | None = None
    free: float | None = None
    available: float | None = None
    used: float | None = None
    cache: float | None = None
    unaccounted: float | None = None
    swap_total: float | None = None
    swap_used: float | None = None
    swapping: bool | None = None

    def fact(self, piece: Piece, line: int, text: str, by: str) -> MemorySample:
        reclaimable = None
        if self.available is not None and self.free is not None:
            reclaimable = max(0.0, self.available - self.free)
        return MemorySample(
            by=by,
            total_gib=_gib(self.total),
            free_gib=_gib(self.free),
            available_gib=_gib(self.available),
            used_gib=_gib(self.used),
            cache_gib=_gib(self.cache),
            reclaimable_gib=_gib(reclaimable),
            available_share=_share(self.available, self.total),
            free_share=_share(self.free, self.total),
            unaccounted_gib=_gib(self.unaccounted),
            swap_total_gib=_gib(self.swap_total),
            swap_used_gib=_gib(self.swap_used),
            swap_share=_share(self.swap_used, self.swap_total),
            swapping=self.swapping,
            **place(piece, line, text),
        )


def _gib(value: float | None) -> float | None:
    return None if value is None else round(value / _GIB, 2)


def _share(part: float | None, whole: float | None) -> float | None:
    return round(part / whole, 4) if part is not None and whole else None


def in_bytes(text: str, unit: float) -> float | None:
    """A figure with its own unit, or in the unit given."""
    match = re.fullmatch(r"(\d[\d,]*\.?\d*)([A-Za-z]*)", text)
    if match is None or match[2].lower() not in UNITS:
        return None
    value = float(match[1].replace(",", ""))
    return value * (UNITS[match[2].lower()] if match[2] else unit)


def guessed(total: str) -> float:
    """The unit of a bare figure, from the size that a node's memory can have."""
    value = number(total) or 0.0
    return _GIB if value < 4096 else 2.0**20 if value < 4_000_000 else 2.0**10 if value < 4e9 else 1.0
