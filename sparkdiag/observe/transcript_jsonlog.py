"""Logs that wrap each line in JSON (docker's files, structured loggers, journalctl -o json), as plain log lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

__all__ = ["unwrap_json_lines"]

_LEAST = 2
"""Lines of this form that make a log; one alone may be a reply."""
_LEVELS = ("level", "severity", "levelname", "lvl")
_WORDS = ("message", "msg", "event")
_TIMES = ("time", "timestamp", "ts", "asctime", "@timestamp")


def unwrap_json_lines(lines: list[str]) -> list[str]:
    """The lines, those that wrap a log line in JSON replaced by what they wrap."""
    unwrapped = {number: plain for number, line in enumerate(lines) if (plain := _plain(line)) is not None}
    if len(unwrapped) < _LEAST:
        return lines
    return [unwrapped.get(number, line) for number, line in enumerate(lines)]


def _plain(line: str) -> str | None:
    if not line.startswith('{"') or not line.rstrip().endswith("}"):
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    text = _docker(data) or _journal(data) or _structured(data)
    return None if text is None else " ".join(text.splitlines())


def _docker(data: Mapping[str, Any]) -> str | None:
    if isinstance(data.get("log"), str) and "stream" in data:
        return f"{data.get('time', '')} {data['log'].rstrip()}".lstrip()
    return None


def _journal(data: Mapping[str, Any]) -> str | None:
    words = data.get("MESSAGE")
    if not isinstance(words, str) or "__REALTIME_TIMESTAMP" not in data:
        return None
    try:
        moment = datetime.fromtimestamp(int(data["__REALTIME_TIMESTAMP"]) / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError, TypeError):
        return words
    unit = data.get("SYSLOG_IDENTIFIER") or data.get("_COMM") or "unit"
    return f"{moment} {data.get('_HOSTNAME', 'host')} {unit}: {words}"


def _structured(data: Mapping[str, Any]) -> str | None:
    words = next((data[key] for key in _WORDS if isinstance(data.get(key), str)), None)
    level = next((data[key] for key in _LEVELS if isinstance(data.get(key), str)), None)
    if words is None or level is None:
        return None
    time = next((data[key] for key in _TIMES if isinstance(data.get(key), str)), "")
    trace = next((data[key] for key in ("exception", "exc_info", "stack") if isinstance(data.get(key), str)), "")
    return f"{time} {level.upper()}: {words} {trace}".strip()
