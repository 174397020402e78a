"""How much memory a node has left: free, /proc/meminfo, vmstat, sar, top, earlyoom, and lines of watching scripts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...facts import Fact
from ...facts.node import MemoryPressure, MemorySample
from ...facts.piece import Piece
from .lines import awk_columns, lines_with, looked, number, place, program, stages

__all__ = ["observe_memory"]

MAX_SAMPLES = 400
"""Samples read of one piece: a monitor may print for days. The last ones count."""

_GIB = 2.0**30
_UNITS = {
    "b": 1.0, "": 1.0, "k": 2.0**10, "kb": 2.0**10, "kib": 2.0**10, "ki": 2.0**10, "m": 2.0**20, "mib": 2.0**20,
    "mi": 2.0**20,
    "mb": 10.0**6, "g": _GIB, "gib": _GIB, "gi": _GIB, "gb": 10.0**9, "t": 2.0**40, "ti": 2.0**40, "tib": 2.0**40,
    "tb": 10.0**12,
}  # fmt: skip


def observe_memory(piece: Piece) -> list[Fact]:
    """Memory samples and pressure of one piece."""
    samples = _free(piece) + _meminfo(piece) + _top(piece) + _tables(piece) + _columns(piece) + _watched(piece)
    pressure = _pressure(piece)
    out: list[Fact] = [*sorted(samples, key=lambda fact: fact.order)[-MAX_SAMPLES:], *pressure]
    if samples:
        out += looked(piece, "memory", "meminfo")
    if pressure:
        out += looked(piece, "pressure")
    return out


@dataclass(slots=True)
class _Figures:
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


def _bytes(text: str, unit: float) -> float | None:
    """A figure with its own unit, or in the unit given."""
    match = re.fullmatch(r"(\d[\d,]*\.?\d*)([A-Za-z]*)", text)
    if match is None or match[2].lower() not in _UNITS:
        return None
    value = float(match[1].replace(",", ""))
    return value * (_UNITS[match[2].lower()] if match[2] else unit)


_FREE_ROW = re.compile(
    r"\s*(?P<label>Mem|Swap)\S{0,2}:\s+(?P<figures>[\d.,]+[A-Za-z]*(?:\s+[\d.,]+[A-Za-z]*){2,7})\s*\Z"
)


def _free(piece: Piece) -> list[MemorySample]:
    """free, with or without its heading; a Swap row belongs to the Mem row above it."""
    if "Mem:" not in piece.text and "Mem :" not in piece.text:
        return _awked_free(piece)
    named = _free_unit(piece)
    out: list[MemorySample] = []
    current: tuple[_Figures, int, str] | None = None
    for at, line in lines_with(piece.text, "Mem", "Swap"):
        match = _FREE_ROW.match(line)
        if match is None:
            continue
        figures = match["figures"].split()
        unit = named if named is not None else _guessed(figures[0])
        values = [_bytes(figure, unit) for figure in figures]
        if match["label"] == "Swap":
            if current is not None:
                current[0].swap_total, current[0].swap_used = values[0], values[1]
            continue
        if current is not None:
            out.append(current[0].fact(piece, current[1], current[2], "free"))
        known = _Figures(total=values[0], used=values[1], free=values[2])
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


def _guessed(total: str) -> float:
    """The unit of a bare figure, from the size that a node's memory can have."""
    value = number(total) or 0.0
    return _GIB if value < 4096 else 2.0**20 if value < 4_000_000 else 2.0**10 if value < 4e9 else 1.0


def _awked_free(piece: Piece) -> list[MemorySample]:
    """`free -g | awk '/Mem/ {print $7}'`"""
    columns = awk_columns(piece)
    lines = [(at, line) for at, line in enumerate(piece.text.split("\n")) if line.strip()]
    if program(piece) != "free" or columns is None or len(lines) != 1:
        return []
    names = {2: "total", 3: "used", 4: "free", 6: "cache", 7: "available", -1: "available"}
    figures = re.findall(r"\d[\d.,]*[A-Za-z]*", lines[0][1])
    if len(figures) != len(columns):
        return []
    known, unit = _Figures(), _free_unit(piece) or 2.0**10
    for column, figure in zip(columns, figures, strict=True):
        if column in names:
            setattr(known, names[column], _bytes(figure, unit))
    if known.available is None and known.free is None:
        return []
    return [known.fact(piece, lines[0][0], lines[0][1], "free")]


_MEMINFO = re.compile(r"\s*(?P<key>[A-Z]\w+(?:\([a-z]+\))?):\s+(?P<kb>\d+) kB\s*\Z")
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
    if " kB" not in piece.text:
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

    for at, line in lines_with(piece.text, " kB"):
        match = _MEMINFO.match(line)
        if match is None:
            continue
        if match["key"] in values:
            close()
        if first is None:
            first = (at, line)
        values[match["key"]] = float(match["kb"]) * 1024
    close()
    return out


def _shown(values: dict[str, float], line: str) -> str:
    keys = ("MemTotal", "MemFree", "MemAvailable", "Cached")
    told = ", ".join(f"{key} {values[key] / _GIB:.1f} GiB" for key in keys if key in values)
    return told or line


def _of_meminfo(values: dict[str, float]) -> _Figures:
    known = _Figures(total=values.get("MemTotal"), free=values.get("MemFree"), available=values.get("MemAvailable"))
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
        unit = _UNITS[match["unit"].lower()]
        known = _Figures(total=float(match["total"]) * unit, free=float(match["free"]) * unit)
        known.used, known.cache = float(match["used"]) * unit, float(match["cache"]) * unit
        swap = _TOP_SWAP.search(lines[at + 1]) if at + 1 < len(lines) else None
        if swap is not None:
            unit = _UNITS[swap["unit"].lower()]
            known.swap_total, known.swap_used = float(swap["total"]) * unit, float(swap["used"]) * unit
            known.available = float(swap["available"]) * unit
        out.append(known.fact(piece, at, line, "top"))
    return out


def _tables(piece: Piece) -> list[MemorySample]:
    """vmstat and sar -r: columns by their heading, or by sar's usual order where awk took the heading off."""
    out: list[MemorySample] = []
    heading: list[str] = []
    headed = any(sign in piece.text for sign in ("kbavail", "kbmemfree", "swpd"))
    for at, line in enumerate(piece.text.split("\n") if headed else ()):
        words = line.split()
        if "kbavail" in words or "kbmemfree" in words or {"swpd", "free", "buff"} <= set(words):
            heading = words
            continue
        figures = words[-len(heading) :] if heading else []
        if heading and "swpd" in heading and len(words) == len(heading) and words[0].isdigit():
            row = dict(zip(heading, words, strict=True))
            known = _vmstat(row, _vmstat_unit(piece))
            out.append(known.fact(piece, at, line, "vmstat"))
        elif heading and len(words) >= len(heading) > 2 and re.match(r"\d\d:\d\d|Average", line):
            offset = len(words) - len(heading)
            row = dict(zip(heading[-len(figures) :], words[offset:], strict=False))
            out += _sar(row, piece, at, line)
    if not out and program(piece) == "sar" and not heading:
        out = _awked_sar(piece)
    return out


def _vmstat_unit(piece: Piece) -> float:
    told = re.search(r"-S ?([kKmM])", piece.command or "")
    return {"k": 1000.0, "K": 1024.0, "m": 1e6, "M": 2.0**20}[told[1]] if told else 1024.0


def _vmstat(row: dict[str, str], unit: float) -> _Figures:
    values = {key: number(value) or 0.0 for key, value in row.items()}
    moved = values.get("si", 0.0) + values.get("so", 0.0)
    return _Figures(
        free=values.get("free", 0.0) * unit,
        cache=(values.get("buff", 0.0) + values.get("cache", 0.0)) * unit,
        swap_used=values.get("swpd", 0.0) * unit,
        swapping=moved >= 2000,
    )


def _sar(row: dict[str, str], piece: Piece, at: int, line: str) -> list[MemorySample]:
    free, available, used = (number(row.get(key, "")) for key in ("kbmemfree", "kbavail", "kbmemused"))
    if free is None and available is None:
        return []
    known = _Figures(
        free=None if free is None else free * 1024,
        available=None if available is None else available * 1024,
        used=None if used is None else used * 1024,
    )
    return [known.fact(piece, at, line, "sar")]


_SAR_COLUMNS = ("time", "kbmemfree", "kbavail", "kbmemused", "%memused", "kbbuffers", "kbcached")


def _awked_sar(piece: Piece) -> list[MemorySample]:
    """sar -r without its heading: all columns, or those that awk kept.

    With a 12-hour clock the time takes two columns; a figure that kept its place is told by its size alone.
    """
    columns = awk_columns(piece)
    out: list[MemorySample] = []
    for at, line in enumerate(piece.text.split("\n")):
        words = line.split()
        if not words or not re.match(r"\d\d:\d\d:\d\d|Average:", words[0]):
            continue
        shift = 1 if len(words) > 1 and words[1] in ("AM", "PM") else 0
        if columns is None:
            row = dict(zip(_SAR_COLUMNS, [words[0], *words[1 + shift :]], strict=False))
        else:
            figures = [word for word in words if word not in ("AM", "PM")]
            if len(figures) != len(columns):
                continue
            row = {}
            for column, figure in zip(columns, figures, strict=True):
                if 1 <= column <= len(_SAR_COLUMNS):
                    row[_SAR_COLUMNS[column - 1]] = figure
            if set(row) == {"time", "kbmemused"}:  # the fourth column is kbavail where the clock shows AM and PM
                row = {"kbavail": row["kbmemused"]}
        out += _sar(row, piece, at, line)
    return out


_COLUMN = re.compile(
    r"(?:host_|host |sys_|system )?mem_?avail\w*|memavailable|avail(?:able)?(?: mem\w*)?", re.IGNORECASE
)
_HEADING_UNIT = re.compile(r"[\[(_ ](?P<unit>[kKMG]i?B)\b")


def _columns(piece: Piece) -> list[MemorySample]:
    """Tables of a watching script: a heading with a column for available memory, split by bars, commas or tabs."""
    out: list[MemorySample] = []
    lines = piece.text.split("\n") if "vail" in piece.text else []
    for at, line in enumerate(lines):
        mark = next((mark for mark in ("|", ",", "\t") if line.count(mark) >= 1), None)
        if mark is None or "vail" not in line or len(line) > 300:
            continue
        names = [cell.strip(" `*") for cell in line.strip().strip("|").split(mark)]
        column = next((i for i, name in enumerate(names) if _COLUMN.match(name)), None)
        if column is None or len(names) < 2 or any(re.search(r"\d", name) for name in names):
            continue
        told = _HEADING_UNIT.search(names[column])
        for below in range(at + 1, min(at + 2000, len(lines))):
            cells = [cell.strip(" `*") for cell in lines[below].strip().strip("|").split(mark)]
            if len(cells) != len(names):
                break
            figure = re.fullmatch(r"(\d[\d.]*) ?([kKMG]i?B?)?", cells[column])
            if figure is None:
                continue
            unit = figure[2] or (told["unit"] if told else None)
            scale = _UNITS[unit.lower()] if unit else _guessed(figure[1])
            known = _Figures(available=float(figure[1]) * scale)
            out.append(known.fact(piece, below, lines[below], "monitor"))
    return out


_FIGURE = r"(?P<figure>\d[\d,]*(?:\.\d+)?)\s*(?P<unit>[kKMGT]i?B|[KMGT]i?|bytes)?\b"
_WATCHED = re.compile(
    r"(?P<what>\bmem(?:ory)?[ _-]?avail(?:able)?\b|\bavail(?:able)?[ _-](?:system |host |unified |node |system RAM |"
    r"host RAM )?"
    r"(?:mem(?:ory)?|RAM)\b|\bhost[ _]available\b|\bmem(?:ory)?[ _-]?free\b|\bfree[ _-](?:system |host |"
    r"unified )?mem(?:ory)?\b)"
    rf"[^\d\n]{{0,24}}?{_FIGURE}(?: of (?P<total>\d[\d,.]*) ?(?P<total_unit>[kKMGT]i?B))?",
    re.IGNORECASE,
)
_NOT_HOST = re.compile(
    r"avail mem=|\b(?:KV|GPU|cuda:\d|CUDA|device|cache|VRAM|initial|current|on startup|larger than|profil)",
    re.IGNORECASE,
)


def _watched(piece: Piece) -> list[MemorySample]:
    """Lines such as `[monitor] 13:05:44 MemAvailable 61.2 GiB`, and earlyoom's `mem avail: 612 of 121695 MiB`."""
    out = []
    for at, line in lines_with(piece.text, "vail", "mFree", "free mem", "memory free", "memory_free"):
        if len(line) > 400:
            continue
        match = _WATCHED.search(line)
        if match is None or _MEMINFO.match(line) or _TOP_SWAP.search(line):
            continue
        if _NOT_HOST.search(line[: match.start()][-40:] + line[match.start() : match.start("figure")]):
            continue
        unit = (match["unit"] or match["total_unit"] or "").lower()
        if unit == "" or unit not in _UNITS:
            continue
        value = float(match["figure"].replace(",", "")) * _UNITS[unit]
        known = _Figures()
        if "free" in match["what"].lower():
            known.free = value
        else:
            known.available = value
        if match["total"]:
            known.total = _bytes(match["total"].replace(" ", ""), _UNITS[match["total_unit"].lower()])
        by = "earlyoom" if "mem avail:" in line else "monitor"
        out.append(known.fact(piece, at, line, by))
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
