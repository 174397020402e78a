"""How much memory a node has left: free, /proc/meminfo, vmstat, sar, top, earlyoom, and lines of watching scripts."""

from __future__ import annotations

import re
from typing import Any

from ...facts import Fact
from ...facts.node import MemoryPressure, MemorySample
from ...facts.piece import Piece
from .figures import UNITS, Figures, guessed, in_bytes
from .lines import awk_columns, lines_with, looked, place, program, stages
from .memory_monitors import columns, tables, watched

__all__ = ["observe_memory"]

_GIB = 2.0**30
MAX_SAMPLES = 400
"""Samples read of one piece: a monitor may print for days. The last ones count."""


def observe_memory(piece: Piece) -> list[Fact]:
    """Memory samples and pressure of one piece."""
    samples = _free(piece) + _meminfo(piece) + _top(piece) + tables(piece) + columns(piece) + watched(piece)
    pressure = _pressure(piece)
    out: list[Fact] = [*sorted(samples, key=lambda fact: fact.order)[-MAX_SAMPLES:], *pressure]
    if samples:
        out += looked(piece, "memory", "meminfo")
    if pressure:
        out += looked(piece, "pressure")
    return out


_FREE_ROW = re.compile(
    r"\s*(?P<label>Mem|Swap)\S{0,2}:\s+(?P<figures>[\d.,]+[A-Za-z]*(?:\s+[\d.,]+[A-Za-z]*){2,7})\s*\Z"
)


def _free(piece: Piece) -> list[MemorySample]:
    """free, with or without its heading; a Swap row belongs to the Mem row above it."""
    if "Mem:" not in piece.text and "Mem :" not in piece.text:
        return _awked_free(piece)
    named = _free_unit(piece)
    out: list[MemorySample] = []
    current: tuple[Figures, int, str] | None = None
    for at, line in lines_with(piece.text, "Mem", "Swap"):
        match = _FREE_ROW.match(line)
        if match is None:
            continue
        figures = match["figures"].split()
        unit = named if named is not None else guessed(figures[0])
        values = [in_bytes(figure, unit) for figure in figures]
        if match["label"] == "Swap":
            if current is not None:
                current[0].swap_total, current[0].swap_used = values[0], values[1]
            continue
        if current is not None:
            out.append(current[0].fact(piece, current[1], current[2], "free"))
        known = Figures(total=values[0], used=values[1], free=values[2])
        if len(values) >= 6:
            known.cache, known.available = values[4], values[5]
        current = (known, at, line)
    if current is not None:
        out.append(current[0].fact(piece, current[1], current[2], "free"))
    return out


def _free_unit(piece: Piece) -> float | None:
    """The unit that free's options ask for; None where the command is not known."""
    words = next((words for words in stages(piece) if words and words[0].rsplit("/", 1)[-1] == "free"), None)
    if words is None:
        return None
    units = {
        "-b": 1.0,
        "--bytes": 1.0,
        "-k": 2.0**10,
        "--kibi": 2.0**10,
        "-m": 2.0**20,
        "--mebi": 2.0**20,
        "-g": _GIB,
        "--gibi": _GIB,
    }
    for word in words[1:]:
        if word in units:
            return units[word]
        short = re.fullmatch(r"-[a-z]*([bkmg])[a-z]*", word)
        if short and "h" not in word:
            return units[f"-{short[1]}"]
    return 2.0**10


def _awked_free(piece: Piece) -> list[MemorySample]:
    """`free -g | awk '/Mem/ {print $7}'`"""
    kept = awk_columns(piece)
    lines = [(at, line) for at, line in enumerate(piece.text.split("\n")) if line.strip()]
    if program(piece) != "free" or kept is None or len(lines) != 1:
        return []
    names = {2: "total", 3: "used", 4: "free", 6: "cache", 7: "available", -1: "available"}
    figures = re.findall(r"\d[\d.,]*[A-Za-z]*", lines[0][1])
    if len(figures) != len(kept):
        return []
    known, unit = Figures(), _free_unit(piece) or 2.0**10
    for column, figure in zip(kept, figures, strict=True):
        if column in names:
            setattr(known, names[column], in_bytes(figure, unit))
    if known.available is None and known.free is None:
        return []
    return [known.fact(piece, lines[0][0], lines[0][1], "free")]


_MEMINFO = re.compile(r"\s*(?P<key>[A-Z]\w+(?:\([a-z]+\))?):\s+(?P<figure>\d+(?:\.\d+)?) ?(?P<unit>kB|[MG]i?B)\s*\Z")
_COUNTED = (
    "MemFree",
    "Buffers",
    "Cached",
    "AnonPages",
    "Slab",
    "KernelStack",
    "PageTables",
    "VmallocUsed",
    "Percpu",
    "SwapCached",
)


def _meminfo(piece: Piece) -> list[MemorySample]:
    """/proc/meminfo, whole or grepped; a new MemTotal (or MemFree) begins a new sample."""
    if "Mem" not in piece.text:
        return []
    out: list[MemorySample] = []
    values: dict[str, float] = {}
    first: tuple[int, str] | None = None

    def close() -> None:
        nonlocal first
        if first is not None and ("MemAvailable" in values or "MemFree" in values):
            out.append(_of_meminfo(values).fact(piece, first[0], _shown(values, first[1]), "meminfo"))
        values.clear()
        first = None

    for at, line in lines_with(piece.text, " kB", "Mem", "Cached", "Swap"):
        match = _MEMINFO.match(line)
        if match is None:
            continue
        if match["key"] in values:
            close()
        if first is None:
            first = (at, line)
        values[match["key"]] = float(match["figure"]) * (
            1024 if match["unit"] == "kB" else UNITS[match["unit"].lower()]
        )
    close()
    return out


def _shown(values: dict[str, float], line: str) -> str:
    keys = ("MemTotal", "MemFree", "MemAvailable", "Cached")
    told = ", ".join(f"{key} {values[key] / _GIB:.1f} GiB" for key in keys if key in values)
    return told or line


def _of_meminfo(values: dict[str, float]) -> Figures:
    known = Figures(total=values.get("MemTotal"), free=values.get("MemFree"), available=values.get("MemAvailable"))
    if known.total is not None and known.available is not None:
        known.used = known.total - known.available  # as free has it
    if "Cached" in values:
        known.cache = values["Cached"] + values.get("Buffers", 0.0)
    if known.total is not None and "AnonPages" in values and "Cached" in values and known.free is not None:
        slab = values.get("Slab", values.get("KReclaimable", 0.0) + values.get("SUnreclaim", 0.0))
        counted = sum(values.get(key, 0.0) for key in _COUNTED if key != "Slab") + slab
        known.unaccounted = max(0.0, known.total - counted)
    if values.get("SwapTotal"):
        known.swap_total = values["SwapTotal"]
        known.swap_used = values["SwapTotal"] - values.get("SwapFree", values["SwapTotal"])
    return known


_TOP_MEM = re.compile(
    r"(?P<unit>[KMG]i?B) Mem ?: +(?P<total>[\d.]+)\+? total, +(?P<free>[\d.]+)\+? free, +(?P<used>[\d.]+)\+? used, "
    r"+(?P<cache>[\d.]+)\+? buff/cache"
)
_TOP_SWAP = re.compile(
    r"(?P<unit>[KMG]i?B) Swap: +(?P<total>[\d.]+)\+? total, +(?P<free>[\d.]+)\+? free, +(?P<used>[\d.]+)\+? used\. "
    r"+(?P<available>[\d.]+)\+? avail Mem"
)


def _top(piece: Piece) -> list[MemorySample]:
    """The two summary lines of top."""
    if "buff/cache" not in piece.text or " Mem" not in piece.text:
        return []
    out = []
    lines = piece.text.split("\n")
    for at, line in enumerate(lines):
        match = _TOP_MEM.search(line)
        if match is None:
            continue
        unit = UNITS[match["unit"].lower()]
        known = Figures(total=float(match["total"]) * unit, free=float(match["free"]) * unit)
        known.used, known.cache = float(match["used"]) * unit, float(match["cache"]) * unit
        swap = _TOP_SWAP.search(lines[at + 1]) if at + 1 < len(lines) else None
        if swap is not None:
            unit = UNITS[swap["unit"].lower()]
            known.swap_total, known.swap_used = float(swap["total"]) * unit, float(swap["used"]) * unit
            known.available = float(swap["available"]) * unit
        out.append(known.fact(piece, at, line, "top"))
    return out


_PSI = re.compile(r"\b(?P<kind>some|full) avg10=(?P<ten>[\d.]+) avg60=(?P<sixty>[\d.]+)")


def _pressure(piece: Piece) -> list[MemoryPressure]:
    """/proc/pressure/memory: the two lines make one fact."""
    if "avg10=" not in piece.text or re.search(r"pressure/(?:cpu|io)\b", piece.command or ""):
        return []
    out: list[MemoryPressure] = []
    known: dict[str, Any] = {}
    first: tuple[int, str] | None = None
    for at, line in lines_with(piece.text, "avg10="):
        match = _PSI.search(line)
        if match is None:
            continue
        if first is not None and f"{match['kind']}_avg10" in known:
            out.append(MemoryPressure(**known, **place(piece, *first)))
            known, first = {}, None
        if first is None or match["kind"] == "full":
            first = (at, line)
        known[f"{match['kind']}_avg10"] = float(match["ten"])
        known[f"{match['kind']}_avg60"] = float(match["sixty"])
    if first is not None:
        out.append(MemoryPressure(**known, **place(piece, *first)))
    return out
