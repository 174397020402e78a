"""HTTP in transcripts: replies to curl, and requests and replies as HTTP itself writes them."""

from __future__ import annotations

import json
import re
from dataclasses import field, replace
from typing import Any

from ..records import dataclass
from .jq_filters import Filter
from .jq_shapes import restore
from .json_runs import json_values, unwrapped
from .patterns import lazy
from .transcript_curl import Curl, request_body
from .transcript_kinds import REQUEST_LINE, STATUS_LINE, starts_http

__all__ = ["Answer", "exchanges", "read_http"]

_WRITE_OUT = {
    "http_code": r"(?P<status>\d{3})", "response_code": r"(?P<status>\d{3})", "time_total": r"(?P<took>\d+[.,]\d+)",
    "time_starttransfer": r"(?P<ttfb>\d+[.,]\d+)", "size_download": r"\d+", "exitcode": r"(?P<exit>\d+)",
    "errormsg": r"(?P<error>[^\n]*)",
}  # fmt: skip
_CURL_ERROR = lazy(r"^curl: \((?P<code>\d+)\) ?(?P<words>.*)$", re.M)
_VERBOSE_ERROR = lazy(
    r"^\* +((?:Recv failure|Send failure|Empty reply from server|Failed to connect to|Could not resolve host|"
    r"Operation timed out after|Connection timed out after|Received HTTP/0\.9).*)$",
    re.M,
)
_VERBOSE_CODES = (
    ("Recv failure", 56), ("Send failure", 55), ("Empty reply", 52), ("Failed to connect", 7),
    ("Could not resolve", 6), ("Operation timed out", 28), ("Connection timed out", 28), ("Received HTTP/0.9", 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one request: its place among the printed lines, and what Piece.meta holds of it."""

    start: int
    end: int
    meta: dict[str, Any] = field(default_factory=dict)


def exchanges(curl: Curl, lines: list[str]) -> list[Answer]:
    """The printed lines as the answer to one curl command: head, write-out and jq's cuts undone."""
    text = "\n".join(lines)
    meta: dict[str, Any] = {
        "method": curl.method,
        "path": curl.path,
        "url": curl.url,
        "request": request_body(curl),
        "status": None,
    }
    if curl.key_sent is not None:
        meta["key_sent"] = curl.key_sent
    if curl.body_file:
        meta["request_file"] = curl.body_file
    if curl.time_limit is not None:
        meta["time_limit"] = curl.time_limit
    body = text
    if curl.shows_head:
        found = read_http(lines, 0, len(lines))
        if found is not None:
            body = found.meta["response_text"]
            meta.update({k: found.meta[k] for k in ("status", "headers") if found.meta.get(k) is not None})
    body, told = _written_out(curl, body)
    meta.update(told)
    error = _curl_error(text, meta["status"])
    if error is not None:
        meta["curl_error"], meta["curl_words"] = error
        body = _CURL_ERROR.sub("", body)
    if curl.shaped is not None and not curl.reshaped:
        return _shaped(curl, curl.shaped, body, Answer(0, len(lines), meta))
    if curl.reshaped:
        meta["reshaped"] = True
    if curl.cut:
        meta["cut"] = True
    meta["response_text"] = "" if curl.discards else unwrapped(body.strip("\n"))
    return [Answer(0, len(lines), meta)]


def _curl_error(text: str, status: int | None) -> tuple[int, str] | None:
    """curl's exit code and words: in its last line, or in its own account of the connection (-v), which -s keeps."""
    error = _CURL_ERROR.search(text)
    if error is not None:
        return int(error["code"]), error["words"]
    if status is not None:
        return None
    told = _VERBOSE_ERROR.search(text)
    if told is None:
        return None
    words = next(group for group in told.groups() if group is not None)
    return next(code for start, code in _VERBOSE_CODES if words.startswith(start)), words


def _written_out(curl: Curl, text: str) -> tuple[str, dict[str, Any]]:
    """What -w printed at the end, and the text without it."""
    if curl.write_out is None:
        return text, {}
    form = curl.write_out.replace("\\n", "\n").replace("\\t", "\t").strip()
    pattern = "".join(
        _WRITE_OUT.get(part[2:-1], r"[^\n]*?") if part.startswith("%{") else re.escape(part)
        for part in re.split(r"(%\{\w+\})", form)
    )
    seen: set[str] = set()

    def once(match: re.Match[str]) -> str:
        name = match[1]
        if name in seen:
            return "(?:"
        seen.add(name)
        return match.group()

    pattern = re.sub(r"\(\?P<(\w+)>", once, pattern)
    found = re.search(rf"{pattern}\s*(?=\Z|\ncurl: \()", text.rstrip())
    if found is None:
        return text, {}
    groups = found.groupdict()
    told: dict[str, Any] = {}
    status = groups.get("status")
    if status is not None:
        told["status"] = int(status) or None
        if status == "000":
            told["no_answer"] = True
    if groups.get("took"):
        told["took"] = float(groups["took"].replace(",", "."))
    if groups.get("ttfb"):
        told["ttfb"] = float(groups["ttfb"].replace(",", "."))
    return text[: found.start()] + text[found.end() :], told


def _shaped(curl: Curl, shaped: Filter, text: str, answer: Answer) -> list[Answer]:
    """Replies that jq cut down. A filter that keeps the choices whole leaves a reply that reads as any other."""
    meta = {**answer.meta, "jq": shaped.text, "jq_replies": []}
    text = text.strip("\n") if shaped.raw else unwrapped(text.strip("\n"))
    printed = restore(shaped, text)
    whole = [path for shape in shaped.outputs for path in [getattr(shape, "path", None)] if path is not None]
    keeps = len(shaped.outputs) == 1 and whole and whole[0] in ((), ("choices",), ("choices", 0), ("data",))
    meta["jq_replies"] = [p.summary() for p in printed]
    meta["jq_documents"] = [p.document() for p in printed]
    meta["response_text"] = text
    if keeps and len(printed) == 1 and isinstance(printed[0].document(), (dict, list)):
        if whole[0] != ():
            meta["response_text"] = json.dumps(printed[0].document(), ensure_ascii=False)
    elif len(printed) == 1 and not printed[0].measures:
        document = printed[0].document()
        if isinstance(document, dict) and "choices" not in document:
            listed = {"object": "list"} if "data" in document else {}
            meta["response_text"] = json.dumps({**listed, **document}, ensure_ascii=False)
    if curl.cut:
        meta["cut"] = True
    return [replace(answer, meta=meta)]


_HEADER = lazy(r"(?P<name>[A-Za-z][A-Za-z0-9-]{1,40}): ?(?P<value>.*)\Z")
_VERBOSE = lazy(r"[*<>{}] |[*<>]\Z|\* |[{}] \[\d+ bytes data\]|  % Total|  ? ? ?\d+ ")


def read_http(lines: list[str], start: int, end: int) -> Answer | None:
    """One exchange as HTTP writes it, from its request line or its status line to the end of the reply's body."""
    at = start
    meta: dict[str, Any] = {"method": None, "path": None, "url": None, "request": None, "status": None}
    verbose = any(line.startswith(("* ", "> ", "< ")) for line in lines[start : start + 40])
    found_head = False
    while at < end:
        line = lines[at]
        bare = line[2:] if line[:2] in ("> ", "< ") else line
        request = REQUEST_LINE.match(bare)
        status = STATUS_LINE.match(bare)
        if request and meta["method"] is None and meta["status"] is None:
            url = request["url"]
            meta["method"], meta["url"] = request["method"], url
            meta["path"] = "/" + url.split("://", 1)[-1].split("/", 1)[1] if "://" in url else url
            at = _request_body(lines, at, end, request["body"], meta)
            found_head = True
        elif status:
            if meta["status"] not in (None, 100) and not verbose:
                break
            meta["status"] = int(status["status"])
            at = _headers(lines, at + 1, end, meta, verbose)
            found_head = True
            if not verbose:
                break
        elif (verbose and _VERBOSE.match(line)) or (found_head and meta["status"] is None and not line.strip()):
            at += 1
        else:
            break
    if not found_head:
        return None
    body_start = at
    at = _reply_body(lines, at, end) if meta["status"] is not None else at
    meta["response_text"] = "\n".join(
        line for line in lines[body_start:at] if not (verbose and _VERBOSE.match(line))
    ).strip("\n")
    meta["body_line"] = body_start
    return Answer(start, at, meta)


def _request_body(lines: list[str], at: int, end: int, inline: str | None, meta: dict[str, Any]) -> int:
    """Past the request's headers and body; what the body says goes into `meta`."""
    if inline and inline.strip():
        text = inline.strip() + "\n" + "\n".join(lines[at + 1 : min(end, at + 400)])
        values, _ = json_values(text, 1)
        if values:
            meta["request"] = values[0][0] if isinstance(values[0][0], dict) else None
            return at + 1 + text[: values[0][2]].count("\n")
        return at + 1
    at += 1
    while at < end and lines[at].strip() and _HEADER.match(_arrowless(lines[at])):
        _credentials(_arrowless(lines[at]), meta)
        at += 1
    after = at + 1 if at < end and _arrowless(lines[at]).strip() == "" else at
    if after < end and lines[after].lstrip()[:1] == "{":
        text = "\n".join(lines[after : min(end, after + 2000)])
        values, _ = json_values(text, 1)
        if values and isinstance(values[0][0], dict) and not {"choices", "error"} & set(values[0][0]):
            meta["request"] = values[0][0]
            return after + 1 + text[: values[0][2]].count("\n")
    return after


def _credentials(header: str, meta: dict[str, Any]) -> None:
    if header.lower().startswith(("authorization:", "x-api-key:")):
        meta["key_sent"] = True


def _arrowless(line: str) -> str:
    return line[1:].lstrip(" ") if line[:1] in "<>" and line[1:2] in ("", " ") else line


def _headers(lines: list[str], at: int, end: int, meta: dict[str, Any], verbose: bool) -> int:
    headers: dict[str, str] = {}
    while at < end:
        line = _arrowless(lines[at])
        match = _HEADER.match(line)
        if match and line.strip():
            headers[match["name"].lower()] = match["value"].strip()
        elif verbose and _VERBOSE.match(lines[at]) and lines[at][:1] in "*{}":
            pass
        else:
            break
        at += 1
    if at < end and not _arrowless(lines[at]).strip():
        at += 1
    meta["headers"] = headers
    return at


def _reply_body(lines: list[str], at: int, end: int) -> int:
    """Where the body that begins at a line ends: with its JSON document, its stream, or before a blank line."""
    first = at
    while first < end and not lines[first].strip():
        first += 1
    if first >= end:
        return end if first == at else at
    if lines[first].lstrip()[:1] in "{[":
        text = "\n".join(lines[first:end])
        values, _ = json_values(text, 1)
        if values:
            return first + 1 + text[: values[0][2]].count("\n")
    if lines[first].startswith(("data:", "event:", ": ")):
        last = first
        for number in range(first, end):
            if lines[number].startswith(("data:", "event:", "id:", ":")):
                last = number
            elif lines[number].strip():
                break
        return last + 1
    stop = first
    while stop < end and lines[stop].strip() and not starts_http(lines[stop]):
        stop += 1
    return stop
