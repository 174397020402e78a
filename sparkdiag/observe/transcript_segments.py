"""A transcript cut at its prompts, headings and fences: what was typed, and the lines that belong to it."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ..records import dataclass
from .patterns import lazy
from .prompts import Typed, is_command, read_typed
from .transcript_kinds import is_env, is_launch, is_setting
from .transcript_parts import Part

if TYPE_CHECKING:
    from ..sections import Section

__all__ = ["Segment", "segments"]


@dataclass(slots=True)
class Segment:
    """Lines under one prompt, or under none."""

    start: int
    body: int
    """Where output, or unprompted text, begins."""
    end: int
    typed: Typed | None = None
    heading: str | None = None
    depth: int = 0
    node: str | None = None
    remark: str | None = None
    ran: tuple[str, str, int | None] | None = None
    """Name, status and exit code, where a command of the fixed list was run by sparkdiag's own script."""
    parts: list[Part] = field(default_factory=list)


_RULE = lazy(r"(?:-{3,}|={3,})\s*(?P<title>[^-=\s][^|]{0,100}?)\s*(?:-{2,}|={2,})?\s*\Z")
_TITLE = lazy(
    r"#{2,6}\s+(?P<title>\S.{0,120})\Z|\*\*(?P<bold>[^*]{2,100})\*\*:?\Z|\s*<summary>(?P<summary>.{1,100})</summary>"
)
_LABEL = lazy(
    r"(?P<title>(?:on|from|log|logs|output|result|response|request|node|head|worker|master|server|client|launch|command|config|"
    r"compose|docker|container|vllm|sglang|spark|env|environment|recipe|metrics|reply)\b[^:{}\[\]\"=]{0,60}):\s*\Z",
    re.IGNORECASE,
)
_LABEL_DEPTH = 8
"""Labels stand below all headings, and do not end what a command printed."""

_NO_HEADING = lazy(
    r".*ping statistics|Logging error|beginning of|[ab]/\S|\S+\.orig\b|Captured |Autoscaler status|List: \d{4}-",
    re.IGNORECASE,
)


def _heading(lines: list[str], at: int) -> tuple[str, int] | None:
    """The words of a line that only announces what follows it, and how deep it stands below other headings."""
    line = lines[at]
    first = line[:1]
    if first in ("-", "="):
        match = _RULE.match(line)
        if (
            match
            and not _NO_HEADING.match(match["title"])
            and not (at + 1 < len(lines) and lines[at + 1].startswith("+++"))
        ):
            return match["title"], 0
        return None
    if first in ("#", "*", "<") or line.lstrip()[:1] == "<":
        match = _TITLE.match(line)
        if match is None:
            return None
        depth = len(line) - len(line.lstrip("#")) if first == "#" else 7
        return next(filter(None, match.groups())).rstrip(":"), depth
    if line.endswith(":") and first.isalpha() and (" " in line or first.isupper()):
        match = _LABEL.match(line)
        return (match["title"], _LABEL_DEPTH) if match else None
    return None


_OUTPUT_OF = lazy(r"(?i)(?:the )?(?:full )?(?:output|result|logs?)(?: of| from)? +(?:of )?(?=`|\S+ )")
_HTTP_TITLE = lazy(r"(?:GET|POST|PUT|DELETE|HEAD) (?:https?://\S+|/\S*)\Z")
_SIGNS = ("$", "#", "%", "❯", "➜", ">>>")


def _may_prompt(line: str) -> bool:
    return any(sign in line for sign in _SIGNS) or line[1:3] == ":\\" or line.startswith("PS ")


def segments(
    lines: list[str], tags: list[str | None], fences: Container[int], breaks: Container[int], end: int
) -> list[Segment]:
    """The segments of all lines up to `end`. `breaks` are the lines at which another text begins."""
    strong = any(
        _may_prompt(line) and read_typed(lines, at, weak=False) is not None for at, line in enumerate(lines[:end])
    )
    cutter = _Cutter(lines, tags, strong, end)
    printed = _sections(lines, breaks, end)
    at = 0
    while at < end:
        if at in breaks:
            cutter.text_begins(at)
        if at in printed:
            at = cutter.section(at, printed[at])
        elif at in fences:
            cutter.fence(at)
            at += 1
        elif not lines[at].strip():
            at += 1
        else:
            at = cutter.line(at)
    cutter.close(end)
    return cutter.out


def _sections(lines: list[str], breaks: Container[int], end: int) -> dict[int, Section]:
    """What sparkdiag's own script printed, by the line that each section begins with; none goes on in another text."""
    if not any(line.startswith("=== sparkdiag ") for line in lines):
        return {}
    from ..sections import sections_of

    starts = [0, *(at for at in range(1, end) if at in breaks), end]
    return {
        start + one.at: replace(
            one, at=start + one.at, start=start + one.start, end=start + one.end, after=start + one.after
        )
        for start, stop in pairwise(starts)
        for one in sections_of(lines[start:stop])
    }


class _Cutter:
    """What is open while the lines are gone through."""

    def __init__(self, lines: list[str], tags: list[str | None], strong: bool, end: int) -> None:
        self.lines = lines
        self.tags = tags
        self.strong = strong
        """Some line has a prompt that can be nothing else."""
        self.end = end
        self.out: list[Segment] = []
        self.current: Segment | None = None
        self.heading: tuple[str, int, int] | None = None
        """Words, depth and line of a heading that nothing has followed yet."""
        self.last: tuple[str, int] = ("", 0)
        self.inside: int | None = None
        """The line of the fence that is open."""
        self.opened_in: int | None = None
        self.script = False

    def close(self, at: int) -> None:
        if self.current is not None:
            self.current.end = at
            self.out.append(self.current)
            self.current = None

    def section(self, at: int, one: Section) -> int:
        """A whole section at once; gives the line to go on with."""
        from ..sections import status_of

        self.close(at)
        status = status_of(one.code, "\n".join(self.lines[one.start : one.end]))
        typed = Typed(one.command, at, at + 1)
        segment = Segment(at, one.start, one.end, typed, node=one.node, ran=(one.probe, status, one.code))
        self.out.append(segment)
        self.heading, self.last, self.script = None, ("", 0), False
        return one.after

    def text_begins(self, at: int) -> None:
        """Another text: what is open ends, unless a command still waits for what it prints."""
        if self.current is None or not self._waits(at):
            self.close(at)
            self.heading, self.last = None, ("", 0)
        self.inside, self.script = None, False

    def _waits(self, at: int) -> bool:
        segment = self.current
        if segment is None or segment.typed is None or not segment.typed.command:
            return False
        from .transcript_asked import still_prints

        return still_prints(segment.typed.command, "\n".join(self.lines[segment.body : at]))

    def fence(self, at: int) -> None:
        """A fence opens or closes: a command that was typed inside ends with it."""
        was, self.inside = self.inside, at if self.inside is None else None
        current = self.current
        if current is not None and (current.typed is None or (was is not None and self.opened_in == was)):
            self.close(at)
        self.script = False

    def line(self, at: int) -> int:
        """One line that is not blank; gives the line to go on with."""
        announced = _heading(self.lines, at)
        if announced is not None and (
            announced[1] < _LABEL_DEPTH or self.current is None or self.current.typed is None
        ):
            self._announce(at, *announced)
            return at + 1
        typed = None
        fresh = self.inside is not None and at == self.inside + 1
        if (not self.script or self.strong) and (not self.strong or fresh or _may_prompt(self.lines[at])):
            bare = (fresh or not self.strong) and not _scripted(self.lines[at])
            typed = read_typed(self.lines, at, weak=not self.strong, bare=bare)
        if typed is not None:
            typed = replace(typed, end=min(typed.end, self.end))
            self._type(at, typed)
            return typed.end
        self._plain(at)
        return at + 1

    def _announce(self, at: int, title: str, depth: int) -> None:
        self.close(at)
        self.script = False
        self.heading, self.last = (title, depth, at), (title, depth)
        asked = _asked(title)
        if asked is not None:
            typed = Typed(asked[0], at, at + 1)
            self.current = Segment(at, at + 1, at + 1, typed, title, depth, self.tags[at] or asked[1])
            self.heading, self.opened_in = None, self.inside

    def _type(self, at: int, typed: Typed) -> None:
        self.close(at)
        segment = self._opened(at, typed.end)
        segment.node = self.tags[at] or _host(typed.host)
        if typed.command:
            segment.typed = typed
        else:
            segment.remark, segment.body = typed.comment, at + 1
        self.opened_in, self.script = self.inside, False

    def _opened(self, at: int, body: int) -> Segment:
        """A new segment, with the heading that announced it."""
        begin = self.heading[2] if self.heading is not None else at
        title, depth = self.last
        self.current = Segment(begin, body, body, None, title or None, depth)
        self.heading = None
        return self.current

    def _plain(self, at: int) -> None:
        tag, current = self.tags[at], self.current
        if current is not None:
            other = tag is not None and tag != current.node
            if other or (current.typed is not None and not self.strong and is_launch(self.lines[at])):
                self.close(at)
        if self.current is None:
            segment = self._opened(at, at)
            segment.node = tag
            self.script = self.lines[at].startswith("#!")
        elif self.current.node is None:
            self.current.node = tag


def _scripted(line: str) -> bool:
    """A line of a script that starts a server: no command that was typed to see what it prints."""
    return is_launch(line) or is_env(line) or is_setting(line)


def _asked(title: str) -> tuple[str, str | None] | None:
    """(command, node) of a heading that names a command or an HTTP request."""
    if _HTTP_TITLE.match(title):
        method, url = title.split(" ", 1)
        address = url if "://" in url else f"http://server{url}"
        return f"curl -s -X {method} -w '%{{http_code}}' {address}", None
    bare = _OUTPUT_OF.sub("", title).strip("` ").removeprefix("$ ")
    match = re.match(r"(?P<command>.+?) (?:on|@|from) (?P<node>[A-Za-z][\w.-]*)\Z", bare)
    if match and is_command(match["command"]):
        return match["command"], match["node"]
    return (bare, None) if is_command(bare) else None


_CONTAINER_ID = lazy(r"[0-9a-f]{12}\Z")


def _host(name: str | None) -> str | None:
    return None if name is None or _CONTAINER_ID.match(name) else name
