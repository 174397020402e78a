"""Pasted text as its writer saw it: colours, quoting, entities and line ends undone, line by line.

Nothing here joins or drops a line, so that numbers stay exact in the text as it was handed in.
"""

from __future__ import annotations

from .patterns import lazy

__all__ = ["Cleaned", "clean_text", "plain_lines"]

_ANSI = lazy(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # titles and other strings for the terminal
    r"|\x1b[ -/]*[0-~]"
    r"|(?:\^\[|\\u001[bB]|\\x1[bB]|\\033|#033)\[[0-?]*[ -/]*[@-~]"  # the same, spelt out by journald, less or JSON
    r"|\[(?:0|0?[0-9](?:;[0-9]{1,3})+|[349][0-7]|1)m(?![\w\]])"  # colours whose escape character a paste has lost
    r"|[\x00\x07\x0e\x0f\x7f\ufeff]"
)
_MARKED = ("\x1b", "^[[", "\\u001b[", "\\u001B[", "\\x1b[", "\\x1B[", "\\033[", "#033[", "m", "\x00", "\x07", "\ufeff")
_BACKSPACES = lazy(r"[^\x08\n]?\x08")
_ENTITY = lazy(r"&(?:lt|gt|quot|apos|nbsp|amp|#\d{1,6}|#x[0-9a-fA-F]{1,5});")
_QUOTE = lazy(r" {0,3}>[ \t]?")
_FENCE = lazy(r"\s{0,12}(?:`{3,}|~{3,})\s*(?P<language>[\w+#.-]*)[^`]*\Z")
_TAG_LINE = lazy(r"\s*(?:</?(?:details|summary|pre|code|p|br|div|blockquote)(?: [^<>]{0,80})?/?>\s*)+\Z")
_BOLD_WORD = lazy(r'"\*\*(\w{1,40})\*\*"')
_CURL_SENT = lazy(r"> ?(?:$|[A-Z]+ \S+ HTTP/\d|[A-Za-z][A-Za-z-]{1,30}: )")
_MAX_QUOTES = 8


class Cleaned:
    """The lines of a text, cleaned; `fences` maps the index of each fence line to its language."""

    __slots__ = ("fences", "lines")

    def __init__(self, lines: list[str], fences: dict[int, str], ended: bool) -> None:
        self.lines = lines[:-1] if ended and len(lines) > 1 else lines
        self.fences = fences


def clean_text(text: str) -> Cleaned:
    """Split into lines at line feeds alone (at carriage returns in a text that has nothing else) and clean them."""
    if "\n" not in text and text.count("\r") > 1:
        text = text.replace("\r", "\n")
    ended = text.endswith("\n")
    if any(mark in text for mark in _MARKED):
        text = _ANSI.sub("", text)
    if "\x08" in text:
        text = _BACKSPACES.sub("", text)
    lines = text.split("\n")
    if "\r" in text:
        lines = [line.rstrip("\r") for line in lines]
    lines = _unquote(lines)
    if "&" in text:
        lines = _unescape(lines)
    if '"**' in text:  # a key that a report points at in bold: "**reasoning_content**"
        lines = [_BOLD_WORD.sub(r'"\1"', line) for line in lines]
    lines = _unquote(_undent(lines))
    if '{"' in text:
        from .transcript_jsonlog import unwrap_json_lines

        lines = unwrap_json_lines(lines)
    return Cleaned(*_fences(lines), ended)


def plain_lines(text: str) -> str:
    """A stretch of a log without colours and with plain line ends; no line is joined or dropped."""
    if "\x1b" in text or "\x00" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.startswith('{"'):
        from .transcript_jsonlog import unwrap_json_lines

        text = "\n".join(unwrap_json_lines(text.split("\n")))
    return text


def _unquote(lines: list[str]) -> list[str]:
    """Take off `> ` where the whole text, or a stretch of three lines and more, is quoted."""
    for _ in range(_MAX_QUOTES):
        filled = [line for line in lines if line.strip()]
        if not filled or not all(_QUOTE.match(line) for line in filled):
            break
        lines = [_QUOTE.sub("", line, count=1) for line in lines]
    out, at = list(lines), 0
    while at < len(lines):
        end = at
        while end < len(lines) and _QUOTE.match(lines[end]):
            end += 1
        if end - at >= 3 and not _sent_or_typed(lines, at, end):
            out[at:end] = [_QUOTE.sub("", line, count=1) for line in lines[at:end]]
        at = max(end, at + 1)
    return out


def _sent_or_typed(lines: list[str], at: int, end: int) -> bool:
    """A request as `curl -v` shows it, or lines that a shell asked for with its second prompt."""
    if sum(bool(_CURL_SENT.match(line)) for line in lines[at:end]) * 2 > end - at:
        return True
    before = lines[at - 1].rstrip() if at else ""
    return before.endswith(("\\", "|", "&&", "||", "do", "then", "{", "'", '"')) or "<<" in before


def _unescape(lines: list[str]) -> list[str]:
    """HTML entities, where they stand for the very characters that the text lacks."""
    text = "\n".join(lines)
    if not _ENTITY.search(text):
        return lines
    stand_in = [("&quot;", '"'), ("&#34;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&#x27;", "'")]
    if not any(entity in text and plain not in text for entity, plain in stand_in):
        return lines
    import html

    return [_ENTITY.sub(lambda m: html.unescape(m.group()), line) if "&" in line else line for line in lines]


def _undent(lines: list[str]) -> list[str]:
    """Take off white space that all lines begin with."""
    margin: str | None = None
    for line in lines:
        if not line.strip():
            continue
        lead = line[: len(line) - len(line.lstrip(" \t"))]
        if margin is None:
            margin = lead
        while not line.startswith(margin):
            margin = margin[:-1]
        if not margin:
            return lines
    return [line[len(margin or "") :] if line.strip() else "" for line in lines]


def _fences(lines: list[str]) -> tuple[list[str], dict[int, str]]:
    """Blank the lines of code fences and of tags that only lay out; what a fence indents is moved to the margin."""
    fences: dict[int, str] = {}
    out = list(lines)
    for number, line in enumerate(lines):
        if "`" in line or "~" in line:
            match = _FENCE.match(line)
            if match:
                fences[number] = match["language"].lower()
                out[number] = ""
                continue
        if "<" in line and _TAG_LINE.match(line):
            out[number] = ""
    marks = sorted(fences)
    for start, end in zip(marks[::2], marks[1::2], strict=False):
        if lines[start][:1] in (" ", "\t"):
            out[start + 1 : end] = _undent(out[start + 1 : end])
    return out, fences
