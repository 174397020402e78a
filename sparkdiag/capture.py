"""The vocabulary of evidence: a capture is a folder (or archive) of raw evidence with capture.json as its index.

Classes only, and the mapping to and from capture.json. Reading and writing folders is capture_io's.
Times are seconds from the capture's start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Literal

from .errors import CaptureError
from .records import dataclass

__all__ = ["STATUSES", "Capture", "Item", "Status", "Target"]

Status = Literal[
    "ok",
    "http-error",
    "exit-error",
    "refused",
    "timeout",
    "reset",
    "dns",
    "tls",
    "denied",
    "not-found",
    "skipped",
]
STATUSES: tuple[str, ...] = (
    "ok", "http-error", "exit-error", "refused", "timeout", "reset", "dns", "tls", "denied", "not-found", "skipped",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """What was looked at: an endpoint, a node, a file."""

    id: str
    kind: str
    """endpoint, node, file, text."""
    address: str = ""
    """URL, host or path, without secrets."""


@dataclass(frozen=True, slots=True)
class Item:
    """One probe's raw result. Nothing here is interpreted."""

    target: str
    probe: str
    status: Status
    id: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What was sent: method, path, body for HTTP; command for a shell; secrets removed."""
    why: str | None = None
    """The error's words, or why the probe was skipped."""
    code: int | None = None
    """HTTP or exit status."""
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: tuple[tuple[int, float], ...] = ()
    """(byte offset, seconds) of each chunk of a stream."""
    at: float | None = None
    took: float | None = None
    file: str | None = None
    """Name of the evidence file in the capture's folder."""
    media: str | None = None
    truncated: bool = False
    text: str = field(default="", repr=False)
    """The evidence itself; kept beside capture.json, not in it."""

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"target": self.target, "probe": self.probe, "status": self.status}
        for name in ("id", "asked", "why", "code", "headers", "at", "took", "file", "media", "truncated"):
            value = getattr(self, name)
            if value is not None and value is not False and value != "" and value != {}:  # 0 is a value
                out[name] = dict(value) if isinstance(value, Mapping) else value
        if self.chunks:
            out["chunks"] = [list(pair) for pair in self.chunks]
        return out


@dataclass(frozen=True, slots=True)
class Capture:
    """All evidence of one case."""

    started: str = ""
    """Wall-clock time of the start, ISO 8601; empty if unknown."""
    targets: tuple[Target, ...] = ()
    items: tuple[Item, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)
    """What the user said about the case: client_reads, tools, symptom ..."""

    def with_items(self, *items: Item) -> Capture:
        return replace(self, items=(*self.items, *items))

    def to_dict(self) -> dict[str, Any]:
        """capture.json"""
        return {
            "format": 1,
            "started": self.started,
            "targets": [{"id": t.id, "kind": t.kind, "address": t.address} for t in self.targets],
            "items": [item.to_dict() for item in self.items],
            "answers": dict(self.answers),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], texts: Mapping[str, str], place: str = "capture.json") -> Capture:
        """From capture.json and its evidence files by name. The shape was checked against the schema before."""
        if data.get("format") != 1:
            raise CaptureError(
                f"format {data.get('format')!r} is not known here; this version reads format 1", place=place
            )
        items = []
        for number, raw in enumerate(data.get("items", ()), 1):
            if raw.get("status") not in STATUSES:
                raise CaptureError(f"item {number} has no known status: {raw.get('status')!r}", place=place)
            known = {k: v for k, v in raw.items() if k in Item.__slots__ and k not in ("chunks", "text")}
            known["chunks"] = tuple((int(a), float(b)) for a, b in raw.get("chunks", ()))
            name = raw.get("file")
            if name is not None and name not in texts:
                raise CaptureError(f"item {number} names the file {name!r}, which is not in the capture", place=place)
            items.append(Item(**known, text=texts.get(name, "") if name else ""))
        return cls(
            started=str(data.get("started", "")),
            targets=tuple(Target(t["id"], t["kind"], t.get("address", "")) for t in data.get("targets", ())),
            items=tuple(items),
            answers=dict(data.get("answers", {})),
        )
