"""Just enough of the shell's grammar to take commands apart: words, quotes, pipes, lists. Nothing is ever run."""

from __future__ import annotations

import re
from functools import lru_cache

from ..records import dataclass
from .patterns import lazy

__all__ = ["Simple", "after_words", "balanced", "heredoc_word", "leading_assignments", "lists", "pipeline", "words"]

_HEREDOC = lazy(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")


def heredoc_word(text: str) -> str | None:
    """The word that ends the here-document which the last line of a command opens."""
    last = text.rsplit("\n", 1)[-1]
    match = _HEREDOC.search(last) if "<<" in last and "<<<" not in last else None
    return match[2] if match else None


def balanced(text: str) -> bool:
    """No quote and no `$(` is left open."""
    quote, depth, at = "", 0, 0
    while at < len(text):
        char = text[at]
        if quote == "'":
            if char == "'":
                quote = ""
        elif char == "\\":
            at += 1
        elif quote:
            if char == '"':
                quote = ""
        elif char in "'\"":
            quote = char
        elif char == "#" and (at == 0 or text[at - 1] in " \t\n;"):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("$(", at):
            depth += 1
            at += 1
        elif char == ")" and depth:
            depth -= 1
        at += 1
    return not quote and not depth


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    """The word with quotes removed, or an operator."""
    operator: bool = False
    raw: tuple[int, int] = (0, 0)


_OPERATORS = ("&&", "||", ";;", "|&", "|", ";", "&", "\n", "(", ")")
MAX_TOKENS = 20_000


@lru_cache(maxsize=512)
def _tokens(text: str) -> tuple[_Token, ...]:
    out: list[_Token] = []
    at, size = 0, len(text)
    while at < size and len(out) < MAX_TOKENS:
        char = text[at]
        if char in " \t\r":
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif char == "#":
            end = text.find("\n", at)
            at = size if end < 0 else end
        elif text[at : at + 2] in ("&>", ">&") or char in "<>":
            start = at
            at = _redirection(text, at)
            out.append(_Token(text[start:at], True, (start, at)))
        else:
            operator = next((o for o in _OPERATORS if text.startswith(o, at)), None)
            if operator is not None:
                out.append(_Token(operator, True, (at, at + len(operator))))
                at += len(operator)
            else:
                start = at
                word, at = _word(text, at)
                if word.isdigit() and at < size and text[at] in "<>":
                    at = _redirection(text, at)
                    out.append(_Token(text[start:at], True, (start, at)))
                else:
                    out.append(_Token(word, False, (start, at)))
    return tuple(out)


def _redirection(text: str, at: int) -> int:
    """Past `2>&1`, `> file`, `<<< word`, `<<EOF`; process substitution counts as a word of its own."""
    while at < len(text) and text[at] in "<>&":
        at += 1
    if at < len(text) and text[at] == "(":
        return _parenthesis(text, at)
    while at < len(text) and text[at] in " \t":
        at += 1
    return _word(text, at)[1] if at < len(text) and text[at] not in "\n;|&" else at


def _parenthesis(text: str, at: int) -> int:
    """Past the parenthesis that opens at `at`; quotes inside are respected."""
    depth, quote = 0, ""
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\" and quote == '"':
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char == "\\":
            at += 1
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(text)


_PLAIN = lazy(r"[^'\"\\$`\s;|&<>()]+")


def _word(text: str, at: int) -> tuple[str, int]:
    """One word from `at` on, quotes removed, substitutions kept as they stand."""
    out: list[str] = []
    size = len(text)
    while at < size:
        plain = _PLAIN.match(text, at)
        if plain:
            out.append(plain.group())
            at = plain.end()
            continue
        char = text[at]
        if char == "'":
            end = text.find("'", at + 1)
            end = size if end < 0 else end
            out.append(text[at + 1 : end])
            at = end + 1
        elif char == '"':
            piece, at = _double(text, at + 1)
            out.append(piece)
        elif text.startswith("$'", at):
            end = text.find("'", at + 2)
            end = size if end < 0 else end
            out.append(text[at + 2 : end].replace("\\n", "\n").replace("\\t", "\t"))
            at = end + 1
        elif text.startswith("$(", at):
            end = _parenthesis(text, at + 1)
            out.append(text[at:end])
            at = end
        elif text.startswith("${", at):
            end = text.find("}", at)
            end = size if end < 0 else end + 1
            out.append(text[at:end])
            at = end
        elif char == "`":
            end = text.find("`", at + 1)
            end = size if end < 0 else end + 1
            out.append(text[at:end])
            at = end
        elif char == "\\":
            if text.startswith("\\\n", at):
                at += 2
                if at < size and text[at] in " \t":
                    break
            else:
                out.append(text[at + 1 : at + 2])
                at += 2
        elif char in " \t\r\n;|&<>()":
            break
        else:
            out.append(char)
            at += 1
    return "".join(out), at


def _double(text: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    while at < len(text) and text[at] != '"':
        if text.startswith("\\\n", at):
            at += 2
        elif text[at] == "\\" and at + 1 < len(text) and text[at + 1] in '"\\$`':
            out.append(text[at + 1])
            at += 2
        elif text.startswith("$(", at):
            end = _parenthesis(text, at + 1)
            out.append(text[at:end])
            at = end
        else:
            out.append(text[at])
            at += 1
    return "".join(out), at + 1


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: its words without quotes, its redirections, and its own text."""

    words: tuple[str, ...]
    text: str
    redirections: tuple[str, ...] = ()


def words(text: str) -> list[str]:
    """The words of one simple command; redirections are left out, and so is what follows an operator."""
    out: list[str] = []
    for token in _tokens(text):
        if not token.operator:
            out.append(token.text)
        elif out and (token.text[0] in ";|\n" or token.text in ("&&", "||", "&")):
            break
    return out


def lists(text: str) -> list[str]:
    """The commands between `;`, `&&`, `||`, `&` and line ends, each whole with its pipes. Loops stay in one piece."""
    if re.match(r"\s*(?:for|while|until|if|case|function)\s", text):
        return [text.strip()]
    cuts, start, depth = [], 0, 0
    for token in _tokens(text):
        if token.operator:
            if token.text == "(":
                depth += 1
            elif token.text == ")":
                depth -= 1
            elif depth <= 0 and token.text in (";", "&&", "||", "&", "\n", ";;"):
                cuts.append(text[start : token.raw[0]])
                start = token.raw[1]
    cuts.append(text[start:])
    return [cut.strip() for cut in cuts if cut.strip()]


def pipeline(text: str) -> list[Simple]:
    """The simple commands of one pipeline."""
    out: list[Simple] = []
    current: list[str] = []
    redirections: list[str] = []
    start, end = 0, 0
    for token in _tokens(text):
        if token.operator and token.text in ("|", "|&"):
            out.append(Simple(tuple(current), text[start : token.raw[0]].strip(), tuple(redirections)))
            current, redirections, start = [], [], token.raw[1]
        elif token.operator and token.text[0] in "<>&0123456789" and token.text not in ("&", "&&"):
            redirections.append(token.text)
        elif not token.operator:
            current.append(token.text)
        end = token.raw[1]
    out.append(Simple(tuple(current), text[start:end].strip(), tuple(redirections)))
    return out


_ASSIGNED = lazy(r"([A-Za-z_]\w*)\+?=(.*)\Z", re.S)


def leading_assignments(text: str) -> tuple[list[tuple[str, str]], str]:
    """(variables, the command after them) of `A=b C=d command ...`."""
    pairs: list[tuple[str, str]] = []
    for token in _tokens(text):
        match = None if token.operator else _ASSIGNED.match(token.text)
        if match is None:
            return pairs, text[token.raw[0] :]
        pairs.append((match[1], match[2]))
    return pairs, ""


def after_words(text: str, count: int) -> str:
    """The text of a command without its first words, quotes and pipes as they were typed."""
    seen = 0
    for token in _tokens(text):
        if not token.operator:
            if seen == count:
                return text[token.raw[0] :].strip()
            seen += 1
        elif token.text in ("|", ";", "&&", "||"):
            break
    return ""
