"""Values of names that hold secrets, in every way in which shells, options, JSON, YAML and headers write them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .names import (
    API_KEY,
    AUTHORIZATION,
    COOKIE,
    PASSWORD,
    REGISTRY_LOGIN,
    TOKEN,
    is_login_blob,
    is_placeholder,
    looks_random,
    secret_kind,
    stand_in,
)

__all__ = ["MARKS", "Span", "find_named", "mask"]

Span = tuple[int, int, str]
"""Start, end, replacement."""

MARKS = ("token", "key", "secret", "passw", "passphrase", "_pwd", "auth", "cookie")
"""Every name that holds a secret has one of these in it."""

_VALUE_LIMIT = 16_384
_NAME_LIMIT = 64

_NAME_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_-."
_TAIL = re.compile(
    r"""[a-z0-9_-]{0,40}
    (?P<close>\\{0,7}["'`]?)\]?
    (?:
      (?P<assign>[ \t]{0,8}(?::?=|=>|:)[ \t]{0,16})
    | (?P<list>,\s{0,64}(?=b?\\{0,7}["']))
    | (?P<yaml>,?[ \t]*\r?\n[ \t,]{0,64}\\{0,7}["']?value\\{0,7}["']?[ \t]*[:=][ \t]*)
    | (?P<gap>[ \t]{1,8}(?:\\\r?\n[ \t]{0,64})?)
    )""",
    re.VERBOSE,
)
_LINE_START = re.compile(r"[ \t]*(?:-[ \t]+)?(?:\\{0,7}[\"'])?\Z")
_ITEM = re.compile(r"(?:^|\n)[ \t]*-[ \t]+\Z")
_QUOTE = re.compile(r"""\[?\s{0,64}(?:b|r|f|u)?(\\{0,7}["'`])""")
_BARE = re.compile(r"""[^\s"'`\\]{1,16384}""")
_WORD = re.compile(r"[\w~+-]{16,512}={0,2}")
_TO_LINE_END = re.compile(r"""[^\r\n"'`]{1,16384}""")
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|negotiate|apikey)[ \t]{1,8}", re.IGNORECASE)
_AUTHORIZATION = re.compile(rf"""(?:{_SCHEME.pattern})?[^\s"'`\\]{{1,16384}}""", re.IGNORECASE)
_VALUE_ENDS = re.compile(r"""[ \t,;)\]}>|&\\]{0,64}(?:\Z|[\r\n#"'])""")
_NEXT_ASSIGNMENT = re.compile(r"[,;&)\]}]+(?=[\w.-]{1,64}[=:])")
_DEFAULT = re.compile(r":?[-=]([^}\s]{1,512})\}")
_NEXT_ITEM = re.compile(r",\s{0,64}(\\{0,7}[\"'])")
_OPEN = re.compile(r"(\\{0,7}[\"'])\Z")
_IN_PAIR = re.compile(r"[(\[]\s{0,4}b?\\{0,7}[\"']\Z")


def find_named(text: str, low: str, mark: str) -> Iterator[Span]:
    at = low.find(mark)
    while at >= 0:
        after = at + len(mark)
        tail = _TAIL.match(low, after)
        if tail is not None:
            head = low[max(0, at - _NAME_LIMIT) : at]
            start = at - (len(head) - len(head.rstrip(_NAME_CHARS)))
            for span in _value_spans(text, low, start, tail):
                yield span
                after = max(after, span[1])
        at = low.find(mark, after)


def _value_spans(text: str, low: str, start: int, tail: re.Match[str]) -> Iterator[Span]:
    """Where the value of the name from `start` on stands, if it is a secret's name and value."""
    before = text[start - 1] if start else "\n"
    if before in "/$" or low.startswith("[secret: ", start - 1):
        return
    if before == "{" and text[start - 2 : start] == "${":
        yield from _shell_default(text, start, tail)
        return
    name = text[start : tail.start("close")]
    if tail["gap"] is not None and not name.startswith("-"):
        return
    kind = secret_kind(name)
    if tail["gap"] is not None and kind is None:
        return
    if tail["list"] is not None and not (tail["close"] and _in_list(text, start)):
        return
    if kind is None and not name.lower().strip("-.").endswith(("token", "auth", "key")):
        return
    at = tail.end()
    if text.startswith("[secret: ", at):
        return
    if name.isupper() and (tail["assign"] or "").startswith("= "):  # nothing, for a shell
        return
    around = None if tail["close"] else _OPEN.search(text, max(0, start - 8), start)
    if around is not None:  # the whole of NAME=value stands in quotes
        end = _closing(text, around[1], at)
        masked = mask(text[at:end], name, kind)
        if masked is not None:
            yield at, end, masked
        return
    quote = _QUOTE.match(text, at)
    if quote is not None:
        yield from _quoted(text, quote, name, kind, listed="[" in quote[0])
        return
    colon = (tail["assign"] or "").strip() == ":" and bool((tail["assign"] or "")[-1:].strip() == "")
    end, value = _bare(text, at, name, kind, prose=colon and not tail["close"], line_start=_at_line_start(text, start))
    masked = mask(value, name, kind, in_url=before in "?&")
    if masked is None:
        return
    if kind in (AUTHORIZATION, COOKIE) or (colon and tail["close"]) or before in "?&":
        yield at, end, masked
    elif _ITEM.search(text, max(0, start - 40), start) and not colon:
        yield start, start, '"'  # a list item `- NAME=[secret: ...]` would be read as a mapping by YAML
        yield at, end, masked + '"'
    else:
        yield at, end, f"'{masked}'"  # one word for a shell, one scalar for YAML


def _in_list(text: str, start: int) -> bool:
    """The name is an option of an argument list, or the first of a pair."""
    return text[start] == "-" or _IN_PAIR.search(text, max(0, start - 16), start) is not None


def _shell_default(text: str, start: int, tail: re.Match[str]) -> Iterator[Span]:
    """`${HF_TOKEN:-value}`"""
    name = text[start : tail.start("close")]
    found = _DEFAULT.match(text, tail.start("close"))
    kind = secret_kind(name)
    if found and kind and not is_placeholder(found[1], kind):
        yield found.start(1), found.end(1), stand_in(kind)


def _at_line_start(text: str, start: int) -> bool:
    line = max(text.rfind("\n", max(0, start - 80), start), 0 if start <= 80 else -1)
    return line >= 0 and _LINE_START.fullmatch(text, line + (text[line : line + 1] == "\n"), start) is not None


def _quoted(text: str, quote: re.Match[str], name: str, kind: str | None, *, listed: bool) -> Iterator[Span]:
    """A quoted value, or a list of quoted values."""
    while True:
        opening = quote[1]
        start = quote.end()
        end = _closing(text, opening, start)
        masked = mask(text[start:end], name, kind, quoted=True)
        if masked is not None:
            yield start, end, masked
        if not listed:
            return
        following = _NEXT_ITEM.match(text, end + len(opening))
        if following is None:
            return
        quote = following


def _closing(text: str, opening: str, start: int) -> int:
    """Where the string that `opening` opened ends; at the line's end if it is never closed."""
    limit = min(len(text), start + _VALUE_LIMIT)
    at = text.find(opening, start, limit)
    for _ in range(64):
        if at < 0:
            break
        slashes = len(text[max(start, at - 16) : at]) - len(text[max(start, at - 16) : at].rstrip("\\"))
        if slashes % 2 == 0:
            return at
        at = text.find(opening, at + 1, limit)
    line = text.find("\n", start, limit)
    return line if line >= 0 else limit


def _bare(text: str, at: int, name: str, kind: str | None, *, prose: bool, line_start: bool) -> tuple[int, str]:
    """End and text of an unquoted value; empty where words follow that are prose and no value."""
    if kind is None:
        found = _WORD.match(text, at)
    elif kind == AUTHORIZATION:
        found = _AUTHORIZATION.match(text, at)
    elif kind == COOKIE or (kind == PASSWORD and prose and line_start):
        found = _TO_LINE_END.match(text, at)
    else:
        found = _BARE.match(text, at)
    if found is None or kind in (AUTHORIZATION, COOKIE):
        return (found.end(), found[0]) if found else (at, "")
    value = found[0]
    if kind == PASSWORD and prose and line_start:
        value = value.partition(" #")[0].rstrip()
        return at + len(value), value
    following = _NEXT_ASSIGNMENT.search(value)
    if following is not None and not name.isupper():
        value = value[: following.start()]
    value = value.rstrip(",;)]}>|&")
    if prose and not _VALUE_ENDS.match(text, at + len(value)) and not looks_random(value):
        return at, ""
    return at + len(value), value


def mask(value: str, name: str, kind: str | None, *, quoted: bool = False, in_url: bool = False) -> str | None:
    """The stand-in for a value under a name; None if it is no secret."""
    if value.startswith("[secret: "):
        return None
    if kind is None:
        bare = name.lower().strip("-_.")
        if bare in ("auth", "_auth") and quoted and is_login_blob(value):
            return stand_in(REGISTRY_LOGIN)
        random = looks_random(value) and not is_placeholder(value, API_KEY)
        if random and (bare == "token" or (in_url and bare == "key")):
            return stand_in(TOKEN)
        return None
    if kind == AUTHORIZATION:
        scheme = _SCHEME.match(value)
        word = value[scheme.end() :] if scheme else value
        return None if is_placeholder(word.strip(), kind) else stand_in(kind)
    return None if is_placeholder(value.strip(), kind) else stand_in(kind)
