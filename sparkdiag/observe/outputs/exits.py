"""Commands that printed nothing, told apart by the exit status that was printed after them: `ssh ...; echo $?`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ...facts import Fact
from ...facts.http import Reachability
from ...facts.piece import Piece
from .lines import looked, place
from .reach import of_curl, route_of

__all__ = ["observe_exits"]

_STATUS = re.compile(r"(?:^|[^\d.])(?P<code>\d{1,3})\s*\Z")
_TIMED_OUT = 124
"""What `timeout` exits with when it had to end the command."""


def observe_exits(pieces: Sequence[Piece]) -> list[Fact]:
    """Reachability by exit status: of ssh under `timeout`, and of a silent curl."""
    out: list[Fact] = []
    for before, after in pairwise(pieces):
        if before.text.strip() or not after.command or "$?" not in after.command:
            continue
        found = _STATUS.search(after.text.strip().split("\n")[0])
        known = None if found is None else _known(before, int(found["code"]))
        if found is not None and known is not None:
            typed = str(before.meta.get("typed") or before.command)
            told = f"{typed}: exit status {found['code']}"
            fact = Reachability(probe=known[0], result=known[1], detail=told[:200], **place(after, 0, told))
            out += [fact, *looked(after, "reach", known[0])]
    return out


def _known(before: Piece, code: int) -> tuple[str, str] | None:
    if before.kind == "exchange":
        return of_curl(code, "", route_of(before))
    typed = str(before.meta.get("typed") or before.command or "")
    if code == _TIMED_OUT and re.match(r"timeout\b.*\bssh ", typed):
        return "ssh-banner", "timeout"
    return None
