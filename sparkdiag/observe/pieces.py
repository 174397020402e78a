"""Pieces into facts: one parser a kind of piece. The only place that knows which.

Parsers are imported when their kind of piece occurs: most cases hold few kinds, and a small log is judged at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..facts import Fact, Looked, Signature, Source
from ..facts.piece import Piece
from .launch import observe_launch
from .logs import observe_logs
from .outputs import observe_output

if TYPE_CHECKING:
    from .exchanges import Exchange

SCANNED = ("log", "output", "text")
"""Kinds of pieces that signatures are looked for in, and whose being there means that a log was read."""


def observe_pieces(pieces: Iterable[Piece], signatures: Sequence[Signature]) -> list[Fact]:
    """All facts of all pieces, in the order of the evidence."""
    pieces = list(pieces)
    facts: list[Fact] = []
    for piece in pieces:
        if piece.kind in ("exchange", "json", "sse"):
            facts += _of_exchange(piece)
        elif piece.kind == "metrics":
            facts += _of_metrics(piece)
        launched = observe_launch(piece)
        facts += [*launched, *(_looked(piece, "launch") if launched else ())]
        facts += _of_model_files(piece)
        if piece.kind in (*SCANNED, "json", "config", "comment"):
            facts += observe_output(piece)
        if piece.kind in (*SCANNED, "json"):
            facts += _of_template(piece)
        if piece.kind in SCANNED:
            facts += _looked(piece, piece.kind)
    facts += observe_logs(pieces, signatures)
    facts += of_samples(facts)
    facts += _of_dates(pieces, facts)
    return sorted(facts, key=lambda fact: fact.order)


def _of_exchange(piece: Piece) -> list[Fact]:
    from .exchanges import observe_exchange

    if piece.meta.get("curl_error") is not None or piece.meta.get("no_answer"):
        from .outputs.reach import observe_failed_request

        return [*observe_failed_request(piece), *observe_exchange(_exchange(piece))]
    if piece.meta.get("jq_documents"):
        from .reshaped import observe_reshaped

        return observe_reshaped(_exchange(piece), piece.meta.get("jq_replies"), piece.meta["jq_documents"])
    return observe_exchange(_exchange(piece))


def _of_metrics(piece: Piece) -> list[Fact]:
    from .metrics import observe_metrics

    found = observe_metrics(
        piece.text,
        source=piece.source,
        where=piece.where,
        order=piece.order,
        first_line=piece.first_line,
        time=_slept(piece),
        clock="sleep",
    )
    return [*found, *_looked(piece, "metrics")] if found else []


def of_samples(facts: Sequence[Fact]) -> list[Fact]:
    """What the metrics samples among the facts tell of progress."""
    if not any(fact.kind == "metrics" for fact in facts):
        return []
    from ..facts.metrics import MetricsSample
    from .metrics import progress

    found = progress([fact for fact in facts if isinstance(fact, MetricsSample)])
    return [*found, *(Looked(probe="progress", where=f.where, order=f.order, source=f.source) for f in found[:1])]


def _of_model_files(piece: Piece) -> list[Fact]:
    """What the model's own files say, and what its folder holds."""
    if piece.kind not in ("config", "json", "output", "text") or (piece.kind != "config" and ".json" not in _words(piece)):
        return []
    from .configs import observe_config, observe_files

    return [*observe_config(piece), *observe_files(piece)]


def _words(piece: Piece) -> str:
    """A piece's text with the command and the file that it stands for."""
    return f"{piece.command or ''} {piece.meta.get('file', '')} {piece.text}"


def _of_dates(pieces: Sequence[Piece], facts: Sequence[Fact]) -> list[Fact]:
    """Dates are of use only against an image's build date."""
    if not any(fact.kind == "image" and fact.get("created") for fact in facts):
        return []
    from .dates import observe_dates

    return observe_dates(pieces)


def _of_template(piece: Piece) -> list[Fact]:
    if not any(mark in piece.text for mark in ("think", "THINK", "thought")):
        return []
    from .templates import template_facts

    return template_facts(piece)


def _slept(piece: Piece) -> float:
    """Seconds that the transcript says it waited before this piece: the clock of `sleep` commands."""
    at = piece.meta.get("at")
    return float(at) if isinstance(at, (int, float)) else 0.0


def _looked(piece: Piece, *names: str) -> list[Fact]:
    place = Source(piece.source, line=piece.first_line)
    return [Looked(probe=name, where=piece.where, order=piece.order, source=place) for name in names]


def _exchange(piece: Piece) -> Exchange:
    from .exchanges import Exchange

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
