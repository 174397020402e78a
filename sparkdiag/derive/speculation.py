"""Speculative decoding over all windows of a log: acceptance, steps a second, the depth against the drafter's block."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..facts import Fact, Looked
from ..facts.sums import Drafter, Drafting

__all__ = ["drafting"]

_WINDOWS = ("spec-window", "sglang-decode", "bench-acceptance")
_VARIES = 2.0
_ENOUGH = 20
"""Drafted tokens below which a window says little."""
_LONGEST = 20.0
"""Seconds. vLLM sums up every ten; a longer window reaches back over the time without requests, and its rates say
nothing of the steps."""


def drafting(facts: Sequence[Fact]) -> list[Fact]:
    """One Drafting for the evidence, where it shows speculation at work or set up."""
    windows = [f for f in facts if f.kind == "log" and f.get("signature") in _WINDOWS]
    windows += [f for f in facts if f.kind == "bench" and not f.get("others") and f.get("degenerate") is None]
    windows = [f for f in windows if _rate(f) is not None and (_number(f, "drafted") or _ENOUGH) >= _ENOUGH]
    counters = [f for f in facts if f.kind == "metrics" and (_number(f, "draft_tokens") or 0) >= _ENOUGH]
    launch = next((f for f in facts if f.kind == "launch" and _depth_of(f) is not None), None)
    drafter = next((f for f in facts if f.kind == "drafter"), None) or _named(launch)
    if not windows and not counters and (launch is None or drafter is None):
        return []
    shown = windows or counters or [f for f in (launch, drafter) if f is not None]
    rates = [rate for fact in windows if (rate := _rate(fact)) is not None]
    if not rates:
        rates = [rate for fact in counters if (rate := _number(fact, "draft_acceptance")) is not None]
    positions = [first for fact in windows if (first := _first_position(fact)) is not None]
    lengths = [value for fact in [*windows, *counters] if (value := _length(fact)) is not None]
    steps = [value for fact in windows if (value := _steps(fact, facts)) is not None]
    depth = None if launch is None else _depth_of(launch)
    if depth is None and windows:
        depth = _positions(windows[0])
    block, counts_anchor = _block(drafter)
    last = max(shown, key=lambda fact: fact.order)
    out = Drafting(
        method=None if launch is None else _text(launch.get("flag.speculative_config.method")),
        depth=depth,
        block=block,
        block_key=None if drafter is None else _text(drafter.get("key")),
        beyond_block=None if depth is None or block is None else depth > block,
        agrees=None if depth is None or block is None else _agrees(depth, block, counts_anchor),
        windows=len(windows) or len(counters),
        lowest=min(rates) if rates else None,
        highest=max(rates) if rates else None,
        acceptance=_mean(rates),
        first_position=_mean(positions),
        length=round(sum(lengths) / len(lengths), 2) if lengths else None,
        steps_per_s=round(sum(steps) / len(steps), 1) if steps else None,
        best_steps_per_s=round(max(steps), 1) if steps else None,
        varies=len(rates) > 1 and max(rates) >= _VARIES * max(min(rates), 0.001) and max(rates) - min(rates) >= 0.15,
        where=shown[0].where,
        order=last.order,
        source=min(windows, key=lambda f: _rate(f) or 0.0).source if windows else last.source,
    )
    return [out, Looked(probe="drafting", where=out.where, source=out.source)]


_NAME = re.compile(r"(?:dflash|dspark|draft|eagle)\S*?[-_]b(?P<block>\d{1,2})(?![\w.])", re.IGNORECASE)


def _named(launch: Fact | None) -> Drafter | None:
    """The block that a drafter's name gives: Qwen3-8B-DFlash-b16."""
    found = None if launch is None else _NAME.search(str(launch.get("flag.speculative_config.model") or ""))
    if launch is None or found is None:
        return None
    return Drafter(
        block=int(found["block"]),
        key="the drafter's name",
        where=launch.where,
        order=launch.order,
        source=launch.source,
    )


def _agrees(depth: int, block: int, counts_anchor: bool | None) -> bool:
    """A block that counts the anchor token is one larger than the right depth; both are right where that is unknown."""
    if counts_anchor is None:
        return depth in (block, block - 1)
    return depth == (block - 1 if counts_anchor else block)


def _block(drafter: Fact | None) -> tuple[int | None, bool | None]:
    if drafter is None:
        return None, None
    block, anchor = drafter.get("block"), drafter.get("counts_anchor")
    return (block if isinstance(block, int) else None), (anchor if isinstance(anchor, bool) else None)


def _depth_of(launch: Fact) -> int | None:
    for name in ("speculative_config.num_speculative_tokens", "num_speculative_tokens", "speculative_num_draft_tokens"):
        value = launch.get(f"flag.{name}")
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 200:
            return value
    return None


def _rate(fact: Fact) -> float | None:
    """Accepted over drafted tokens, 0 to 1."""
    if fact.kind == "bench":
        return _number(fact, "acceptance")
    percent = _number(fact, "rate")
    if percent is not None:
        return percent if fact.get("signature") == "sglang-decode" else round(percent / 100, 4)
    accepted, drafted = _number(fact, "accepted"), _number(fact, "drafted")
    return round(accepted / drafted, 4) if accepted is not None and drafted else None


def _first_position(fact: Fact) -> float | None:
    if fact.kind == "bench":
        return _number(fact, "first_position")
    text = fact.get("positions")
    if not isinstance(text, str):
        return None
    try:
        return float(text.split(",")[0])
    except ValueError:
        return None


def _positions(fact: Fact) -> int | None:
    if fact.kind == "bench":
        depth = _number(fact, "depth")
        return None if depth is None else round(depth)
    text = fact.get("positions")
    return len([part for part in text.split(",") if part.strip()]) if isinstance(text, str) else None


def _length(fact: Fact) -> float | None:
    names = {"metrics": "acceptance_length", "bench": "accepted_length"}
    return _number(fact, names.get(fact.kind, "length"))


def _steps(window: Fact, facts: Sequence[Fact]) -> float | None:
    """Steps a second that one request got in a window. A grammar costs steps of its own, so such a workload tells
    none of the engine's."""
    if window.kind == "bench":
        return _number(window, "steps_per_s") if window.get("workload") != "structured" else None
    length, accepted = _number(window, "length"), _number(window, "accepted_tps")
    if length is None or (_number(window, "accepted") or 0.0) > _LONGEST * (accepted or float("inf")):
        return None
    beside = [
        f
        for f in facts
        if f.kind == "log" and f.get("signature") == "throughput-window" and f.where.joins(window.where)
        and abs(f.order - window.order) <= 3
    ]  # fmt: skip
    running = max(_number(beside[0], "running") or 1.0, 1.0) if beside else 1.0
    if accepted is not None and length > 1.05:
        return round(accepted / (length - 1) / running, 2)
    speed = _number(window, "generation") or (_number(beside[0], "generation") if beside else None)
    return None if not speed else round(speed / length / running, 2)


def _number(fact: Fact, name: str) -> float | None:
    value = fact.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
