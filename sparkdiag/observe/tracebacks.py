"""Exceptions in logs: the last line of a traceback, the frames before it, and whether it relays another's failure."""

from __future__ import annotations

import re

from ..facts import Signature
from ..records import dataclass
from .patterns import lazy
from .prefixes import parse_line
from .wordlists import words_of

__all__ = ["EXCEPTION", "EXCEPTION_ID", "Raised", "read_exception"]

EXCEPTION_ID = "_exception"

_ENDINGS = "Error|Exception|ExceptionGroup|OutOfResources|Interrupt|Timeout|Exit|Failure|Died"
_TYPE = rf"(?P<type>(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*)?(?:{_ENDINGS}))"
_LINE = lazy(rf"(?:\[rank\d+\]: ?)?(?:ray::\S+ )?{_TYPE}(?:: (?P<message>.*)|\((?P<called>.*)\)|:?\s*)\Z", re.S)
EXCEPTION = Signature(
    EXCEPTION_ID,
    (
        "Error: ",
        "Exception: ",
        "OutOfResources: ",
        "Error(",
        "Error\n",
        "Timeout: ",
        "Exit: ",
        "Interrupt",
        "Failure: ",
        "MemoryError",
        "AssertionError",
        "EngineDeadError",
        "NotImplementedError",
    ),
    r"(?:Error|Exception|OutOfResources|Interrupt|Timeout|Exit|Failure)(?:[:(]|\s*\Z)",
    pieces=("log",),
    benign=True,
)
_FRAME = lazy(r"File \"(?P<file>[^\"]+)\", line \d+, in (?P<function>\S+)")
_ENDED = lazy(r"(?:\A|[\])] |: )(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|OutOfResources|Timeout)(?::|\(|\Z)")
"""The last line of an earlier exception: frames above it are not this one's."""
_BARE = frozenset({"Error", "Failure", "Timeout", "Exit", "Interrupt"})
"""Words that programs of all kinds begin a sentence with; alone they are no class of an exception."""
_CHAIN = lazy(r"was the direct cause of the following|During handling of the above exception")
_RELAY = lazy(
    r"Engine core initialization failed|EngineCore encountered an issue|WorkerProc initialization failed due to|"
    r"Executor failed|See (?:root cause|stack trace)|EngineDeadError|background process|cancelled|"
    r"Connection (?:reset|closed|aborted) by peer|Broken pipe|died unexpectedly|RayTaskError|ActorDiedError|"
    r"Failed core proc|Worker failed with error|Aborted? by peer|rank \d+ (?:terminated|exited)"
)
_RELAYS = words_of(
    "EngineDeadError BrokenPipeError CancelledError KeyboardInterrupt SystemExit ConnectionResetError EOFError"
)
MAX_FRAMES = 40
MAX_PARTS = 5
"""Parts of a frame's path that are kept where its package cannot be told."""
_LOOK_BACK = 120


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception as its last line tells it."""

    type: str
    message: str
    frames: tuple[str, ...]
    raised_in: str | None
    cause: bool
    relays: bool


def read_exception(text: str, start: int, message: str) -> Raised | None:
    """The exception whose last line, without its prefix, is `message` and begins at `start`; None where it is none."""
    match = _LINE.match(message)
    if match is None:
        return None
    words = match["message"] if match["message"] is not None else match["called"] or ""
    name = match["type"]
    if name in _BARE:
        return None
    short = name.rsplit(".", 1)[-1]
    frames = _frames(text, start)
    return Raised(
        type=name,
        message=" ".join((words + _more(text, start, words)).split())[:1000],
        frames=tuple(f"{file.rsplit('/', 1)[-1]}:{function}" for file, function in frames),
        raised_in=_within(*frames[-1]) if frames else None,
        cause=_next_is_chain(text, start),
        relays=short in _RELAYS or _RELAY.search(message) is not None,
    )


def _within(file: str, function: str) -> str:
    """A frame with its file's path inside the package it belongs to, or the last parts of it."""
    for root in ("-packages/", "/vllm/vllm/", "/sglang/python/"):
        if root in file:
            inner = file.rsplit(root, 1)[1]
            return f"{'vllm/' if root == '/vllm/vllm/' else ''}{inner}:{function}"
    return f"{'/'.join(file.split('/')[-MAX_PARTS:])}:{function}"


def _frames(text: str, start: int) -> tuple[tuple[str, str], ...]:
    """The frames that stand right before an exception, each file and function, outermost first."""
    out: list[tuple[str, str]] = []
    at = start
    misses = 0
    for _ in range(_LOOK_BACK):
        if at <= 0 or len(out) >= MAX_FRAMES:
            break
        begin = text.rfind("\n", max(0, at - 4000), at - 1) + 1
        line = text[begin : at - 1]
        match = _FRAME.search(line)
        if match:
            out.append((match["file"], match["function"]))
            misses = 0
        elif "Traceback (most recent call last)" in line or _CHAIN.search(line) or _ENDED.search(line):
            break
        else:
            misses += 1
            if misses > 12:
                break
        if begin == 0 or begin >= at:
            break
        at = begin
    return tuple(reversed(out))


def _more(text: str, start: int, words: str) -> str:
    """What the lines after an exception's first one add, where that one only announces it."""
    if words.strip() and "validation error" not in words:
        return ""
    out, at = "", text.find("\n", start)
    for _ in range(3):
        if at < 0:
            break
        end = text.find("\n", at + 1)
        out += " " + parse_line(text[at + 1 : min(end if end >= 0 else len(text), at + 2000)]).message
        if out.strip() and not words.strip():
            break
        at = end
    return out


def _next_is_chain(text: str, start: int) -> bool:
    """Whether the next line that says anything announces another exception."""
    at = text.find("\n", start)
    for _ in range(4):
        if at < 0:
            return False
        end = text.find("\n", at + 1)
        line = parse_line(text[at + 1 : end if end >= 0 else len(text)]).message.strip()
        if line:
            return _CHAIN.search(line) is not None
        at = end
    return False
