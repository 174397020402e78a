"""The memory sum before a start: utilization x pool, against weights, cache, and what the host needs for itself.

What stands beside the budget was measured: at utilization 0.45 (54.7 GiB of 121.6) a host in daily use had 72 GB used
and 48 available while it served, so about 17 lay outside; lean hosts get by with about 5.
"""

from __future__ import annotations

import math

from ..derive.memory import DEFAULT_UTILIZATION, SPARK_TOTAL_GIB
from ..facts import Source
from ..facts.setup import MemoryFit
from .launched import Started

__all__ = ["BESIDE_HIGH_GIB", "BESIDE_LOW_GIB", "SPARE_GIB", "fit_of"]

GIB = 2**30
BESIDE_LOW_GIB = 5.0
BESIDE_HIGH_GIB = 17.3
SPARE_GIB = 8.0
"""MemAvailable that a serving host should keep."""
INSIDE_GIB = 3.0
"""Activations of a usual batch, CUDA graphs and workspace."""
USUAL_BATCH = 8192
LOWEST, HIGHEST = 0.45, 0.85
"""The two values that the field notes give."""
ALONE = 0.80
_KV_SHORT = {"fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8"}


def fit_of(one: Started, nodes: int) -> MemoryFit | None:
    """The sum for one launch; None where the launch does not tell its share of the pool."""
    sglang = one.launch.engine == "sglang"
    asked = one.flag("mem_fraction_static") if sglang else one.flag("gpu_memory_utilization")
    told = isinstance(asked, (int, float)) and not isinstance(asked, bool) and 0 < asked <= 1
    if (asked is not None and not told) or (sglang and not told) or one.flag("kv_cache_memory_bytes") is not None:
        return None
    share = float(asked) if told and isinstance(asked, (int, float)) else DEFAULT_UTILIZATION
    total = SPARK_TOTAL_GIB
    budget = share * total
    batched = one.number("max_num_batched_tokens", "chunked_prefill_size")
    inside = 0.0 if sglang else INSIDE_GIB * max(1.0, (batched or USUAL_BATCH) / USUAL_BATCH) ** 0.5
    sizes = _sizes(one, nodes)
    weights, one_cache = sizes.get("weights_gib"), sizes.get("cache_one_gib")
    need = None if weights is None else weights + inside + (one_cache or 0.0)
    lines: dict[str, Source] = {}
    at = one.line("flag.mem_fraction_static" if sglang else "flag.gpu_memory_utilization")
    if at is not None:
        lines.update(
            dict.fromkeys(
                ("utilization", "budget_gib", "left_low_gib", "left_high_gib", "room_gib", "weights_room_gib"), at
            )
        )
    context_at = one.line("flag.max_model_len", "flag.context_length")
    if context_at is not None:
        lines["context"] = lines["cache_one_gib"] = context_at
    model_at = (
        None
        if one.model is None
        else (one.model.at("model.safetensors.index.json", "total_size") or one.model.at("config.json", "model_type"))
    )
    if model_at is not None:
        lines.update(dict.fromkeys(("weights_gib", "whole_gib", "need_gib", "alone_room_gib"), model_at))
    return MemoryFit(
        total_gib=total,
        utilization=share,
        utilization_told=told,
        utilization_by="as asked for" if told else "the engine's default",
        budget_gib=round(budget, 1),
        beside_low_gib=BESIDE_LOW_GIB,
        beside_high_gib=BESIDE_HIGH_GIB,
        used_gib=round(budget + BESIDE_HIGH_GIB, 1),
        left_low_gib=round(total - budget - BESIDE_HIGH_GIB, 1),
        left_high_gib=round(total - budget - BESIDE_LOW_GIB, 1),
        left_at_45_gib=round(total * (1 - LOWEST) - BESIDE_HIGH_GIB, 1),
        left_at_85_gib=round(total * (1 - HIGHEST) - BESIDE_HIGH_GIB, 1),
        inside_gib=round(inside, 1),
        need_gib=None if need is None else round(need, 1),
        need_utilization=None if need is None else math.ceil(need / total * 100) / 100,
        advised=None if need is None else _advised(need, total),
        room_gib=None if need is None or one_cache is None else round(budget - need, 1),
        weights_room_gib=None if weights is None else round(budget - weights, 1),
        room_at_45_gib=None if need is None else round(LOWEST * total - need, 1),
        room_at_85_gib=None if need is None else round(HIGHEST * total - need, 1),
        nodes=nodes,
        batched_tokens=batched,
        lines=lines,
        where=one.launch.where,
        order=one.launch.order,
        source=one.launch.source,
        weights_gib=_tenths(sizes, "weights_gib"),
        whole_gib=_tenths(sizes, "whole_gib"),
        cache_one_gib=_tenths(sizes, "cache_one_gib"),
        cache_all_gib=_tenths(sizes, "cache_all_gib"),
        alone_room_gib=_tenths(sizes, "alone_room_gib"),
        exact=sizes.get("exact") == 1.0,
        context=_whole(sizes.get("context")),
        sequences=_whole(sizes.get("sequences")),
    )


def _advised(need: float, total: float) -> float | None:
    """In steps of 0.05: a tenth more than is needed, as long as that leaves the host its share."""
    wanted = math.ceil(need * 1.1 / total * 20) / 20
    most = math.floor((total - BESIDE_HIGH_GIB - SPARE_GIB) / total * 100) / 100
    if wanted <= most:
        return max(LOWEST, wanted)
    return most if need <= most * total else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _tenths(sizes: dict[str, float], name: str) -> float | None:
    return round(sizes[name], 1) if name in sizes else None


def _sizes(one: Started, nodes: int) -> dict[str, float]:
    """What the model's files tell of weights and cache on one node; empty where they tell too little."""
    model = one.model
    dtype = one.word("kv_cache_dtype") or "auto"
    size = None if model is None else model.size(_KV_SHORT.get(dtype, "auto"))
    if size is None or any(one.flag(name) is not None for name in ("cpu_offload_gb", "load_format.dummy")):
        return {}
    if one.word("quantization") is not None and size.quantization.method is None:
        return {}  # quantized while it loads: the files do not tell what is left of them
    whole = size.weights_bytes / GIB
    tensor, pipeline = (one.number(f"{name}_parallel_size") or 1 for name in ("tensor", "pipeline"))
    extra = one.drafter.size() if one.drafter is not None else None
    weights = whole / (tensor * pipeline) + (extra.weights_bytes / GIB if extra is not None else 0.0)
    shared = 1 if size.shape.mla else min(tensor, max(1, size.shape.kv_heads))
    context = one.number("max_model_len", "context_length") or size.shape.context or 0
    out = {"weights_gib": weights, "whole_gib": whole, "exact": float(size.weights_measured and not size.unknown)}
    known = size.quantization.known or size.weights_measured
    if not known:
        return {}
    if context and not size.unknown:
        cache = size.kv.of(context) / GIB
        out["context"] = float(context)
        out["cache_one_gib"] = cache / (pipeline * shared)
        out["alone_room_gib"] = ALONE * SPARK_TOTAL_GIB - whole - INSIDE_GIB - cache
        sequences = one.number("max_num_seqs", "max_running_requests")
        if sequences is not None:
            out["sequences"] = float(sequences)
            out["cache_all_gib"] = cache * sequences / (pipeline * shared)
    return out
