"""The timed requests of a bench, with the counters before and after each, into one fact a workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil
from typing import Any

from ..capture import Item
from ..facts import Fact, Looked, Source, Where
from ..facts.bench import BenchRun
from ..facts.metrics import MetricsSample
from ..records import dataclass
from .bodies import mapping, number, parse_json, read_body
from .error_bodies import read_error
from .event_times import Arrival, arrivals
from .metrics import observe_metrics
from .replies import chat_fact
from .requests import read_request

__all__ = ["RUN", "bench_runs"]

RUN = "bench"
METRICS = ("bench-metrics", "metrics", "metrics-again")
WARM_UP = "warm-up"
MOST_TOKENS = 10_000_000

_CHARS_PER_TOKEN = {"prose": 2.2, "code": 1.7}
"""Below this, so few characters came for the counted tokens that some left none. English prose has 4 and more."""
_FEWEST_CHARS = 1.5
_USUAL_CHARS = 4.0
_CHAINS = 10
"""Drafts whose first token was accepted, below which the second one's share is chance."""
_QUICKEST = 0.002
"""Seconds between arrivals, on average. Text that comes faster was held back on the way, not generated then: a GB10's
step takes longer."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """What the server's counters grew by during one request; None where they do not tell."""

    tokens: float | None = None
    drafts: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    first: float | None = None
    second: float | None = None
    verify_calls: float | None = None
    gauge: float | None = None
    others: bool | None = None
    speculates: bool | None = None
    depth: int | None = None
    """Of SGLang, by its settings."""


def bench_runs(items: Sequence[Item], wheres: Mapping[str, Where], step: int) -> list[Fact]:
    """One BenchRun for each workload that was answered. `step` is the room of one item in the order."""
    out: list[Fact] = []
    before: dict[str, MetricsSample] = {}
    for index, item in enumerate(items):
        if item.probe in METRICS and item.status == "ok":
            sample = _sample(item)
            if sample is not None:
                before[item.target] = sample
        if item.probe != RUN or item.status != "ok" or item.asked.get("workload") == WARM_UP:
            continue
        after = next((i for i in items[index + 1 :] if i.probe in (RUN, *METRICS) and i.target == item.target), None)
        later = _sample(after) if after is not None and after.probe in METRICS and after.status == "ok" else None
        counted = replace(_counted(before.get(item.target), later), depth=_sglang_depth(items, item.target))
        where = wheres.get(item.target, Where(target=item.target or None))
        out.append(_run(item, counted, where, index * step))
    return [*out, *(Looked(probe=RUN, where=fact.where, order=fact.order, source=fact.source) for fact in out[:1])]


def _sample(item: Item) -> MetricsSample | None:
    found = observe_metrics(item.text, source=item.probe, where=Where(), order=0)
    return next((fact for fact in found if isinstance(fact, MetricsSample)), None)


def _counted(before: MetricsSample | None, after: MetricsSample | None) -> _Counted:
    if before is None or after is None:
        return _Counted()

    def grown(name: str) -> float | None:
        first, last = getattr(before, name), getattr(after, name)
        if last is None:
            return None
        return None if last < (first or 0.0) else last - (first or 0.0)  # less: the server was restarted

    has_counters = after.accepted_tokens is not None or after.verify_calls is not None
    gauge = after.acceptance_length if after.engine == "sglang" else None
    return _Counted(
        tokens=grown("generation_tokens"),
        drafts=grown("drafts"),
        drafted=grown("draft_tokens"),
        accepted=grown("accepted_tokens"),
        first=grown("accepted_first"),
        second=grown("accepted_second"),
        verify_calls=grown("verify_calls"),
        gauge=gauge if gauge and gauge >= 1 else None,
        others=None if after.running is None else bool(after.running) and bool(before.running),
        # vLLM has these counters only with speculation on; SGLang its gauge always, at zero without
        speculates=has_counters or bool(gauge) if after.engine in ("vllm", "sglang") else None,
    )


def _sglang_depth(items: Sequence[Item], target: str) -> int | None:
    """SGLang's speculative_num_draft_tokens counts the token that drafting starts from."""
    for item in items:
        if item.probe == "server-info" and item.target == target and item.status == "ok":
            told = number(mapping(parse_json(item.text)[0]).get("speculative_num_draft_tokens"))
            return told - 1 if told is not None and 1 < told <= 129 else None
    return None


def _run(item: Item, counted: _Counted, where: Where, order: int) -> BenchRun:
    request = item.asked.get("body")
    asked = read_request(request if isinstance(request, dict) else None, None)
    body = read_body(item.text, item.media or "")
    reply = mapping(body.data)
    cut = _cut(item)
    error = read_error(body, item.code)
    common: dict[str, Any] = {"where": where, "order": order, "source": item.probe, "probe": item.probe}
    chat = chat_fact(reply, asked, request_known=True, status=item.code, cut_by=cut, **common)
    workload = str(item.asked.get("workload") or "unnamed")[:40]
    moments = arrivals(item.text, item.chunks)
    usage = mapping(reply.get("usage"))
    tokens, counted_by = number(usage.get("completion_tokens")), "usage"
    if tokens is not None and not 0 <= tokens < MOST_TOKENS:
        tokens = None  # what no reply can have
    if tokens is None and cut is not None and moments:
        tokens = moments[-1].tokens
    chars = (chat.answer_chars + _call_chars(reply)) if chat is not None else 0
    if tokens is None and chars and counted.tokens and not counted.others:
        tokens, counted_by = int(min(counted.tokens, MOST_TOKENS)), "metrics"
    surplus = counted.tokens is not None and tokens is not None and counted.tokens > 1.1 * tokens + 8
    thought = (chat.reasoning_chars or 0) if chat is not None else 0
    hidden = _hidden(workload, tokens, chars, thought, None if chat is None else chat.reasoning_tokens)
    speed = _Speed() if error is not None else _speed(moments, tokens, hidden, item.took or 0.0)
    steps = _steps(counted, tokens, speed.tokens_per_s)
    gaps = sorted(b.seconds - a.seconds for a, b in pairwise(moments))
    shown = f"{workload}: " + (f"{tokens} tokens" if tokens is not None else "no token count")
    shown += "" if speed.tokens_per_s is None else f", {speed.tokens_per_s:g} tok/s"
    return BenchRun(
        workload=workload,
        about=str(item.asked.get("about") or "")[:200],
        model=None if chat is None else chat.model,
        prompt_tokens=number(usage.get("prompt_tokens")),
        cached_tokens=number(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        max_tokens=asked.max_tokens,
        tokens=tokens,
        counter_tokens=int(counted.tokens) if counted.tokens is not None and counted.others is False else None,
        counted_by=None if tokens is None else counted_by,
        text_chars=chars,
        thought_share=round(thought / chars, 2) if chars else None,
        hidden_tokens=hidden,
        degenerate=None if chat is None else chat.degenerate,
        finish_reason=None if chat is None else chat.finish_reason,
        cut_by=cut,
        error=None if error is None else error.message[:200],
        ttft_s=round(moments[0].seconds, 3) if moments else None,
        seconds=speed.seconds,
        whole=speed.whole,
        tokens_per_s=speed.tokens_per_s,
        arrivals=len(moments),
        tokens_per_arrival=round(tokens / len(moments), 2) if tokens and moments and not hidden else None,
        gap_median_ms=_milliseconds(gaps, 0.5),
        gap_p99_ms=_milliseconds(gaps, 0.99),
        gap_longest_ms=_milliseconds(gaps, 1.0),
        others=None if counted.others is None else counted.others or surplus,
        where=where,
        order=order,
        source=Source(item.probe, path=f"$.{workload}", text=shown),
        **steps,
    )


def _cut(item: Item) -> str | None:
    if item.asked.get("cut_by") == "probe":
        return "probe"
    if not item.truncated:
        return None
    return "limit" if (item.why or "").startswith("the answer is longer") else "connection"


def _call_chars(reply: Mapping[str, Any]) -> int:
    choices = reply.get("choices")
    message = mapping(mapping(choices[0]).get("message")) if isinstance(choices, list) and choices else {}
    calls = message.get("tool_calls")
    return sum(len(str(mapping(call).get("function"))) for call in calls) if isinstance(calls, list) else 0


def _hidden(workload: str, tokens: int | None, chars: int, thought: int, thought_tokens: int | None) -> int | None:
    """Tokens that left no text: those that usage calls thought where no thought came, else what the text cannot be."""
    if tokens is None:
        return None
    if thought_tokens and thought_tokens > 8 and not thought and chars < _USUAL_CHARS * tokens:
        return thought_tokens
    if tokens >= 16 and chars < _CHARS_PER_TOKEN.get(workload, _FEWEST_CHARS) * tokens:
        return tokens - int(chars / _USUAL_CHARS)
    return None


@dataclass(frozen=True, slots=True)
class _Speed:
    tokens_per_s: float | None = None
    seconds: float | None = None
    whole: bool = False


def _speed(moments: Sequence[Arrival], tokens: int | None, hidden: int | None, took: float) -> _Speed:
    """Tokens after the first arrival, over the time after it; over the whole request where the stream does not show
    when they came: because it came at once, was held back on the way, or leaves tokens out."""
    if not tokens or not took:
        return _Speed()
    if len(moments) >= 3:
        span = moments[-1].seconds - moments[0].seconds
        streamed = span >= _QUICKEST * (len(moments) - 1)
        first, last = moments[0].tokens, moments[-1].tokens
        if first is not None and last is not None and last > first and streamed:
            return _Speed(_figure((last - first) / span), round(span, 3))
        if not hidden and streamed:
            first = max(1, round(tokens / len(moments)))
            return _Speed(_figure((tokens - first) / span), round(span, 3))
    return _Speed(_figure(tokens / took), round(took, 3), whole=True)


def _steps(counted: _Counted, tokens: int | None, speed: float | None) -> dict[str, Any]:
    """accepted_length and its kin, by the best of what the server tells."""
    out: dict[str, Any] = {}
    if counted.speculates is False:
        out = {"accepted_length": 1.0, "accepted_by": "no speculation", "tokens_per_step": 1.0}
    elif counted.accepted is not None and (counted.drafts or counted.drafted):
        out = _by_counters(counted, tokens)
    elif counted.accepted == 0 and tokens:
        out = {"accepted_length": 1.0, "accepted_by": "counters", "tokens_per_step": 1.0}
    elif counted.verify_calls and tokens and tokens > counted.verify_calls:
        length = round((tokens - 1) / counted.verify_calls, 3)
        out = {"accepted_length": length, "accepted_by": "verify calls", "tokens_per_step": length}
    elif counted.gauge is not None:
        out = {"accepted_length": counted.gauge, "accepted_by": "gauge", "tokens_per_step": counted.gauge}
    if counted.depth and out.get("accepted_by") in ("verify calls", "gauge"):
        out["depth"] = float(counted.depth)
        out["acceptance"] = round(min(1.0, (out["accepted_length"] - 1) / counted.depth), 4)
    if speed is not None and out.get("tokens_per_step"):
        out["steps_per_s"] = _figure(speed / out["tokens_per_step"])
    return out


def _by_counters(counted: _Counted, tokens: int | None) -> dict[str, Any]:
    """The engine counts steps with a draft only; steps without one bring a token as well."""
    accepted, drafts = counted.accepted or 0.0, counted.drafts
    length = 1 + accepted / drafts if drafts else None
    per_step = length
    drafted_steps = None
    if tokens and not counted.others and counted.tokens is not None and counted.tokens <= 1.1 * tokens + 8:
        steps = max(tokens - 1 - accepted, drafts or 0.0, 1.0)
        per_step = max(1.0, (tokens - 1) / steps)
        drafted_steps = None if drafts is None else round(drafts / steps, 2)
    out: dict[str, Any] = {
        "accepted_length": None if length is None else round(length, 3),
        "accepted_by": "counters",
        "tokens_per_step": None if per_step is None else round(per_step, 3),
        "drafted_steps": drafted_steps,
    }
    if counted.drafted:
        out["drafted"] = counted.drafted
        out["acceptance"] = round(accepted / counted.drafted, 4)
    if drafts:
        out["depth"] = round(counted.drafted / drafts, 2) if counted.drafted else None
        out["first_position"] = round(counted.first / drafts, 4) if counted.first is not None else None
        if counted.second is not None and counted.first and counted.first >= _CHAINS:
            out["chain"] = round(counted.second / counted.first, 4)
    return out


def _figure(value: float) -> float:
    """Three digits: no measurement of a minute has more."""
    return float(f"{value:.3g}")


def _milliseconds(gaps: Sequence[float], share: float) -> float | None:
    """The gap that this share of the sorted gaps does not exceed."""
    return round(1000 * gaps[max(0, ceil(share * len(gaps)) - 1)], 1) if gaps else None
