"""Memory over time: vmstat, sar -r, earlyoom, and the lines and tables of watching scripts."""

from __future__ import annotations

import re

from ...facts.node import MemorySample
from ...facts.piece import Piece
from .figures import UNITS, Figures, guessed, in_bytes
from .lines import awk_columns, lines_with, number, program

__all__ = ["columns", "tables", "watched"]


def tables(piece: Piece) -> list[MemorySample]:
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


def _vmstat(row: dict[str, str], unit: float) -> Figures:
    values = {key: number(value) or 0.0 for key, value in row.items()}
    moved = values.get("si", 0.0) + values.get("so", 0.0)
    return Figures(
        free=values.get("free", 0.0) * unit,
        cache=(values.get("buff", 0.0) + values.get("cache", 0.0)) * unit,
        swap_used=values.get("swpd", 0.0) * unit,
        swapping=moved >= 2000,
    )


def _sar(row: dict[str, str], piece: Piece, at: int, line: str) -> list[MemorySample]:
    free, available, used = (number(row.get(key, "")) for key in ("kbmemfree", "kbavail", "kbmemused"))
    if free is None and available is None:
        return []
    known = Figures(
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
    kept = awk_columns(piece)
    out: list[MemorySample] = []
    for at, line in enumerate(piece.text.split("\n")):
        words = line.split()
        if not words or not re.match(r"\d\d:\d\d:\d\d|Average:", words[0]):
            continue
        shift = 1 if len(words) > 1 and words[1] in ("AM", "PM") else 0
        if kept is None:
            row = dict(zip(_SAR_COLUMNS, [words[0], *words[1 + shift :]], strict=False))
        else:
            figures = [word for word in words if word not in ("AM", "PM")]
            if len(figures) != len(kept):
                continue
            row = {}
            for column, figure in zip(kept, figures, strict=True):
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


def columns(piece: Piece) -> list[MemorySample]:
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
            scale = UNITS[unit.lower()] if unit else guessed(figure[1])
            known = Figures(available=float(figure[1]) * scale)
            out.append(known.fact(piece, below, lines[below], "monitor"))
    return out


_FIGURE = r"(?P<figure>\d[\d,]*(?:\.\d+)?)(?:\s*(?P<unit>[kKMGT]i?B|[KMGT]i?|bytes)\b)?"
_WATCHED = re.compile(
    r"(?P<what>\bmem(?:ory)?[ _-]?avail(?:able)?\b|\bavail(?:able)?[ _-](?:system |host |unified |node |system RAM |"
    r"host RAM )?"
    r"(?:mem(?:ory)?|RAM)\b|\bhost[ _]available\b|\bmem(?:ory)?[ _-]?free\b|\bfree[ _-](?:system |host |"
    r"unified )?mem(?:ory)?\b)"
    rf"[^\d\n]{{0,24}}?{_FIGURE}(?: of (?P<total>\d[\d,.]*) ?(?P<total_unit>[kKMGT]i?B))?",
    re.IGNORECASE,
)
_NOT_HOST = re.compile(
    r"avail mem=|Checkpoint size|\b(?:KV|GPU|cuda:\d|CUDA|device|cache|VRAM|initial|current|on startup|larger than|"
    r"profil)",
    re.IGNORECASE,
)


def watched(piece: Piece) -> list[MemorySample]:
    """Lines such as `[monitor] 13:05:44 MemAvailable 61.2 GiB`, and earlyoom's `mem avail: 612 of 121695 MiB`."""
    out = []
    for at, line in lines_with(piece.text, "vail", "mFree", "free mem", "memory free", "memory_free"):
        if len(line) > 400:
            continue
        match = _WATCHED.search(line)
        if match is None or re.match(r"\s*[A-Z]\w+:\s+[\d.]+ ?(?:kB|[MG]i?B)\s*\Z", line) or " avail Mem" in line:
            continue
        if _NOT_HOST.search(line[: match.start()][-60:] + line[match.start() : match.start("figure")]):
            continue
        unit = (match["unit"] or match["total_unit"] or "").lower()
        if unit == "" or unit not in UNITS:
            continue
        value = float(match["figure"].replace(",", "")) * UNITS[unit]
        known = Figures()
        if "free" in match["what"].lower():
            known.free = value
        else:
            known.available = value
        if match["total"]:
            known.total = in_bytes(match["total"].replace(" ", ""), UNITS[match["total_unit"].lower()])
        by = "earlyoom" if "mem avail:" in line else "monitor"
        out.append(known.fact(piece, at, line, by))
    return out
