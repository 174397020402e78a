"""When the text of a stream came: its events laid over the times at which its bytes arrived."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..records import dataclass
from .bodies import mapping, number, parse_json
from .event_chunks import as_chunk

__all__ = ["Arrival", "arrivals"]

MAX_EVENTS = 100_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """A moment at which text came: what one read from the connection brought."""

    seconds: float
    """Since the request was sent."""
    tokens: int | None
    """Completion tokens so far, where the server says so in each event."""


def arrivals(text: str, chunks: Sequence[tuple[int, float]]) -> list[Arrival]:
    """All moments at which content, thought or a tool call came, in order. `chunks` as in a capture's item."""
    starts = [offset for offset, _ in chunks]
    out: list[Arrival] = []
    for end, event in _events(text):
        if not _brings_text(event):
            continue
        read = bisect_right(starts, end - 1) - 1
        if read < 0:
            continue
        seconds = chunks[read][1]
        tokens = number(mapping(event.get("usage")).get("completion_tokens"))
        if out and out[-1].seconds == seconds:
            out[-1] = Arrival(seconds, tokens if tokens is not None else out[-1].tokens)
        else:
            out.append(Arrival(seconds, tokens))
    return out


def _events(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each event that is a JSON object, with the offset of its last byte's end."""
    at = 0
    for seen, line in enumerate(text.split("\n")):
        end = at + len(line.encode("utf-8", "surrogatepass"))
        at = end + 1
        if seen > MAX_EVENTS:
            return
        if not line.startswith("data:"):
            continue
        data, wrong = parse_json(line[5:].strip())
        if wrong is None and isinstance(data, dict):
            yield end, as_chunk(data)


def _brings_text(event: Mapping[str, Any]) -> bool:
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        told = mapping(choice)
        delta = mapping(told.get("delta"))
        if told.get("text") or delta.get("tool_calls"):
            return True
        if any(delta.get(key) for key in ("content", "reasoning", "reasoning_content")):
            return True
    return False
