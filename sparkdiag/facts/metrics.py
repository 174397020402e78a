"""Facts from /metrics: one sample, and what two samples say of progress."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSample(Fact):
    """One scrape, summed over engines of one server."""

    kind: ClassVar[str] = "metrics"
    engine: str | None = None
    running: float | None = None
    """Requests being decoded or prefilled now."""
    waiting: float | None = None
    kv_cache_usage: float | None = None
    """Share of the KV cache in use, 0 to 1."""
    prompt_tokens: float | None = None
    generation_tokens: float | None = None
    """Counters since start."""
    preemptions: float | None = None
    corrupted_requests: float | None = None
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_first: float | None = None
    accepted_second: float | None = None
    """Of these, at the first and at the second drafted position."""
    verify_calls: float | None = None
    """SGLang: steps that verified drafts."""
    acceptance_length: float | None = None
    """Mean accepted length with the bonus token: 1 + accepted / drafts."""
    draft_acceptance: float | None = None
    """accepted / draft tokens, 0 to 1."""
    gpu_memory_utilization: float | None = None
    num_gpu_blocks: float | None = None
    block_size: float | None = None
    cache_dtype: str | None = None
    weights_gib: float | None = None
    """Weights of one rank, where the engine tells it (SGLang)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRequests(Fact):
    """Throughput lines that stay the same: requests run, no token comes, and the KV cache does not grow."""

    kind: ClassVar[str] = "standing"
    seconds: float
    """From the first such line to the last."""
    running: int
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenProgress(Fact):
    """Two samples of one server compared."""

    kind: ClassVar[str] = "progress"
    seconds: float
    """Time between the samples."""
    running: float | None = None
    """Requests running at both ends (the smaller number)."""
    new_prompt_tokens: float = 0
    new_generation_tokens: float = 0
    kv_cache_grew: bool | None = None
    """A prefill that is not through yet counts no token, but takes KV cache; None where the server does not tell."""
    still: bool = False
    """No token was prefilled or generated in between, and the KV cache in use did not grow."""
