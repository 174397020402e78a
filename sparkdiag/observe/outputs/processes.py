"""Processes and processors: ps and top rows, busy cores in mpstat and top, temperatures."""

from __future__ import annotations

import re

from ...facts import Fact
from ...facts.node import CpuLoad, ProcessSeen, Temperature
from ...facts.piece import Piece
from .engines import engine_of, role_of
from .lines import looked, number, place, program, stages

__all__ = ["observe_processes"]

MAX_PROCESSES = 400
BUSY = 90.0


def observe_processes(piece: Piece) -> list[Fact]:
    """Processes, busy cores and temperatures of one piece of output."""
    lines = piece.text.split("\n")
    processes = _ps(piece, lines) + _top_rows(piece, lines)
    cores = _mpstat(piece, lines) + _top_cores(piece, lines)
    heat = _temperatures(piece, lines)
    out: list[Fact] = [*processes[:MAX_PROCESSES], *cores, *heat]
    if processes or program(piece) in ("ps", "pgrep"):
        out += looked(piece, "process")
    if cores or program(piece) == "mpstat":
        out += looked(piece, "cpu")
    return out


_PS_AUX = re.compile(
    r"(?P<user>[a-z_][\w.+-]*) +(?P<pid>\d+) +(?P<cpu>\d+\.\d|\d{2,4}) +(?P<mem>\d+\.\d) +(?P<vsz>\d+) +(?P<rss>\d+) +"
    r"(?P<tty>\?|pts/\d+|tty\S+) +(?P<stat>[RSDZTtIWXxKP][\w<+]*) +(?P<start>\S+) +(?P<time>[\d:-]+) +(?P<args>\S.*)"
)
_PS_EF = re.compile(
    r"(?P<user>[a-z_][\w.+-]*) +(?P<pid>\d+) +(?P<ppid>\d+) +(?P<c>\d+) +(?P<start>\S+) +(?P<tty>\?|pts/\d+|tty\S+) +"
    r"(?P<time>\d+:\d\d:\d\d) +(?P<args>\S.*)"
)
_COLUMNS = {
    "pid": "pid", "ppid": "ppid", "%cpu": "cpu", "pcpu": "cpu", "c": "cpu", "rss": "rss", "rssize": "rss",
    "rsz": "rss", "stat": "stat",
    "s": "stat", "state": "stat", "args": "args", "command": "args", "cmd": "args", "comm": "comm", "ucmd": "comm",
}  # fmt: skip


def _ps(piece: Piece, lines: list[str]) -> list[Fact]:
    """Rows of ps: its aux and -ef forms by shape, -o forms by their heading or the command's list of columns."""
    columns = _asked_columns(piece)
    out: list[Fact] = []
    for at, line in enumerate(lines):
        stripped = line.strip()
        match = _PS_AUX.match(stripped) or _PS_EF.match(stripped)
        if match is not None:
            out.append(_row(piece, at, line, {key: value or "" for key, value in match.groupdict().items()}))
            continue
        words = stripped.split()
        heading = [_COLUMNS.get(word.lower().lstrip("%") if word.lower() != "%cpu" else "%cpu", "") for word in words]
        if len(words) >= 2 and words[0].isupper() and "PID" in words and ("args" in heading or "comm" in heading):
            columns = heading if "%MEM" not in words else None
            continue
        if columns and program(piece) in ("ps", "") and len(words) >= len(columns) and "pid" in columns:
            values = stripped.split(None, len(columns) - 1)
            row = dict(zip(columns, values, strict=True))
            if row.get("pid", "").isdigit() and ("args" in row or "comm" in row):
                out.append(_row(piece, at, line, row))
    return [fact for fact in out if "grep" not in str(fact.get("name")).split(" ")[0]]


def _asked_columns(piece: Piece) -> list[str] | None:
    """The columns of `ps -eo pid,rss,args`."""
    for words in stages(piece):
        if not words or words[0].rsplit("/", 1)[-1] != "ps":
            continue
        names: list[str] = []
        for option, value in zip(words[1:], [*words[2:], ""], strict=True):
            told = None
            if re.fullmatch(r"-?[a-zA-Z]*o", option):
                told = value
            elif option.startswith(("-o", "--format=")):
                told = option.partition("=")[2] if option.startswith("--") else option[2:]
            if told:
                names += [re.split(r"[:=]", name)[0] for name in told.split(",") if name]
        return [_COLUMNS.get(name.lower(), "other") for name in names] or None
    return None


def _row(piece: Piece, at: int, line: str, row: dict[str, str]) -> ProcessSeen:
    name = row.get("args") or row.get("comm") or ""
    rss = number(row.get("rss", ""))
    pid, ppid = number(row.get("pid", "")), number(row.get("ppid", ""))
    return ProcessSeen(
        by="ps",
        pid=None if pid is None else int(pid),
        ppid=None if ppid is None else int(ppid),
        name=name[:200],
        engine=engine_of(name),
        role=role_of(name),
        memory_gib=None if rss is None else round(rss / 2**20, 2),
        cpu_percent=number(row.get("cpu", "")),
        state=row.get("stat"),
        orphan=None if ppid is None else ppid == 1,
        **place(piece, at, line),
    )


_TOP_ROW = re.compile(
    r"\s*(?P<pid>\d+) (?P<user>\S+) +(?P<pr>-?\d+|"
    r"rt) +(?P<ni>-?\d+) +(?P<virt>[\d.]+[kmgtp]?) +(?P<res>[\d.]+[kmgtp]?) +(?P<shr>[\d.]+[kmgtp]?) +"
    r"(?P<s>[RSDZTtI]) +(?P<cpu>[\d.]+) +(?P<mem>[\d.]+) +(?P<time>[\d:.h]+) +(?P<name>\S.*)"
)
_SIZES = {"": 2.0**10, "k": 2.0**10, "m": 2.0**20, "g": 2.0**30, "t": 2.0**40, "p": 2.0**50}


def _top_rows(piece: Piece, lines: list[str]) -> list[Fact]:
    out: list[Fact] = []
    for at, line in enumerate(lines):
        match = _TOP_ROW.match(line)
        if match is None:
            continue
        res = match["res"]
        unit = res[-1] if res[-1].isalpha() else ""
        out.append(
            ProcessSeen(
                by="top",
                pid=int(match["pid"]),
                name=match["name"].strip()[:200],
                engine=engine_of(match["name"]),
                role=role_of(match["name"]),
                memory_gib=round(float(res.rstrip("kmgtp")) * _SIZES[unit] / 2**30, 2),
                cpu_percent=float(match["cpu"]),
                state=match["s"],
                **place(piece, at, line),
            )
        )
    return out


_MPSTAT = re.compile(
    r"(?:Average:|\d\d:\d\d:\d\d(?: [AP]M)?) +(?P<core>all|\d+) +(?P<figures>\d+[.,]\d+(?: +\d+[.,]\d+){7,11})\s*\Z"
)


def _mpstat(piece: Piece, lines: list[str]) -> list[Fact]:
    """mpstat -P ALL: the last (or average) row of each core; the last column is the idle share."""
    if "mpstat" not in (piece.command or "") and "%idle" not in piece.text:
        return []
    busy: dict[str, float] = {}
    first: tuple[int, str] | None = None
    averaged = any(line.startswith("Average:") for line in lines)
    for at, line in enumerate(lines):
        match = _MPSTAT.match(line)
        if match is None or match["core"] == "all" or (averaged and not line.startswith("Average:")):
            continue
        used = 100.0 - float(match["figures"].split()[-1].replace(",", "."))
        busy[match["core"]] = used
        if used >= BUSY:
            first = first or (at, line)
    return _load(piece, "mpstat", busy, first)


_TOP_CORE = re.compile(r"%Cpu(?P<core>\d+) +: .*?(?P<idle>[\d.]+) id")


def _top_cores(piece: Piece, lines: list[str]) -> list[Fact]:
    """The rows per core that top shows after pressing 1. Two may stand on one line."""
    busy: dict[str, float] = {}
    first: tuple[int, str] | None = None
    for at, line in enumerate(lines):
        for match in _TOP_CORE.finditer(line):
            busy[match["core"]] = 100.0 - float(match["idle"])
            if busy[match["core"]] >= BUSY:
                first = first or (at, line)
    return _load(piece, "top", busy, first)


def _load(piece: Piece, by: str, busy: dict[str, float], first: tuple[int, str] | None) -> list[Fact]:
    """The number of cores is told only where some idle ones are shown: awk may have kept the busy ones alone."""
    if not busy:
        return []
    full = sum(used >= BUSY for used in busy.values())
    return [
        CpuLoad(
            by=by,
            busy_cores=full,
            cores=len(busy) if full < len(busy) else None,
            busiest=round(max(busy.values()), 1),
            **place(piece, *(first or (0, piece.text.split("\n", 1)[0]))),
        )
    ]


_SENSOR = re.compile(r"(?P<name>[A-Za-z][\w ./-]{0,30}?)(?::|\s)\s*\+?(?P<value>\d{2,3}(?:\.\d+)?) ?°C")


def _temperatures(piece: Piece, lines: list[str]) -> list[Fact]:
    """Thermal zones in thousandths of a degree, and lines of `sensors`."""
    command = piece.command or ""
    out: list[Fact] = []
    if "/sys/class/thermal" in command or "/sys/class/hwmon" in command:
        for at, line in enumerate(lines):
            found = re.search(r"(?<![\d.])(\d{5,6})(?![\d.])", line)
            if found and 10_000 <= int(found[1]) <= 130_000:
                out.append(Temperature(sensor="thermal zone", celsius=int(found[1]) / 1000, **place(piece, at, line)))
    elif "sensors" in command or "°C" in piece.text:
        for at, line in enumerate(lines):
            match = _SENSOR.search(line) if len(line) < 300 else None
            if match is not None and 10 <= float(match["value"]) <= 130:
                out.append(
                    Temperature(sensor=match["name"].strip(), celsius=float(match["value"]), **place(piece, at, line))
                )
    return [*out[:100], *(looked(piece, "temperature") if out else [])]
