"""Tokens that stopped: whether a compilation came right before, and how long a log's throughput lines stay the same."""

from __future__ import annotations

from collections.abc import Sequence

from ..facts import Fact, LogHit
from ..facts.cluster import StallTiming
from ..facts.metrics import StandingRequests

__all__ = ["compile_stalls", "standing_requests"]

COMPILED = "kernel-compiled-in-serving"
FLOWING = "cluster-tokens-flow"
TIMED_OUT = "worker-call-timed-out"
STANDING = "standing-still"
"""Signatures of rules/crossnode.yaml and rules/endpoint.yaml that these sums are about."""

SOON = 30.0
"""Seconds: throughput lines are averages of ten seconds, so they show tokens for a while after the last one came."""


def compile_stalls(facts: Sequence[Fact]) -> list[Fact]:
    """One fact, where a call to a worker timed out after a kernel had been compiled."""
    hits = [fact for fact in facts if isinstance(fact, LogHit)]
    ends = [hit for hit in hits if hit.signature == TIMED_OUT]
    if not ends:
        return []
    end = min(ends, key=lambda hit: hit.order)
    compiled = [hit for hit in hits if hit.signature == COMPILED and hit.order < end.order]
    if not compiled:
        return []
    last = max(compiled, key=lambda hit: hit.last_order)
    flows = [hit for hit in hits if hit.signature == FLOWING and hit.order < end.order]
    return [
        StallTiming(
            right_before=not any(_goes_on(flow, last, end) for flow in flows),
            seconds=None if end.time is None or last.last_time is None else max(0.0, end.time - last.last_time),
            where=last.where,
            order=end.order,
            time=end.time,
            source=last.source,
        )
    ]


def standing_requests(facts: Sequence[Fact]) -> list[Fact]:
    """One fact, where a log has throughput lines that stay the same for long (one hit: same requests, same cache)."""
    hits = [fact for fact in facts if isinstance(fact, LogHit) and fact.signature == STANDING]
    last = max(hits, key=lambda hit: hit.last_order, default=None)
    if last is None or last.time is None or last.last_time is None or last.last_time <= last.time:
        return []
    running = last.get("running")
    return [
        StandingRequests(
            seconds=round(last.last_time - last.time),
            running=running if isinstance(running, int) else 1,
            lines=last.count,
            where=last.where,
            order=last.order,
            time=last.time,
            source=last.source,
        )
    ]


def _goes_on(flow: LogHit, compiled: LogHit, end: LogHit) -> bool:
    """Tokens still flowed well after the compilation."""
    if flow.last_time is not None and compiled.last_time is not None:
        return flow.last_time > compiled.last_time + SOON and (end.time is None or flow.last_time < end.time)
    return compiled.last_order < flow.last_order < end.order
