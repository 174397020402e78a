"""Chat templates, and prompts rendered with them: do they open a thought, and what does the thinking switch do?"""

from __future__ import annotations

import re

from ..facts import Fact, Looked, Source
from ..facts.model import TemplateSeen
from ..facts.piece import Piece

_JINJA = re.compile(r"\{%-?\s*(?:if|else|elif|endif|set|for|generation)\b|\{\{-?\s*['\"]")
_OPEN = re.compile(r"<(?:think|thinking|thought|seed:think)>|\[THINK\]|◁think▷")
_CLOSE = re.compile(r"</(?:think|thinking|thought|seed:think)>|\[/THINK\]|◁/think▷")
_SWITCH = re.compile(
    r"if\s+(?P<no>not\s+)?(?:\(?\s*(?P<name>enable_thinking|thinking)\b)"
    r"(?:\s+is\s+(?P<defined>not\s+defined|defined|undefined))?(?P<rest>[^%]*)%\}(?P<then>.*?)(?:\{%-?\s*else\s*-?%\}(?P<other>.*?))?"
    r"(?:\{%-?\s*endif|\Z)",
    re.S,
)
_PROMPT_END = re.compile(r"(?:assistant|Assistant|model)\S{0,24}\s*(?:<think>|<thinking>|\[THINK\]|◁think▷)\s*\Z")

MAX_TEMPLATE = 100_000


def template_facts(piece: Piece) -> list[Fact]:
    """A TemplateSeen for a piece that holds a template, a part of one, or a rendered prompt's end."""
    text = piece.text[:MAX_TEMPLATE]
    if not _OPEN.search(text):
        return []
    place = Source(piece.source, line=piece.first_line, text=" ".join(text.split())[-200:])
    seen: TemplateSeen | None = None
    if _JINJA.search(text):
        switch, default = _reading(text)
        opens = default if default is not None else None
        seen = TemplateSeen(
            opens_think=opens,
            has_switch=switch,
            default_thinking=default,
            where=piece.where,
            order=piece.order,
            source=place,
        )
    elif piece.kind in ("output", "text") and len(text) < 4000 and _PROMPT_END.search(text):
        seen = TemplateSeen(opens_think=True, default_thinking=True, where=piece.where, order=piece.order, source=place)
    if seen is None:
        return []
    return [seen, Looked(probe="template", where=piece.where, order=piece.order, source=place)]


def _reading(text: str) -> tuple[bool, bool | None]:
    """(has a switch, thinks by default) of the template's generation prompt."""
    start = text.rfind("add_generation_prompt")
    part = text[start:] if start >= 0 and _OPEN.search(text[start:]) else text
    switch = _SWITCH.search(part)
    if switch is None:
        has_switch = "enable_thinking" in text
        return has_switch, None if has_switch else _opens(part)
    then, other = switch["then"] or "", switch["other"]
    rest = switch["rest"] or ""
    taken = _taken_by_default(switch["no"] is not None, switch["defined"], rest)
    if taken is None:
        return True, None
    branch = then if taken else other
    if branch is None:
        branch = part[switch.end() :]
    if _CLOSE.search(branch):
        return True, False
    if _OPEN.search(branch):
        return True, True
    after = part[switch.end() :]
    return True, True if not taken and _CLOSE.search(then) else _opens(after) if _OPEN.search(after) else None


def _taken_by_default(negated: bool, defined: str | None, rest: str) -> bool | None:
    """Whether the branch is taken when the request sets no switch at all."""
    if defined == "defined" and not negated:
        return False if " or " not in rest else None
    if defined in ("not defined", "undefined"):
        return True
    if defined is None:
        return negated
    return None


def _opens(text: str) -> bool | None:
    opened = list(_OPEN.finditer(text))
    if not opened:
        return None
    return _CLOSE.search(text, opened[-1].end()) is None
