"""Replies that programs printed, in text that is no HTTP exchange: SDK objects, dicts, streams of chunks, fields.

What people paste of a client: `ChatCompletion(...)`, `response.json()`, `b'data: {...}'`, a REPL, a log line with JSON
in it, a table of runs, "finish_reason is stop and content is null". Requests are taken from the code before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from ..facts import Fact, Source
from ..facts.piece import Piece
from ..records import dataclass
from .exchanges import Exchange, observe_exchange
from .patterns import lazy
from .printed_errors import PrintedError, printed_errors
from .printed_fields import Told, told_fields
from .printed_finds import Call, is_speech, request_of, values_in
from .printed_marks import MAX_TEXT, may_tell
from .printed_parts import Assembly, Reply
from .printed_pipes import as_labels, unread
from .printed_tables import told_tables
from .reply_shapes import partial_reply
from .reshaped import observe_reshaped, shown_of
from .texts import byte_letters
from .transcript_kinds import is_log_line

__all__ = ["Printed", "observe_printed"]

MAX_REPLIES = 200

_ASKED_FIELD = lazy(
    r">>> (?:print\()?[\w.\[\]]*?\."
    r"(?P<name>finish_reason|content|reasoning_content|reasoning|tool_calls|completion_tokens)\)?\s*\Z"
)
"""A REPL's question for one field."""
_FIELD_WORDS = (
    "content", "Content", "CONTENT", "finish", "Finish", "FINISH", "max_tokens", "enable_thinking", "include_reasoning",
)  # fmt: skip
_SPOKEN = ("content", "reasoning", "reasoning_content")


@dataclass(frozen=True, slots=True)
class Printed:
    """What clients printed: the facts of it; by the piece's index the requests that stand before replies in JSON."""

    facts: list[Fact]
    requests: dict[int, dict[str, Any]] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    """Pieces' texts without the words of models and their users: those are no log, whatever they say."""


def observe_printed(pieces: Sequence[Piece]) -> Printed:
    """Facts of all printed replies and errors of the pieces, each with the line that it stands on."""
    if not pieces:
        return Printed([])
    told = Assembly(pieces[0])
    requests: dict[int, dict[str, Any]] = {}
    texts: dict[int, str] = {}
    for index, piece in enumerate(pieces):
        told.piece = piece
        if piece.kind == "json" and isinstance(piece.meta.get("doc"), dict):
            asked = _take_document(told, piece.meta["doc"])
            if asked:
                requests[index] = asked
        elif piece.kind == "exchange":
            request = piece.meta.get("request")
            told.take_request(request if isinstance(request, dict) else None)
            if unread(piece):
                _take_text(told, replace(piece, text=as_labels(piece)))
                told.close()
        elif (piece.kind != "json" or piece.meta.get("truncated")) and may_tell(piece):
            spoken = _take_text(told, piece)
            if spoken:
                texts[index] = _without(piece.text, spoken)
    told.close()
    return Printed([fact for reply in told.replies[:MAX_REPLIES] for fact in _facts(reply)], requests, texts)


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with stretches of it left blank; its lines keep their numbers."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            parts += [text[at:start], "\n" * text.count("\n", start, end)]
            at = end
    return "".join(parts) + text[at:]


def _take_document(told: Assembly, document: dict[str, Any]) -> dict[str, Any] | None:
    """A JSON document: a request, a part of a reply, or a whole one that is read elsewhere: then what it answers."""
    if "messages" in document and "choices" not in document:
        told.take_request(document)
        return None
    if "choices" in document or "error" in document:
        told.close()
        return told.asked()
    part = partial_reply(document)
    if part is not None:
        told.take_part(0, part, shown_of(part))
    else:
        told.take_settings(document)
    return None


def _facts(reply: Reply) -> list[Fact]:
    piece = reply.piece
    line = piece.first_line + reply.line - piece.order
    exchange = Exchange(
        request=reply.request,
        response=reply.document,
        status=reply.status,
        path=None if reply.request is None or "messages" in reply.request else "/v1/chat/completions",
        source=piece.source,
        where=piece.where,
        order=reply.line,
    )
    if reply.shown is None:
        facts = observe_exchange(exchange)
    else:
        facts = observe_reshaped(exchange, [reply.shown], [reply.document])
    return [replace(fact, source=Source(fact.source.source, line=line, text=fact.source.text)) for fact in facts]


def _take_text(told: Assembly, piece: Piece) -> list[tuple[int, int]]:
    """Reads what one piece of text holds. Returns the stretches that are a model's or a user's words."""
    text = piece.text[:MAX_TEXT]
    asked = _ASKED_FIELD.match(piece.command or "")
    if asked is not None:
        for one in told_fields(f"{asked['name']}: {text}", []):
            told.take_field(0, one)
        return []
    errors = list(printed_errors(text))
    values = [v for v in values_in(text) if not any(e.at <= v[0] < e.end for e in errors)]
    taken = sorted([(start, end) for start, end, _ in values] + [(e.at, e.end) for e in errors])
    fields: list[Told] = []
    if piece.kind in ("text", "output") and ("Ġ" in text or "Ċ" in text):
        fields += _byte_letters(text, taken)
    if any(word in text for word in _FIELD_WORDS):
        fields += _beside_log(text, taken) if piece.kind == "log" else _loose(text, taken, piece.kind != "exchange")
    events: list[tuple[int, Any]] = [(start, value) for start, _, value in values]
    events += [(error.at, error) for error in errors] + [(one.at, one) for one in fields]
    for at, event in sorted(events, key=lambda pair: pair[0]):
        if isinstance(event, Told):
            told.take_field(at, event)
        elif isinstance(event, PrintedError):
            told.take_error(at, event.status, event.body)
        elif isinstance(event, Call):
            request = request_of(event)
            if request is not None:
                told.take_request(request)
        elif isinstance(event, dict):
            told.take_object(at, event)
    spoken = [(start, end) for start, end, value in values if is_speech(value)]
    return spoken + [(f.at, f.end) for f in fields if f.name in _SPOKEN and isinstance(f.value, str)]


def _byte_letters(text: str, taken: list[tuple[int, int]]) -> list[Told]:
    """A chat page's text with byte-level letters in it. In quotes they are somebody's look at a vocabulary."""
    at = 0
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        if any(a <= start < b or start <= a < at for a, b in taken) or "'Ġ" in line or '"Ġ' in line:
            continue
        if byte_letters(line) >= 4:
            return [
                Told(start, start + 1, "content", line.partition("content: ")[2] or line),
                Told(start, at, "finish", "stop"),
            ]
    return []


def _beside_log(text: str, taken: list[tuple[int, int]]) -> list[Told]:
    """Of a log what stands after its last line, and lines within it that tell several fields of a reply at once."""
    out: list[Told] = []
    at = tail = 0
    for line in text.split("\n"):
        if is_log_line(line):
            tail = at + len(line) + 1
        if "finish_reason" in line and ("content" in line or "reasoning" in line) and len(line) < 20_000:
            told = list(told_fields(line, [(a - at, b - at) for a, b in taken]))
            if len({one.name for one in told}) >= 3:
                out += [_moved(one, at) for one in told]
        at += len(line) + 1
    after = text[tail:]
    if not after.strip():
        return out
    loose = _loose(after, [(a - tail, b - tail) for a, b in taken])
    return [one for one in out if one.at < tail] + [_moved(one, tail) for one in loose]


def _loose(text: str, taken: list[tuple[int, int]], code: bool = True) -> list[Told]:
    """Fields in tables and in the text around them."""
    return [*told_tables(text), *told_fields(text, taken, code=code)]


def _moved(told: Told, by: int) -> Told:
    return replace(told, at=told.at + by, end=told.end + by)
