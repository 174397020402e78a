"""The GPU's driver and the machine's architecture, from nvidia-smi, the kernel module, uname and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts import Fact, Looked, Source
from ...facts.piece import Piece
from ...facts.versions import GpuDriver, MachineSeen

__all__ = ["observe_drivers"]

MAX_LINES = 2000

_HEADER = re.compile(r"Driver Version: *(?P<version>\d+[\d.]*) +CUDA Version: *(?P<cuda>\d+\.\d+)")
_MODULE = re.compile(r"NVRM version: NVIDIA UNIX (?:Open )?Kernel Module for \S+ +(?P<version>\d+[\d.]*)")
_LISTED = re.compile(r"GPU \d+: (?P<gpu>NVIDIA [^(]+?) \(UUID: ")
_FAILED = re.compile(r"NVIDIA-SMI has failed because|couldn't communicate with the NVIDIA driver|No devices were found")
_QUERY = re.compile(r"--query-gpu[= ](?P<fields>[\w.,]+)")
_UNAME = re.compile(r"(?:uname(?: +-[mpia]+)?|arch|dpkg --print-architecture|lscpu)\b")
_CPU = re.compile(r"\b(?P<cpu>aarch64|arm64|x86_64|amd64)\b")
_HOST_PLATFORM = re.compile(r"detected host platform \(linux/(?P<cpu>arm64|amd64)")
ARCHITECTURES = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "amd64", "amd64": "amd64"}


def observe_drivers(piece: Piece) -> list[Fact]:
    """GpuDriver and MachineSeen facts of one piece."""
    if piece.kind not in ("output", "log", "text"):
        return []
    command = piece.command or ""
    lines = piece.text.split("\n", MAX_LINES)[:MAX_LINES]
    out: list[Fact] = []
    for number, fact in _driver(command, lines, piece):
        out.append(fact)
        if len(out) == 1:
            out.append(Looked(probe="driver", where=piece.where, order=piece.order + number, source=fact.source))
    machine = _machine(command, lines, piece)
    return [*out, *machine]


def _on_host(command: str, piece: Piece) -> bool:
    return piece.where.container is None and re.match(r"(?:\S*/)?nvidia-smi\b", command) is not None


def _driver(command: str, lines: list[str], piece: Piece) -> Iterator[tuple[int, GpuDriver]]:
    host = _on_host(command, piece)
    query = _QUERY.search(command)
    for number, line in enumerate(lines):
        header, module, listed = _HEADER.search(line), _MODULE.search(line), _LISTED.search(line)
        if header:
            yield number, _fact(piece, number, line, header["version"], cuda=float(header["cuda"]), works=host or None)
        elif module:
            yield number, _fact(piece, number, line, module["version"])
        elif listed:
            yield number, _fact(piece, number, line, None, gpu=listed["gpu"], works=host or None)
        elif host and _FAILED.search(line):
            yield number, _fact(piece, number, line, None, works=False)
        elif query and "," in query["fields"] + ",":
            values = [value.strip() for value in line.split(",")]
            fields = query["fields"].split(",")
            if len(values) != len(fields) or values[0].startswith(fields[0]):
                continue
            told = dict(zip(fields, values, strict=True))
            version = told.get("driver_version")
            yield number, _fact(
                piece, number, line, version if version and version[:1].isdigit() else None,
                gpu=told.get("name") or told.get("gpu_name"), compute_cap=told.get("compute_cap"), works=host or None,
            )  # fmt: skip


def _fact(
    piece: Piece,
    number: int,
    line: str,
    version: str | None,
    *,
    cuda: float | None = None,
    gpu: str | None = None,
    compute_cap: str | None = None,
    works: bool | None = None,
) -> GpuDriver:
    release = re.match(r"\d+", version or "")
    return GpuDriver(
        version=version,
        release=int(release[0][:6]) if release else None,
        cuda=cuda,
        gpu=gpu,
        compute_cap=compute_cap,
        works=works,
        where=piece.where,
        order=piece.order + number,
        source=Source(piece.source, piece.first_line + number, text=" ".join(line.split())[:300]),
    )


def _machine(command: str, lines: list[str], piece: Piece) -> Iterator[Fact]:
    asked = _UNAME.match(command) is not None and piece.where.container is None
    for number, line in enumerate(lines[:200]):
        match = _HOST_PLATFORM.search(line) or (_CPU.search(line) if asked else None)
        if match:
            place = Source(piece.source, piece.first_line + number, text=line.strip()[:300])
            order = piece.order + number
            yield MachineSeen(architecture=ARCHITECTURES[match["cpu"]], where=piece.where, order=order, source=place)
            yield Looked(probe="machine", where=piece.where, order=order, source=place)
            return
