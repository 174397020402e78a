"""Tool calls that stand in a reply as text: the formats that model families write, and calls of the offered tools."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..records import dataclass
from .patterns import lazy

__all__ = ["Offer", "offers", "tool_call_format"]

_MAX_LOOKED = 20_000

_FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("qwen3_xml", lazy(r"<function=[^>\s]{1,128}>|<tool_call>\s*<function=")),
    ("hermes", lazy(r"<tool_call>\s*\{")),
    ("glm", lazy(r"<tool_call>\s*[\w.-]{1,128}\s*<arg_key>|<arg_key>")),
    ("mistral", lazy(r"\[TOOL_CALLS\]")),
    ("deepseek", lazy(r"<[|｜]tool[▁_]calls?[▁_]begin[|｜]>|<[|｜]DSML[|｜]")),
    ("kimi", lazy(r"<\|tool_calls?_(?:section_)?begin\|>|<\|tool_call_begin\|>")),
    (
        "llama3_json",
        lazy(
            r"<\|python_(?:tag|start)\|>|\A\s*\{\s*(?:\"type\"\s*:\s*\"function\"\s*,\s*)?\"(?:name|function)\"\s*:\s*\"[\w.-]+\"\s*,"
            r"\s*\"(?:parameters|arguments)\"\s*:"
        ),
    ),
    ("minimax", lazy(r"<minimax:tool_call>|<tool_calls>\s*[\[{]?|<invoke name=")),
    ("granite", lazy(r"<\|tool_call\|>|<tool_call>\s*\[")),
    ("gemma", lazy(r"<\|tool_call>|```tool_code|<start_function_call>")),
    ("harmony", lazy(r"<\|channel\|>commentary to=|to=functions\.")),
    ("step3", lazy(r"<steptml:(?:invoke|toolcall)|<｜tool_sep｜>")),
    ("internlm", lazy(r"<\|action_start\|>\s*<\|plugin\|>")),
    ("seed_oss", lazy(r"<seed:tool_call>")),
    ("longcat", lazy(r"<longcat_tool_call>")),
    ("lfm2", lazy(r"<\|tool_call_start\|>")),
    ("phi4_mini_json", lazy(r"\A\s*functools\s*\[")),
    ("olmo3", lazy(r"<function_calls>")),
    ("cohere", lazy(r"<\|START_ACTION\|>")),
    ("gigachat3", lazy(r"function call<\|role_sep\|>")),
    ("pythonic", lazy(r"\A\s*\[[A-Za-z_]\w*\((?:\w+=[^()]*)?\)(?:,\s*[A-Za-z_]\w*\([^()]*\))*\]\s*\Z")),
    ("hermes", lazy(r"<tool_call>|</tool_call>")),
    ("qwen25_coder", lazy(r"<tools>\s*\[?\s*\{\s*\"(?:name|type)\"\s*:")),
    ("named_xml", lazy(r"<function>\s*<name>[^<>]{1,128}</name>\s*<arguments>|<function_call>\s*\{")),
)
_SIGNS = ("<", "[", "{", "to=functions", "```tool")
_QUOTED = lazy(r"```(?!tool|json\s*\{\s*\"name\")\w*\n.*?(?:```|\Z)|`[^`\n]{1,400}`", re.S)
_CALL = (
    r"\{\s*\"(?:name|function|tool|action)\"\s*:\s*\"%s\"\s*,"
    r"\s*\"(?:arguments|parameters|args|input|tool_input|action_input)\"\s*:(?!\s*\{\s*\"type\"\s*:\s*\"object\")"
)
"""A call of a named tool in JSON. A definition of the tool has the schema of its arguments where a call has them."""
_NAME = lazy(r"[\w.-]{2,64}\Z")
_SPEAKS_OF_TOOL = lazy(r"(?i)\b(?:use|call|invoke)\b[^.\n]{0,60}\b(?:function|tool)\b")


@dataclass(frozen=True, slots=True)
class Offer:
    """One tool that a request offers: its name, and the names of its arguments."""

    name: str
    arguments: frozenset[str] = frozenset()


def offers(tools: Any) -> tuple[Offer, ...]:
    """The offered tools whose names can be read, the first 64 of them."""
    out = []
    for tool in tools[:64] if isinstance(tools, list) else ():
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(function, Mapping) and isinstance(name, str) and _NAME.match(name):
            schema = function.get("parameters", function.get("input_schema"))
            known = schema.get("properties") if isinstance(schema, Mapping) else None
            out.append(Offer(name, frozenset(map(str, known)) if isinstance(known, Mapping) else frozenset()))
    return tuple(out)


def tool_call_format(text: str, offered: Sequence[Offer] = (), thought: str | None = None) -> str | None:
    """The format of a tool call that stands in a text; None if there is none. What is quoted as code is no call.

    A call of an offered tool is known by its name wherever it stands (named_json, pythonic), and a text that is nothing
    but such a tool's arguments by their names (arguments); where the tools are not known, by the thought before it.
    """
    if not text or not any(sign in text for sign in _SIGNS):
        return None
    head = text[:_MAX_LOOKED]
    bare = _QUOTED.sub("", head) if "`" in head else head
    for name, pattern in _FORMATS:
        if pattern.search(bare):
            return name
    return _of_offered(bare, offered) or _arguments(bare, offered, thought or "")


def _of_offered(text: str, offered: Sequence[Offer]) -> str | None:
    for offer in offered:
        if offer.name not in text:
            continue
        name = re.escape(offer.name)
        if re.search(rf"(?m)^\s*\[{name}\((?:\w+\s*=[^\n]*)?\)(?:\]|,\s*\w+\()", text):
            return "pythonic"
        if re.search(_CALL % name, text):
            return "named_json"
    return None


def _arguments(text: str, offered: Sequence[Offer], thought: str) -> str | None:
    """A text that is one JSON object and nothing else, with the arguments of an offered tool in it."""
    if not (text.lstrip().startswith("{") and text.rstrip().endswith("}")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not value:
        return None
    known = [offer for offer in offered if offer.arguments]
    if known:
        return "arguments" if any(set(value) <= offer.arguments for offer in known) else None
    return "arguments" if _SPEAKS_OF_TOOL.search(thought[-400:]) else None
