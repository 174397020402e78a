"""Disks: df's rows of space and inodes, du's sizes of folders, and who reads how much (iostat, sar, pidstat, iotop)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts import Fact, Looked, Source
from ...facts.disks import DiskLoad, DiskUse, FolderSize
from ...facts.piece import Piece
from ..captures import read_bytes

__all__ = ["observe_disks"]

MAX_LINES = 2000
_SIZE = r"\d[\d.,]*[KMGTPE]?i?B?"
_DF = re.compile(
    rf"(?P<device>\S+)\s+(?:(?P<type>[a-z]\w+)\s+)?(?P<size>{_SIZE})\s+(?P<used>{_SIZE})\s+(?P<free>{_SIZE}|-)\s+"
    r"(?P<share>\d{1,3})%\s+(?P<mount>/\S*)\s*\Z"
)
_DU = re.compile(rf"(?P<size>{_SIZE})\s+(?P<path>[~/.]?[\w@%+/][^\s*?]*)\Z")
_MEMORY = frozenset({"tmpfs", "shm", "devtmpfs", "ramfs"})
_LOADS = re.compile(r"\b(?:iostat|sar|pidstat|iotop)\b")
_IOTOP = re.compile(
    r"(?P<pid>\d+) +be/\d +\S+ +(?P<read>[\d.]+) (?P<unit>[BKMG])/s +[\d.]+ [BKMG]/s(?: +[\d.]+ %)? +(?P<busy>[\d.]+) %"
)
_PAIRS = re.compile(r"(?P<device>(?:nvme|sd|vd|md|dm-)\w*)\s+(?=.*%util)")
_DEVICE = re.compile(r"(?:nvme|sd|vd|md|dm-)\w*\Z")


def observe_disks(piece: Piece) -> list[Fact]:
    """DiskUse, DiskLoad and FolderSize facts of one piece."""
    if piece.kind not in ("output", "log", "text"):
        return []
    lines = piece.text.split("\n", MAX_LINES)[:MAX_LINES]
    out: list[Fact] = []
    for kind, facts in (
        ("disk", list(_use(piece, lines))),
        ("disk-load", list(_load(piece, lines))),
        ("folder-size", list(_folders(piece, lines))),
    ):
        if facts:
            out += [Looked(probe=kind, where=piece.where, order=piece.order, source=facts[0].source), *facts]
    return out


def _place(piece: Piece, number: int, line: str) -> Source:
    return Source(piece.source, piece.first_line + number, text=" ".join(line.split())[:300])


def _use(piece: Piece, lines: list[str]) -> Iterator[Fact]:
    command = piece.command or ""
    if not re.search(r"\bdf\b", command) and "Mounted on" not in piece.text:
        return
    inodes = bool(re.search(r"\bdf\b[^|;]* -\w*i|\bdf -\w*i", command)) or "IUse%" in piece.text
    blocks = not re.search(r"\bdf\b[^|;]* -\w*[hH]|\bdf -\w*[hH]", command)
    for number, line in enumerate(lines):
        match = _DF.match(line.strip())
        if match is None:
            continue
        memory = match["device"] in _MEMORY or match["type"] in _MEMORY or match["mount"] == "/dev/shm"
        yield DiskUse(
            mount=match["mount"],
            device=match["device"],
            size_bytes=None if inodes else _bytes(match["size"], blocks),
            available_bytes=None if inodes else _bytes(match["free"], blocks),
            used_share=int(match["share"]) / 100,
            inodes=inodes,
            memory=memory,
            where=piece.where,
            order=piece.order + number,
            source=_place(piece, number, line),
        )


def _bytes(text: str, blocks: bool) -> int | None:
    """df -h and du -h write 917G; without -h they count blocks of 1,024 bytes."""
    value = read_bytes(text)
    return value * 1024 if value is not None and blocks and text.isdigit() else value


def _folders(piece: Piece, lines: list[str]) -> Iterator[Fact]:
    command = piece.command or ""
    if not re.search(r"\bdu\b", command):
        return
    blocks = not re.search(r"\bdu -\w*[hHb]", command)
    for number, line in enumerate(lines):
        match = _DU.match(line.strip())
        size = _bytes(match["size"], blocks) if match else None
        if match is not None and size is not None:
            yield FolderSize(
                path=match["path"],
                size_bytes=size,
                where=piece.where,
                order=piece.order + number,
                source=_place(piece, number, line),
            )


def _load(piece: Piece, lines: list[str]) -> Iterator[Fact]:
    if not _LOADS.search(piece.command or "") and "%util" not in piece.text:
        return
    header = _usual_heading(piece.command or "")
    for number, line in enumerate(lines):
        cells = line.split()
        heads = [cell.rstrip(":") for cell in cells]
        first = next((at for at, head in enumerate(heads) if head in ("Device", "DEV", "PID")), None)
        top = _IOTOP.match(line.strip())
        if top is not None:
            moved = float(top["read"]) * 1024 ** "BKMG".index(top["unit"])
            yield _sample(piece, number, line, f"process {top['pid']}", moved, float(top["busy"]))
        elif first is not None:
            header = heads[first:]
        elif header and len(cells) >= len(header):
            row = _row(header, cells)
            device = f"process {row['PID']}" if row.get("PID", "").isdigit() else row.get("Device", row.get("DEV", ""))
            read, busy = _read(row), _number(row.get("%util", ""))
            if (device.startswith("process ") or _DEVICE.match(device)) and (read is not None or busy is not None):
                yield _sample(piece, number, line, device, read, busy)
        elif _PAIRS.match(line.strip()):
            row = dict(zip(cells[1::2], cells[2::2], strict=False))
            yield _sample(piece, number, line, cells[0], _read(row), _number(row.get("%util", "")))


def _row(header: list[str], cells: list[str]) -> dict[str, str]:
    """Cells by column: a time or user before them is left out, and the last is the last."""
    if header[0] == "PID":
        return dict(zip(header, cells[-len(header) :], strict=True))
    if cells[0][:1].isdigit() and len(cells) > len(header):
        cells = cells[len(cells) - len(header) :]
    return {**dict(zip(header, cells, strict=False)), header[-1]: cells[-1]}


def _usual_heading(command: str) -> list[str] | None:
    """The columns of programs whose heading was cut off (`| tail -1`), as of sysstat 12."""
    if re.search(r"\bpidstat\b[^|;]* -\w*d", command):
        return ["PID", "kB_rd/s", "kB_wr/s", "kB_ccwr/s", "iodelay", "Command"]
    if re.search(r"\biostat\b[^|;]* -\w*x", command):
        read = "rMB/s" if re.search(r"\biostat\b[^|;]* -\w*m", command) else "rkB/s"
        return ["Device", "r/s", read, *(f"column {number}" for number in range(4, 21)), "%util"]
    return None


def _read(row: dict[str, str]) -> float | None:
    """Bytes read a second, of whichever column says it."""
    for key, scale in (("rMB/s", 1e6), ("rkB/s", 1e3), ("MB_read/s", 1e6), ("kB_read/s", 1e3), ("kB_rd/s", 1e3)):
        value = _number(row.get(key, ""))
        if value is not None:
            return value * scale
    return None


def _sample(piece: Piece, number: int, line: str, device: str, read: float | None, busy: float | None) -> Fact:
    return DiskLoad(
        device=device,
        read_bytes_per_s=read,
        busy_share=None if busy is None else busy / 100,
        where=piece.where,
        order=piece.order + number,
        source=_place(piece, number, line),
    )


def _number(text: str) -> float | None:
    try:
        return float(text.rstrip("%").replace(",", "."))
    except ValueError:
        return None
