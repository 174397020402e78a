"""Reasoning and tool parsers by a model's family and template, under the names that each engine registers.

What the template shows outweighs the family: a family has thinking and plain members, and two formats of tool calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..derive.model_names import name_thinks
from ..facts.model import TemplateSeen
from ..facts.piece import Piece
from ..observe.templates import template_facts

__all__ = ["FAMILIES", "TEMPLATE_CALLS", "Family", "Parsers", "choose_parsers"]


@dataclass(frozen=True, slots=True)
class Family:
    """Parsers of a family. None: none is known, or none is needed."""

    vllm_reasoning: str | None
    vllm_tools: str | None
    sglang_reasoning: str | None
    sglang_tools: str | None
    thinks: bool | None = None
    """True and False where all members do, or do not; None where the template or the name decides."""
    off_is_safe: bool = False
    """The parser leaves the reply alone when the model does not think."""


_QWEN3 = Family("qwen3", "hermes", "qwen3", "qwen25")
_QWEN35 = Family("qwen3", "qwen3_xml", "qwen3", "qwen3_coder", thinks=True)
_DEEPSEEK = Family("deepseek_r1", "deepseek_v3", "deepseek-r1", "deepseekv3")
_DEEPSEEK_32 = Family("deepseek_v3", "deepseek_v32", "deepseek-v3", "deepseekv32", off_is_safe=True)
_LLAMA = Family("deepseek_r1", "llama3_json", "deepseek-r1", "llama3")
_GEMMA4 = Family("gemma4", "gemma4", "gemma4", "gemma4", off_is_safe=True)

FAMILIES: dict[str, Family] = {
    "qwen3": _QWEN3, "qwen3_moe": _QWEN3, "qwen3_next": _QWEN3, "qwen3_vl": _QWEN3, "qwen3_vl_moe": _QWEN3,
    "qwen3_5": _QWEN35, "qwen3_5_moe": _QWEN35,
    "qwen2": Family("deepseek_r1", "hermes", "deepseek-r1", "qwen25"),
    "deepseek_v3": _DEEPSEEK, "deepseek_v2": Family(None, None, None, None, thinks=False),
    "deepseek_v32": _DEEPSEEK_32, "deepseek_v4": Family("deepseek_v4", "deepseek_v4", "deepseek-v4", "deepseekv4"),
    "gpt_oss": Family("openai_gptoss", "openai", "gpt-oss", "gpt-oss", thinks=True),
    "glm4_moe": Family("glm45", "glm45", "glm45", "glm45", thinks=True),
    "glm4_moe_lite": Family("glm45", "glm47", "glm45", "glm47", thinks=True),
    "glm_moe_dsa": Family("glm45", "glm47", "glm45", "glm47", thinks=True),
    "minimax_m2": Family("minimax_m2", "minimax_m2", "minimax", "minimax-m2", thinks=True),
    "kimi_k2": Family("kimi_k2", "kimi_k2", "kimi_k2", "kimi_k2"),
    "nemotron_h": Family("nemotron_v3", "qwen3_coder", "nemotron_3", "qwen3_coder"),
    "llama": _LLAMA, "llama4": Family(None, "llama4_pythonic", None, "pythonic", thinks=False),
    "mistral": Family("mistral", "mistral", "mistral", "mistral"),
    "mistral3": Family("mistral", "mistral", "mistral", "mistral"),
    "mixtral": Family(None, "mistral", None, "mistral", thinks=False),
    "gemma2": Family(None, None, None, None, thinks=False), "gemma3": Family(None, None, None, None, thinks=False),
    "gemma4": _GEMMA4,
    "seed_oss": Family("seed_oss", "seed_oss", None, None, thinks=True),
    "hunyuan_v1_moe": Family("hunyuan_a13b", "hunyuan_a13b", "hunyuan", "hunyuan", off_is_safe=True),
    "step3_text": Family("step3", "step3", "step3", "step3", thinks=True),
    "step3p5": Family("step3p5", "step3p5", "step3p5", "step3p5", thinks=True),
    "ernie4_5_moe": Family("ernie45", "ernie45", None, None),
    "granite": Family(None, "granite", None, None), "granitemoehybrid": Family(None, "granite4", None, None),
}  # fmt: skip
"""By model_type. Names as registered in vLLM 0.28 to 0.32 and SGLang 0.5.23 (2026-11)."""

TEMPLATE_CALLS: tuple[tuple[str, str | None, str | None], ...] = (
    ("<function=", "qwen3_xml", "qwen3_coder"),
    ("<minimax:tool_call>", "minimax_m2", "minimax-m2"),
    ("<arg_key>", "glm47", "glm47"),
    ("<｜DSML｜", "deepseek_v32", "deepseekv32"),
    ("<｜tool▁calls▁begin｜>", "deepseek_v3", "deepseekv3"),
    ("<|tool_calls_section_begin|>", "kimi_k2", "kimi_k2"),
    ("[TOOL_CALLS]", "mistral", "mistral"),
    ("<|python_tag|>", "llama3_json", "llama3"),
    ("<|channel|>", "openai", "gpt-oss"),
    ("<tool_call>", "hermes", "qwen25"),
)
"""What a template writes around a call, with vLLM's and SGLang's parser; the first that is found counts."""


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
    family = FAMILIES.get(kind)
    thinks, why = _thinks(family, name, template)
    reasoning, reasoning_why = _reasoning(family, kind, engine, thinks, why, template)
    if thinks and reasoning is None and plugins:
        reasoning_why += f"; the model brings {plugins[0]}: take the name that it registers, with the plugin option"
    tools, tools_why = _tools(family, kind, engine, template)
    own = None if family is None else family.vllm_reasoning if engine == "vllm" else family.sglang_reasoning
    return Parsers(reasoning, reasoning_why, tools, tools_why, thinks, own)


def _thinks(family: Family | None, name: str, template: str | None) -> tuple[bool | None, str]:
    if family is not None and family.thinks is not None:
        return family.thinks, "all models of its family do" if family.thinks else "no model of its family does"
    if template is not None:
        facts = template_facts(Piece("config", template))
        seen = next((fact for fact in facts if isinstance(fact, TemplateSeen)), None)
        if seen is None:
            return False, "its chat template knows no thought"
        if seen.default_thinking is not None:
            return (
                seen.default_thinking,
                f"its chat template {'opens' if seen.default_thinking else 'closes'} the thought",
            )
    by_name = name_thinks(name)
    if by_name is not None:
        return by_name, "its name says so"
    return None, "neither its template nor its name tells"


def _reasoning(
    family: Family | None, kind: str, engine: str, thinks: bool | None, why: str, template: str | None
) -> tuple[str | None, str]:
    parser = None if family is None else family.vllm_reasoning if engine == "vllm" else family.sglang_reasoning
    if parser is not None and family is not None and thinks is not True and family.off_is_safe:
        return parser, f"the family's; it leaves the reply alone while thinking is off ({why})"
    if thinks is None:
        return None, f"left out: {why}, and a parser on a plain model swallows every reply"
    if not thinks:
        return None, f"left out: the model does not think unless asked ({why})"
    if parser is None and template and "</think>" in template:
        general = "deepseek_r1" if engine == "vllm" else "deepseek-r1"
        return general, f"the family {kind or 'of this model'} has none of its own here; this one splits at </think>"
    if parser is None:
        return None, f"left out: none is known for the family {kind or 'of this model'}, though the model thinks"
    return parser, f"the model thinks ({why}); this is its family's"


def _tools(family: Family | None, kind: str, engine: str, template: str | None) -> tuple[str | None, str]:
    if template is not None:
        if "tool" not in template:
            return None, "left out: its chat template has no place for tools"
        found = next((row for row in TEMPLATE_CALLS if row[0] in template), None)
        if found is not None:
            parser = _own(family, engine, found)
            return parser, f"its chat template writes calls as {found[0]}"
    parser = None if family is None else family.vllm_tools if engine == "vllm" else family.sglang_tools
    if parser is None:
        return None, f"left out: none is known for the family {kind or 'of this model'}"
    if template is None and kind in ("llama", "mistral", "qwen2", "mixtral"):
        return None, "left out: the chat template, which decides, is not here"
    return parser, "its family's; not every member keeps to it"


def _own(family: Family | None, engine: str, row: tuple[str, str | None, str | None]) -> str | None:
    """The family's own parser where it reads this same format under another name."""
    own = None if family is None else family.vllm_tools if engine == "vllm" else family.sglang_tools
    general = row[1] if engine == "vllm" else row[2]
    same = {"glm47": ("glm45",), "qwen3_xml": ("qwen3_coder",), "deepseek_v3": ("deepseek_v31",)}
    return own if own is not None and own in same.get(general or "", ()) else general
