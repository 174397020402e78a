"""How a command of the fixed list went, whatever it printed."""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import Fact, Looked, Source
from ..facts.piece import Piece
from ..facts.system import CommandRan

__all__ = ["command_ran", "without_false_looks"]

_NOTHING_SEEN = ("denied", "refused", "not-found", "timeout", "reset")


def command_ran(piece: Piece) -> list[Fact]:
    """The fact of a piece that is the beginning of a listed command's output."""
    told = piece.meta.get("ran")
    if told is None:
        return []
    probe, status, code = told
    shown = f"{piece.command or probe}: {status}" if status != "ok" else piece.command or probe
    source = Source(piece.source, piece.first_line, text=shown[:300])
    return [
        CommandRan(probe=probe, status=status, code=code, where=piece.where, order=piece.order, source=source),
        Looked(probe="ran", where=piece.where, order=piece.order, source=source),
    ]


def without_false_looks(piece: Piece, facts: Sequence[Fact]) -> list[Fact]:
    """A command that was refused, or hung, has looked at nothing: only what its words do show is known."""
    told = piece.meta.get("ran")
    if told is None or told[1] not in _NOTHING_SEEN:
        return list(facts)
    shown = {fact.kind for fact in facts if fact.kind != "looked"}
    return [fact for fact in facts if fact.kind != "looked" or fact.get("probe") in shown]
