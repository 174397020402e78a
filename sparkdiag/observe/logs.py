"""Log facts: signature hits folded per run and process, in order, with the phase of start-up they fall into."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..facts import Fact, LogHit, Signature, Source, Value
from ..facts.piece import Piece
from .captures import read_capture
from .prefixes import parse_line
from .scan import scanner_for

__all__ = ["observe_log", "observe_logs"]


def observe_log(piece: Piece, signatures: Sequence[Signature]) -> list[Fact]:
    """The log facts of one piece."""
    return observe_logs((piece,), signatures)


def observe_logs(pieces: Iterable[Piece], signatures: Sequence[Signature]) -> list[Fact]:
    """The log facts of all pieces of a case, folded across pieces of the same server."""
    declared = tuple(signatures)
    folded: dict[tuple[object, ...], LogHit] = {}
    for piece in pieces:
        scanner = scanner_for(declared, piece.kind)
        for hit in scanner.hits(piece.text):
            signature = scanner.signatures[hit.signature]
            line = parse_line(hit.text)
            captures: dict[str, Value] = {
                name: read_capture(kind, hit.match[name])
                for name, kind in signature.captures
                if hit.match[name] is not None
            }
            order, number = piece.order + hit.line, piece.first_line + hit.line
            key = (signature.id, tuple(sorted(captures.items(), key=str)), line.process, line.rank, piece.where)
            known = folded.get(key)
            if known is not None:
                folded[key] = replace(
                    known, count=known.count + line.repeats, last_line=number, last_order=order, last_time=line.time
                )
                continue
            folded[key] = LogHit(
                where=piece.where,
                source=Source(piece.source, number, text=hit.text.strip()[:500]),
                order=order,
                time=line.time,
                signature=signature.id,
                captures=captures,
                count=line.repeats,
                last_line=number,
                last_order=order,
                last_time=line.time,
                process=line.process,
                level=line.level,
                command=piece.command,
            )
    return sorted(folded.values(), key=lambda f: f.order)
