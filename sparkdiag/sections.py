"""Outputs of several commands in one text, told apart by a line before and a line after each.

The script of `sparkdiag commands` prints such lines, a live session the same ones; collect cuts at them as they come,
and the transcript reader where they were pasted. Each run has an id, so that a log that holds an older paste, or words
of somebody else's making, cannot pass for a section.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .capture import Status
from .records import dataclass

__all__ = ["BEGIN", "END", "MARK", "Section", "sections_of", "status_of"]

MARK = "=== sparkdiag "
BEGIN = re.compile(
    r"=== sparkdiag (?P<id>[0-9a-z]{4,32}) begin (?P<probe>[a-z][a-z0-9-]{0,40}) "
    r"on (?P<node>[A-Za-z0-9][\w.-]{0,252}): (?P<command>\S.*)\Z"
)
END = re.compile(r"=== sparkdiag (?P<id>[0-9a-z]{4,32}) end (?P<probe>[a-z][a-z0-9-]{0,40}): (?P<code>\d{1,3})\Z")


@dataclass(frozen=True, slots=True)
class Section:
    """One command's output in a text: line indices, from 0."""

    probe: str
    command: str
    node: str
    at: int
    """The line that begins it."""
    start: int
    end: int
    """`start` to `end` (exclusive) is what the command printed."""
    after: int
    """The first line that no longer belongs to it."""
    code: int | None
    """Exit status; None where the text ends, or the next section begins, before the command did."""


def sections_of(lines: Sequence[str]) -> list[Section]:
    """All sections, in order; a section lasts until its own end, or until the next one of the same run begins."""
    out: list[Section] = []
    open_: tuple[int, re.Match[str]] | None = None

    def close(end: int, after: int, code: int | None) -> None:
        nonlocal open_
        if open_ is not None:
            at, begun = open_
            out.append(Section(begun["probe"], begun["command"], begun["node"], at, at + 1, end, after, code))
            open_ = None

    for number, line in enumerate(lines):
        if not line.startswith(MARK):
            continue
        begun, ended = BEGIN.match(line.rstrip()), END.match(line.rstrip())
        inside = open_[1] if open_ is not None else None
        if begun is not None and (inside is None or inside["id"] == begun["id"]):
            close(number, number, None)
            open_ = (number, begun)
        elif ended is not None and inside is not None and (inside["id"], inside["probe"]) == (
            ended["id"], ended["probe"],
        ):  # fmt: skip
            close(number, number + 1, int(ended["code"]))
    close(len(lines), len(lines), None)
    return out


_DENIED = re.compile(
    r"permission denied|operation not permitted|access denied|insufficient permissions|must be root|"
    r"interactive authentication required|not seeing messages from other users|you need to be root",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"(?:command )?not found\s*\Z|executable file not found|No such container|No such object|no such image",
    re.IGNORECASE,
)
_NO_SERVICE = re.compile(
    r"Cannot connect to the Docker daemon|Is the docker daemon running|failed to connect to the docker API|"
    r"Failed to connect to (?:user scope |system scope )?bus|has not been booted with systemd"
)
_SHORT = 2000
"""Words of a refusal count only where they are all that was printed, not somewhere in a log."""


def status_of(code: int | None, text: str) -> Status:
    """How a command ended. 124 and 137 are what `timeout` gives; 126 and 127 are the shell's own."""
    short = text.strip() if len(text) < _SHORT else ""
    if code is None or code in (124, 137):
        return "timeout"
    if _DENIED.search(short):
        return "denied"
    if code != 0 and _NO_SERVICE.search(short):
        return "refused"
    if code == 127 or (code != 0 and _MISSING.search(short)):
        return "not-found"
    if code == 126:
        return "denied"
    return "ok" if code in (0, 141) else "exit-error"  # 141: the reader of a pipe had enough
