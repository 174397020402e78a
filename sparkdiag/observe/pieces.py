"""Pieces into facts: one parser a kind of piece. The only place that knows which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..facts import Fact, Looked, Signature, Source
from ..facts.metrics import MetricsSample
from ..facts.piece import Piece
from .exchanges import Exchange, observe_exchange
from .launch import observe_launch
from .logs import observe_logs
from .metrics import observe_metrics, progress
from .outputs import observe_output
from .reshaped import observe_reshaped
from .templates import template_facts

SCANNED = ("log", "output", "text")
"""Kinds of pieces that signatures are looked for in, and whose being there means that a log was read."""


def observe_pieces(pieces: Iterable[Piece], signatures: Sequence[Signature]) -> list[Fact]:
    """All facts of all pieces, in the order of the evidence."""
    pieces = list(pieces)
    facts: list[Fact] = []
    for piece in pieces:
        if piece.kind in ("exchange", "json", "sse"):
            if piece.meta.get("jq_documents"):
                facts += observe_reshaped(_exchange(piece), piece.meta.get("jq_replies"), piece.meta["jq_documents"])
            else:
                facts += observe_exchange(_exchange(piece))
        elif piece.kind == "metrics":
            found = observe_metrics(
                piece.text,
                source=piece.source,
                where=piece.where,
                order=piece.order,
                first_line=piece.first_line,
                time=_slept(piece),
                clock="sleep",
            )
            facts += found
            if found:
                facts += _looked(piece, "metrics")
        facts += observe_launch(piece)
        if piece.kind in (*SCANNED, "json"):
            facts += observe_output(piece)
            facts += template_facts(piece)
        if piece.kind in SCANNED:
            facts += _looked(piece, "log" if piece.kind == "log" else piece.kind)
    facts += observe_logs(pieces, signatures)
    facts += progress([fact for fact in facts if isinstance(fact, MetricsSample)])
    return sorted(facts, key=lambda fact: fact.order)


def _slept(piece: Piece) -> float:
    """Seconds that the transcript says it waited before this piece: the clock of `sleep` commands."""
    at = piece.meta.get("at")
    return float(at) if isinstance(at, (int, float)) else 0.0


def _looked(piece: Piece, *names: str) -> list[Fact]:
    place = Source(piece.source, line=piece.first_line)
    return [Looked(probe=name, where=piece.where, order=piece.order, source=place) for name in names]


def _exchange(piece: Piece) -> Exchange:
    meta: Mapping[str, Any] = piece.meta
    return Exchange(
        request=meta.get("request"),
        response=meta.get("response_text", piece.text),
        status=meta.get("status"),
        path=meta.get("path"),
        method=meta.get("method"),
        headers=meta.get("headers"),
        probe=piece.probe,
        source=piece.source,
        where=piece.where,
        order=piece.order,
        time=meta.get("at"),
        seconds=meta.get("took"),
        truncated=meta.get("truncated") is True,
        cut_by=meta.get("cut_by"),
        key_sent=meta.get("key_sent"),
    )
