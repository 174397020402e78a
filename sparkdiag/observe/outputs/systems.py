"""The operating system and its clock: uname -a, os-release, dgx-release, uptime, date, timedatectl."""

from __future__ import annotations

import re

from ...facts import Fact
from ...facts.piece import Piece
from ...facts.system import ClockSeen, SystemSeen
from .lines import looked, place

__all__ = ["observe_systems"]

MAX_TEXT = 20_000

_UNAME = re.compile(r"Linux \S+ (?P<kernel>\d+\.\d+\S*) #")
_SETTING = re.compile(r'(?P<key>PRETTY_NAME|DGX_SWBUILD_VERSION|DGX_OTA_VERSION)="?(?P<value>[^"\n]{1,80})"?\s*\Z')
_DATE = re.compile(r"(?P<epoch>\d{10})(?: 20\d\d-\d\d-\d\dT[\d:]+Z)?\s*\Z")
_UPTIME = re.compile(r"(?P<up>\d{1,10})\.\d\d \d+\.\d\d\Z")
_LOAD = re.compile(r"(?P<load>\d{1,6}\.\d\d) \d+\.\d\d \d+\.\d\d \d+/\d+ \d+\Z")
_SYNCHRONIZED = re.compile(r"(?:NTPSynchronized=|System clock synchronized: )(?P<word>yes|no)\b")


def observe_systems(piece: Piece) -> list[Fact]:
    """System and clock facts of one piece."""
    command = piece.command or ""
    if len(piece.text) > MAX_TEXT or piece.where.container is not None:
        return []
    lines = piece.text.split("\n")
    system = _system(piece, command, lines)
    clock = _clock(piece, command, lines)
    out: list[Fact] = [fact for fact in (system, clock) if fact is not None]
    return [*out, *looked(piece, *(fact.kind for fact in out))]


def _system(piece: Piece, command: str, lines: list[str]) -> SystemSeen | None:
    if not re.search(r"\buname -\w*a|/etc/(?:os|dgx)-release\b|\blsb_release\b|/proc/uptime\b", command):
        return None
    told: dict[str, str] = {}
    since: dict[str, float] = {}
    first: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        kernel, setting = _UNAME.match(line), _SETTING.match(line)
        up, load = _UPTIME.match(line), _LOAD.match(line)
        if up is not None:
            since["up_seconds"] = float(up["up"])
        elif load is not None:
            since["load"] = float(load["load"])
        elif kernel is not None:
            told["kernel"] = kernel["kernel"]
        elif setting is not None:  # an update is noted below the version that was installed first
            told["os" if setting["key"] == "PRETTY_NAME" else "dgx_os"] = setting["value"].strip()
        else:
            continue
        first = (number, line)
    if first is None:
        return None
    return SystemSeen(
        kernel=told.get("kernel"), os=told.get("os"), dgx_os=told.get("dgx_os"), up_seconds=since.get("up_seconds"),
        load=since.get("load"), **place(piece, *first),
    )  # fmt: skip


def _clock(piece: Piece, command: str, lines: list[str]) -> ClockSeen | None:
    if command.startswith("timedatectl"):
        for number, line in enumerate(lines):
            found = _SYNCHRONIZED.search(line)
            if found is not None:
                return ClockSeen(synchronized=found["word"] == "yes", **place(piece, number, line))
    if re.match(r"date\b.*%s", command):
        found = _DATE.match(lines[0]) if lines else None
        if found is not None:
            epoch, at = int(found["epoch"]), piece.meta.get("at")
            ahead = round(epoch - float(at), 1) if isinstance(at, (int, float)) else None
            return ClockSeen(epoch=epoch, ahead=ahead, **place(piece, 0, lines[0]))
    return None
