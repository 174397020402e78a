"""The items of a capture into facts: what each probe asked for decides how its answer is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..capture import Capture, Item
from ..facts import Fact, Looked, Signature, Source, Where
from ..facts.piece import Piece
from .pieces import observe_pieces, of_samples
from .places import places_of
from .transcript import read_output, read_text, read_texts

_BELOW = ("tcp-api", "ping", "tcp-ssh", "ssh-banner", "ssh-login")
_BELOW_HTTP = ("refused", "timeout", "reset", "dns", "tls")
_HANDED_IN = ("file", "log", "exchange", "launch")
_ORDER_STEP = 1_000_000
"""Room for the lines of one item in the order of the whole evidence."""


def observe_capture(capture: Capture, signatures: Sequence[Signature]) -> list[Fact]:
    """All facts of a capture, in the order in which its items were collected."""
    facts: list[Fact] = []
    pieces = _handed_in(capture)
    places = places_of(capture)
    for number, item in enumerate(capture.items):
        order = number * _ORDER_STEP
        turn = item.asked.get("turn")
        where = places.get(item.target, Where(target=item.target or None))
        where = replace(where, turn=turn) if isinstance(turn, str) else where
        if item.status == "skipped" or (_is_text(item) and item.status == "ok"):
            continue
        if item.probe == "bench-refused" or (item.probe == "bench" and '"choices"' in item.text):
            continue  # a stream is timed, not read as a reply: its cap is meant to be reached
        ran = item.asked.get("command") and where.node is not None
        printed = item.probe == "launch" or item.asked.get("command") or not _is_http(item)
        if ran or (printed and item.status in ("ok", "exit-error") and item.probe not in _BELOW):
            pieces += _pieces(item, order, where)
            continue
        if item.status in _BELOW_HTTP or not _is_http(item):
            facts += _reach(item, order, where)
            continue
        facts += _exchange(item, order, where)
    facts += of_samples(facts)
    facts += observe_pieces(pieces, signatures)
    if any(item.probe == "logit-text" for item in capture.items):
        from .logit import logit_fact

        facts += logit_fact(capture.items, _ORDER_STEP)
    if any(item.probe == "bench" for item in capture.items):
        from .bench import bench_runs

        facts += bench_runs(capture.items, places, _ORDER_STEP)
    facts += _answers(capture)
    return sorted(facts, key=lambda fact: fact.order)


def observe_streams(
    streams: Iterable[tuple[str, Iterable[bytes]]], signatures: Sequence[Signature], before: int
) -> list[Fact]:
    """The facts of large logs (name, chunks), read in stretches; they stand after `before` items of the capture."""
    from .logs import LogReader
    from .logs_stream import stretches

    reader = LogReader(signatures)
    looked: list[Fact] = []
    for number, (name, chunks) in enumerate(streams):
        order = (before + number) * _ORDER_STEP * 1000
        piece = Piece("log", "", source=name, order=order)
        reader.read_stretches(stretches(chunks), piece)
        looked.append(Looked(probe="log", order=order, source=Source(name, line=1)))
    return [_without_secrets(fact) for fact in [*looked, *reader.facts()]]


def _without_secrets(fact: Fact) -> Fact:
    """A fact whose words were taken from a text that was not redacted as a whole."""
    from ..facts import LogHit
    from ..redact import redact

    text = redact(fact.source.text)
    masked = replace(fact, source=replace(fact.source, text=text))
    if isinstance(masked, LogHit):
        told = {name: redact(value) if isinstance(value, str) else value for name, value in masked.captures.items()}
        return replace(masked, captures=told)
    return masked


def _is_http(item: Item) -> bool:
    return "path" in item.asked or item.media == "exchange"


def _source(item: Item) -> str:
    """A file that was handed in goes by its name, a live probe by its own: saved or not, a report quotes the same."""
    return item.file if item.file and item.probe in _HANDED_IN else item.probe


def _exchange(item: Item, order: int, where: Where) -> list[Fact]:
    from .exchanges import Exchange, observe_exchange

    path = item.asked.get("path")
    exchange = Exchange(
        request=item.asked.get("body"),
        response=item.text,
        status=item.code,
        path=path if isinstance(path, str) else None,
        method=str(item.asked.get("method", "")) or None,
        headers=item.headers,
        probe=item.probe,
        source=_source(item),
        where=where,
        order=order,
        time=item.at,
        seconds=item.took,
        truncated=item.truncated,
        cut_by="probe" if item.asked.get("cut_by") == "probe" else None,
        key_sent=item.asked["key_sent"] if isinstance(item.asked.get("key_sent"), bool) else None,
    )
    return observe_exchange(exchange)


def _reach(item: Item, order: int, where: Where) -> list[Fact]:
    from ..facts.http import Reachability

    result, probe = _result(item), item.probe
    shown = f"{probe}: {result}" + (f" ({item.why})" if item.why else "")
    place = Source(_source(item), text=shown[:300])
    port, address = item.asked.get("port"), item.asked.get("address")
    at = None if item.probe == "ssh-banner" else item.at  # a wait that goes on beside other probes has no one moment
    fact = Reachability(
        probe=probe,
        result=result,
        port=port if isinstance(port, int) else None,
        seconds=item.took,
        detail=item.why or item.text[:200] or None,
        address=address if isinstance(address, str) else None,
        where=where,
        order=order,
        time=at,
        clock="capture" if at is not None else None,
        source=place,
    )
    looked: Iterable[str] = dict.fromkeys(("reach", probe))
    return [fact, *(Looked(probe=name, where=where, order=order, source=place) for name in looked)]


def _result(item: Item) -> str:
    """The item's status, told apart further by what collect said of it."""
    why = item.why or ""
    if item.status == "timeout" and "unreachable" in why:
        return "unreachable"
    if item.probe == "ssh-banner" and item.status == "timeout" and why.startswith("accepted, no banner"):
        return "silent"
    if item.probe == "ssh-banner" and item.status == "reset" and why.startswith("closed"):
        return "closed"
    if item.probe == "ssh-banner" and item.status == "reset" and why.startswith("no SSH"):
        return "other"
    return item.status


def _pieces(item: Item, order: int, where: Where) -> list[Piece]:
    command = item.asked.get("command")
    if isinstance(command, str):
        pieces = read_output(command, item.text or "\n", source=_source(item), start_order=order)
        if where.node is not None and pieces:
            ran = {"ran": (item.probe, item.status, item.code), "at": item.at}
            pieces = [replace(pieces[0], meta={**pieces[0].meta, **ran}), *pieces[1:]]
    else:
        pieces = read_text(item.text, source=_source(item), start_order=order)
    return [replace(piece, where=piece.where.merged(where)) for piece in pieces]


def _is_text(item: Item) -> bool:
    """A text that somebody handed in, whatever it shows."""
    return item.probe in _HANDED_IN and not isinstance(item.asked.get("command"), str) and not _is_http(item)


def _handed_in(capture: Capture) -> list[Piece]:
    """All such texts are read together, as one case: they have no target of their own."""
    texts = [(number, item) for number, item in enumerate(capture.items) if _is_text(item) and item.status == "ok"]
    named = [(_source(item), item.text) for _, item in texts]
    return read_texts(named, start_orders=[number * _ORDER_STEP for number, _ in texts])


def _answers(capture: Capture) -> list[Fact]:
    reads = capture.answers.get("client_reads")
    if not isinstance(reads, str):
        return []
    from ..facts.client import ClientReads

    place = Source("answers", path="$.client_reads", text=f"the client reads {reads}")
    return [ClientReads(key=reads, source=place), Looked(probe="client", source=place)]
