"""Errors as clients, SDKs and proxies print them: a line with a status and what the server said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..records import dataclass
from .patterns import lazy
from .printed_values import known, read_value

__all__ = ["PrintedError", "printed_errors"]

MAX_ERRORS = 40
MAX_LINE = 8000

_STATUS_OF = {
    "BadRequest": 400, "ContextWindowExceeded": 400, "UnsupportedParams": 400, "Authentication": 401,
    "PermissionDenied": 403, "NotFound": 404, "RequestTooLarge": 413, "UnprocessableEntity": 422, "RateLimit": 429,
    "InternalServer": 500, "ServiceUnavailable": 503,
}  # fmt: skip
"""Status by the name of an SDK's exception, where the line tells none."""

_NAMES = "|".join(_STATUS_OF)
_LINES = (
    lazy(r"Error code: (?P<status>\d{3}) - (?P<body>.+)", re.S),
    lazy(rf"\b(?:litellm\.|openai\.|anthropic\.)?(?P<name>{_NAMES})Error: (?:litellm\.)?(?P<body>.+)", re.S),
    lazy(r"\b(?:API|HTTP|AI_APICall|\w*Status)Error: (?P<status>[45]\d\d) (?P<body>.+)", re.S),
    lazy(r"\bstatus[ _]?code[\"']?\s*[:=]?\s*(?P<status>[45]\d\d)\b[\"']?[,;:. ]*(?P<body>.*)", re.S | re.IGNORECASE),
    lazy(r"\bHTTP(?: [Ee]rror| status| code)?[ /:]*(?P<status>[45]\d\d)\b[^\w{\"']*(?P<body>.*)", re.S),
    lazy(r"\b(?P<status>[45]\d\d) (?:Client|Server) Error: (?P<body>[\w ]+) for url: (?P<url>\S+)"),
    lazy(r"\b(?:Client|Server) error '(?P<status>[45]\d\d) (?P<body>[^']*)' for url '(?P<url>[^']*)'"),
    lazy(r"(?:^|[\s(:])status(?: is|=|:)? ?(?P<status>[45]\d\d)\b[^\w{\"']*(?P<body>.*)", re.S | re.IGNORECASE),
)
_MARKS = (
    "Error code: ", "Error: ", "tatus", "HTTP", " Client Error", " Server Error", "Client error '", "Server error '",
)  # fmt: skip
_SERVED_LINE = lazy(
    r"\"(?:GET|POST|PUT|DELETE|HEAD|OPTIONS) \S+ HTTP/[\d.]+\" \d{3}|HTTP/[\d.]+ [1-5]\d\d\b|HTTP Request: "
)
_ELSEWHERE = lazy(
    r"huggingface\.co|hf-mirror|modelscope|docker\.io|nvcr\.io|ghcr\.io|pypi\.org|github\.com|api\.openai\.com|ngc\.nvidia"
)
"""Hosts that answer for themselves: their errors are not the LLM server's."""


@dataclass(frozen=True, slots=True)
class PrintedError:
    """One error: where its line begins in the text, the HTTP status, and the body as data or text."""

    at: int
    end: int
    status: int
    body: Any


def printed_errors(text: str) -> Iterator[PrintedError]:
    """The errors that a text tells of, each once."""
    found = 0
    seen: set[tuple[int, str]] = set()
    for at, line in _lines(text):
        if len(line) > MAX_LINE or not any(mark in line for mark in _MARKS) or _ELSEWHERE.search(line):
            continue
        if _SERVED_LINE.search(line):
            continue
        error = _read(text, at, line)
        if error is None or (error.status, str(error.body)[:200]) in seen:
            continue
        seen.add((error.status, str(error.body)[:200]))
        yield error
        found += 1
        if found >= MAX_ERRORS:
            return


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _read(text: str, at: int, line: str) -> PrintedError | None:
    for pattern in _LINES:
        match = pattern.search(line)
        if match is None:
            continue
        groups = match.groupdict()
        body = (groups.get("body") or "").strip()
        start = at + match.start("body") if groups.get("body") else at
        status = int(groups["status"]) if groups.get("status") else _STATUS_OF.get(groups.get("name") or "", 0)
        value, end = _body(text, start, body, at + len(line))
        if groups.get("name") and isinstance(value, str):
            inner = _code_in(value)
            status = inner or status
        if not status or value in ("", None):
            return None
        return PrintedError(at, end, status, value)
    return None


_OPENS = lazy(r"[\[{]\s*['\"{]")


def _body(text: str, start: int, body: str, line_end: int) -> tuple[Any, int]:
    """The error's body: the object in it if there is one, else its words."""
    opening = _OPENS.search(text, start, line_end)
    if opening is not None:
        found = read_value(text, opening.start())
        if found is not None and isinstance(found[0], (dict, list)):
            value = known(found[0])
            if isinstance(value, dict) and {"error", "message", "detail", "object", "msg"} & set(value):
                return value, found[1]
        escaped = _unescaped(text[opening.start() : line_end])
        if escaped is not None:
            return escaped, line_end
    return body, line_end


def _unescaped(text: str) -> Any:
    """A JSON body inside a JSON string: `{\\"object\\":\\"error\\"...`."""
    if '\\"' not in text:
        return None
    plain = text.replace('\\\\"', '"').replace('\\"', '"')
    try:
        value, _ = json.JSONDecoder().raw_decode(plain)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and {"error", "message", "detail"} & set(value) else None


def _code_in(text: str) -> int | None:
    match = re.search(r"Error code: (\d{3})|['\"]code['\"]: ?(\d{3})\b", text[:2000])
    return int(match[1] or match[2]) if match else None
