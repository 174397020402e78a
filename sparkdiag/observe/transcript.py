"""Pasted text into pieces: what was asked and what came back, each recognised for what it is."""

from __future__ import annotations

import json
import re

from ..facts.piece import Piece

__all__ = ["read_text"]

_PROMPT = re.compile(
    r"(?:\((?:\w[\w.-]*)\) )?(?:\[[\w.@-]+ [\w~/.-]+\]|[\w.-]+@[\w.-]+(?::[^$#>]*)?|[\w.-]+(?::[^$# ]*)?)?(?P<sign>[$#]) (?P<command>.*)"
)
_LOG = re.compile(
    r"\(\w[\w:.-]* pid=\d+|(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d |\[\d{4}-\d\d-\d\d \d\d:|Traceback \(most|INFO: |[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \S+ \S+:|\(raylet"
)
_METRIC = re.compile(r"[a-zA-Z_:]\w*(?::\w+)*(?:\{[^}]*\})? [-+\d.eEinfNa]+\s*$")


def _kind(lines: list[str]) -> str:
    filled = [line for line in lines if line.strip()]
    if not filled:
        return "output"
    if any(_LOG.search(line) for line in filled):
        return "log"
    if filled[0].startswith(("{", "[", '"')):
        return "json"
    if filled[0].startswith("data: "):
        return "sse"
    if all(line.startswith("#") or _METRIC.match(line) for line in filled):
        return "metrics"
    return "output"


def _exchange(command: str, text: str) -> dict[str, object] | None:
    url = re.search(r"https?://[^\s'\"]+", command)
    if not command.startswith("curl") or url is None:
        return None
    path = "/" + url.group().split("/", 3)[3] if url.group().count("/") > 2 else "/"
    body = re.search(r"(?:-d|--data|--data-raw|--json) '(.*?)'", command, re.S)
    request = None
    if body:
        try:
            request = json.loads(body.group(1))
        except ValueError:
            request = None
    return {
        "method": "POST" if body else "GET",
        "path": path,
        "url": url.group(),
        "request": request if isinstance(request, dict) else None,
        "response_text": text,
        "status": None,
    }


def read_text(text: str, *, source: str = "input", start_order: int = 0) -> list[Piece]:
    """All pieces of a text in order; every line stands in exactly one."""
    lines = text.replace("\r\n", "\n").split("\n")
    pieces: list[Piece] = []
    command: str | None = None
    start, begin = 0, 0

    def flush(end: int) -> None:
        if command is None and not any(line.strip() for line in lines[begin:end]):
            return
        body = "\n".join(lines[begin:end])
        kind, meta = _kind(lines[begin:end]), {}
        if command is not None:
            exchange = _exchange(command, body)
            if exchange is not None and kind != "metrics":
                kind, meta = "exchange", exchange
        pieces.append(
            Piece(
                kind,
                body,
                source,
                begin + 1,
                command=command,
                order=start_order + begin,
                meta={**meta, "span": (start + 1, end)},
            )
        )

    at = 0
    while at < len(lines):
        match = _PROMPT.match(lines[at])
        if match and (match["sign"] == "$" or match.start("sign") > 0):
            flush(at)
            start = at
            words = [match["command"]]
            while words[-1].endswith("\\") and at + 1 < len(lines):
                at += 1
                words.append(lines[at])
            joined = "\n".join(words)
            command = None if joined.lstrip().startswith("#") else joined
            begin = at + 1
        at += 1
    flush(len(lines))
    return pieces
