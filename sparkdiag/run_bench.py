"""A bench from its words to a judged case: collect, then the same pure path as everything else."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .capture import Capture, Item, Target
from .case import Case
from .errors import UsageError
from .evidence import Evidence
from .targets import recognise

__all__ = ["BenchOptions", "run_bench"]


BODY_LIMIT = 16 * 2**20
"""Bytes of one stream: with counts in each event, some 500 a token."""


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """Everything that may be asked of a bench. Times in seconds."""

    workloads: tuple[str, ...] = ()
    """Names; none: all of them."""
    over_traffic: bool = False
    model: str | None = None
    api_key: str | None = None
    max_generated: int = 1500
    """Tokens, over all workloads and the warm-up."""
    timeout: float = 60.0
    save: str | None = None
    anonymize: bool = False
    rule_engine: str = "auto"
    metrics_gap: float = 1.0
    tell: Callable[[str, int, int, float], None] | None = None
    """Called while it runs: what, its number, of how many, seconds so far."""


def run_bench(words: Sequence[str], options: BenchOptions, evidence: Evidence) -> Case:
    """Measure the one endpoint among the targets, the others being evidence of the same case (its log, a config.json);
    or, of a saved bench, the figures once more. An interrupt finds in `evidence` what there was by then."""
    known = [recognise(word) for word in words]
    endpoints = [one.name for one in known if one.kind == "endpoint"]
    if len(endpoints) > 1:
        raise UsageError("bench measures one endpoint at a time: the others would be traffic to it")
    if not endpoints and not any(one.kind == "capture" for one in known):
        raise UsageError("bench takes an endpoint (http://host:8000, host:port), or a folder that --save wrote")
    evidence.engine = options.rule_engine
    if endpoints:
        from .redact import redact_url

        evidence.capture = Capture(
            started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            targets=(Target("t1", "endpoint", redact_url(endpoints[0])),),
        )
    evidence.read([one for one in known if one.kind != "endpoint"], ())
    if endpoints:
        _collect(endpoints[0], options, evidence)
    case = evidence.judged()
    if options.anonymize:
        evidence.anonymize()
        case = evidence.judged()
    if options.save is not None:
        from .capture_io import save

        save(evidence.capture, options.save)
    return case


def _collect(address: str, options: BenchOptions, evidence: Evidence) -> None:
    import asyncio

    from .collect import Settings
    from .collect.bench import BenchPlan, collect_bench
    from .collect.workloads import WORKLOADS

    names = options.workloads or tuple(WORKLOADS)
    unknown = [name for name in names if name not in WORKLOADS]
    if unknown:
        raise UsageError(f"there is no workload '{unknown[0]}'; there are {', '.join(WORKLOADS)}")
    plan = BenchPlan(tuple(WORKLOADS[name] for name in dict.fromkeys(names)), options.over_traffic)
    settings = Settings(
        target="t1",
        address=address,
        api_key=options.api_key,
        model=options.model,
        max_generated=options.max_generated,
        seconds=options.timeout,
        metrics_gap=options.metrics_gap,
        body_limit=BODY_LIMIT,
    )

    def add(items: list[Item]) -> None:
        evidence.add(items)

    asyncio.run(collect_bench(settings, plan, add, options.tell or (lambda *told: None)))
