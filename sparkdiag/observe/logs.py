"""Log facts: signature hits in order, folded per run and process, each with the phase of the server that it falls into.

A run begins where a server starts anew. Facts carry `where.run` only where one stream shows several runs, `where.node`
and `where.rank` only where several are named: a name that nothing else is told apart from would only keep facts from
joining.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..facts import Fact, Signature
from ..facts.piece import Piece
from .captures import read_capture
from .logs_folds import Folds
from .logs_markers import MARKERS, SIGNATURES, Marker, is_echoed, is_spoken_code
from .logs_runs import Run, Streams
from .prefixes import LogLine, parse_line
from .scan import LOG_LIKE, Hit, Scanner, scanner_for
from .scan_anchors import ahead
from .tracebacks import EXCEPTION, EXCEPTION_ID, read_exception
from .transcript_kinds import looks_logged

__all__ = ["LogReader", "observe_log", "observe_logs"]

_MAX_SHOWN = 200_000
"""Lines that are remembered to know them again in another piece."""

_OWN = (*SIGNATURES, EXCEPTION)
_LONG = 40
"""Stretches after which a log is a long one: what most of its lines say has been seen often."""
_LOOK_BACK = 80
"""Lines back to the prefix that a line without one continues."""


def observe_log(piece: Piece, signatures: Sequence[Signature]) -> list[Fact]:
    """The log facts of one piece."""
    return observe_logs((piece,), signatures)


def observe_logs(pieces: Iterable[Piece], signatures: Sequence[Signature]) -> list[Fact]:
    """The log facts of all pieces of a case: lines that several pieces show are one event."""
    reader = LogReader(signatures)
    for piece in pieces:
        reader.read(piece)
    return reader.facts()


class LogReader:
    """Reads pieces, or one log stretch by stretch, with a memory that does not grow with their length."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self._signatures = tuple(signatures)
        self._streams = Streams()
        self._folds = Folds()
        self._scanners: dict[str, Scanner] = {}
        self._spent: dict[str, list[int]] = {}
        self._lines = 0
        """Lines of the text that was scanned last."""
        self._worn: frozenset[int] = frozenset()
        """Anchors of a long log that need not be looked for any more: most of its lines hold them."""
        self._shown: set[int] = set()
        """Lines with a time that earlier pieces showed, as hashes."""

    def facts(self) -> list[Fact]:
        """All facts so far, in order."""
        return self._folds.facts(self._streams)

    def read(self, piece: Piece) -> None:
        """One more piece."""
        self._shown |= self._read(piece, frozenset(self._shown))

    def read_stretches(self, texts: Iterable[str], piece: Piece) -> None:
        """One long log, handed over in stretches of whole lines; `piece` says what is known of all of them.

        Unlike in two pieces, a line that comes twice in it did happen twice.
        """
        earlier, new = frozenset(self._shown), set[int]()
        line = 0
        for number, (text, held) in enumerate(self._looked_at(texts, self._scanner(piece.kind))):
            stretch = replace(piece, text=text, first_line=piece.first_line + line, order=piece.order + line)
            shown = self._read(stretch, earlier, held)
            line += self._lines
            spent = self._spent.get(piece.kind)
            if number == _LONG and held is not None and spent is not None:
                self._worn = self._scanner(piece.kind).worn(held, spent)
            if len(new) < _MAX_SHOWN:
                new |= shown
        self._shown |= new

    def _looked_at(self, texts: Iterable[str], scanner: Scanner) -> Iterator[tuple[str, tuple[int, ...] | None]]:
        """Each text with the anchors that it holds, where hyperscan finds them."""
        self._worn = frozenset()
        if scanner.anchors.database() is None:
            return ((text, None) for text in texts)
        return ahead(texts, lambda text: scanner.anchors.held(text, known=self._worn))

    def _scanner(self, kind: str) -> Scanner:
        scanner = self._scanners.get(kind)
        if scanner is None:
            signatures = (*self._signatures, *_OWN) if kind in LOG_LIKE else self._signatures
            scanner = self._scanners[kind] = scanner_for(signatures, kind)
        return scanner

    def _read(self, piece: Piece, earlier: frozenset[int], held: tuple[int, ...] | None = None) -> set[int]:
        """Read a piece but for the lines that are known; gives the lines with a time that it shows."""
        scanner = self._scanner(piece.kind)
        if not scanner.signatures or not piece.text:
            return set()
        new: set[int] = set()
        for group in _by_line(self._hits(scanner, piece, held)):
            line = parse_line(group[0].text)
            if line.time is not None:
                seen = hash(group[0].text)
                if seen in earlier:
                    continue
                new.add(seen)
            self._line(piece, scanner, group, line)
        return new if len(self._shown) < _MAX_SHOWN else set()

    def _hits(self, scanner: Scanner, piece: Piece, held: tuple[int, ...] | None) -> Iterable[Hit]:
        """The scanner's hits; once a signature was seen often enough, the last of each stretch is enough."""
        spent = self._spent.setdefault(piece.kind, [0] * len(scanner.signatures))
        hits, self._lines = scanner.scan(piece.text, spent, held=held)
        if any(h.skipped for h in hits) and any(_banner(scanner.signatures[h.signature]) for h in hits):
            spent[:] = [0] * len(spent)  # a new run counts anew
            hits, self._lines = scanner.scan(piece.text, spent, held=held)
        for hit in hits:
            spent[hit.signature] += 1
        return hits

    def _line(self, piece: Piece, scanner: Scanner, group: list[Hit], line: LogLine) -> None:
        """All hits on one line: first what it says of the run, then the signatures, then the phase that follows."""
        signatures = [scanner.signatures[hit.signature] for hit in group]
        markers = [MARKERS[s.id] for s in signatures if s.id in MARKERS]
        whole = line if line.form is not None else _context(piece.text, group[0].start, line)
        run = self._streams.run(piece, whole)
        for marker in markers:
            run = self._streams.mark(run, marker, whole)
        for hit, signature in zip(group, signatures, strict=True):
            if signature.id in MARKERS:
                self._marked(piece, run, hit, MARKERS[signature.id], whole)
            elif signature.id == EXCEPTION_ID:
                if not is_echoed(hit.match):
                    raised = read_exception(piece.text, hit.start, line.message)
                    if raised is not None:
                        self._folds.exception(piece, run, hit, whole, raised)
            elif not is_echoed(hit.match) and not is_spoken_code(line.message):
                captures = {
                    name: read_capture(kind, hit.match[name])
                    for name, kind in signature.captures
                    if hit.match[name] is not None
                }
                self._folds.hit(piece, run, hit, whole, signature, captures)
        for marker in markers:
            timed = whole if whole.time is not None or not marker.ends else _context(piece.text, group[0].start, whole)
            self._streams.after(run, marker, timed)

    def _marked(self, piece: Piece, run: Run, hit: Hit, marker: Marker, line: LogLine) -> None:
        groups = hit.match.groupdict()
        if groups.get("version"):
            self._folds.engine(piece, run, hit, "vllm", groups["version"].rstrip(".,)"))
        elif marker.id in ("fired-up", "load-begin", "decode", "prefill"):
            self._folds.engine(piece, run, hit, "sglang", None)
        elif line.form == "vllm" and marker.id not in ("non-default-args", "server-args"):
            self._folds.engine(piece, run, hit, "vllm", None)
        if marker.id in ("non-default-args", "server-args"):
            from .launch import launch_fact
            from .launch_printed import args_of_line

            shown = args_of_line(hit.text)
            if shown is not None:
                shown.line = hit.line
                self._folds.launch(run, launch_fact(shown, piece, hit.text))
                self._folds.engine(piece, run, hit, shown.engine or "vllm", None)


def _banner(signature: Signature) -> bool:
    return signature.id in MARKERS and MARKERS[signature.id].banner


def _by_line(hits: Iterable[Hit]) -> Iterable[list[Hit]]:
    group: list[Hit] = []
    for hit in hits:
        if group and hit.start != group[0].start:
            yield group
            group = []
        group.append(hit)
    if group:
        yield group


def _context(text: str, start: int, line: LogLine) -> LogLine:
    """A line without prefix, with what the prefix above it tells: some tracebacks have one only at the top."""
    at = start
    for _ in range(_LOOK_BACK):
        begin = text.rfind("\n", max(0, at - 20_000), max(at - 1, 0)) + 1
        if at <= 0 or begin >= at:
            break
        if looks_logged(text[begin : begin + 400]):
            above = parse_line(text[begin : at - 1])
            return replace(above, message=line.message, level=None, repeats=1)
        at = begin
    return line
