"""curl command lines taken apart: what was asked, of whom, and what of the answer was let through."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..records import dataclass
from .jq_filters import Filter, object_literal, read_filter
from .shell import Simple, heredoc_word, pipeline, words
from .wordlists import words_of

__all__ = ["Curl", "read_curl", "request_body"]

_VALUES = words_of(
    "-X --request -H --header -d --data --data-raw --data-binary --data-ascii --json -o --output -w --write-out -m "
    "--max-time --connect-timeout -u --user -A --user-agent -e --referer -b --cookie -x --proxy --retry --retry-delay "
    "--url -F --form -T --upload-file --cacert --cert --key --resolve --data-urlencode -E -D --dump-header -c "
    "--cookie-jar --max-redirs"
)
_BODY = words_of("-d --data --data-raw --data-binary --data-ascii --json")


@dataclass(frozen=True, slots=True)
class Curl:
    """A curl command, or another program that asks a server, taken apart."""

    url: str
    path: str
    method: str
    body: str | None = None
    body_file: str | None = None
    write_out: str | None = None
    discards: bool = False
    """The reply is not printed (-o)."""
    shows_head: bool = False
    key_sent: bool | None = None
    shaped: Filter | None = None
    """The jq filter behind the first pipe."""
    reshaped: bool = False
    """Something else than jq, or a filter that can't be read, stands between the reply and what was printed."""
    cut: bool = False
    """Only a part of the reply was let through (head, tail, grep)."""
    time_limit: float | None = None


def read_curl(command: str, variables: Mapping[str, str] | None = None) -> Curl | None:
    """A curl command line, its pipes included; None where a command asks no HTTP server."""
    stages = pipeline(command)
    start = next((i for i, s in enumerate(stages) if s.words and s.words[0].rsplit("/", 1)[-1] == "curl"), None)
    if start is None or start > 2:
        return None
    argv = [_substitute(w, variables or {}) for w in stages[start].words[1:]]
    url = method = body = body_file = write_out = limit = None
    discards = shows_head = False
    key: bool | None = False
    at = 0
    while at < len(argv):
        word = argv[at]
        name, glued = word, None
        if word.startswith("--") and "=" in word:
            name, glued = word.split("=", 1)
        elif re.match(r"-[XdwmoH].", word) and not word.startswith("--"):
            name, glued = word[:2], word[2:]
        elif re.fullmatch(r"-[a-zA-Z]*[XHdowmuAebxFTEDc]", word) and len(word) > 2:
            shows_head = shows_head or bool(set(word[1:-1]) & {"i", "v", "I"})
            name = "-" + word[-1]
        if name in _VALUES:
            value = glued if glued is not None else (argv[at + 1] if at + 1 < len(argv) else "")
            at += 1 if glued is not None else 2
            if name in ("-X", "--request"):
                method = value.upper()
            elif name in _BODY:
                if value.startswith("@"):
                    body_file = value[1:]
                else:
                    body = value if body is None else body + value
            elif name in ("-w", "--write-out"):
                write_out = value
            elif name in ("-o", "--output"):
                discards = True
            elif name in ("-m", "--max-time"):
                limit = _float(value)
            elif (
                name in ("-H", "--header") and value.lower().startswith(("authorization:", "x-api-key:"))
            ) or name in ("-u", "--user"):
                key = True
            elif name == "--url":
                url = value
            continue
        at += 1
        if word.startswith("--"):
            shows_head = shows_head or word in ("--include", "--verbose", "--head")
        elif word.startswith("-") and len(word) > 1:
            shows_head = shows_head or bool(set(word[1:]) & {"i", "v", "I"})
            if "I" in word[1:]:
                method = method or "HEAD"
        elif url is None:
            url = word
    if url is None or not re.match(r"(?:https?://)?[\w.$\[{-]", url):
        return None
    if body_file == "-":
        body, body_file = _here(command), None
    shaped, reshaped, cut = _after_pipes(stages[start + 1 :])
    rest = url.split("://", 1)[-1]
    return Curl(
        url=url,
        path="/" + rest.split("/", 1)[1] if "/" in rest else "/",
        method=method or ("POST" if body is not None or body_file else "GET"),
        body=body,
        body_file=body_file,
        write_out=write_out,
        discards=discards or any(r.startswith((">", "1>")) and ">&" not in r for r in stages[start].redirections),
        shows_head=shows_head,
        key_sent=key,
        shaped=shaped,
        reshaped=reshaped,
        cut=cut,
        time_limit=limit,
    )


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _substitute(text: str, variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        text = re.sub(rf"\$(?:\{{{name}\}}|{name}\b)", lambda _, v=value: v, text)  # type: ignore[misc]
    return text


def _here(command: str) -> str | None:
    first = command.split("\n", 1)[0]
    word = heredoc_word(first)
    if word is None or "\n" not in command:
        return None
    lines = command.split("\n")[1:]
    end = next((i for i, line in enumerate(lines) if line.strip() == word), len(lines))
    return "\n".join(lines[:end])


def _after_pipes(stages: list[Simple]) -> tuple[Filter | None, bool, bool]:
    """(jq filter, whether anything else reshapes, whether a part is cut off)."""
    shaped, reshaped, cut = None, False, False
    for stage in stages:
        program = stage.words[0] if stage.words else ""
        if program in ("jq", "gojq", "jaq"):
            found = read_filter(stage.words[1:])
            reshaped = reshaped or found is None or shaped is not None
            shaped = shaped or found
        elif program in ("head", "tail", "grep", "cut"):
            cut = True
        elif program in ("tee", "cat", "less") or (program.startswith("python") and "json.tool" in stage.words):
            continue
        else:
            reshaped = True
    return shaped, reshaped, cut


def request_body(curl: Curl) -> dict[str, Any] | None:
    """The request's body; None where it can't be known. Parts that the shell fills in are left out."""
    if curl.body is None:
        return None
    text = curl.body.strip()
    found = re.match(r"\$\(\s*jq\s", text)
    if found:
        return object_literal(words(text[2:-1])[1:])
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        try:
            data = json.loads(re.sub(r"(?<=[:,\[])\s*\$\{?\w+\}?\s*(?=[,}\]])", "null", text))
        except (ValueError, RecursionError):
            return None
        data = {k: v for k, v in data.items() if v is not None} if isinstance(data, dict) else None
    return data if isinstance(data, dict) else None
