"""Servers that a transcript asks with curl: the replies among the printed lines, once or in a loop."""

from __future__ import annotations

import re

from .json_runs import json_values
from .patterns import lazy
from .transcript_commands import least_lines, unwrap
from .transcript_curl import Curl, read_curl
from .transcript_http import Answer, exchanges, read_http
from .transcript_kinds import is_metric
from .transcript_parts import Part

__all__ = ["asked", "loop", "past_reply", "still_prints"]


def asked(command: str, lines: list[str], base: Part) -> list[Part]:
    """The answers to a command that asks a server; nothing for any other command."""
    curl = read_curl(command)
    return [] if curl is None else _asked(curl, lines, base)


def past_reply(command: str, printed: list[str]) -> int | None:
    """Where text begins after the one JSON document that curl printed; None where that can't be told."""
    curl = read_curl(command)
    return None if curl is None else _past_reply(curl, printed)


def _asked(curl: Curl, lines: list[str], base: Part) -> list[Part]:
    """The answers to a curl command; a scrape stays metrics."""
    printed = lines[base.start : base.end]
    filled = [line for line in printed if line.strip()]
    if curl.path.split("?")[0].rstrip("/").endswith("/metrics") and filled and all(map(is_metric, filled)):
        base.kind = "metrics"
        base.meta |= {"url": curl.url, "path": curl.path, "cut": curl.cut}
        return [base]
    return [_answered(answer, base, lines) for answer in exchanges(curl, printed)]


def _answered(answer: Answer, base: Part, lines: list[str]) -> Part:
    start, end = base.start + answer.start, base.start + answer.end
    meta = {**base.meta, **answer.meta}
    meta.pop("body_line", None)
    begin = base.begin if answer.start == 0 else start
    return Part("exchange", begin, start, end, base.command, None, base.node, base.container, None, meta)


def _past_reply(curl: Curl, printed: list[str]) -> int | None:
    """Where text begins after the one JSON document that curl printed: somebody's words, another program's output."""
    if curl.write_out is not None or curl.shaped is not None or curl.reshaped:
        return None
    if curl.shows_head:
        found = read_http(printed, 0, len(printed))
        end = len(printed) if found is None else found.end
        more = [n for n, line in enumerate(printed) if n >= end and line.strip() and not line.startswith("* ")]
        return more[0] if more and not printed[more[0] - 1].strip() else None
    if not printed[0].startswith("{"):
        return None
    text = "\n".join(printed)
    values, stopped = json_values(text, 2)
    rest = text[stopped:]
    if len(values) != 1 or "\n" not in text[stopped - 1 :] or rest.lstrip()[:5] in ("", "curl:"):
        return None
    before = text[: stopped + len(rest) - len(rest.lstrip())]
    return before.count("\n") if before.endswith("\n") else None


_FOR = lazy(
    r"\s*for (?P<name>\w+) in (?P<values>[^;\n]+?)\s*[;\n]\s*do\s+(?P<body>.*?)[;\n]\s*done\b(?P<rest>.*)\Z", re.S
)
_STATUS_ECHO = lazy(r"[;&]\s*echo \"?(?P<before>[\w=: -]*?)\$\?\"?\s*\Z")
_RANGE = lazy(r"\{(\d+)\.\.(\d+)\}|\$\(seq (\d+)(?: (\d+))?\)")


def loop(command: str, lines: list[str], body: int, end: int) -> list[Part]:
    """`for n in 300 4000; do curl ... $n ...; done`: one exchange a turn, with the loop's variable put in."""
    match = _FOR.match(command)
    if match is None:
        return []
    values = _RANGE.sub(_counted, match["values"]).split()[:200]
    curl_text = next((c for c in match["body"].split("; ") if read_curl(unwrap(c).command) is not None), None)
    if curl_text is None or not values:
        return []
    text = "\n".join(lines[body:end])
    chunks = _chunks(text, len(values), body)
    out: list[Part] = []
    for value, (start, stop) in zip(values, chunks, strict=False):
        curl = read_curl(_with(unwrap(curl_text).command, match["name"], value))
        if curl is None:
            return []
        base = Part("output", start if out else body, start, stop, unwrap(curl_text).command, meta={"typed": command})
        out += _asked(curl, lines, base)
    return out


def still_prints(command: str, printed: str) -> bool:
    """Whether a command has more to print than this: nothing yet, a loop's later turns, a list's later commands."""
    if not printed.strip():
        return True
    match = _FOR.match(command)
    if match:
        turns = len(_RANGE.sub(_counted, match["values"]).split())
        return len(json_values(printed)[0] or printed.strip().split("\n")) < turns
    rows = printed.strip().split("\n")
    status = _STATUS_ECHO.search(command)
    if status and not re.fullmatch(rf"{re.escape(status['before'])}\d+", rows[-1].strip()):
        return True
    return len(rows) < least_lines(command)


def _with(text: str, name: str, value: str) -> str:
    return re.sub(rf"\$(?:\{{{name}\}}|{name}\b)", lambda _: value, text)


def _counted(match: re.Match[str]) -> str:
    low, high = (int(match[1]), int(match[2])) if match[1] else (1, int(match[3]))
    if match[4]:
        low, high = int(match[3]), int(match[4])
    return " ".join(str(n) for n in range(low, min(high, low + 200) + 1))


def _chunks(text: str, count: int, body: int) -> list[tuple[int, int]]:
    """The lines of each turn's output: by JSON values, else in equal shares of lines."""
    values, stopped = json_values(text)
    if values and not text[stopped:].strip() and len(values) % count == 0:
        per = len(values) // count
        spans = [(values[i][1], values[i + per - 1][2]) for i in range(0, len(values), per)]
        return [(body + text.count("\n", 0, a), body + text.count("\n", 0, b) + 1) for a, b in spans]
    total = text.count("\n") + 1 if text else 0
    if total and total % count == 0:
        per = total // count
        return [(body + i, body + i + per) for i in range(0, total, per)]
    return []
