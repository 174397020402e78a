"""The processes that hold GPU memory: nvidia-smi's process table and --query-compute-apps."""

from __future__ import annotations

import re

from ...facts import Fact
from ...facts.node import ProcessSeen
from ...facts.piece import Piece
from .engines import engine_of, role_of
from .lines import number, place

__all__ = ["compute_apps", "process_table"]

_PROCESS = re.compile(
    r"\|\s+(?P<gpu>\d+)\s+(?:\S+\s+\S+\s+)?(?P<pid>\d+)\s+(?P<type>[CGM+]{1,3})\s+(?P<name>\S.*?)\s+"
    r"(?P<memory>\d+)\s?MiB\s*\|"
)
_WITHOUT_MEMORY = re.compile(
    r"\|\s+\d+\s+(?:\S+\s+\S+\s+)?(?P<pid>\d+)\s+(?P<type>[CGM+]{1,3})\s+(?P<name>\S.*?)\s+N/A\s*\|"
)


def process_table(piece: Piece, lines: list[str]) -> list[Fact]:
    """A machine with several cards is no Spark: what their processes hold is of no one pool, and is left out."""
    found = [(at, line, _PROCESS.match(line) or _WITHOUT_MEMORY.match(line)) for at, line in enumerate(lines)]
    one_pool = len({match["gpu"] for _, _, match in found if match is not None and "gpu" in match.groupdict()}) < 2
    return [
        _process(
            piece, at, line, int(match["pid"]), match["name"], match.groupdict().get("memory") if one_pool else None
        )
        for at, line, match in found
        if match is not None
    ]


def _process(piece: Piece, at: int, line: str, pid: int | None, name: str, mib: str | None) -> ProcessSeen:
    return ProcessSeen(
        by="nvidia-smi",
        pid=pid,
        name=name[:200],
        engine=engine_of(name),
        role=role_of(name),
        memory_gib=None if mib is None else round(float(mib) / 1024, 2),
        **place(piece, at, line),
    )


def compute_apps(piece: Piece, lines: list[str], names: tuple[str, ...]) -> list[Fact]:
    """Rows of --query-compute-apps."""
    out: list[Fact] = []
    for at, line in enumerate(lines):
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(names):
            continue
        row = dict(zip(names, cells, strict=True))
        name = row.get("process_name") or row.get("name") or ""
        memory = next((number(row[key]) for key in ("used_memory", "used_gpu_memory") if key in row), None)
        pid = number(row.get("pid", ""))
        if (pid is None and memory is None) or name in ("process_name", "name"):
            continue
        out.append(
            _process(
                piece,
                at,
                line,
                None if pid is None else int(pid),
                name or "unnamed",
                None if memory is None else str(memory),
            )
        )
    return out
