"""Secrets that their own shape, or the command around them, gives away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .names import (
    API_KEY,
    AUTHORIZATION,
    HF_TOKEN,
    PASSWORD,
    PRIVATE_KEY,
    TOKEN,
    is_placeholder,
    looks_random,
    stand_in,
)
from .values import Span

__all__ = ["SHAPES", "find_bearer", "find_blocks", "find_in_url", "find_logins"]

_BLOCK_LIMIT = 65_536

_BEGIN = re.compile(r"-----begin [a-z0-9 ]{0,40}private key(?: block)?-----")
_END = re.compile(r"-----end [a-z0-9 ]{0,40}private key(?: block)?-----")
_KEY_BODY = re.compile(r"(?:(?:\s|\\[nrt]){1,8}(?:[a-z0-9+/=]{12,512}|(?:proc-type|dek-info):[^\n\\]{0,80}))*")


def find_blocks(text: str, low: str, mark: str) -> Iterator[Span]:
    at = low.find(mark)
    while at >= 0:
        begin = _BEGIN.match(low, at)
        if begin is None:
            at = low.find(mark, at + len(mark))
            continue
        end = low.find("-----end ", begin.end(), begin.end() + _BLOCK_LIMIT)
        closed = _END.match(low, end) if end >= 0 else None
        if closed:
            stop = closed.end()
        else:  # the end was cut off: mask what looks like a key's body
            body = _KEY_BODY.match(low, begin.end(), min(len(low), begin.end() + _BLOCK_LIMIT))
            stop = body.end() if body else begin.end()
        yield at, stop, stand_in(PRIVATE_KEY)
        at = low.find(mark, stop)


_PATTERNS: tuple[tuple[str, str, str], ...] = (
    ("hf_", HF_TOKEN, r"hf_[A-Za-z0-9]{20,}"),
    ("api_org_", HF_TOKEN, r"api_org_[A-Za-z0-9]{20,}"),
    ("sk-", API_KEY, r"sk-(?:(?:test|live|proj|ant|or|lf|svcacct|admin)-[\w-]{4,}|(?=[\w-]{0,200}[A-Z0-9])[\w-]{12,})"),
    ("nvapi-", API_KEY, r"nvapi-[\w-]{16,}"),
    ("gsk_", API_KEY, r"gsk_[A-Za-z0-9]{20,}"),
    ("aiza", API_KEY, r"AIza[\w-]{30,}"),
    ("tskey-", API_KEY, r"tskey-[a-z]+-[\w-]{8,}"),
    ("gh", "GitHub token", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    ("github_pat_", "GitHub token", r"github_pat_\w{20,}"),
    ("gl", "GitLab token", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w.-]{16,}"),
    ("dckr_", "registry login", r"dckr_[a-z]{2,4}_[\w-]{16,}"),
    ("xox", "token", r"xox[a-z]-[\w-]{10,}"),
    ("akia", "AWS key", r"AKIA[A-Z0-9]{12,}"),
    ("asia", "AWS key", r"ASIA[A-Z0-9]{12,}"),
    ("eyj", "token", r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    ("swmtkn-", "token", r"SWMTKN-\d-[\w-]{16,}"),
    ("age-secret-key-", PRIVATE_KEY, r"AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
)


def _shape(kind: str, pattern: str) -> Callable[[str, str, str], Iterator[Span]]:
    compiled = re.compile(pattern, re.ASCII)

    def find(text: str, low: str, mark: str) -> Iterator[Span]:
        at = low.find(mark)
        while at >= 0:
            before = text[at - 1] if at else " "
            found = None if before.isalnum() or before in "_-" else compiled.match(text, at)
            if found:
                yield at, found.end(), stand_in(kind)
            at = low.find(mark, found.end() if found else at + len(mark))

    return find


SHAPES = tuple((mark, _shape(kind, pattern)) for mark, kind, pattern in _PATTERNS)
"""(mark, finder): the mark is in small letters, and stands where the secret begins."""

_TOKEN_WORD = re.compile(r"bearer(?:[ \t]+|%20|\+)(?=[a-z._~+/=-]{0,200}\d|[\w.~+/=-]{20,})([\w.~+/=-]{8,})")


def find_bearer(text: str, low: str, mark: str) -> Iterator[Span]:
    for found in _matches(low, mark, _TOKEN_WORD):
        if not low.startswith("[secret: ", found.start(1)):
            yield found.start(1), found.end(1), stand_in(AUTHORIZATION)


_USERINFO = re.compile(r"""://([^\s/@:"'<>\\?#]{0,128}):([^\s/"'<>\\?#]{1,256})@(?!sha256:)""")
_TOKEN_AS_USER = re.compile(r"""://([\w.-]{20,256})@""")


def find_in_url(text: str, low: str, mark: str) -> Iterator[Span]:
    for found in _matches(text, mark, _USERINFO):
        if not is_placeholder(found[2], PASSWORD) or found[2].isalnum():
            yield found.start(2), found.end(2), stand_in(PASSWORD)
    for found in _matches(text, mark, _TOKEN_AS_USER):
        if looks_random(found[1]):
            yield found.start(1), found.end(1), stand_in(TOKEN)


_LOGINS = re.compile(
    r"""(?:login(?=[ ])[^\n]{0,200}?[ ](?:-p|--password)[ =]|sshpass[ ]-p[ ]?|login[ ]\S{1,64}[ ]{1,4}password[ ]{1,4})
    (?P<quote>["']?)(?P<value>[^\s"']{1,256})(?P=quote)""",
    re.VERBOSE,
)
_BASIC = re.compile(r"""curl(?=[ ])[^\n]{0,400}?[ ](?:-u|--user)[ =]?["']?[^\s:"']{1,64}:(?P<value>[^\s"']{1,256})""")


def find_logins(text: str, low: str, mark: str) -> Iterator[Span]:
    for found in _matches(low, mark, _BASIC if mark == "curl " else _LOGINS):
        value = text[found.start("value") : found.end("value")]
        if not is_placeholder(value, PASSWORD):
            quoted = text[found.start("value") - 1] in "\"'" or mark == "curl "
            new = stand_in(PASSWORD) if quoted else f"'{stand_in(PASSWORD)}'"
            yield found.start("value"), found.end("value"), new


def _matches(text: str, mark: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    at = text.find(mark)
    while at >= 0:
        found = pattern.match(text, at)
        if found:
            yield found
        at = text.find(mark, found.end() if found else at + len(mark))
