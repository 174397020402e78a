"""Model families: how each marks its thoughts and writes its tool calls, and which parsers read that.

A name is a hint, a chat template is proof: what is read from a template goes before what a family is known for.
"""

from __future__ import annotations

import re

from ..records import dataclass

__all__ = [
    "EATS_PLAIN",
    "NEEDS_OPEN",
    "PARSER_TAGS",
    "TOOL_STYLES",
    "Family",
    "family_of",
    "other_engines_name",
    "template_tags",
    "template_tool_style",
]


@dataclass(frozen=True, slots=True)
class Family:
    """One family of models: what its own chat template does, where its members agree."""

    name: str
    thinks: bool | None = None
    """By default, without a switch in the request; None where members differ."""
    tags: str | None = None
    """How it marks its thoughts."""
    tool_style: str | None = None
    """How it writes tool calls."""


_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"gpt[-_]?oss|gptoss", Family("gpt-oss", True, "channel", "harmony")),
    (r"qwen3(?:\.\d+)?-coder", Family("qwen3-coder", False, "think", "qwen-xml")),
    (r"qwen3[._]?[5-9](?!\d*b)", Family("qwen3.5", None, "think", "qwen-xml")),
    (r"qwen3.*(?:embed|rerank|guard|asr|tts)", Family("qwen3-embedding")),
    (r"qwen3[-_]?(?:next|vl|omni)", Family("qwen3-next", None, "think")),
    (r"qwen3.*instruct", Family("qwen3-instruct", False, "think", "hermes")),
    (r"qwen3.*thinking", Family("qwen3-thinking", True, "think", "hermes")),
    (r"qwen3-\d+(?:\.\d+)?b", Family("qwen3", None, "think", "hermes")),
    (r"qwen3", Family("qwen3", None, "think")),
    (r"qwen2(?:\.5|_5)?[-_]?(?!.*(?:r1|distill))", Family("qwen2.5", False, None, "hermes")),
    (r"deepseek[-_]?r1|qwq", Family("deepseek-r1", True, "think")),
    (r"deepseek[-_]?v3[._]?[12]", Family("deepseek-v3.1", None, "think", "deepseek")),
    (r"deepseek[-_]?v4", Family("deepseek-v4", None, "think")),
    (r"glm-?4\.?[5-9]|glm4_moe|glm-?5", Family("glm-4.5", None, "think", "glm")),
    (r"minimax[-_]?m2", Family("minimax-m2", True, "think", "minimax")),
    (r"kimi[-_]?k2", Family("kimi-k2", None, "think", "kimi")),
    (r"nemotron[-_]?(?:3|nano-3|super-3)", Family("nemotron-3", None, "think", "qwen-xml")),
    (r"magistral", Family("magistral", True, "mistral", "mistral")),
    (r"mistral|mixtral|devstral|ministral|codestral", Family("mistral", None, None, "mistral")),
    (r"seed[-_]?oss", Family("seed-oss", True, "seed", "seed")),
    (r"gemma[-_]?4", Family("gemma-4", None, "gemma", "gemma")),
    (r"gemma", Family("gemma", False)),
    (r"llama[-_]?4", Family("llama-4", False)),
    (r"llama[-_]?3(?!.*(?:r1|distill|nemotron|reason))", Family("llama-3", False)),
)


def family_of(*names: str | None) -> Family | None:
    """The family that a model's name, type or architecture tells; the first name that tells one counts."""
    for name in names:
        if name:
            last = name.rstrip("/").rsplit("/", 1)[-1].lower()
            for pattern, family in _FAMILIES:
                if re.search(pattern, last):
                    return family
    return None


PARSER_TAGS: dict[str, str] = {
    **dict.fromkeys(
        (
            "deepseek_r1",
            "deepseek-r1",
            "deepseek_v3",
            "deepseek-v3",
            "deepseek_v4",
            "qwen3",
            "qwen3-thinking",
            "glm45",
            "glm47",
            "ernie45",
            "step3",
            "step3p5",
            "minimax_m2",
            "minimax",
            "minimax_m2_append_think",
            "minimax-append-think",
            "hunyuan_a13b",
            "nemotron_v3",
            "nano_v3",
            "holo2",
            "mimo",
            "kimi_k2",
            "olmo3",
        ),
        "think",
    ),
    "openai_gptoss": "channel",
    "gpt-oss": "channel",
    "mistral": "mistral",
    "seed_oss": "seed",
    "kimi": "kimi",
    "granite": "granite",
    "gemma4": "gemma",
}
"""Reasoning parsers of both engines, by the marks that they split on; a name that is not here is not judged."""

NEEDS_OPEN = frozenset({"hunyuan_a13b", "granite", "gemma4", "minimax_m2_append_think"})
"""Parsers that do not split on the closing tag alone (vLLM 0.32, all of them tried)."""

EATS_PLAIN = frozenset(
    {
        "deepseek_r1",
        "deepseek-r1",
        "ernie45",
        "minimax_m2",
        "minimax",
        "step3",
        "step3p5",
        "qwen3",
        "qwen3-thinking",
        "glm45",
        "glm47",
        "holo2",
        "kimi_k2",
        "mimo",
        "nemotron_v3",
    }
)
"""Parsers that file a reply without any tag as thought, unless the request switches thinking off (vLLM 0.32)."""

TOOL_STYLES: dict[str, str] = {
    "hermes": "hermes",
    "qwen": "hermes",
    "qwen25": "hermes",
    "qwen3_coder": "qwen-xml",
    "qwen3_xml": "qwen-xml",
    "glm45": "glm",
    "glm47": "glm",
    "glm": "glm",
    "mistral": "mistral",
    "openai": "harmony",
    "gpt-oss": "harmony",
    "deepseek_v3": "deepseek",
    "deepseek_v31": "deepseek",
    "deepseekv3": "deepseek",
    "deepseekv31": "deepseek",
    "llama3_json": "llama-json",
    "llama3": "llama-json",
    "pythonic": "pythonic",
    "llama4_pythonic": "pythonic",
    "minimax_m2": "minimax",
    "minimax-m2": "minimax",
    "kimi_k2": "kimi",
    "seed_oss": "seed",
    "gemma4": "gemma",
}
"""Tool-call parsers of both engines, by the way of writing calls that they read."""

_FOREIGN: dict[tuple[str, str], dict[str, str]] = {
    ("reasoning", "vllm"): {
        "deepseek-r1": "deepseek_r1",
        "deepseek-v3": "deepseek_v3",
        "gpt-oss": "openai_gptoss",
        "qwen3-thinking": "qwen3",
        "minimax-append-think": "minimax_m2_append_think",
        "kimi-k2": "kimi_k2",
        "glm-4.5": "glm45",
        "glm4.5": "glm45",
    },
    ("reasoning", "sglang"): {
        "deepseek_r1": "deepseek-r1",
        "deepseek_v3": "deepseek-v3",
        "openai_gptoss": "gpt-oss",
        "minimax_m2": "minimax",
        "minimax_m2_append_think": "minimax-append-think",
    },
    ("tools", "vllm"): {
        "qwen25": "hermes",
        "qwen": "hermes",
        "qwen3": "hermes",
        "gpt-oss": "openai",
        "deepseekv3": "deepseek_v3",
        "deepseekv31": "deepseek_v31",
        "llama3": "llama3_json",
        "minimax-m2": "minimax_m2",
    },
    ("tools", "sglang"): {
        "llama3_json": "llama3",
        "openai": "gpt-oss",
        "deepseek_v3": "deepseekv3",
        "deepseek_v31": "deepseekv31",
        "minimax_m2": "minimax-m2",
        "qwen3_xml": "qwen3_coder",
    },
}
"""Names that an engine has in no version up to vLLM 0.33 and SGLang 0.5.23, with what it calls the same thing."""


def other_engines_name(kind: str, parser: str, engine: str | None, tool_style: str | None = None) -> str | None:
    """What this engine calls a parser that is named as the other engine names it; None where nothing is wrong.

    `kind` is reasoning or tools.
    """
    mine = _FOREIGN.get((kind, engine or ""), {}).get(parser)
    return "qwen3_coder" if mine == "hermes" and tool_style == "qwen-xml" else mine


_TAGS = (
    ("channel", re.compile(r"<\|channel\|>")),
    ("seed", re.compile(r"<seed:think>")),
    ("mistral", re.compile(r"\[/?THINK\]")),
    ("kimi", re.compile(r"◁think▷")),
    ("think", re.compile(r"</?think>")),
    ("gemma", re.compile(r"<\|channel>")),
)


def template_tags(template: str) -> str | None:
    """How the model of a chat template marks its thoughts; None where the template shows no thoughts at all."""
    return next((name for name, pattern in _TAGS if pattern.search(template)), None)


_STYLES = (
    ("seed", re.compile(r"<seed:tool_call>")),
    ("minimax", re.compile(r"<minimax:tool_call>|minimax:tool_call")),
    ("glm", re.compile(r"<arg_key>")),
    ("kimi", re.compile(r"<\|tool_calls_section_begin\|>")),
    ("deepseek", re.compile(r"<｜tool▁calls▁begin｜>")),
    ("harmony", re.compile(r"<\|channel\|>commentary")),
    ("qwen-xml", re.compile(r"<function=")),
    ("hermes", re.compile(r"<tool_call>")),
    ("mistral", re.compile(r"\[TOOL_CALLS\]")),
)


def template_tool_style(template: str) -> str | None:
    """How the model of a chat template writes tool calls; None where it shows none that is known."""
    return next((name for name, pattern in _STYLES if pattern.search(template)), None)
