"""Disks: df's rows of space and inodes, iostat's rows of load, and du's sizes of folders."""

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
_IOSTAT = re.compile(r"\biostat\b")
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
    if not _IOSTAT.search(piece.command or "") and "%util" not in piece.text:
        return
    header: list[str] | None = None
    for number, line in enumerate(lines):
        cells = line.split()
        if not cells:
            continue
        if cells[0].rstrip(":") == "Device":
            header = cells
        elif header and _DEVICE.match(cells[0]) and len(cells) == len(header):
            yield from _busy(piece, number, line, cells[0], dict(zip(header[1:], cells[1:], strict=True)))
        elif _PAIRS.match(line.strip()):
            yield from _busy(piece, number, line, cells[0], dict(zip(cells[1::2], cells[2::2], strict=False)))


def _busy(piece: Piece, number: int, line: str, device: str, told: dict[str, str]) -> Iterator[Fact]:
    read: float | None = None
    for key, scale in (("rMB/s", 1e6), ("rkB/s", 1e3), ("MB_read/s", 1e6), ("kB_read/s", 1e3)):
        if key in told:
            read = _number(told[key])
            read = None if read is None else read * scale
            break
    util = _number(told.get("%util", ""))
    yield DiskLoad(
        device=device,
        read_bytes_per_s=read,
        busy_share=None if util is None else util / 100,
        where=piece.where,
        order=piece.order + number,
        source=_place(piece, number, line),
    )


def _number(text: str) -> float | None:
    try:
        return float(text.rstrip("%").replace(",", "."))
    except ValueError:
        return None
