"""Bits that a weight takes, by the quantization that a model's files declare: which parts it covers, scales included.

Pure reading of quantization_config (config.json), hf_quant_config.json, and the names in a safetensors index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..records import dataclass

__all__ = ["Quantization", "bits_of", "read_quantization"]

MAX_PATTERNS = 3000
"""Exclusion lists name a few patterns, or each module of each layer."""

FORMAT_BITS: dict[str, float] = {
    "fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "mxfp8": 8.25, "mxfp6": 6.25,
    "nvfp4": 4.5, "mxfp4": 4.25, "nf4": 4.13,
}  # fmt: skip
"""Bits a weight by format, scales included: NVFP4 has one byte for 16 weights, MXFP4 one for 32."""
_DTYPES = {"float32": 32.0, "bfloat16": 16.0, "float16": 16.0, "float": 32.0, "half": 16.0}
_ALGOS = (
    ("MIXED", "mixed"), ("NVFP4", "nvfp4"), ("MXFP4", "mxfp4"), ("MXFP8", "mxfp8"), ("FP8", "fp8"),
    ("W4A16", "int4"), ("W4A8", "int4"), ("INT4", "int4"), ("INT8", "int8"), ("W8A8", "int8"), ("W8A16", "int8"),
)  # fmt: skip
GGUF_BITS = {
    "q8_0": 8.5, "q6_k": 6.56, "q5_k_m": 5.7, "q5_k_xl": 5.8, "q4_k_m": 4.85, "q4_k_xl": 4.9, "q4_0": 4.55,
    "iq4_xs": 4.4, "f16": 16,
}  # fmt: skip
"""Bits a weight of llama.cpp's file types, averaged over a model; the output head is quantized too."""
_METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4", "gpt_oss_mxfp4": "mxfp4", "mxfp8": "mxfp8"}
_INT = ("awq", "gptq", "auto-round", "auto_round", "autoround", "intel/auto-round", "gptq_marlin", "awq_marlin", "hqq")

Covers = Callable[[str], str | None]
"""Module name to its format, or None where it keeps 16 bits."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """How the weights are kept."""

    format: str
    """bf16, fp16, fp32, fp8, nvfp4, mxfp4, int4 (AWQ, GPTQ), int8, mixed, or unknown."""
    method: str | None
    """quant_method as the config has it."""
    dtype_bits: float
    """Bits of what is not quantized."""
    group: int
    """Weights that share a scale, in integer formats."""
    covers: Covers
    known: bool = True
    """False: a method that is not known here; sizes by its declared bits or none."""

    def bits(self, module: str) -> float:
        """Bits a weight of the named module."""
        found = self.covers(module)
        return self.dtype_bits if found is None else bits_of(found, self.group)


def bits_of(format: str, group: int = 128) -> float:
    """Bits a weight. Integer formats have a 16-bit scale and a zero point for each group."""
    if match := re.fullmatch(r"int(\d)", format):
        bits = int(match[1])
        return bits if bits == 8 or group <= 0 else bits + (16 + bits) / group
    return FORMAT_BITS.get(format) or GGUF_BITS.get(format, 16.0)


def read_quantization(
    config: Mapping[str, Any], quant: Mapping[str, Any] | None = None, names: Iterable[str] = ()
) -> Quantization:
    """What config.json declares; `quant` is hf_quant_config.json; `names` the tensors of an index, which decide."""
    text = config.get("text_config")
    inner: Mapping[str, Any] = text if isinstance(text, Mapping) else {}
    dtype = next((v for part in (config, inner) for k in ("dtype", "torch_dtype") if (v := part.get(k))), "bfloat16")
    bits = _DTYPES.get(str(dtype).removeprefix("torch."), 16.0)
    plain = "fp32" if bits == 32 else "fp16" if str(dtype).removeprefix("torch.") == "float16" else "bf16"
    declared = next(
        (
            part["quantization_config"]
            for part in (config, inner)
            if isinstance(part.get("quantization_config"), Mapping)
        ),
        config.get("compression_config"),
    )
    merged: dict[str, Any] = dict(declared) if isinstance(declared, Mapping) else {}
    for source in (quant, merged):
        nested = source.get("quantization") if isinstance(source, Mapping) else None
        if isinstance(nested, Mapping):
            merged = {**merged, **nested}
    if not merged:
        return Quantization(plain, None, bits, 0, lambda module: None)
    read = _declared(merged, bits)
    seen = _seen(names)
    if seen is None or read.format == "mixed":
        return read
    declares = read.covers

    def covers(module: str) -> str | None:
        found = seen(module)
        return declares(module) if found is None else (read.format if found else None)

    return Quantization(read.format, read.method, bits, read.group, covers, read.known)


def _declared(settings: Mapping[str, Any], bits: float) -> Quantization:
    method = str(settings.get("quant_method") or "")[:80].lower() or None
    skipped = _Names(_strings(settings, "ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers"))
    group = _int(settings.get("group_size")) or 128
    algo = str(settings.get("quant_algo") or "").upper()
    layers = settings.get("quantized_layers")
    if algo.startswith("MIXED") and isinstance(layers, Mapping):
        return Quantization("mixed", method, bits, group, _by_layer(layers))
    format = next((name for mark, name in _ALGOS if mark in algo), None) if algo else None
    groups = settings.get("config_groups")
    if format is None and isinstance(groups, Mapping):
        return _by_groups(groups, skipped, method, bits)
    if format is None and method:
        format = _METHODS.get(method) or (f"int{_int(settings.get('bits')) or 4}" if method in _INT else None)
    if method == "gguf":
        return _gguf(str(settings.get("file_type") or "").lower(), bits)
    if format is None and method == "bitsandbytes":
        format = "nf4" if settings.get("load_in_4bit") else "int8"
    if format is None:
        declared = _int(settings.get("bits") or settings.get("w_bit") or settings.get("weight_bits"))
        known = f"int{declared}" if declared in (2, 3, 4, 8) else None
        return Quantization(known or "unknown", method, bits, group, _all_but(known, skipped), known is not None)
    if format == "mxfp4" and method in ("mxfp4", "gpt_oss_mxfp4"):
        return Quantization(format, method, bits, 32, lambda module: "mxfp4" if ".experts." in module else None)
    return Quantization(format, method, bits, group, _all_but(format, skipped))


def _gguf(file_type: str, bits: float) -> Quantization:
    """llama.cpp's files: MXFP4 means experts in MXFP4 and the rest in Q8_0 (`mxfp4-all`: the rest in MXFP4 too)."""

    def covers(module: str) -> str | None:
        if module.endswith("embed_tokens"):
            return None
        if file_type.startswith("mxfp4"):
            return "mxfp4" if ".experts." in module or file_type == "mxfp4-all" else "q8_0"
        return file_type if file_type in GGUF_BITS else None

    known = file_type in ("mxfp4", "mxfp4-all") or file_type in GGUF_BITS
    return Quantization(file_type if known else "unknown", "gguf", bits, 0, covers, known)


def _all_but(format: str | None, skipped: _Names) -> Covers:
    return lambda module: None if _kept(module) or skipped.has(module) else format


def _kept(module: str) -> bool:
    """Embeddings and routers keep 16 bits in all formats; the output head does unless an index says otherwise."""
    return module.endswith(("embed_tokens", "lm_head", ".gate"))


def _by_layer(layers: Mapping[str, Any]) -> Covers:
    """ModelOpt's MIXED_PRECISION: an algorithm for each module."""
    algos: dict[str, str] = {}
    for name, entry in list(layers.items())[: 100 * MAX_PATTERNS]:
        algo = str(entry.get("quant_algo") or "").upper() if isinstance(entry, Mapping) else ""
        format = next((kind for mark, kind in _ALGOS if mark in algo and kind != "mixed"), None)
        if format is not None:
            words = _stem(str(name))
            algos[words] = format
            algos.setdefault(_merged(words), format)

    def covers(module: str) -> str | None:
        words = _stem(module)
        for name in (words, _merged(words)):
            while name:
                if name in algos:
                    return algos[name]
                name = name.rpartition(".")[0]
        return None

    return covers


def _merged(name: str) -> str:
    """One name for a module under the families' spellings: the layer's number and what part it is."""
    number = re.search(r"\d+", name)
    part = "experts" if ".experts" in name and "shared" not in name else "shared" if "shared" in name else ""
    part = part or ("attention" if re.search(r"[qk]_proj|qkv|q_[ab]_proj", name) else "")
    part = part or ("output" if re.search(r"\.o_proj|\.dense$", name) else "mixer" if "in_proj" in name else "mlp")
    return f"{part} {number[0]}" if number else name


def _by_groups(groups: Mapping[str, Any], skipped: _Names, method: str | None, bits: float) -> Quantization:
    """compressed-tensors: groups of targets, each with its own weights' settings."""
    kinds: list[tuple[str, int, _Names | None]] = []
    for entry in list(groups.values())[:50]:
        weights = entry.get("weights") if isinstance(entry, Mapping) else None
        if not isinstance(weights, Mapping):
            continue
        wide, group = _int(weights.get("num_bits")) or 8, _int(weights.get("group_size")) or 0
        if str(weights.get("type")) == "float":
            kind = ("mxfp4" if group == 32 else "nvfp4") if wide == 4 else "mxfp8" if group == 32 else "fp8"
        else:
            kind = f"int{wide}" if wide in (2, 3, 4, 8) else "int8"
        targets = _strings(entry, "targets")
        everything = not targets or any(target in ("Linear", "re:.*") for target in targets)
        kinds.append((kind, group, None if everything else _Names(targets)))
    if not kinds:
        return Quantization("unknown", method, bits, 0, lambda module: None, False)

    def covers(module: str) -> str | None:
        if _kept(module) or skipped.has(module):
            return None
        return next((kind for kind, _, targets in kinds if targets is None or targets.has(module)), None)

    names = {kind for kind, _, _ in kinds}
    return Quantization(
        names.pop() if len(names) == 1 else "mixed", method, bits, max(group for _, group, _ in kinds), covers
    )


def _seen(names: Iterable[str]) -> Callable[[str], bool | None] | None:
    """From the tensors' names: which parts have scales beside their weights. None where no name shows any."""
    quantized: set[str] = set()
    plain: set[str] = set()
    for name in names:
        stem, _, last = name.rpartition(".")
        if last in ("weight_scale", "weight_scale_inv", "qweight", "weight_packed", "weight_scale_2", "scales"):
            quantized.add(_merged(_stem(stem)) if re.search(r"\d", stem) else _stem(stem))
        elif last.endswith(("_blocks", "_proj_scales")):
            quantized.add(_merged(_stem(f"{stem}.experts")))
        elif last == "weight":
            plain.add(_merged(_stem(stem)) if re.search(r"\d", stem) else _stem(stem))
    if not quantized:
        return None

    def has(module: str) -> bool | None:
        key = _merged(_stem(module)) if re.search(r"\d", module) else _stem(module)
        if _kept(module) and key not in quantized:
            return False
        return True if key in quantized else False if key in plain else None

    return has


class _Names:
    """A list of module names and patterns, as the exporters write them."""

    def __init__(self, entries: Sequence[str]) -> None:
        self.exact = {_stem(entry) for entry in entries if not entry.startswith("re:") and "*" not in entry}
        self.globs = [_stem(entry) for entry in entries if "*" in entry and not entry.startswith("re:")][:200]
        self.regexes = [made for entry in entries[:200] if entry.startswith("re:") and (made := _regex(entry[3:]))]

    def has(self, module: str) -> bool:
        name = _stem(module)
        end = len(name)
        while end > 0:
            if name[:end] in self.exact:
                return True
            end = name.rfind(".", 0, end)
        if any(part in self.exact for part in name.split(".") if not part.isdigit()):
            return True
        if any(fnmatchcase(name, glob) or fnmatchcase(module, glob) for glob in self.globs):
            return True
        return any(regex.match(module) or regex.match(name) for regex in self.regexes)


def _regex(text: str) -> re.Pattern[str] | None:
    """A pattern that somebody else wrote, if it is one that cannot run away: no repeated groups, few stars."""
    if len(text) > 300 or re.search(r"\)[*+{]|[*+]\)[*+]", text) or len(re.findall(r"[*+{]", text)) > 4:
        return None
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return None


def _stem(name: str) -> str:
    """Without what wrappers and vision models put before the layers."""
    name = name[:200]
    for prefix in ("model.", "language_model.", "model.", "backbone."):
        name = name.removeprefix(prefix)
    return name


def _strings(settings: Mapping[str, Any], *keys: str) -> list[str]:
    found: list[str] = []
    for key in keys:
        value = settings.get(key)
        if isinstance(value, list):
            found += [entry[:300] for entry in value[:MAX_PATTERNS] if isinstance(entry, str) and entry]
    return found


def _int(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 4096 else 0
