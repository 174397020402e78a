"""Facts of a bench: one named workload, timed, and what the workloads of one endpoint show side by side."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRun(Fact):
    """One workload, asked once as a stream. Every figure here holds for this workload only."""

    kind: ClassVar[str] = "bench"
    workload: str
    """Its name: prose, code, structured."""
    about: str = ""
    """What was asked, in a few words."""
    model: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    """Of these, what was in the prefix cache, where usage tells it."""
    max_tokens: int | None = None
    tokens: int | None = None
    """Generated, thought included, as the server counts them; None where it does not say."""
    counted_by: str | None = None
    """`usage` of the reply, or `metrics`: what the server's counter grew by."""
    text_chars: int = 0
    """Characters that arrived, thought included."""
    thought_share: float | None = None
    """The thought's share of them, 0 to 1."""
    hidden_tokens: int | None = None
    """Tokens that the server counts and does not show, where there clearly are some: thinking that it strips."""
    degenerate: str | None = None
    """What is wrong with the text as text, as for replies."""
    finish_reason: str | None = None
    cut_by: str | None = None
    """`probe` if our own deadline ended the stream, `limit` our limit of its size, `connection` if it broke off."""
    error: str | None = None
    """What the stream says went wrong; there is no speed then."""
    ttft_s: float | None = None
    """Seconds from sending the request to the first text, thought included."""
    seconds: float | None = None
    """What tokens_per_s is taken over: from the first text to the last, or the whole request."""
    whole: bool = False
    """tokens_per_s is over the whole request: the stream does not tell when the tokens came."""
    tokens_per_s: float | None = None
    arrivals: int = 0
    """Moments at which text came; with speculation, one brings several tokens."""
    tokens_per_arrival: float | None = None
    gap_median_ms: float | None = None
    gap_p99_ms: float | None = None
    gap_longest_ms: float | None = None
    """Between arrivals."""
    accepted_length: float | None = None
    """Mean accepted length with the bonus token; 1 without speculation."""
    accepted_by: str | None = None
    """What told it: `counters`, `verify calls`, `gauge` (the server's last window), `no speculation`."""
    tokens_per_step: float | None = None
    """Tokens of one engine step, those steps counted that had no draft: accepted_length or a little less."""
    steps_per_s: float | None = None
    """tokens_per_s / tokens_per_step."""
    drafted: float | None = None
    drafted_steps: float | None = None
    """Share of the steps that had a draft, 0 to 1: a model drafts in each, a lookup only where it finds something."""
    depth: float | None = None
    """Tokens drafted in a step."""
    acceptance: float | None = None
    """Accepted over drafted tokens, 0 to 1."""
    first_position: float | None = None
    """Of the first drafted position, how many are accepted, 0 to 1."""
    chain: float | None = None
    """Of the drafts whose first position is accepted, how many have the second accepted as well, 0 to 1."""
    counter_tokens: int | None = None
    """What the server's own counter of generated tokens grew by, where nobody else is seen to be served."""
    others: bool | None = None
    """Others were served at the same time; None where that cannot be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCompared(Fact):
    """The workloads of one endpoint side by side, and its speed against the memory bandwidth."""

    kind: ClassVar[str] = "bench-compared"
    workloads: tuple[str, ...] = ()
    """Those with a speed."""
    slowest: str | None = None
    slowest_tokens_per_s: float | None = None
    fastest: str | None = None
    fastest_tokens_per_s: float | None = None
    speculative: bool | None = None
    """Drafts were made in at least one of them; None where that is not known."""
    lowest: str | None = None
    """The workload with the lowest acceptance."""
    lowest_acceptance: float | None = None
    highest: str | None = None
    highest_acceptance: float | None = None
    first_position: float | None = None
    """The best acceptance that the first drafted position has in any workload."""
    chain: float | None = None
    """The best that any workload has: second position accepted after the first."""
    acceptance_differs: bool | None = None
    """The highest is at least half as much again as the lowest, and 0.15 more."""
    depth: int | None = None
    """Tokens drafted in a step, as the counters show it."""
    drafts_always: bool | None = None
    """Nearly every step had a draft, on every workload."""
    steps_per_s: float | None = None
    """Of the workload with the most of them: what one step costs without a grammar or a disturbance."""
    ceiling_steps_per_s: float | None = None
    """What the bandwidth allows: each step reads the weights once."""
    share: float | None = None
    """steps_per_s / ceiling_steps_per_s."""
    dense: bool | None = None
    hybrid: bool | None = None
    estimated: bool | None = None
    """The weights' size comes from the model's name."""
    ranks: int | None = None
    weights_gib: float | None = None
    read_gib: float | None = None
    """Of them, what one step of one rank reads."""
    others: bool | None = None
    """Others were served during at least one of the workloads."""
