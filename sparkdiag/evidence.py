"""The evidence of one run: the capture as it grows, large logs that are no part of it, and what could not be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from .capture import Capture, Item
from .case import Case, judge
from .diagnosis import TRIED, Problem
from .facts import Fact, Signature
from .records import dataclass
from .targets import Recognised

if TYPE_CHECKING:
    from .files import Progress, Read, Stream

__all__ = ["AS_ASKED", "Evidence"]

AS_ASKED = "--passive generates nothing"
"""Why something was not run that was not to be run: no problem of the case."""


@dataclass(slots=True)
class Evidence:
    """What a run has so far: an interrupt still finds it here."""

    capture: Capture = field(default_factory=Capture)
    problems: list[Problem] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    engine: str = "auto"
    streams: list[Stream] = field(default_factory=list)
    """Large logs that wait to be read."""
    streamed: list[Fact] = field(default_factory=list)
    """The facts of those that were: they are read once, whatever the number of rounds."""

    def add(self, items: Sequence[Item]) -> None:
        """Items of the capture, with what they say could not be collected."""
        self.capture = self.capture.with_items(*items)
        for item in items:
            told = problem_of(item, self._beside(item))
            if told is not None and told not in self.problems:
                self.problems.append(told)
            if item.status == "skipped":
                probes = item.asked.get("probes")  # one item may stand for several probes
                for probe in probes if isinstance(probes, list) else [item.probe]:
                    self.not_run.setdefault(str(probe), item.why or "skipped")
            elif told is not None and "command" in item.asked:
                self.not_run.setdefault(item.probe, f"{TRIED}{told.why}")

    def _beside(self, item: Item) -> str | None:
        """What the item's target is called, where there is another of its kind."""
        target = next((one for one in self.capture.targets if one.id == item.target), None)
        alike = [one for one in self.capture.targets if target is not None and one.kind == target.kind]
        return target.address if target is not None and len(alike) > 1 else None

    def add_capture(self, path: str) -> None:
        """A saved capture, or a single recorded exchange."""
        from .capture_io import load

        capture, problems = load(path)
        self.problems += [Problem(what, why) for what, why in problems]
        first = self.capture
        self.capture = Capture(
            started=first.started or capture.started,
            targets=(*first.targets, *capture.targets),
            items=first.items,
            answers={**capture.answers, **first.answers},
        )
        self.add(capture.items)

    def read(self, targets: Sequence[Recognised], logs: Sequence[str], progress: Progress | None = None) -> None:
        """Files, captures and standard input among the targets, and logs named apart."""
        from .files import read_standard_input, read_text_file

        for target in targets:
            if target.kind == "capture" or (target.kind == "file" and target.name.endswith(".json")):
                self.add_capture(target.name)
            elif target.kind == "file":
                self._add_read(read_text_file(target.name, progress), "file")
            elif target.kind == "stdin":
                self._add_read(read_standard_input(progress), "file")
        for name in logs:
            self._add_read(read_text_file(name, progress), "log")

    def _add_read(self, read: Read, probe: str) -> None:
        self.problems += read.problems
        if read.stream is not None:
            self.streams.append(read.stream)
        elif read.text:
            self.add([Item(target="", probe=probe, status="ok", file=read.name, text=read.text)])

    def anonymize(self) -> None:
        """Hosts and addresses numbered, in the evidence and in what was said of it."""
        from .capture_io import anonymized

        said = [problem_of(item, self._beside(item)) for item in self.capture.items]
        self.problems = [problem for problem in self.problems if problem not in said]
        whole = anonymized(self.capture)
        self.capture = replace(whole, items=())
        self.add(whole.items)

    def judged(self) -> Case:
        """The case as it stands."""
        from .observe.collected import observe_capture

        capture = self.capture

        def observe(signatures: tuple[Signature, ...]) -> list[Fact]:
            if self.streams:
                from .observe.collected import observe_streams

                waiting, self.streams = self.streams, []
                self.streamed += observe_streams([(s.name, s.chunks) for s in waiting], signatures, len(capture.items))
            return [*observe_capture(capture, signatures), *self.streamed]

        return judge(
            lambda book: observe(tuple(book.signatures.values())),
            rule_engine=self.engine,
            problems=self.problems,
            not_run=self.not_run,
            capture=capture,
        )


def problem_of(item: Item, beside: str | None = None) -> Problem | None:
    """What could not be collected, in words; a refused port is evidence, and told by its diagnosis.

    `beside` names the target where the case has several of its kind.
    """
    what = item.probe if beside is None else f"{beside}: {item.probe}"
    if item.status == "skipped" and item.why == AS_ASKED:
        return None
    if item.status in ("ok", "http-error", "exit-error"):
        return Problem(what, "only the beginning was read") if item.truncated and item.why is None else None
    if item.status == "refused" and "command" in item.asked:  # by what it asks, not by a port of the node
        return Problem(what, item.why or "nobody answered")
    words = _WORDS[item.status]
    return Problem(what, words if item.why in (None, "", words) else f"{words}: {item.why}")


_WORDS = {
    "refused": "the connection was refused",
    "timeout": "no answer in time",
    "reset": "the connection was reset",
    "dns": "the name does not resolve",
    "tls": "TLS failed",
    "denied": "not allowed",
    "not-found": "not there",
    "skipped": "not run",
}
