"""A model's own files: what config.json and its companions say, whole or in part, and what its folder holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..facts import Fact, Looked, Source
from ..facts.model import ModelConfig, ModelFiles
from ..facts.piece import Piece

__all__ = ["observe_config", "observe_files"]

MAX_TEXT = 400_000
MAX_LINES = 5000

_FILES = re.compile(
    r"(?:hf_quant_config|tokenizer_config|generation_config|special_tokens_map|preprocessor_config|config|tokenizer|params|"
    r"model\.safetensors\.index)\.json\b"
)
_KEYS = frozenset({
    "architectures", "model_type", "max_position_embeddings", "num_attention_heads", "num_key_value_heads",
    "num_hidden_layers", "hidden_size", "quantization_config", "quant_method", "quant_algo", "tokenizer_class",
    "transformers_version", "rope_scaling", "rope_parameters", "auto_map", "num_experts", "n_routed_experts",
    "num_local_experts", "text_config", "decoder", "chat_template",
})  # fmt: skip
_LINE = re.compile(
    r"\s*(?:\S+\.json:)?\s*\"(?P<key>\w+)\"\s*:\s*"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|-?[\d.]+(?:[eE][-+]?\d+)?|true|false|null|\[[^\[\]{}]*\]|[\[{])"
)
_JQ = re.compile(r"\bjq\b(?P<options>(?:\s+-\w+)*)\s+['\"]?\.(?P<path>[\w.]+)['\"]?\s+(?P<file>\S+\.json)")


def observe_config(piece: Piece) -> list[Fact]:
    """ModelConfig facts of one piece: a document, the part that jq printed, or the lines that grep found."""
    if piece.kind not in ("config", "json", "output", "text"):
        return []
    document = _document(piece)
    if not document:
        return []
    fact = _fact(piece, document)
    if fact is None:
        return []
    return [fact, Looked(probe="config", where=fact.where, order=fact.order, source=fact.source)]


def _document(piece: Piece) -> Mapping[str, Any]:
    doc = piece.meta.get("doc")
    if isinstance(doc, dict):
        return doc if _KEYS & set(doc) or "quantization" in doc else {}
    command = piece.command or ""
    printed = _JQ.search(command)
    text = piece.text[:MAX_TEXT].strip()
    if printed and text and "\n" not in text and piece.kind == "output":
        return _at(printed["path"], _value(text))
    named = _FILES.search(command) or _FILES.search(str(piece.meta.get("file") or ""))
    if piece.kind == "config" or named:
        return _whole(text) or _lines(text)
    if piece.kind == "text":
        found = _lines(text)
        return found if len(found) >= 2 else {}
    return {}


def _whole(text: str) -> Mapping[str, Any]:
    start = text.find("{")
    if start < 0:
        return {}
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _lines(text: str) -> Mapping[str, Any]:
    """`"key": value` lines, wherever they stand in the document: the first of each key."""
    out: dict[str, Any] = {}
    for line in text.split("\n", MAX_LINES)[:MAX_LINES]:
        match = _LINE.match(line)
        if match and match["key"] in _KEYS:
            out.setdefault(match["key"], {} if match["value"] in "[{" else _value(match["value"]))
    return out


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _at(path: str, value: Any) -> Mapping[str, Any]:
    keys = [key for key in path.split(".") if key]
    if not keys or not _KEYS & set(keys):
        return {}
    for key in reversed(keys):
        value = {key: value}
    return value if isinstance(value, dict) else {}


def _fact(piece: Piece, document: Mapping[str, Any]) -> ModelConfig | None:
    text = document.get("text_config")
    inner: Mapping[str, Any] = text if isinstance(text, dict) else {}

    def first(*names: str) -> Any:
        for name in names:
            for source in (document, inner):
                if source.get(name) is not None:
                    return source[name]
        return None

    quant = first("quantization_config", "quantization")
    quantized: Mapping[str, Any] = quant if isinstance(quant, dict) else {}
    nested = quantized.get("quantization")
    algos = [
        part["quant_algo"] for part in (quantized, nested, document) if isinstance(part, dict) and "quant_algo" in part
    ]
    architectures = document.get("architectures")
    decoder = document.get("decoder")
    rope = first("rope_scaling", "rope_parameters")
    told: dict[str, Any] = {
        "architecture": _text(architectures[0]) if isinstance(architectures, list) and architectures else None,
        "model_type": _text(document.get("model_type")),
        "max_positions": _number(first("max_position_embeddings")),
        "rope_scaled": _scaled(rope) if rope is not None else None,
        "heads": _number(first("num_attention_heads")),
        "kv_heads": _number(first("num_key_value_heads")),
        "layers": _number(first("num_hidden_layers")),
        "hidden_size": _number(first("hidden_size")),
        "experts": _number(first("num_experts", "n_routed_experts", "num_local_experts")),
        "quant_method": _text(quantized.get("quant_method")) or _text(document.get("quant_method")),
        "quant_algo": _text(algos[0]) if algos else None,
        "tokenizer_class": _text(document.get("tokenizer_class")),
        "decoder": _text(decoder.get("type")) if isinstance(decoder, dict) else None,
        "transformers_major": _major(document.get("transformers_version")),
        "custom_code": True if isinstance(document.get("auto_map"), dict) and document["auto_map"] else None,
        "chat_template": bool(document["chat_template"]) if "chat_template" in document else None,
    }
    if not any(value is not None for value in told.values()):
        return None
    shown = ", ".join(f"{key} {value}" for key, value in told.items() if value is not None)
    told["dimensions"] = _dimensions(document, inner)
    name = _FILES.search(str(piece.meta.get("file") or "")) or _FILES.search(piece.command or "")
    return ModelConfig(
        file=name[0] if name else None,
        where=piece.where,
        order=piece.order,
        source=Source(piece.source, piece.first_line, text=shown[:300]),
        **told,
    )


_DIMENSIONS = re.compile(
    r"model_type|hidden_size|.*(?:_layers|_layer|_heads|_dim|_rank|_size|_width|_interval|_pattern|_window|window_size|"
    r"experts|experts_per_tok\w*|_topk|_k|_dense_replace|_layer_freq|_layer_step|_sparse_step|_types|_type_list|_kernel|"
    r"_groups|_embeddings|_gate|_block|_act)|n_embd|d_model|quantization_config|torch_dtype|dtype|linear_attn_config"
)


def _dimensions(document: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that sums need: numbers, short texts, lists of a layer each; nothing else of a nested kind but the
    quantization's own settings."""
    merged = {**document, **inner}
    if not (_number(merged.get("hidden_size")) and _number(merged.get("num_hidden_layers"))):
        return {}
    out: dict[str, Any] = {}
    for key, value in list(merged.items())[:400]:
        if not _DIMENSIONS.fullmatch(key[:80]):
            continue
        if isinstance(value, dict):
            out[key] = {k: v for k, v in list(value.items())[:60] if not isinstance(v, list) or len(v) <= 4000}
        elif isinstance(value, (bool, int, float)) or (isinstance(value, (str, list)) and len(value) <= 500):
            out[key] = value
    return out


def _text(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else None


def _major(value: Any) -> int | None:
    match = re.match(r"(\d{1,3})\.", value) if isinstance(value, str) else None
    return int(match[1]) if match else None


def _scaled(rope: Any) -> bool:
    """A dictionary that names a way of stretching positions."""
    if not isinstance(rope, dict):
        return False
    kind = rope.get("rope_type", rope.get("type"))
    return kind not in (None, "default", "mrope")


_LS = re.compile(r"(?:\S*/)?(?:ls|find|du|tree|stat)\b")
_WEIGHTS = re.compile(r"\.(?:safetensors|gguf|bin|pt|pth)\Z")
_SHARD = re.compile(r"-of-0*(\d{1,6})\.")
_PARTIAL = re.compile(r"\.(?:incomplete|part|aria2|tmp|lock)\Z")
_LISTED = re.compile(r"\.(?:json|safetensors|gguf|bin|pt|pth|model|jinja|txt|py|incomplete|md)\Z")
_LONG = re.compile(
    r"[-l][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(?P<size>\d[\d.,]*[KMGTP]?)\s+.{8,20}?\s(?P<name>\S+)(?: -> .*)?\Z"
)


def observe_files(piece: Piece) -> list[Fact]:
    """ModelFiles of a listing that names a model's files."""
    command = piece.command or ""
    if piece.kind not in ("output", "text", "log") or not _LS.match(command):
        return []
    names: list[str] = []
    sizes: list[int] = []
    for line in piece.text.split("\n", MAX_LINES)[:MAX_LINES]:
        long = _LONG.match(line.strip())
        if long:
            names.append(long["name"])
            size = _size(long["size"])
            linked = line.strip().startswith("l")
            if size is not None and not linked and _WEIGHTS.search(long["name"]) and "rain" not in long["name"]:
                sizes.append(size)
        else:
            names += [word.rsplit("/", 1)[-1] for word in line.split() if re.search(r"\w\.\w", word)]
    files = [name for name in names if _LISTED.search(name)]
    known = [name for name in files if _FILES.search(name) or _WEIGHTS.search(name) or name == "tokenizer.model"]
    if not known:
        return []
    weights = [name for name in files if _WEIGHTS.search(name) and not name.startswith(("training_args", "optimizer"))]
    shards = [int(match[1]) for name in weights if (match := _SHARD.search(name))]
    place = Source(piece.source, piece.first_line, text=" ".join(files)[:300])
    fact = ModelFiles(
        path=command.split()[-1] if len(command.split()) > 1 else None,
        count=len(files),
        weights=len(weights),
        shards_named=max(shards) if shards else None,
        incomplete=sum(_PARTIAL.search(name) is not None for name in names),
        config="config.json" in files or "params.json" in files,
        tokenizer=any(name in ("tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json") for name in files),
        smallest_weight_bytes=min(sizes) if sizes else None,
        where=piece.where,
        order=piece.order,
        source=place,
    )
    return [fact, Looked(probe="files", where=piece.where, order=piece.order, source=place)]


def _size(text: str) -> int | None:
    from .captures import read_bytes

    return read_bytes(text)
