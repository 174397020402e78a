"""Pieces into facts: one parser a kind of piece. The only place that knows which.

Parsers are imported when their kind of piece occurs: most cases hold few kinds, and a small log is judged at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..facts import Fact, Looked, Signature, Source
from ..facts.piece import Piece
from .launch import observe_launch
from .logs import observe_logs
from .outputs import observe_output

if TYPE_CHECKING:
    from .exchanges import Exchange
    from .printed_replies import Printed

SCANNED = ("log", "output", "text")
"""Kinds of pieces that signatures are looked for in, and whose being there means that a log was read."""


def observe_pieces(pieces: Iterable[Piece], signatures: Sequence[Signature]) -> list[Fact]:
    """All facts of all pieces, in the order of the evidence."""
    pieces = list(pieces)
    facts: list[Fact] = []
    printed = _printed(pieces)
    if printed is not None and printed.texts:
        pieces = [replace(p, text=printed.texts[i]) if i in printed.texts else p for i, p in enumerate(pieces)]
    pieces = _timed(pieces)
    for index, piece in enumerate(pieces):
        found = _of_piece(piece, None if printed is None else printed.requests.get(index))
        if "ran" in piece.meta:
            from .ran import command_ran, without_false_looks

            found = [*command_ran(piece), *without_false_looks(piece, found)]
        facts += found
    facts += [] if printed is None else printed.facts
    facts += _of_exits(pieces)
    logged = observe_logs(pieces, signatures)
    facts += [*logged, *_log_read(facts, logged, signatures)]
    facts += of_samples(facts)
    facts += _of_dates(pieces, facts)
    return sorted(facts, key=lambda fact: fact.order)


def _log_read(facts: Sequence[Fact], logged: Sequence[Fact], signatures: Sequence[Signature]) -> list[Fact]:
    """A log was looked at where a program's own error stands in text or output that was not taken for one."""
    if not logged or any(fact.kind == "looked" and fact.get("probe") == "log" for fact in facts):
        return []
    programs = {s.id for s in signatures if not s.benign and "any" not in s.pieces}
    told = next((fact for fact in logged if fact.kind == "log" and fact.get("signature") in programs), None)
    return [] if told is None else [Looked(probe="log", where=told.where, order=told.order, source=told.source)]


def _of_exits(pieces: Sequence[Piece]) -> list[Fact]:
    """What the exit status tells that was printed after a silent command."""
    if not any("$?" in (piece.command or "") for piece in pieces):
        return []
    from .outputs.exits import observe_exits

    return observe_exits(pieces)


def _of_piece(piece: Piece, asked: Mapping[str, Any] | None) -> list[Fact]:
    """What the parsers of its kind read in one piece by itself."""
    facts: list[Fact] = []
    if piece.kind in ("exchange", "json", "sse") and "ran" not in piece.meta:  # a command's JSON is nobody's reply
        facts += _of_exchange(piece, asked)
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
    return facts


def _of_exchange(piece: Piece, asked: Mapping[str, Any] | None = None) -> list[Fact]:
    """`asked` is the request that stands in the text before, for a reply that brings none of its own."""
    from .exchanges import observe_exchange

    if piece.meta.get("curl_error") is not None or piece.meta.get("no_answer"):
        from .outputs.reach import observe_failed_request

        return [*observe_failed_request(piece), *observe_exchange(_exchange(piece))]
    if piece.meta.get("jq_documents"):
        from .reshaped import observe_reshaped

        return observe_reshaped(_exchange(piece), piece.meta.get("jq_replies"), piece.meta["jq_documents"])
    exchange = _exchange(piece)
    return observe_exchange(exchange if exchange.request is not None else replace(exchange, request=asked))


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


def _timed(pieces: list[Piece]) -> list[Piece]:
    """Scrapes of the metrics with the time between them, where a transcript tells it."""
    if sum("metrics" in (piece.kind, str(piece.meta.get("path") or "")[-7:]) for piece in pieces) < 2:
        return pieces
    from .pauses import seconds_of_scrapes

    seconds = seconds_of_scrapes(pieces)
    return [replace(p, meta={**p.meta, "at": seconds[i]}) if i in seconds else p for i, p in enumerate(pieces)]


def _printed(pieces: Sequence[Piece]) -> Printed | None:
    """What clients printed of replies and errors, in text that is no exchange."""
    from .printed_marks import may_tell

    if not any(map(may_tell, pieces)):
        return None
    from .printed_replies import observe_printed

    return observe_printed(pieces)


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
    if piece.kind not in ("config", "json", "output", "text") or (
        piece.kind != "config" and ".json" not in _words(piece)
    ):
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


_ERROR_FILTER = re.compile(r"\.(?:error|message|detail)\b")


def _response(meta: Mapping[str, Any], text: str) -> Any:
    """The reply's body. Words that a filter took out of an error are put back into one."""
    body = meta.get("response_text", text)
    shaped = str(meta.get("jq") or "")
    if (
        isinstance(body, str)
        and _ERROR_FILTER.match(shaped)
        and ".choices" not in shaped
        and body.strip()[:1] not in ("", "{", "[")
    ):
        return {"error": {"message": body.strip().strip('"')}} if body.strip() != "null" else body
    return body


def _exchange(piece: Piece) -> Exchange:
    from .exchanges import Exchange

    meta: Mapping[str, Any] = piece.meta
    return Exchange(
        request=meta.get("request"),
        response=_response(meta, piece.text),
        status=meta.get("status"),
        path=meta.get("path"),
        method=meta.get("method"),
        headers=meta.get("headers"),
        probe=piece.probe,
        source=piece.source,
        where=piece.where,
        order=piece.order,
        time=meta.get("at"),
        clock="capture" if piece.probe else "sleep",
        seconds=meta.get("took"),
        truncated=meta.get("truncated") is True,
        cut_by=meta.get("cut_by"),
        key_sent=meta.get("key_sent"),
    )
