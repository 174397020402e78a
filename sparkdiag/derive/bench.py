"""The workloads of a bench side by side: which is fast, what acceptance follows, how near the bandwidth they are."""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import Fact, Looked
from ..facts.bench import BenchCompared, BenchRun
from ..facts.sums import Roofline

__all__ = ["bench_compared"]

ENOUGH = 32
"""Tokens below which a speed is held against nothing."""
_RATIO = 1.5
_NEARLY = 0.8
_APART = 0.15
"""Acceptance differs between workloads where it does by this factor, and by so much."""


def bench_compared(facts: Sequence[Fact]) -> list[Fact]:
    """One fact for each endpoint that a bench measured; after the rooflines, which it reads."""
    runs = [fact for fact in facts if isinstance(fact, BenchRun) and fact.tokens_per_s and (fact.tokens or 0) >= ENOUGH]
    out: list[Fact] = []
    for target in dict.fromkeys(run.where.target for run in runs):
        out.append(_compared([run for run in runs if run.where.target == target], facts))
    return [*out, *(Looked(probe="bench-compared", where=fact.where, source=fact.source) for fact in out[:1])]


def _compared(runs: Sequence[BenchRun], facts: Sequence[Fact]) -> BenchCompared:
    by_speed = sorted(runs, key=lambda run: run.tokens_per_s or 0.0)
    rates = sorted(
        ((run.acceptance, run) for run in runs if run.acceptance is not None and _sound(run)),
        key=lambda pair: pair[0],
    )
    low, high = (rates[0], rates[-1]) if rates else ((None, None), (None, None))
    depths = [run.depth for run in runs if run.depth]
    firsts = [run.first_position for run in runs if run.first_position is not None and _sound(run)]
    drafting = [run.drafted_steps for run in runs if run.drafted_steps is not None]
    chains = [run.chain for run in runs if run.chain is not None and _sound(run)]
    steps = max((run.steps_per_s for run in runs if run.steps_per_s and not run.others and not run.whole), default=None)
    told = [run.accepted_by for run in runs if run.accepted_by is not None]
    roof = next((fact for fact in facts if isinstance(fact, Roofline) and fact.where.joins(runs[0].where)), None)
    ceiling = None if roof is None else roof.ceiling_tok_s
    last = runs[-1]
    return BenchCompared(
        workloads=tuple(run.workload for run in runs),
        slowest=by_speed[0].workload,
        slowest_tokens_per_s=by_speed[0].tokens_per_s,
        fastest=by_speed[-1].workload,
        fastest_tokens_per_s=by_speed[-1].tokens_per_s,
        speculative=any(by != "no speculation" for by in told) if told else None,
        lowest=None if low[1] is None else low[1].workload,
        lowest_acceptance=low[0],
        highest=None if high[1] is None else high[1].workload,
        highest_acceptance=high[0],
        first_position=max(firsts, default=None),
        chain=max(chains, default=None) if len(chains) > 1 else None,
        acceptance_differs=(
            high[0] >= _RATIO * low[0] and high[0] - low[0] >= _APART
            if low[0] is not None and high[0] is not None and len(rates) > 1
            else None
        ),
        depth=round(max(depths)) if depths else None,
        drafts_always=min(drafting) >= _NEARLY if drafting else None,
        steps_per_s=steps,
        ceiling_steps_per_s=ceiling,
        share=round(steps / ceiling, 3) if steps and ceiling else None,
        dense=None if roof is None else roof.dense,
        hybrid=None if roof is None else roof.hybrid,
        estimated=None if roof is None else roof.estimated,
        ranks=None if roof is None else roof.ranks,
        weights_gib=None if roof is None else roof.weights_gib,
        read_gib=None if roof is None else roof.read_gib,
        others=any(run.others for run in runs),
        where=last.where,
        order=last.order,
        source=by_speed[-1].source,
    )


def _sound(run: BenchRun) -> bool:
    """Its drafts were its own, and of real text: a loop is drafted perfectly."""
    return not run.others and run.degenerate is None
