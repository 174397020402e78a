"""Replies that went through a program which cannot be undone: what its output tells, with labels where it has none.

`curl ... | python3 -c 'print(c["finish_reason"], repr(m["content"]))'` prints values in the order of the program's
own words; grep and head leave pieces of JSON; jq writes lines of its own.
"""

from __future__ import annotations

import re
from typing import Any

from ..facts.piece import Piece
from .bodies import parse_json
from .patterns import lazy
from .printed_values import read_value
from .reply_shapes import partial_reply

__all__ = ["as_labels", "unread"]

MAX_PROGRAM = 4000

_PROGRAM = lazy(r"\bpython3?(?: -\w+)* -c (?P<quote>['\"])(?P<text>.*?)(?P=quote)\s*(?:\Z|[|;&>])", re.S)
_PRINT = lazy(r"\bprint\(")
_NAMED = lazy(
    r"(?:\[\\?['\"]|\.|\.get\(\\?['\"])"
    r"(?P<name>finish_reason|content|reasoning_content|reasoning|tool_calls|completion_tokens|prompt_tokens)\b"
)
_QUOTED = lazy(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_ALONE = lazy(r"\"?(?:stop|length|tool_calls|content_filter|abort)\"?")
_ASKED = ("/chat/completions", "/completions", "/messages", "/responses")


def unread(piece: Piece) -> bool:
    """Whether an exchange's reply stands there in a form that its own reader cannot read."""
    meta = piece.meta
    path = str(meta.get("path") or "").split("?")[0].rstrip("/")
    if not path.endswith(_ASKED) or not piece.text.strip() or meta.get("curl_error") is not None:
        return False
    documents = meta.get("jq_documents")
    if isinstance(documents, list) and any(_tells(document) for document in documents):
        return False
    text = str(meta.get("response_text") or "").strip()
    if not text or text.startswith(("<", "data:", "event:")):
        return False
    data, wrong = parse_json(text)
    return wrong is not None or not _tells(data)


def _tells(document: Any) -> bool:
    """Whether it is a reply's own object: one that a script made is read as what it shows."""
    return isinstance(document, list) or (isinstance(document, dict) and bool(document) and not _is_part(document))


def _is_part(document: dict[str, Any]) -> bool:
    return partial_reply(document) is not None


def as_labels(piece: Piece) -> str:
    """The piece's text with labels before values that are told without: those of a Python program's print calls in
    their order, and a reason to finish that stands alone on its line."""
    program = _PROGRAM.search((piece.command or "")[:MAX_PROGRAM])
    names = _printed_names(program["text"]) if program is not None else []
    lines = piece.text.split("\n")
    if len(names) > 1:
        lines = [_labelled(line, names) for line in lines]
    return "\n".join(f"finish_reason: {line}" if _ALONE.fullmatch(line) else line for line in lines)


def _printed_names(program: str) -> list[str]:
    """What each argument of the program's print calls is, in their order: a field's name, "" for what is none, the
    quoted text of a literal. Empty for a program that tells nothing."""
    out: list[str] = []
    for match in _PRINT.finditer(program):
        for argument in _arguments(program, match.end()):
            named = _NAMED.findall(argument)
            size = "_len" if re.search(r"\blen\(", argument) else ""
            literal = _QUOTED.fullmatch(argument.strip())
            if literal is not None:
                out.append(literal[0])
            elif not re.match(r"\s*(?:sep|end|file|flush)\s*=", argument):
                out.append(f"{named[-1]}{size}" if named else "")
    return out


def _arguments(text: str, at: int) -> list[str]:
    """The arguments of a call, from behind its opening bracket."""
    out: list[str] = []
    depth, start = 0, at
    quote = ""
    for number in range(at, len(text)):
        char = text[number]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                return [*out, text[start:number]]
            depth -= 1
        elif char == "," and depth == 0:
            out.append(text[start:number])
            start = number + 1
    return []


def _labelled(line: str, names: list[str]) -> str:
    """One printed line as labels with values; as it stands where the values do not fit the names."""
    at, parts = 0, []
    for number, name in enumerate(names):
        while at < len(line) and line[at] == " ":
            at += 1
        if name[:1] in ("'", '"'):
            if not line.startswith(name[1:-1].strip(), at):
                return line
            at += len(name[1:-1].strip())
            continue
        value = _value(line, at, names[number + 1 : number + 2])
        if value is None:
            return line
        if name:
            parts.append(f"{name}: {line[at:value]}")
        at = value
    return "\n".join(parts) if parts and not line[at:].strip() else line


def _value(line: str, at: int, after: list[str]) -> int | None:
    """Where the value that begins here ends: at the literal printed after it, at a bracket, or after a word."""
    if at >= len(line):
        return None
    if after and after[0][:1] in ("'", '"'):
        end = line.find(f" {after[0][1:-1].strip()}", at)
        return None if end < 0 else end
    quoted = _QUOTED.match(line, at)
    if quoted is not None:
        return quoted.end()
    if line[at] in "[{":
        found = read_value(line, at)
        return None if found is None else found[1]
    end = line.find(" ", at) if after else -1
    return len(line) if end < 0 else end
