"""Does it fit: weights, KV cache and overhead against the unified pool of one node or two, and the share to ask for.

The sum behind the share. Whatever the engine asks for (utilization x pool), the rest of the machine takes about
`HOST_GIB` more: field note A measured 72 GiB used, 48 available, at 0.45 of 121 GiB. At 0.85 the same sum leaves
1 GiB, which is how that node wedged; a bare node (note B) has more to spare. So the share is what the numbers need,
never below A's 0.45 and never above what leaves `MIN_AVAILABLE_GIB` beside A's overhead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..derive.memory import SPARK_TOTAL_GIB
from ..derive.model_size import ModelSize
from .memory_fit import BESIDE_HIGH_GIB, SPARE_GIB

__all__ = ["CEILING", "FLOOR", "Fit", "Wish", "available_gib", "fit_model", "fit_pair"]

GIB = 2**30
HOST_GIB = BESIDE_HIGH_GIB
"""Used beside the engine's share while serving, on a host in daily use (field note A)."""
MIN_AVAILABLE_GIB = SPARE_GIB
"""MemAvailable to keep while serving (rule memory.utilization-too-high)."""
FLOOR = 0.45
"""Field note A's share, known to be calm."""
CEILING = math.floor((SPARK_TOTAL_GIB - HOST_GIB - MIN_AVAILABLE_GIB) / SPARK_TOTAL_GIB * 100) / 100
"""0.79: what leaves MIN_AVAILABLE_GIB beside HOST_GIB. Note B's 0.85 does not, on a machine like A's."""
PAIR_LIMIT_GIB = 90.0
"""Footprint of a node over two: 65 worked, 110 ran out of memory while loading, 90 to 95 is the advice (B§6)."""
PAIR_PROVEN_GIB = 65.0
MIN_CONTEXT = 4096
DEFAULT_CONTEXT = 32768
DEFAULT_SEQUENCES = 4
MAX_SEQUENCES = 1024


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for; None: the plan chooses."""

    context: int | None = None
    sequences: int | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """One node's sum, for the context and the number of sequences that were settled on."""

    fits: bool
    nodes: int
    context: int
    sequences: int
    weights_gib: float
    """On each node."""
    kv_gib: float
    """For `sequences` of `context` tokens, on each node."""
    work_gib: float
    """Activations, graphs and the runtime's own: taken out of the engine's share."""
    utilization: float
    budget_gib: float
    """utilization x pool."""
    available_gib: float
    """What is left to the operating system while serving, by field note A's overhead."""
    kv_capacity_gib: float
    """What the share leaves for the cache."""
    capacity_tokens: int
    """Tokens of one long sequence that this holds; 0 where only fixed states are kept."""
    reduced: tuple[str, ...] = ()
    """What had to give."""

    @property
    def need_gib(self) -> float:
        return self.weights_gib + self.kv_gib + self.work_gib


def available_gib(utilization: float, pool: float = SPARK_TOTAL_GIB) -> float:
    """GiB left to the system while an engine serves with this share."""
    return pool - utilization * pool - HOST_GIB


def _work(weights_gib: float) -> float:
    return 4.0 + 0.03 * weights_gib


def fit_model(size: ModelSize, wish: Wish, *, native: int, pool: float = SPARK_TOTAL_GIB) -> Fit:
    """The sum for one node: the wish, or the largest part of it that the pool holds."""
    return _settle(size, wish, native, size.weights_bytes / GIB, 1.0, CEILING * pool, 1, pool)


def fit_pair(size: ModelSize, wish: Wish, *, native: int, pool: float = SPARK_TOTAL_GIB) -> Fit:
    """The sum of the heavier node at pipeline parallel size 2: half the layers, and the larger table."""
    total = size.weights_bytes / GIB
    tables = [part.bytes / GIB for part in size.parts if part.name in ("embedding", "lm_head", "vision")]
    layers = len(size.shape.layers)
    share = math.ceil(layers / 2) / layers
    weights = (total - sum(tables)) * share + max(tables, default=0.0)
    return _settle(size, wish, native, weights, share, PAIR_LIMIT_GIB, 2, pool)


def _settle(
    size: ModelSize, wish: Wish, native: int, weights: float, share: float, limit: float, nodes: int, pool: float
) -> Fit:
    work = _work(weights)
    context = min(wish.context or min(native or DEFAULT_CONTEXT, DEFAULT_CONTEXT), native or 10**9)
    sequences = min(wish.sequences or DEFAULT_SEQUENCES, MAX_SEQUENCES)
    reduced: list[str] = []
    if wish.context and native and wish.context > native:
        reduced.append(f"the context from {wish.context:,} to {native:,} tokens: the model's own ends there")

    def need(tokens: int, many: int) -> float:
        return weights + work + many * size.kv.of(tokens) * share / GIB

    asked = (context, sequences)
    while need(context, sequences) > limit and (sequences > 1 or context > MIN_CONTEXT):
        if sequences > 1:
            sequences -= 1
        else:
            context = max(MIN_CONTEXT, context // 2)
    if context != asked[0]:
        reduced.append(f"the context from {asked[0]:,} to {context:,} tokens: the cache has no room for more")
    if sequences != asked[1]:
        reduced.append(f"sequences at once from {asked[1]} to {sequences}: the cache has no room for more")
    needed = need(context, sequences)
    fits = needed <= limit
    utilization = min(max(FLOOR, math.ceil(needed / pool * 50) / 50), CEILING)
    budget = utilization * pool
    room = max(0.0, budget - weights - work)
    return Fit(
        fits=fits,
        nodes=nodes,
        context=context,
        sequences=sequences,
        weights_gib=weights,
        kv_gib=sequences * size.kv.of(context) * share / GIB,
        work_gib=work,
        utilization=round(utilization, 2),
        budget_gib=budget,
        available_gib=available_gib(utilization, pool),
        kv_capacity_gib=room,
        capacity_tokens=_capacity(size, room, share) if fits else 0,
        reduced=tuple(reduced) if fits else (),
    )


def _capacity(size: ModelSize, room_gib: float, share: float) -> int:
    kv = size.kv
    if kv.token_bytes <= 0:
        return 0
    fixed = kv.window_token_bytes * kv.window + kv.state_bytes
    return max(0, int((room_gib * GIB / share - fixed) / kv.token_bytes))
