"""What can be read off a text: think tags, byte-level letters, degenerate output."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import pairwise
from operator import eq, ne

from ..records import dataclass
from .patterns import lazy

_THINK = lazy(
    r"<(?P<close>/)?(?P<name>think|thinking|thought|reasoning|seed:think|longcat_think|mm:think|inner_thinking)>"
    r"|(?P<open2>\[THINK\]|<\|START_THINKING\|>|◁think▷|<\|channel\|>analysis<\|message\|>|<\|channel>thought)"
    r"|(?P<close2>\[/THINK\]|<\|END_THINKING\|>|◁/think▷|<channel\|>|<\|channel\|>final<\|message\|>)",
)

_BYTE_LETTERS = lazy(r"[ĠĊĉ]")
_JOINTS = lazy(r"(?<=[\w.,:;!?'\")\]}>])[ĠĊ](?=[\w\"'(\[{<*#\-ĠĊ]|\Z)")
_BROKEN = lazy(r"\ufffd|<0x[0-9A-F]{2}>")
_WORD = lazy(r"\S+")
_FIRST_TOKENS = "!" * 24
"""Token 0 of many vocabularies, over and over: what is sampled where no logit is a number."""
_WANTS_MORE = lazy(r"(?i)\d|\b(?:repeat|times|again|over and over|say|write|print|type|echo|copy|count|list|forever)\b")
"""A question by which a word may be said over and over."""

MAX_LOOKED = 20_000
"""Characters of a text that the costlier looks see: its beginning and its end."""


@dataclass(frozen=True, slots=True)
class Tags:
    """Think tags of one text."""

    opened: bool
    opened_at_start: bool
    """The first opening tag stands at the beginning, after little more than white space."""
    closed: bool
    lone_close: bool
    """A closing tag comes before any opening one."""
    family: str | None
    before_close: int
    """Characters before the first closing tag."""
    after_close: int
    """Characters (stripped) after the last closing tag; 0 without one."""


_THINK_MARKS = ("<", "[THINK]", "[/THINK]", "◁")
"""A text without any of them has no think tag."""


def think_tags(text: str) -> Tags:
    if not any(mark in text for mark in _THINK_MARKS):
        return _NO_TAGS
    opened = at_start = closed = lone = False
    family: str | None = None
    before = after = 0
    for match in _THINK.finditer(text):
        is_close = bool(match["close"] or match["close2"])
        family = family or match["name"] or (match["open2"] or match["close2"])
        if is_close:
            if not closed:
                before = len(text[: match.start()].strip())
            closed = True
            lone = lone or not opened
            after = len(text[match.end() :].strip())
        else:
            at_start = at_start or (not opened and not closed and len(text[: match.start()].strip()) < 3)
            opened = True
    return Tags(opened, at_start, closed, lone, family, before, after)


_NO_TAGS = Tags(False, False, False, False, None, 0, 0)


def byte_letters(text: str) -> int:
    """Letters of byte-level vocabularies that stand for a space, a newline or a tab.

    Ġ and Ċ are letters of Maltese as well, where they stand among vowels with ordinary spaces around them: a text is
    counted only if the letters stand where words meet, and hardly a real space stands between words.
    """
    hits = 0 if text.isascii() else len(_BYTE_LETTERS.findall(text))
    if hits == 0:
        return 0
    joints = len(_JOINTS.findall(text))
    spaces = text.count(" ") + text.count("\n")
    return hits if joints and joints * 3 >= hits and spaces <= max(2, hits) and not text.isupper() else 0


def broken_bytes(text: str) -> int:
    return len(_BROKEN.findall(text)) if "\ufffd" in text or "<0x" in text else 0


@dataclass(frozen=True, slots=True)
class Degenerate:
    """What is wrong with a text as text."""

    what: str
    share: float


def degenerate(text: str, asked: str | None = None) -> Degenerate | None:
    """Text that no sound model writes: one token for ever, phrases in a loop, scripts thrown together, noise.

    `asked` is what the model was asked, if that is known: a word that it asks for may be said over and over.
    """
    sample = text.strip()
    if len(sample) > MAX_LOOKED:
        sample = sample[: MAX_LOOKED // 2] + sample[-MAX_LOOKED // 2 :]
    if len(sample) < 8:
        return None
    squeezed = "".join(sample.split())
    char, times = Counter(squeezed).most_common(1)[0]
    drawn = char in "-=_*#.~" or "\u2500" <= char <= "\u259f" or (squeezed.isdigit() and len(squeezed) <= 200)
    if (times / len(squeezed) > 0.85 and not drawn) or _FIRST_TOKENS in sample:
        return Degenerate("one-token", times / len(squeezed))
    words = sample.split()
    word = _one_word(words)
    if word is not None and asked is not None:
        said = word.strip(".,;:!?\"'").lower()
        if said not in asked.lower() or (asked.isascii() and not _WANTS_MORE.search(asked)):
            return Degenerate("one-word", 1.0)
    for check in (_broken_letters, _stutters, _repeats, _mixed_scripts, _symbols):
        found = check(sample, words)
        if found is not None:
            return found
    return None


def _one_word(words: list[str]) -> str | None:
    """The word that a text repeats and that is nearly all of it."""
    if len(words) < 12:
        return None
    word, times = Counter(words).most_common(1)[0]
    return word if times / len(words) > 0.85 and any(c.isalnum() for c in word) and len(word) > 1 else None


def _broken_letters(text: str, words: list[str]) -> Degenerate | None:
    """Bytes that form no letters: a fifth of the text and more."""
    share = broken_bytes(text) / len(text)
    return Degenerate("broken", share) if len(text) >= 16 and share > 0.2 else None


_STUTTER = lazy(r"(\S{2,24}?)\1{3,}")


def _stutters(text: str, words: list[str]) -> Degenerate | None:
    """A piece of a word over and over without a space between: a sound model's loops repeat words and sentences."""
    longest = max((word for word in words), key=len, default="")
    if len(longest) < 24:
        return None
    head = text[:4000]
    covered = sum(len(m[0]) for m in _STUTTER.finditer(head) if any(c.isalpha() for c in m[1]))
    share = covered / len(head)
    if share > 0.5:
        return Degenerate("stutter", share)
    poor = sum(len(word) for word in _WORD.findall(head) if len(word) >= 24 and _poor(word))
    return Degenerate("stutter", poor / len(head)) if poor > 0.5 * len(head) and len(head) >= 80 else None


def _poor(word: str) -> bool:
    """A long run of few syllables: hardly any four letters of it occur but once. Bases of a genome are exempt."""
    letters = word.lower()
    if sum(c.isalpha() for c in letters) < 0.6 * len(letters) or set(letters) <= set("acgtun"):
        return not any(c.isalpha() for c in letters) and not set(letters) <= set("01-=_*#.~|+/\\") and _period(letters)
    fours = [letters[i : i + 4] for i in range(len(letters) - 3)]
    return len(set(fours)) < 0.55 * len(fours)


def _period(word: str) -> bool:
    """Two to four characters over and over: 1.1.1.1."""
    return len(word) >= 40 and any(
        sum(a == b for a, b in zip(word, word[size:], strict=False)) > 0.95 * (len(word) - size) for size in (2, 3, 4)
    )


_FIRST = 32
"""Words by which most texts show that they are no loop of some length."""


def _repeats(text: str, words: list[str]) -> Degenerate | None:
    """A loop of words that fills most of the text."""
    if len(words) >= 12:
        word, times = Counter(words).most_common(1)[0]
        if times / len(words) > 0.6 and len(word) > 1 and not word.startswith(("|", "-", "=")):
            return Degenerate("repetition", times / len(words))
    if len(words) >= 40:
        tail = words[-min(len(words), 400) :]
        for period in range(2, min(60, len(tail) // 4)):
            size = len(tail) - period
            differ = sum(map(ne, tail[:_FIRST], tail[period : period + _FIRST]))
            if (size - differ) / size <= 0.97:  # the first words alone rule it out
                continue
            share = sum(map(eq, tail, tail[period:])) / size
            if share > 0.97 and len(set(tail[-period:])) > 1:
                return Degenerate("repetition", share)
    elif len(words) <= 3 and len(text) >= 60:
        for period in range(1, 13):
            same = sum(a == b for a, b in zip(text, text[period:], strict=False))
            if same / (len(text) - period) > 0.95:
                return Degenerate("repetition", same / (len(text) - period))
    return None


def _script(char: str) -> str | None:
    if char < "\u0250":
        return "latin" if char.isalpha() else None
    name = unicodedata.name(char, "")
    head = name.split(" ", 1)[0]
    if head in ("CJK", "HIRAGANA", "KATAKANA"):
        return "han"
    return head.lower() if char.isalpha() and head else None


def _mixed_scripts(text: str, words: list[str]) -> Degenerate | None:
    """Scripts that change from word to word, or inside words, as no language or translation does."""
    script = {c: _script(c) for c in set(text)}
    if not {*script.values()} - {None, "latin"}:
        return None
    scripts = [s for s in map(script.__getitem__, text) if s is not None]
    if len(scripts) < 24:
        return None
    kinds = Counter(scripts)
    frequent = [s for s, n in kinds.items() if n >= 2]
    changes = sum(a != b for a, b in pairwise(scripts))
    rare = {c for c, name in script.items() if name not in (None, "latin", "han")}
    mixed_words = (word for word in words if not rare.isdisjoint(word))
    inside = sum(len({*map(script.__getitem__, word)} - {"han", None}) > 1 for word in mixed_words)
    share = changes / len(scripts)
    often = 0.08 if inside else 0.15
    mixed = (len(frequent) >= 4 and share > often) or (len(frequent) >= 3 and share > 0.15)
    if (mixed and not _listed(text)) or inside > max(3, len(words) // 6):
        return Degenerate("mixed-scripts", max(share, inside / max(len(words), 1)))
    return None


def _listed(text: str) -> bool:
    """Lines of one script each, with a name or a gloss beside it: a list of translations."""
    lines = [line for line in text.split("\n") if line.strip()]
    plain = sum(len({s for s in map(_script, line) if s}) <= 2 for line in lines)
    return len(lines) >= 4 and plain >= 0.6 * len(lines)


def _symbols(text: str, words: list[str]) -> Degenerate | None:
    """Hardly a letter or digit in a longer text that is no table, rule or drawing."""
    told = {c: number for c, number in Counter(text).items() if not c.isspace() and c not in _DRAWING}
    number = sum(told.values())
    if number < 40 or any("\u2190" <= c <= "\u2bff" or c >= "\U0001f000" for c in told):
        return None
    sound = sum(times for c, times in told.items() if c.isalnum()) / number
    return Degenerate("symbols", 1 - sound) if sound < 0.25 else None


_DRAWING = frozenset("-=_*#.~+|\\/<>^[],:")
"""Of these tables, rules, drawings and some programs are made."""


def looks_finished(text: str) -> bool | None:
    """The text ends as finished texts do. None for a short one without a full stop: an answer may be one word."""
    end = text.rstrip()
    if not end:
        return None
    if end.endswith(("...", "…", ",", ";", ":", "-")):
        return False
    if end[-1] in ".!?。！？)]}>\"'`*|”’）】」":
        return True
    return None if len(end) < 200 else False


def words(text: str) -> int:
    return len(text.split())


def excerpt(text: str, size: int = 160) -> str:
    """The beginning of a text, and its end if it is long, on one line."""
    head, tail = size * 2 // 3, size // 4
    if len(text) > _LONG:
        first, last = (" ".join(part.split()) for part in (text[: _LONG // 4], text[-_LONG // 4 :]))
        if len(first) > size and len(last) > tail:  # else it is mostly white space
            return f"{first[:head]} ... {last[-tail:]}"
    flat = " ".join(text.split())
    return flat if len(flat) <= size else f"{flat[:head]} ... {flat[-tail:]}"


_LONG = 20_000
"""Characters of a text of which an excerpt is taken without looking at the whole."""
