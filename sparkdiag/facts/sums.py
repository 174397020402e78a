"""Facts that are sums over other facts: memory budgets, draft acceptance, the bandwidth ceiling."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBudget(Fact):
    """One start of an engine: its allowance, what the weights took, what was found for the KV cache. In GiB."""

    kind: ClassVar[str] = "budget"
    total_gib: float
    total_assumed: bool = False
    """No line said it: the usual total of a DGX Spark stands in."""
    utilization: float | None = None
    asked_gib: float | None = None
    """utilization x total."""
    weights_gib: float | None = None
    expected_gib: float | None = None
    """asked - weights: what would be left if nothing else counted."""
    found_gib: float | None = None
    """What the engine found for the KV cache; negative where the sum came out so."""
    gap_gib: float | None = None
    """expected - found: activations, graphs, and whatever was charged to the engine."""
    gap_share: float | None = None
    """gap / asked."""
    weights_share: float | None = None
    """weights / asked."""
    needed_gib: float | None = None
    """KV cache for one request of the full context."""
    would_fit: bool | None = None
    """needed is well within expected."""
    batched_tokens: int | None = None
    free_gib: float | None = None
    """Free at start, where the engine said it."""
    safe_utilization: float | None = None
    """The largest utilization that fits what was free, rounded down to 0.01, a margin kept."""
    process: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter(Fact):
    """What a drafter's own config says about how deep it was trained to draft."""

    kind: ClassVar[str] = "drafter"
    block: int
    key: str
    """The name that the config gives it: dspark_block_size, block_size, speculative_tokens ..."""
    counts_anchor: bool | None = None
    """The block holds the token that drafting starts from as well; None where the key does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting(Fact):
    """Speculative decoding: its depth and how it fares."""

    kind: ClassVar[str] = "drafting"
    method: str | None = None
    depth: int | None = None
    """num_speculative_tokens."""
    block: int | None = None
    """The block size that the drafter's config names."""
    block_key: str | None = None
    beyond_block: bool | None = None
    """The depth is above the trained block."""
    agrees: bool | None = None
    """The depth is the block's, or one less where the block counts the anchor token."""
    windows: int = 0
    """Intervals with drafts that were read."""
    lowest: float | None = None
    highest: float | None = None
    """Draft acceptance (accepted / drafted, 0 to 1) of the worst and the best window."""
    acceptance: float | None = None
    """Over all windows."""
    first_position: float | None = None
    """Acceptance of the first position, over all windows that print it."""
    length: float | None = None
    """Mean acceptance length with the bonus token, over all windows."""
    steps_per_s: float | None = None
    """Engine steps a second of one request: tokens per second over the acceptance length."""
    best_steps_per_s: float | None = None
    varies: bool | None = None
    """The best window accepts at least twice what the worst does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline(Fact):
    """One request's speed against the memory bandwidth of a GB10 (273 GB/s)."""

    kind: ClassVar[str] = "roofline"
    model: str | None = None
    weights_gib: float
    dense: bool | None = None
    """True, False (a mixture of experts), or None where nothing tells."""
    hybrid: bool | None = None
    """Mamba, SSM or linear attention layers."""
    estimated: bool = False
    """The weights' size comes from the model's name."""
    read_gib: float
    """Of one rank's weights, what one token reads: all of a dense model, the active share of a sparse one."""
    ranks: int = 1
    """Tensor-parallel ranks, each with a memory of its own."""
    ceiling_tok_s: float
    """273 GB/s over the bytes read per token: no token can come faster without speculation."""
    measured_tok_s: float
    measured_share: float
    """measured / ceiling."""
    speculative: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy(Fact):
    """Who shares one node's pool: the model servers that the GPU's process table, containers and launches show."""

    kind: ClassVar[str] = "tenancy"
    holders: int = 0
    """Engines that hold GPU memory; ranks of one engine count once."""
    containers: int = 0
    """Running containers with a model server inside, for two minutes or more where the age is shown."""
    launches: int = 0
    """Launches of engines with a utilization of their own, each on its own port or of its own model."""
    utilization_sum: float | None = None
    """Over those launches, where there are two or more."""
    held_gib: float | None = None
    """GPU memory of all holders."""
    holder: str | None = None
    """The largest holder's name."""
    holder_pid: int | None = None
    holder_gib: float | None = None
    names: tuple[str, ...] = ()
    """Names of the running containers that were counted."""
