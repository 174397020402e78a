"""What a target is: an endpoint, a capture, a file of evidence, or standard input: recognised, not asked for."""

from __future__ import annotations

import os
import re
import sys

from .errors import InputError, UsageError
from .records import dataclass

__all__ = ["Kind", "Recognised", "recognise"]

_HOST_PORT = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.%]+\]):\d{1,5}(?:/\S*)?\Z")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_ARCHIVES = (".tar.gz", ".tgz", ".zip")

Kind = str
"""endpoint, capture, file or stdin."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A target with its kind."""

    kind: Kind
    name: str


def recognise(target: str) -> Recognised:
    """UsageError for what is neither an endpoint nor a file that exists."""
    if target == "-":
        return Recognised("stdin", target)
    if not target.strip() or "\0" in target:
        raise UsageError("a target is an endpoint, a file or a folder, not an empty word")
    scheme = _SCHEME.match(target)
    if scheme is not None:
        if scheme[1].lower() not in ("http", "https"):
            raise UsageError(f"'{scheme[1]}' is no scheme of an LLM server; http and https are")
        return Recognised("endpoint", target)
    if os.path.isdir(target) or (target.endswith(_ARCHIVES) and os.path.exists(target)):
        return Recognised("capture", target)
    if os.path.exists(target):
        return Recognised("file", target)
    if _HOST_PORT.match(target):
        return Recognised("endpoint", target)
    if "/" in target or "." not in target:
        raise InputError("no such file", place=target)
    raise UsageError(f"'{target}' is no file that exists; an endpoint is written http://HOST:PORT or HOST:PORT")


def standard_input_is_terminal() -> bool:
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):
        return False
