"""A launch against its model: parsers, tool calls, context, format and kernels, tokenizer, draft depth."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..derive.model_families import (
    EATS_PLAIN,
    NEEDS_OPEN,
    PARSER_TAGS,
    TOOL_STYLES,
    Family,
    family_of,
    other_engines_name,
    template_tags,
    template_tool_style,
)
from ..derive.model_names import name_thinks
from ..derive.roofline import BANDWIDTH
from ..facts import Source, Value
from ..facts.model import TemplateSeen
from ..facts.setup import ParserFile, Setup
from .launched import Started
from .models import ModelFolder, decoder_kinds

__all__ = ["setup_of"]

GIB = 2**30
_MARLIN = re.compile(r"marlin", re.IGNORECASE)
_NATIVE = re.compile(r"cutlass|flashinfer|trtllm|cute", re.IGNORECASE)
_BACKEND_FLAGS = (
    "moe_backend",
    "linear_backend",
    "mxfp4_backend",
    "moe_runner_backend",
    "fp4_gemm_backend",
    "quantization",
)
_BACKEND_ENV = (
    "VLLM_NVFP4_GEMM_BACKEND", "VLLM_USE_FLASHINFER_MOE_FP4", "VLLM_FLASHINFER_MOE_BACKEND", "VLLM_MXFP4_USE_MARLIN",
    "VLLM_TEST_FORCE_FP8_MARLIN", "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8", "VLLM_USE_FLASHINFER_MOE_MXFP4_BF16",
)  # fmt: skip
_EMULATION = re.compile(r"emulat", re.IGNORECASE)


def setup_of(one: Started, files: Sequence[ParserFile]) -> Setup:
    """The fact of one launch; what cannot be told is None."""
    launch, model = one.launch, one.model
    names = (launch.model, one.word("served_model_name"), None if model is None else model.model_type)
    family = family_of(*names, None if model is None else model.architecture)
    lines: dict[str, Source] = {}
    fields: dict[str, Any] = {
        **_parsers(one, family, files, lines),
        **_tools(one, family, lines),
        **_context(one, lines),
        **_format(one, lines),
        **_tokenizer(model, lines),
        **_drafting(one, lines),
    }
    places = {
        "utilization": one.line("flag.gpu_memory_utilization"),
        "batched_tokens": one.line("flag.max_num_batched_tokens"),
        "sequences": one.line("flag.max_num_seqs"),
        "architecture": None if model is None else model.at("config.json", "architectures"),
        "version": one.line("image"),
    }
    lines.update({name: at for name, at in places.items() if at is not None})
    for name, at in (("named", one.line("model", "flag.model")), ("remote_code", one.line("flag.trust_remote_code"))):
        if at is not None:
            lines[name] = at
    return Setup(
        form=launch.form,
        engine=launch.engine,
        version=one.version,
        family=None if family is None else family.name,
        named=launch.model,
        architecture=None if model is None else model.architecture,
        utilization=_number(one.flag("gpu_memory_utilization")),
        batched_tokens=one.number("max_num_batched_tokens"),
        sequences=one.number("max_num_seqs"),
        remote_code=launch.flags.get("trust_remote_code") is True,
        lines=lines,
        where=launch.where,
        order=launch.order,
        source=launch.source,
        **fields,
    )


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _put(lines: dict[str, Source], names: Sequence[str], *places: Source | None) -> None:
    """The places of several fields that are shown on one line."""
    at = next((place for place in places if place is not None), None)
    if at is not None:
        lines.update(dict.fromkeys(names, at))


def _thinks(one: Started, family: Family | None, seen: TemplateSeen | None) -> bool | None:
    """Whether the model thinks unless the request says otherwise; the template goes before any name."""
    switched = one.flag("default_chat_template_kwargs.enable_thinking", "default_chat_template_kwargs.thinking")
    if isinstance(switched, bool):
        return switched
    if seen is not None and seen.default_thinking is not None:
        return seen.default_thinking
    named = name_thinks(one.launch.model)
    if one.template_hidden:
        return None
    if one.template is not None and template_tags(one.template) is None:
        return None if named or (family is not None and family.thinks) else False
    if named is not None:
        return named
    return None if family is None else family.thinks


def _template_seen(one: Started) -> TemplateSeen | None:
    if one.template is None:
        return None
    from ..facts.piece import Piece
    from ..observe.templates import template_facts

    found = template_facts(Piece("template", one.template))
    return next((fact for fact in found if isinstance(fact, TemplateSeen)), None)


def _parsers(
    one: Started, family: Family | None, files: Sequence[ParserFile], lines: dict[str, Source]
) -> dict[str, Any]:
    engine = one.launch.engine
    seen = _template_seen(one)
    parser = one.word("reasoning_parser")
    plugin = one.word("reasoning_parser_plugin")
    registered = tuple(dict.fromkeys(name for file in files for name in file.reasoning))
    shown = None if one.template is None else template_tags(one.template)
    tags = shown or (None if family is None else family.tags)
    at = one.line("flag.reasoning_parser")
    _put(lines, ("reasoning_parser", "parser_tags", "parser_needs_open", "parser_eats_plain", "parser_other"), at)
    _put(lines, ("enable_reasoning",), one.line("flag.enable_reasoning"))
    _put(lines, ("plugin",), one.line("flag.reasoning_parser_plugin"))
    if files:
        _put(lines, ("parser_names", "parser_registered"), next((f.source for f in files if f.reasoning), None))
    _put(
        lines,
        ("thinks", "opens_think", "think_tags", "template"),
        one.template_at,
        one.line("model", "flag.model"),
    )
    own = plugin is not None and bool(registered)
    return {
        "thinks": _thinks(one, family, seen),
        "think_tags": tags,
        "opens_think": None if seen is None else seen.opens_think,
        "template": one.template is not None,
        "template_plain": one.template is not None and shown is None,
        "enable_reasoning": one.flag("enable_reasoning") is True,
        "reasoning_parser": parser,
        "parser_tags": None if own or parser is None else PARSER_TAGS.get(parser),
        "parser_needs_open": None if own or parser not in PARSER_TAGS else parser in NEEDS_OPEN,
        "parser_eats_plain": None if own or parser not in PARSER_TAGS else parser in EATS_PLAIN,
        "parser_names": registered,
        "parser_registered": (parser in registered)
        if own and parser is not None and parser not in PARSER_TAGS
        else None,
        "parser_only_in_file": parser in registered and parser not in PARSER_TAGS,
        "parser_other": None if own or parser is None else other_engines_name("reasoning", parser, engine),
        "plugin": plugin,
    }


def _tools(one: Started, family: Family | None, lines: dict[str, Source]) -> dict[str, Any]:
    parser = one.word("tool_call_parser")
    style = None if one.template is None else template_tool_style(one.template)
    known = style or (None if family is None else family.tool_style)
    reads = None if parser is None or one.flag("tool_parser_plugin") is not None else TOOL_STYLES.get(parser)
    _put(
        lines, ("tool_parser", "tool_parser_style", "tool_parser_fits", "tool_other"), one.line("flag.tool_call_parser")
    )
    _put(lines, ("tool_switch",), one.line("flag.enable_auto_tool_choice"))
    _put(lines, ("tool_style",), one.template_at if style is not None else one.line("model", "flag.model"))
    return {
        "tool_parser": parser,
        "tool_other": None if parser is None else other_engines_name("tools", parser, one.launch.engine, known),
        "tool_style": known,
        "tool_parser_style": reads,
        "tool_parser_fits": None if known is None or reads is None else known == reads,
        "tool_switch": one.flag("enable_auto_tool_choice") is True,
    }


def _context(one: Started, lines: dict[str, Source]) -> dict[str, Any]:
    model = one.model
    config: Mapping[str, Any] = {} if model is None else model.text_config
    native = config.get("max_position_embeddings")
    rope = config.get("rope_scaling") or config.get("rope_parameters")
    kind = rope.get("rope_type", rope.get("type")) if isinstance(rope, Mapping) else None
    stretched = (
        kind not in (None, "default", "mrope")
        or any(one.flag(name) is not None for name in ("hf_overrides", "rope_scaling", "json_model_override_args"))
        or any(name.startswith(("hf_overrides.", "rope_scaling.")) for name in one.launch.flags)
    )
    longer = config.get("model_max_length"), config.get("seq_length"), config.get("max_seq_len")
    usable = isinstance(native, int) and not isinstance(native, bool) and not any(isinstance(v, int) for v in longer)
    _put(lines, ("context", "context_stretched"), one.line("flag.max_model_len", "flag.context_length"))
    if model is not None:
        _put(lines, ("native_context",), model.at("config.json", "max_position_embeddings"))
    allowed = one.env("VLLM_ALLOW_LONG_MAX_MODEL_LEN") in (1, True, "1")
    return {
        "context": one.number("max_model_len", "context_length"),
        "native_context": native if usable else None,
        "context_stretched": stretched or allowed,
    }


def _format(one: Started, lines: dict[str, Source]) -> dict[str, Any]:
    model = one.model
    size = None if model is None else model.size()
    form = None
    if size is not None:
        form = size.quantization.format
        if form == "mixed" or _mixed(model):
            form = "mixed"
    if form in (None, "bf16", "fp16"):
        from ..derive.model_names import quantization_format

        asked = one.word("quantization")
        form = quantization_format(f"{one.launch.model or ''} {asked or ''}") or form
    if model is not None:
        _put(
            lines,
            ("format",),
            model.at("hf_quant_config.json", "quant_algo"),
            model.at("config.json", "quantization_config"),
            one.line("flag.quantization", "model"),
        )
        _put(lines, ("moe", "dense", "hybrid", "streamed_gib", "ceiling_tok_s"), model.at("config.json", "model_type"))
    else:
        _put(lines, ("format",), one.line("flag.quantization", "model", "flag.model"))
    backend, at = _backend(one)
    _put(lines, ("backend",), at)
    streamed = None if size is None else size.streamed_bytes
    tensor = one.number("tensor_parallel_size") or 1
    return {
        "format": form,
        "moe": None if size is None else not size.dense,
        "dense": None if size is None else size.dense,
        "hybrid": None if size is None else size.attention.startswith(("hybrid", "linear")),
        "streamed_gib": None if streamed is None else round(streamed / GIB, 1),
        "ceiling_tok_s": None if not streamed else round(BANDWIDTH * tensor / streamed, 1),
        "backend": backend,
    }


def _mixed(model: ModelFolder | None) -> bool:
    if model is None:
        return False
    words = f"{model.data.get('hf_quant_config.json', '')} {model.config.get('quantization_config', '')}"
    return "MIXED_PRECISION" in words


def _backend(one: Started) -> tuple[str | None, Source | None]:
    """(marlin, native or emulation; where it is asked for)."""
    for name in _BACKEND_FLAGS:
        value = one.flag(name)
        kind = _kernel(name, value)
        if kind is not None:
            return kind, one.line(f"flag.{name}")
    for name in _BACKEND_ENV:
        kind = _kernel(name, one.env(name))
        if kind is not None:
            return kind, one.line(f"env.{name}")
    return None, None


def _kernel(name: str, value: Value) -> str | None:
    if value is None or value in (0, False, "0", "false", ""):
        return None
    words = str(value) if isinstance(value, str) else name
    if _EMULATION.search(words):
        return "emulation"
    if _MARLIN.search(words):
        return "marlin"
    return "native" if _NATIVE.search(words) and name != "quantization" else None


def _tokenizer(model: ModelFolder | None, lines: dict[str, Source]) -> dict[str, Any]:
    if model is None:
        return {}
    settings = model.data.get("tokenizer_config.json", {})
    kinds = decoder_kinds(model.data.get("tokenizer.json", {}))
    decoder = (
        "ByteLevel" if "ByteLevel" in kinds else "Metaspace" if "Metaspace" in kinds else kinds[0] if kinds else None
    )
    saved = re.match(r"(\d{1,3})\.", str(model.config.get("transformers_version") or ""))
    named = settings.get("tokenizer_class")
    _put(lines, ("tokenizer_class",), model.at("tokenizer_config.json", "tokenizer_class"))
    _put(lines, ("tokenizer_decoder",), model.at("tokenizer.json", "decoder"))
    _put(lines, ("transformers_major",), model.at("config.json", "transformers_version"))
    return {
        "tokenizer_class": named if isinstance(named, str) else None,
        "tokenizer_decoder": decoder,
        "transformers_major": int(saved[1]) if saved else None,
    }


_BLOCKS = (
    "dspark_block_size",
    "dflash_block_size",
    "draft_block_size",
    "block_size",
    "num_speculative_tokens",
    "speculative_tokens",
)


def _drafting(one: Started, lines: dict[str, Source]) -> dict[str, Any]:
    depth = one.number(
        "speculative_config.num_speculative_tokens", "num_speculative_tokens", "speculative_num_draft_tokens"
    )
    _put(
        lines,
        ("depth",),
        one.line(
            "flag.speculative_config", "flag.speculative_config.num_speculative_tokens", "flag.num_speculative_tokens"
        ),
    )
    block = None
    if one.drafter is not None:
        config = one.drafter.config
        inner = config.get("dflash_config")
        for part in (config, inner if isinstance(inner, Mapping) else {}):
            for name in _BLOCKS:
                value = part.get(name)
                if block is None and isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 128:
                    block = value
                    _put(lines, ("block",), one.drafter.at("config.json", name))
    return {"depth": depth, "block": block}
