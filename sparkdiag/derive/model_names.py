"""What the names of models say: whether it thinks, and its quantization format. Names are hints, no proof."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..facts import Fact, Looked
from ..facts.model import ModelName

_FORMATS = (
    ("mxfp4", re.compile(r"mxfp4|gpt-oss", re.IGNORECASE)),
    ("nvfp4", re.compile(r"nvfp4|(?<![a-z0-9])fp4", re.IGNORECASE)),
    ("fp8", re.compile(r"(?<![a-z0-9])fp8", re.IGNORECASE)),
    ("awq", re.compile(r"(?<![a-z])awq", re.IGNORECASE)),
    ("gptq", re.compile(r"gptq", re.IGNORECASE)),
)

_THINKS = re.compile(
    r"thinking|reasoning|reasoner|\br1\b|-r1-|deepseek-r1|qwq|magistral|marco-o1|skywork-o1|openthinker|phi-4-reasoning"
    r"|gpt-oss|minimax-m2|step-?3|kimi-k2-thinking|nemotron-3|nemotron-super|seed-oss|glm-4\.[5-9]|glm-5|ernie-4\.5.*thinking",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"(?<![a-z])(?:instruct|coder|non-?thinking|no-?think)(?![a-z])|codestral|devstral|-base(?![a-z])|(?<![a-z])chat(?![a-z])",
    re.IGNORECASE,
)


def name_thinks(name: str | None) -> bool | None:
    """True, False, or None where the name tells nothing (or contradicts itself)."""
    if not name:
        return None
    thinks, plain = _THINKS.search(name) is not None, _PLAIN.search(name) is not None
    return None if thinks == plain else thinks


def quantization_format(name: str) -> str | None:
    return next((what for what, pattern in _FORMATS if pattern.search(name)), None)


def _path(path: str | None, field: str) -> str | None:
    """The JSON path of the field that names the model, beside the one that its fact points to."""
    return None if path is None else f"{path.rpartition('.')[0] or path}.{field}"


def model_names(facts: Sequence[Fact]) -> list[Fact]:
    """One ModelName for each name that a fact gives to the model in service."""
    seen: dict[tuple[str, object], Fact] = {}
    for fact in facts:
        for field in _FIELDS.get(fact.kind, ()):
            value = fact.get(field)
            if not isinstance(value, str) or not value or (value, fact.where) in seen:
                continue
            seen[value, fact.where.without_turn()] = ModelName(
                name=value,
                thinks=name_thinks(value),
                format=quantization_format(value),
                where=fact.where.without_turn(),
                order=fact.order,
                time=fact.time,
                source=replace(fact.source, path=_path(fact.source.path, field), text=f"model {field}: {value}"),
            )
    out = list(seen.values())
    return [*out, Looked(probe="name", where=out[0].where, source=out[0].source)] if out else []


_FIELDS = {"chat": ("model",), "completion": ("model",), "served": ("name", "root"), "launch": ("model",)}
"""Kinds of facts, and their fields, that name the model."""
