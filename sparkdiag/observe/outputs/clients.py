"""Clients that could not connect to a server: what their libraries say of the port, in logs and tracebacks."""

from __future__ import annotations

import re

from ...facts import Fact
from ...facts.http import Reachability
from ...facts.piece import Piece
from ..patterns import lazy
from .lines import lines_with, looked, place

__all__ = ["observe_clients"]

_ROUTE = r"/(?:v1|health|metrics|models|chat|completions|generate|tokenize|api)\b"
_LINES = (
    lazy(
        rf"HTTPS?ConnectionPool\(host='[^']+', port=(?P<port>\d+)\): Max retries exceeded with url: [^ ]*?{_ROUTE}.*?"
        r"(?P<why>Connection refused|No route to host|Network is unreachable|timed out|Name or service not known"
        r"|Temporary failure in name resolution|actively refused)"
    ),
    lazy(r"Cannot connect to host [^\s:]+:(?P<port>\d+) ssl:\S+ \[(?P<why>[^\]\[]*)"),
    lazy(r"connect (?P<why>ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT) \S*?:(?P<port>\d+)\b"),
    lazy(
        r"dial tcp \S*?:(?P<port>\d+): (?:connect: )?"
        r"(?P<why>connection refused|no route to host|network is unreachable|i/o timeout|connection timed out)"
    ),
    lazy(r"tcp connect error[:,].{0,60}?(?P<why>Connection refused|No route to host|timed out)(?P<port>)"),
    lazy(
        r"Connecting to \S+:(?P<port>\d+)\.\.\. failed: "
        r"(?P<why>Connection refused|No route to host|Connection timed out|Network is unreachable)"
    ),
    lazy(
        r"connect\(\) failed \(\d+: (?P<why>Connection refused|No route to host|Connection timed out)\) "
        r"while connecting to upstream.*upstream: \"https?://[^/\"]*?:(?P<port>\d+)"
    ),
    lazy(r"[Tt]arget machine (?P<why>actively refused) it\W{0,3}(?:\S*?:(?P<port>\d+))?"),
    lazy(
        r"Failed to connect to \S+ port (?P<port>\d+)\b.{0,40}?(?P<why>Connection refused|No route to host|timed out)"
    ),
)
_MARKS = (
    "Max retries exceeded", "Cannot connect to host", "ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT",
    "dial tcp", "tcp connect error", "failed: ", "connect() failed", "actively refused", "Failed to connect to",
)  # fmt: skip
_SDK = lazy(
    r"(?:httpx|httpcore)\.Connect(?:Error|Timeout): "
    r"(?P<why>\[Errno \d+\] [\w ]+|timed out|All connection attempts failed)"
    r"|urlopen error (?P<why2>\[Errno \d+\] [\w ]+)"
)
_UNTOLD = lazy(r"(?:APIConnectionError: |\w+Exception - )Connection error\b")
"""A client that tells no reason."""
_ASKS_LLM = ("openai.", "litellm", "/v1", "chat.completions", "base_url", "langchain")
_ELSEWHERE = ("huggingface", "hf.co", "pypi", "modelscope", "github.com")
_INNER = ("freeze_gc", "warmup", "NCCL", "TCPStore", "gloo", "raylet", "ray::", "zmq", "GetGpu")
"""Words of connections between the processes of one server."""


def observe_clients(piece: Piece) -> list[Fact]:
    """What clients say of a port they could not reach; nothing for the processes of one server among themselves."""
    out: dict[tuple[int | None, str], Fact] = {}
    untold: Fact | None = None
    for at, line in lines_with(piece.text, *_MARKS):
        if len(line) > 4000 or line.startswith("curl: ") or any(word in line for word in (*_INNER, *_ELSEWHERE)):
            continue
        for pattern in _LINES:
            match = pattern.search(line)
            if match is not None:
                port = int(match["port"]) if match["port"] else None
                result = _result(match["why"])
                out.setdefault((port, result), _fact(piece, at, line, result, port))
                break
    if not out and any(word in piece.text for word in _ASKS_LLM) and not any(word in piece.text for word in _ELSEWHERE):
        for at, line in lines_with(piece.text, "Connect", "urlopen error"):
            match = _SDK.search(line)
            if match is not None:
                result = _result(match["why"] or match["why2"])
                out.setdefault((None, result), _fact(piece, at, line, result, None))
            elif _UNTOLD.search(line):
                untold = untold or _fact(piece, at, line, "failed", None)
        if not out and untold is not None:
            out[None, "failed"] = untold
    return [*out.values(), *(looked(piece, "reach", "tcp-api") if out else [])]


def _fact(piece: Piece, at: int, line: str, result: str, port: int | None) -> Reachability:
    return Reachability(probe="tcp-api", result=result, detail=line.strip()[:200], port=port, **place(piece, at, line))


_RESULTS = (
    (lazy(r"no route|unreach|errno 113|errno 101", re.IGNORECASE), "unreachable"),
    (lazy(r"name or service|name resolution|nodename", re.IGNORECASE), "dns"),
    (lazy(r"time-?d? ?out|ETIMEDOUT|errno 110", re.IGNORECASE), "timeout"),
)


def _result(why: str) -> str:
    """How the connection failed; one that says nothing of it may have been refused, or filtered."""
    if why.startswith("All connection attempts"):
        return "failed"
    return next((result for pattern, result in _RESULTS if pattern.search(why)), "refused")
