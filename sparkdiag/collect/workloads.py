"""The named workloads of a bench. Greedy, and always the same words, so that two runs can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .requests import named

__all__ = ["WARM_UP", "WORKLOADS", "Workload", "workload_body"]


@dataclass(frozen=True, slots=True)
class Workload:
    """What is asked, and how it differs from a plain chat."""

    name: str
    about: str
    prompt: str
    thinks: bool = True
    """False: thinking is switched off, else a thinking model would spend the whole reply on its thought."""
    more: Mapping[str, Any] = field(default_factory=dict)


_PROSE = (
    "A ferry leaves the east bank of a lake every 18 minutes and another leaves the west bank every 12 minutes; a "
    "crossing takes 25 minutes, and both begin at six in the morning. A walker who arrives at ten to eight wants to be "
    "on the other side as early as possible and does not know on which bank she will come out of the forest. Reason "
    "about it step by step, then write an essay of several paragraphs for a local newspaper that explains the answer, "
    "what the two timetables have to do with each other, and what you would change about them and why."
)
_CODE = (
    "Write a complete Python module with type hints and docstrings: a class LRUCache with get, put, delete, clear, "
    "resize, __len__, __contains__ and __iter__, an optional time to live for each entry, hit and miss counters, and a "
    "decorator cached that uses it. Then unit tests for every method. Code only, no explanation."
)
_STRUCTURED = (
    "List forty countries as JSON: for each its name, its capital, its continent, its population in millions and its "
    "official languages."
)
_COUNTRY = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "capital": {"type": "string"},
        "continent": {"type": "string"},
        "population_millions": {"type": "number"},
        "languages": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "capital", "continent", "population_millions", "languages"],
    "additionalProperties": False,
}
_SCHEMA = {
    "type": "object",
    "properties": {"countries": {"type": "array", "items": _COUNTRY}},
    "required": ["countries"],
    "additionalProperties": False,
}

WORKLOADS: Mapping[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload("prose", "prose with reasoning", _PROSE),
        Workload("code", "a Python module with tests, thinking off", _CODE, thinks=False),
        Workload(
            "structured",
            "JSON under a schema, thinking off",
            _STRUCTURED,
            thinks=False,
            more={"response_format": {"type": "json_schema", "json_schema": {"name": "countries", "schema": _SCHEMA}}},
        ),
    )
}
"""By name, in the order in which they run."""

WARM_UP = Workload("warm-up", "a few words", "Count from one to twenty in words.")
"""Compiles what the first request compiles, and tells roughly how fast the server is."""


def workload_body(workload: Workload, model: str | None, tokens: int, *, extras: bool) -> dict[str, Any]:
    """The request. `extras`: the engine is known to take the keys that OpenAI's API does not have."""
    body: dict[str, Any] = {
        **named(model),
        "messages": [{"role": "user", "content": workload.prompt}],
        "max_tokens": tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True, **({"continuous_usage_stats": True} if extras else {})},
        **workload.more,
    }
    if extras and not workload.thinks:
        body["chat_template_kwargs"] = {"enable_thinking": False, "thinking": False}
    return body
