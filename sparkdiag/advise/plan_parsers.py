"""Reasoning and tool parsers for a model, under the names that the engine registers.

What families and templates mean is in derive/model_families.py; a template outweighs the family, and both the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..derive.model_families import EATS_PLAIN, NEEDS_OPEN, TOOL_STYLES, Family, family_of, template_tags
from ..derive.model_families import template_tool_style as known_style
from ..derive.model_names import name_thinks
from ..facts.model import TemplateSeen
from ..facts.piece import Piece
from ..observe.templates import template_facts

__all__ = ["BY_FAMILY", "BY_STYLE", "BY_TAGS", "BY_TYPE", "Parsers", "choose_parsers"]


def _both(vllm: str | None, sglang: str | None) -> dict[str, str]:
    pairs = (("vllm", vllm), ("sglang", sglang))
    return {engine: name for engine, name in pairs if name is not None}


_HERMES = _both("hermes", "qwen25")
_XML = _both("qwen3_xml", "qwen3_coder")
_QWEN = _both("qwen3", "qwen3")
_R1 = _both("deepseek_r1", "deepseek-r1")
_MISTRAL = _both("mistral", "mistral")

BY_FAMILY: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "gpt-oss": (_both("openai_gptoss", "gpt-oss"), _both("openai", "gpt-oss")),
    "qwen3-coder": ({}, _XML),
    "qwen3.5": (_QWEN, _XML),
    "qwen3-next": (_QWEN, _HERMES),
    "qwen3-instruct": ({}, _HERMES),
    "qwen3-thinking": (_both("qwen3", "qwen3-thinking"), _HERMES),
    "qwen3": (_QWEN, _HERMES),
    "qwen2.5": ({}, _HERMES),
    "deepseek-r1": (_R1, {}),
    "deepseek-v3": (_R1, _both("deepseek_v3", "deepseekv3")),
    "deepseek-v3.1": (_both("deepseek_v3", "deepseek-v3"), _both("deepseek_v31", "deepseekv31")),
    "deepseek-v3.2": (_both("deepseek_v3", "deepseek-v3"), _both("deepseek_v32", "deepseekv32")),
    "deepseek-v4": (_both("deepseek_v4", "deepseek-v4"), _both("deepseek_v4", "deepseekv4")),
    "glm-4.5": (_both("glm45", "glm45"), _both("glm45", "glm45")),
    "glm-4.7": (_both("glm45", "glm45"), _both("glm47", "glm47")),
    "minimax-m2": (_both("minimax_m2", "minimax"), _both("minimax_m2", "minimax-m2")),
    "kimi-k2": (_both("kimi_k2", "kimi_k2"), _both("kimi_k2", "kimi_k2")),
    "nemotron-3": (_both("nemotron_v3", "nemotron_3"), _both("qwen3_coder", "qwen3_coder")),
    "magistral": (_MISTRAL, _MISTRAL),
    "mistral": ({}, _MISTRAL),
    "seed-oss": (_both("seed_oss", None), _both("seed_oss", None)),
    "gemma-4": (_both("gemma4", "gemma4"), _both("gemma4", "gemma4")),
    "llama-4": ({}, _both("llama4_pythonic", "pythonic")),
    "llama-3": ({}, _both("llama3_json", "llama3")),
    "hunyuan-a13b": (_both("hunyuan_a13b", "hunyuan"), _both("hunyuan_a13b", "hunyuan")),
    "step3": (_both("step3", "step3"), _both("step3", "step3")),
    "step3.5": (_both("step3p5", "step3p5"), _both("step3p5", "step3p5")),
    "ernie-4.5": (_both("ernie45", None), _both("ernie45", None)),
    "granite-4": ({}, _both("granite4", None)),
    "granite-3": ({}, _both("granite", None)),
}
"""Reasoning and tool parsers of a family, by engine: vLLM 0.28 to 0.32, SGLang 0.5.23 (2026-11)."""

BY_TYPE: dict[str, Family] = {
    "qwen3_5": Family("qwen3.5", True, "think", "qwen-xml"),
    "qwen3_5_moe": Family("qwen3.5", True, "think", "qwen-xml"),
    "deepseek_v3": Family("deepseek-v3", None, "think", "deepseek"),
    "deepseek_v32": Family("deepseek-v3.2", None, "think", "dsml"),
    "deepseek_v2": Family("deepseek-v2", False),
    "glm4_moe_lite": Family("glm-4.7", True, "think", "glm"),
    "glm_moe_dsa": Family("glm-4.7", True, "think", "glm"),
    "nemotron_h": Family("nemotron-3", None, "think", "qwen-xml"),
    "hunyuan_v1_moe": Family("hunyuan-a13b", None, "think"),
    "step3_text": Family("step3", True, "think"),
    "step3p5": Family("step3.5", True, "think"),
    "ernie4_5_moe": Family("ernie-4.5", None, "think"),
    "granitemoehybrid": Family("granite-4"),
    "granite": Family("granite-3"),
    "glm4_moe": Family("glm-4.5", True, "think", "glm"),
}
"""Families that a config's model_type tells more surely than a name does."""

BY_TAGS = {
    "think": _both("deepseek_r1", "deepseek-r1"), "mistral": _both("mistral", "mistral"),
    "seed": _both("seed_oss", None), "channel": _both("openai_gptoss", "gpt-oss"), "kimi": _both(None, "kimi"),
    "gemma": _both("gemma4", "gemma4"),
}  # fmt: skip
"""By the marks of a template: for models of no known family, or whose template is not their family's."""
BY_STYLE = {
    "hermes": _both("hermes", "qwen25"), "qwen-xml": _both("qwen3_xml", "qwen3_coder"), "glm": _both("glm47", "glm47"),
    "mistral": _both("mistral", "mistral"), "harmony": _both("openai", "gpt-oss"), "kimi": _both("kimi_k2", "kimi_k2"),
    "deepseek": _both("deepseek_v3", "deepseekv3"), "dsml": _both("deepseek_v32", "deepseekv32"),
    "minimax": _both("minimax_m2", "minimax-m2"), "llama-json": _both("llama3_json", "llama3"),
    "seed": _both("seed_oss", None),
}  # fmt: skip
"""Tool parsers by the way in which a template writes calls."""
_MORE_STYLES = (("dsml", "｜DSML｜"), ("llama-json", "<|python_tag|>"))


@dataclass(frozen=True, slots=True)
class Parsers:
    """What to set, and why."""

    reasoning: str | None
    reasoning_why: str
    tools: str | None
    tools_why: str
    thinks: bool | None
    """What is known of the model: None where nothing tells."""
    family: str | None = None
    """The family's reasoning parser, set or not."""


def choose_parsers(
    config: Mapping[str, Any], name: str, template: str | None, engine: str, plugins: tuple[str, ...] = ()
) -> Parsers:
    """The parsers for `engine` (vllm or sglang). `plugins` are parser files that the model brings."""
    kind = str(config.get("model_type") or "").removesuffix("_text")
    family = BY_TYPE.get(kind) or family_of(name, kind)
    seen = _seen(template)
    thinks, why = _thinks(family, name, template, seen)
    reasoning, reasoning_why = _reasoning(family, engine, thinks, why, template, seen)
    if thinks and reasoning is None and plugins:
        reasoning_why += f"; the model brings {plugins[0]}: take the name that it registers, with the plugin option"
    tools, tools_why = _tools(family, engine, template)
    own = _of_family(family)[0].get(engine)
    return Parsers(reasoning, reasoning_why, tools, tools_why, thinks, own)


def _of_family(family: Family | None) -> tuple[dict[str, str], dict[str, str]]:
    return BY_FAMILY.get(family.name, ({}, {})) if family is not None else ({}, {})


def _seen(template: str | None) -> TemplateSeen | None:
    facts = [] if template is None else template_facts(Piece("template", template))
    return next((fact for fact in facts if isinstance(fact, TemplateSeen)), None)


def _thinks(
    family: Family | None, name: str, template: str | None, seen: TemplateSeen | None
) -> tuple[bool | None, str]:
    if seen is not None and seen.default_thinking is not None:
        return seen.default_thinking, f"its chat template {'opens' if seen.default_thinking else 'closes'} the thought"
    if template is not None and template_tags(template) is None:
        return False, "its chat template knows no thought"
    by_name = name_thinks(name)
    if by_name is not None:
        return by_name, "its name says so"
    if family is not None and family.thinks is not None:
        return family.thinks, f"the family {family.name} does{'' if family.thinks else ' not'}"
    return None, "neither its template nor its name tells"


def _reasoning(
    family: Family | None, engine: str, thinks: bool | None, why: str, template: str | None, seen: TemplateSeen | None
) -> tuple[str | None, str]:
    parser = _of_family(family)[0].get(engine)
    tags = None if template is None else template_tags(template)
    if not thinks:
        fits = family is not None and (template is None or tags == family.tags)
        if parser is not None and parser not in EATS_PLAIN and fits:
            return parser, f"its family's; it leaves replies without a thought alone ({why})"
        if thinks is None:
            return None, f"left out: {why}, and a parser on a plain model swallows every reply"
        return None, f"left out: the model does not think unless asked ({why})"
    of_family = family is not None and (tags is None or tags == family.tags)
    opened = seen is not None and seen.opens_think is True
    if parser is not None and of_family and not (opened and parser in NEEDS_OPEN):
        return parser, f"the model thinks ({why}); this is its family's"
    general = BY_TAGS.get(tags or (family.tags if family is not None else None) or "", {}).get(engine)
    if general is not None and (tags is not None or family is not None):
        return general, f"the model thinks ({why}); this one splits on the marks of its template or family"
    return None, f"left out: none is known for this model on {engine}, though it thinks ({why})"


def _tools(family: Family | None, engine: str, template: str | None) -> tuple[str | None, str]:
    own = _of_family(family)[1].get(engine)
    if template is None:
        if family is None or own is None:
            return None, "left out: neither a template nor a family tells how calls are written"
        if family.name in ("llama-3", "mistral", "qwen2.5"):
            return None, "left out: the chat template, which decides for this family, is not here"
        return own, f"the one of the family {family.name}; not every member keeps to it"
    if "tool" not in template:
        return None, "left out: its chat template has no place for tools"
    style = known_style(template) or next((name for name, mark in _MORE_STYLES if mark in template), None)
    if style is None:
        if own is None:
            return None, "left out: its chat template writes calls in a way that is not known here"
        return own, "its family's; the template does not show how calls are written"
    if own is not None and TOOL_STYLES.get(own) == style:
        return own, "its family's, and the way in which its chat template writes calls"
    general = BY_STYLE.get(style, {}).get(engine)
    if general is None:
        return None, f"left out: {engine} has none for the way in which its chat template writes calls ({style})"
    return general, f"the way in which its chat template writes calls ({style})"
