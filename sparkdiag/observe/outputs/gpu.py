"""nvidia-smi in the shapes it has on a GB10: the table, --query-gpu, --query-compute-apps, -q, dmon."""

from __future__ import annotations

import re
from typing import Any

from ...facts import Fact
from ...facts.gpu import GpuSample
from ...facts.piece import Piece
from .gpu_processes import compute_apps, process_table
from .lines import looked, number, place

__all__ = ["observe_gpu"]

_NONE = re.compile(
    r"\[?N/A\]?\Z|\[?Not Supported\]?\Z|\[?Not Found\]?\Z|\[?Unknown Error\]?\Z|\[?GPU requires reset\]?\Z",
    re.IGNORECASE,
)


def observe_gpu(piece: Piece) -> list[Fact]:
    """GPU samples and the processes that hold GPU memory."""
    command = piece.command or ""
    if "nvidia-smi" not in command and not any(
        sign in piece.text
        for sign in (
            "NVIDIA-SMI",
            "GPU-Util",
            "utilization.gpu",
            "MiB |",
            "NVSMI LOG",
            "Attached GPUs",
            "Event Reasons",
            "GPU Current Temp",
            "# gpu ",
        )
    ):
        return []
    samples: list[Fact] = []
    processes: list[Fact] = []
    lines = piece.text.split("\n")
    query = _query(command)
    if query is not None and query[0] == "compute-apps":
        processes = compute_apps(piece, lines, query[1])
    else:
        samples = _rows(piece, lines, query[1] if query is not None else ())
    samples += _tables(piece, lines) + _reports(piece, lines) + _monitor(piece, lines)
    processes += process_table(piece, lines)
    out = [*samples, *processes]
    if samples:
        out += looked(piece, "gpu")
    if processes or (query is not None and query[0] == "compute-apps") or any("Processes:" in line for line in lines):
        out += looked(piece, "process", "gpu-processes")
    return out


_QUERY = re.compile(r"--query-(?P<what>gpu|compute-apps)[= ]['\"]?(?P<names>[\w.,]+)")


def _query(command: str) -> tuple[str, tuple[str, ...]] | None:
    found = _QUERY.search(command)
    return (found["what"], tuple(name for name in found["names"].split(",") if name)) if found else None


_HEADED = re.compile(
    r"(?:index|name|timestamp|uuid|pci\.bus_id|[a-z_]+\.[a-z_.]+|pstate)(?: \[[\w%]+\])?(?:, [\w.]+(?: \[[\w%]+\])?)*\Z"
)
_FIELDS = {
    "utilization.gpu": "utilization", "power.draw": "power_w", "power.draw.instant": "power_w",
    "power.draw.average": "power_w",
    "clocks.sm": "sm_clock_mhz", "clocks.current.sm": "sm_clock_mhz", "clocks.gr": "sm_clock_mhz",
    "clocks.current.graphics": "sm_clock_mhz", "clocks.graphics": "sm_clock_mhz", "temperature.gpu": "temperature_c",
}  # fmt: skip
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")


def _rows(piece: Piece, lines: list[str], names: tuple[str, ...]) -> list[Fact]:
    """Rows of --query-gpu; the heading names the columns where the command is not known."""
    out: list[Fact] = []
    for at, line in enumerate(lines):
        stripped = line.strip()
        if _HEADED.match(stripped) and ("." in stripped or "," in stripped):
            names = tuple(part.split(" ")[0] for part in stripped.split(", "))
            continue
        cells = [cell.strip() for cell in stripped.split(",")]
        if not names or len(cells) != len(names) or not stripped:
            continue
        known = _of_cells(dict(zip(names, cells, strict=True)))
        if known:
            out.append(GpuSample(by="query", **known, **place(piece, at, line)))
    return out


def _of_cells(row: dict[str, str]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    missing = 0
    for name, cell in row.items():
        field = _FIELDS.get(name)
        if field is not None:
            value = None if _NONE.match(cell) else number(cell)
            known[field] = value
            missing += value is None
        elif name == "pstate" and re.match(r"P\d+\Z", cell):
            known["pstate"] = cell
        elif name == "name":
            known["name"] = cell
        elif name in _REASONS:
            known["throttle"] = _throttle(cell)
        elif name.startswith(("clocks_event_reasons.", "clocks_throttle_reasons.")) and cell == "Active":
            known["throttle"] = _named_throttle(name)
        elif name in ("memory.total", "memory.used", "memory.free"):
            reported = not _NONE.match(cell)
            known["memory_reported"] = known.get("memory_reported") is True or reported
            if reported and name != "memory.free" and (value := number(cell)) is not None:
                known[f"memory_{name[7:]}_gib"] = round(value / 1024, 2)
    if known.get("memory_reported") is False:
        known["memory_asked"] = set(row) <= {
            "memory.total",
            "memory.used",
            "memory.free",
            "name",
            "index",
            "utilization.memory",
            "uuid",
            "driver_version",
            "compute_cap",
            "count",
            "timestamp",
            "serial",
            "vbios_version",
            "pci.bus_id",
        }
    power, clock = row.get("power.draw"), next((row[name] for name in row if _FIELDS.get(name) == "sm_clock_mhz"), None)
    if clock is not None and _NONE.match(clock) and (power is None or _NONE.match(power)):
        known["wedged"] = True
    return known


_BITS = (
    (0x8 | 0x80, "hardware"),
    (0x20 | 0x40, "thermal"),
    (0x4, "power"),
    (0x2 | 0x100 | 0x10, "setting"),
    (0x1, "idle"),
)


def _throttle(cell: str) -> str | None:
    """A mask of clock event reasons in one word; the worst first."""
    try:
        mask = int(cell, 16)
    except ValueError:
        return None
    return next((word for bits, word in _BITS if mask & bits), "none")


def _named_throttle(name: str) -> str:
    if "thermal" in name:
        return "thermal"
    if "hw_" in name:
        return "hardware"
    if "power" in name:
        return "power"
    return "idle" if "idle" in name else "setting"


_TABLE_NAME = re.compile(r"\|\s+\d+\s+(?P<name>NVIDIA [^|]*?|GB10[^|]*?|Orin[^|]*?)\s+(?:On|Off|N/A)\s+\|")
_TABLE_ROW = re.compile(
    r"\|\s*(?:\d+%|N/A)\s+(?P<temp>\d+)C\s+(?P<pstate>P\d+|N/A)\s+(?P<power>\d+W|N/A)\s*/\s*(?:\d+W|N/A)\s*\|\s*"
    r"(?P<memory>Not Supported|N/A|(?P<used>\d+)MiB\s*/\s*(?P<total>\d+)MiB)\s*\|\s*(?P<util>\d+%|N/A)"
)


def _tables(piece: Piece, lines: list[str]) -> list[Fact]:
    """The two rows that plain nvidia-smi gives a GPU."""
    out: list[Fact] = []
    name = None
    for at, line in enumerate(lines):
        if "|" not in line:
            continue
        titled = _TABLE_NAME.match(line)
        if titled:
            name = titled["name"]
        match = _TABLE_ROW.match(line)
        if match is None:
            continue
        reported = match["used"] is not None
        out.append(
            GpuSample(
                by="table",
                name=name,
                utilization=number(match["util"]),
                power_w=number(match["power"]),
                temperature_c=float(match["temp"]),
                pstate=match["pstate"] if match["pstate"] != "N/A" else None,
                memory_reported=reported,
                memory_used_gib=round(int(match["used"]) / 1024, 2) if reported else None,
                memory_total_gib=round(int(match["total"]) / 1024, 2) if reported else None,
                **place(piece, at, line),
            )
        )
    return out


_REPORT = re.compile(r"\s+(?P<key>[A-Z][\w /.]*?)\s+: (?P<value>.+?)\s*\Z")
_REPORT_FIELDS = {
    "Gpu": "utilization", "GPU": "utilization", "Power Draw": "power_w", "Average Power Draw": "power_w",
    "Instantaneous Power Draw": "power_w",
    "SM": "sm_clock_mhz", "GPU Current Temp": "temperature_c",
}  # fmt: skip
_SLOWED = {
    "HW Thermal Slowdown": "thermal", "SW Thermal Slowdown": "thermal", "HW Power Brake Slowdown": "hardware",
    "HW Slowdown": "hardware",
    "SW Power Cap": "power", "Applications Clocks Setting": "setting",
}  # fmt: skip


_MOST_REASONS = 3
"""Reasons shown as not active, from which on the GPU counts as not slowed where the heading was cut off."""
_REPORTED = re.compile(r"\bnvidia-smi\s(?:[^|;&]*\s)?(?:-q|--query)(?:\s|\Z)")


def _reports(piece: Piece, lines: list[str]) -> list[Fact]:
    """nvidia-smi -q, whole or in part (also what grep left of it): the first value of each key, before the sections
    of limits."""
    if _REPORTED.search(piece.command or "") is None and not any(
        sign in piece.text
        for sign in ("NVSMI LOG", "Attached GPUs", "Event Reasons", "Throttle Reasons", "GPU Current Temp")
    ):
        return []
    known: dict[str, Any] = {}
    first: tuple[int, str] | None = None
    section = ""
    reasons = False
    idle_reasons = 0
    for at, line in enumerate(lines):
        match = _REPORT.match(line)
        if match is None:
            section = line.strip() or section
            reasons = reasons or section in ("Clocks Event Reasons", "Clocks Throttle Reasons")
            continue
        key, value = match["key"], match["value"]
        if key in _SLOWED and value == "Active" and "Counters" not in section:
            known.setdefault("throttle", _SLOWED[key])
        idle_reasons += key in _SLOWED and value == "Not Active"
        field = _REPORT_FIELDS.get(key)
        if field is None or field in known or section.startswith(("Max", "Default", "Applications", "Memory")):
            continue
        if not _NONE.match(value) and (figure := number(value)) is not None:
            known[field] = figure
            first = first or (at, line)
    if reasons or idle_reasons >= _MOST_REASONS:
        known.setdefault("throttle", "none")
        first = first or (0, lines[0])
    return [GpuSample(by="report", **known, **place(piece, *first))] if first is not None else []


_DMON = {"pwr": "power_w", "gtemp": "temperature_c", "sm": "utilization", "pclk": "sm_clock_mhz"}


def _monitor(piece: Piece, lines: list[str]) -> list[Fact]:
    """nvidia-smi dmon."""
    heading: list[str] = []
    out: list[Fact] = []
    for at, line in enumerate(lines):
        words = line.split()
        if words[:2] == ["#", "gpu"]:
            heading = words[1:]
        elif heading and len(words) == len(heading) and words[0].isdigit():
            row = dict(zip(heading, words, strict=True))
            known = {field: number(row[key]) for key, field in _DMON.items() if key in row and row[key] != "-"}
            if known:
                out.append(GpuSample(by="dmon", **known, **place(piece, at, line)))  # type: ignore[arg-type]
    return out[:400]
