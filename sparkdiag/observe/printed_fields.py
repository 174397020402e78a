"""Fields of a reply that a script, a REPL or a sentence tells one by one: finish_reason, content, token counts.

What is told is gathered into parts of a reply; what is not told stays unknown.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from ..records import dataclass
from .patterns import lazy
from .printed_values import UNKNOWN, known, read_value

__all__ = ["ASKED", "FINISH", "NOTHING", "PLAIN_NAMES", "Told", "told_fields"]

MAX_FIELDS = 2000

ASKED = ("max_tokens", "enable_thinking", "include_reasoning", "model")
"""Plain names of the fields that are a request's."""

PLAIN_NAMES = {
    **dict.fromkeys(("finish_reason", "finish reason", "finish", "finishreason", "stop_reason"), "finish"),
    **dict.fromkeys(("content", "message.content", "reply", "response content", "answer"), "content"),
    **dict.fromkeys(("reasoning", "message.reasoning", "thinking"), "reasoning"),
    **dict.fromkeys(("reasoning_content", "message.reasoning_content", "reasoning content"), "reasoning_content"),
    **dict.fromkeys(("tool_calls", "tool calls"), "tool_calls"),
    **dict.fromkeys(
        ("completion_tokens", "completion tokens", "output_tokens", "output tokens", "usage.completion_tokens"),
        "completion_tokens",
    ),
    **dict.fromkeys(("prompt_tokens", "prompt tokens"), "prompt_tokens"),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max tokens", "max_new_tokens"), "max_tokens"),
    "enable_thinking": "enable_thinking",
    "model": "model",
}
"""Names that programs and people give to the fields of replies and requests."""

_NUMBERS = ("completion_tokens", "prompt_tokens", "max_tokens")
_FIELD = lazy(
    r"(?P<model>\bmodel(?:_name)?[\"']?(?: is|[:=]| =)? ?[\"'`]?"
    r"(?P<called>(?=[\w.:/-]*[\d/-])[A-Za-z][\w.:/-]{2,120})(?:[\"'`,;)\s]|\Z))"
    r"|(?<![A-Za-z0-9_])(?P<lead>len\((?:\w{1,40}\.){0,4})?"
    r"(?P<name>finish[_ ]?reason|finish(?=[\"'`*]{0,3}[ \t]*[=:])|stop_reason"
    r"|reasoning_content|reasoning|content|tool_calls|completion_tokens"
    r"|prompt_tokens|max_tokens|max_completion_tokens|max_new_tokens|enable_thinking|include_reasoning)"
    r"(?P<size>[_ .]?(?:len|length|chars|characters|size)\b)?(?P<after>\)?[\"'`*]{0,3}(?: field| key)?)"
    r"(?P<sep>[ \t]*(?:=>|->|→|==?|:)[ \t]*"
    r"|[ \t]+(?:is|was|are|comes back(?: as)?|came back(?: as)?|contains?|holds?|has|carries|stays|remains)[ \t]+"
    r"(?:just |only |still |always )?|[ \t]+(?:of[ \t]+)?(?=[\"'`]?(?:stop|length|tool_calls|null|none|empty)\b)"
    r"|[ \t]+(?=[\"'][^\n]*[\"']))",
    re.IGNORECASE,
)
_CODE = lazy(r"[A-Za-z_]\w*(?:\[\d+\]|\.[A-Za-z_]\w*){2,}|[A-Za-z_]\w*\.get\(|f['\"]", re.ASCII)
_ASSIGNED = lazy(r"\s*(?:(?:let|const|var) )?\w+\s*(?::\s*[\w| \[\]]+)?\s*\+?=\s*\S")
NOTHING = lazy(
    r"(?:\*\*|`|\")?(?:null|none|undefined|nil|empty|blank|missing|an empty string|\(empty\)|<empty>|''|\"\"|``|—|–|-)"
    r"(?:\*\*|`|\")?(?=[\s.,;)|]|\Z)",
    re.IGNORECASE,
)
_FILLED = lazy(
    r"the |its |all |full |whole |entire |complete |filled|non-?empty|not (?:empty|null)|populated|text|a ",
    re.IGNORECASE,
)
FINISH = lazy(
    r"[\"'`*]*(?P<word>stop|length|tool_calls|content_filter|abort|error|end_turn|max_tokens|tool_use)\b",
    re.IGNORECASE,
)
_DIGITS = lazy(r"[\"'`*]*(?P<number>\d{1,9})\b(?!\.\d)")
_CHARACTERS = lazy(r"(?P<number>\d{1,9}) (?:characters|chars)\b")
_BOOLEAN = lazy(r"[\"'`*]*(?P<value>true|false)\b", re.IGNORECASE)
_LABEL = lazy(r"\s*(?:[-*•>] )?(?:\*\*|`|\")?(?:[\w.\[\]]{1,80}\.)?\Z")
_NEXT = lazy(
    r"(?i:\s*(?:[-*•>] )?[\"'`*]*(?:len\()?[\w.\[\]]{0,80}?(?:finish[_ ]?(?:reason)?|reasoning_content|reasoning"
    r"|content|tool_calls|completion_tokens|usage|model|role)\)?[\"'`*]*\s*[:=])|\s*(?:-{3,}|={3,}|#{2,} |\$ |>>> |```)"
)
_ROLE = lazy(r"['\"]?role['\"]?\s*[:=]\s*['\"]?(?P<role>system|user|tool|developer|assistant)\b")


@dataclass(frozen=True, slots=True)
class Told:
    """One field as it was told: where, under which plain name, its value, or the size that stands for it."""

    at: int
    end: int
    name: str
    value: Any = None
    size: int | None = None
    row: int | None = None
    """Number of the table's row that it stands in; fields of one row are one reply's."""


def told_fields(text: str, taken: Sequence[tuple[int, int]], *, code: bool = True) -> Iterator[Told]:
    """Fields in free text and in broken JSON, outside the stretches that are read already (sorted).

    `code`: the text may be somebody's program, where `content = reply.content` tells nothing.
    """
    starts = [start for start, _ in taken]
    position = count = 0
    for match in _FIELD.finditer(text):
        before = bisect_right(starts, match.start()) - 1
        if match.start() < position or (before >= 0 and match.start() < taken[before][1]):
            continue
        found = _told(text, match, code)
        if found is None:
            continue
        yield found
        position = found.end
        count += 1
        if count >= MAX_FIELDS:
            return


def _told(text: str, match: re.Match[str], code: bool) -> Told | None:
    start, at = match.start(), match.end()
    if match["model"] is not None:
        return Told(start, max(start + 1, at - 1), "model", match["called"].rstrip(".:"))
    name = PLAIN_NAMES.get(match["name"].lower(), match["name"].lower())
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", at)
    line_end = len(text) if line_end < 0 else line_end
    rest = text[at:line_end]
    if name in _SHORT:
        return _SHORT[name](text, match, name, rest)
    if match["lead"] or match["size"]:
        number = _DIGITS.match(rest)
        return None if number is None else Told(start, at + number.end(), name, size=int(number["number"]))
    line = text[line_start:line_end]
    if code and "=" in match["sep"] and _ASSIGNED.match(line) and not text[line_start:start].strip():
        return None
    if _of_another_role(text, start):
        return None
    return _text_told(text, match, name, line_start, line_end)


def _text_told(text: str, match: re.Match[str], name: str, line_start: int, line_end: int) -> Told | None:
    """content or reasoning: null, a quoted text, words that say there is one, or the text itself after its label."""
    start, at = match.start(), match.end()
    rest = text[at:line_end]
    nothing = NOTHING.match(rest)
    if nothing is not None:
        return Told(start, at + nothing.end(), name, None)
    if rest[:1] in ("'", '"', "[") or rest[:2] in ("b'", 'b"'):
        value = read_value(text, at)
        if value is not None and isinstance(value[0], str):
            return Told(start, value[1], name, value[0])
        if rest[0] in "'\"":
            return Told(start, line_end, name, rest.strip().strip("'\"`,"))
    if match["sep"].strip()[:1].isalpha():
        counted = _CHARACTERS.match(rest)
        if counted is not None:
            return Told(start, at + counted.end(), name, size=int(counted["number"]))
        return Told(start, at, name, size=1) if _FILLED.match(rest) else None
    if ":" not in match["sep"] or _CODE.match(rest) or not _LABEL.match(text[line_start:start]):
        return None
    end = _block_end(text, line_end)
    return Told(start, end, name, text[at:end].strip() or None)


def _finish(text: str, match: re.Match[str], name: str, rest: str) -> Told | None:
    word = FINISH.match(rest)
    return None if word is None else Told(match.start(), match.end() + word.end(), name, word["word"].lower())


def _boolean(text: str, match: re.Match[str], name: str, rest: str) -> Told | None:
    found = _BOOLEAN.match(rest)
    if found is None:
        return None
    return Told(match.start(), match.end() + found.end(), name, found["value"].lower() == "true")


def _number(text: str, match: re.Match[str], name: str, rest: str) -> Told | None:
    found = _DIGITS.match(rest)
    return None if found is None else Told(match.start(), match.end() + found.end(), name, int(found["number"]))


def _calls(text: str, match: re.Match[str], name: str, rest: str) -> Told | None:
    at = match.end()
    number = _DIGITS.match(rest)
    if number is not None:
        return Told(match.start(), at + number.end(), name, size=int(number["number"]))
    if NOTHING.match(rest) or rest.startswith("[]"):
        return Told(match.start(), at, name, [])
    value = read_value(text, at) if rest[:1] == "[" else None
    return None if value is None or value[0] is UNKNOWN else Told(match.start(), value[1], name, known(value[0]))


_SHORT = {
    "finish": _finish,
    "enable_thinking": _boolean,
    "include_reasoning": _boolean,
    "tool_calls": _calls,
    **dict.fromkeys(_NUMBERS, _number),
}


def _of_another_role(text: str, at: int) -> bool:
    """The content is a user's or a system's: the nearest role before it, in its own object, says so."""
    before = text[max(0, at - 300) : at]
    roles = list(_ROLE.finditer(before))
    return bool(roles) and roles[-1]["role"] != "assistant" and "}" not in before[roles[-1].end() :]


def _block_end(text: str, line_end: int) -> int:
    """The end of a value that may run over several lines, up to the next label or rule."""
    at, blank = line_end, 0
    while at < len(text):
        stop = text.find("\n", at + 1)
        stop = len(text) if stop < 0 else stop
        line = text[at + 1 : stop]
        blank = blank + 1 if not line.strip() else 0
        if _NEXT.match(line) or blank > 2:
            break
        at = stop
    return at
