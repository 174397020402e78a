"""Prometheus text of vLLM and SGLang into samples, and two samples into progress."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite

from ..facts import Fact, Source, Where
from ..facts.engine import EngineSeen
from ..facts.metrics import MetricsSample, TokenProgress

_LINE = re.compile(
    r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>[^}]*)\})?\s+(?P<value>[-+0-9.eENaInf]+)(?:\s+\d+)?\s*\Z"
)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

_NAMES = {
    "running": ("vllm:num_requests_running", "sglang:num_running_reqs"),
    "waiting": ("vllm:num_requests_waiting", "sglang:num_queue_reqs"),
    "prompt_tokens": ("vllm:prompt_tokens_total", "sglang:prompt_tokens_total"),
    "generation_tokens": ("vllm:generation_tokens_total", "sglang:generation_tokens_total"),
    "preemptions": ("vllm:num_preemptions_total", "sglang:num_retracted_reqs"),
    "corrupted_requests": ("vllm:corrupted_requests_total",),
    "drafts": ("vllm:spec_decode_num_drafts_total",),
    "draft_tokens": ("vllm:spec_decode_num_draft_tokens_total",),
    "accepted_tokens": ("vllm:spec_decode_num_accepted_tokens_total",),
    "verify_calls": ("sglang:spec_verify_calls_total",),
}
"""Summed over the engines of one server."""

_LARGEST = {
    "kv_cache_usage": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"),
    "acceptance_length": ("sglang:spec_accept_length",),
    "weights_gib": ("sglang:weight_memory_usage_gb",),
}

_PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_POSITIONS = {"0": "accepted_first", "1": "accepted_second"}

MAX_LINES = 200_000


def read_samples(text: str) -> Iterator[tuple[int, str, dict[str, str], float]]:
    """(line, name, labels, value) of each sample line; anything else, and what is no number, is passed over."""
    for number, line in enumerate(text.split("\n", MAX_LINES), 1):
        if not line or line[0] == "#":
            continue
        match = _LINE.match(line.strip())
        if match is None:
            continue
        try:
            value = float(match["value"])
        except ValueError:
            continue
        if not isfinite(value):
            continue
        yield number, match["name"], dict(_LABEL.findall(match["labels"] or "")), value


def observe_metrics(
    text: str,
    *,
    source: str,
    where: Where,
    order: int,
    time: float | None = None,
    first_line: int = 1,
    clock: str | None = None,
) -> list[Fact]:
    """One scrape: a MetricsSample and the engine that its names tell; nothing if it is no engine's metrics."""
    sums: dict[str, float] = {}
    cache: dict[str, str] = {}
    engine: str | None = None
    line = first_line
    names = {name: field for field, names in _NAMES.items() for name in names}
    largest = {name: field for field, names in _LARGEST.items() for name in names}
    for number, name, labels, value in read_samples(text):
        if engine is None and name.startswith(("vllm:", "sglang:")):
            engine = name.split(":", 1)[0]
            line = first_line + number - 1
        if name in names:
            sums[names[name]] = sums.get(names[name], 0.0) + value
        elif name in largest:
            sums[largest[name]] = max(sums.get(largest[name], 0.0), value)
        elif name == "vllm:cache_config_info":
            cache.update(labels)
        elif name == _PER_POSITION and (position := _POSITIONS.get(labels.get("position", ""))):
            sums[position] = sums.get(position, 0.0) + value
    if engine is None:
        return []
    drafts, accepted, drafted = sums.get("drafts"), sums.get("accepted_tokens"), sums.get("draft_tokens")
    length = 1 + accepted / drafts if drafts and accepted is not None else sums.get("acceptance_length")
    shown = ", ".join(f"{key} {sums[key]:g}" for key in ("running", "waiting", "generation_tokens") if key in sums)
    place = Source(source, line=line, text=f"{engine} metrics: {shown}")
    sample = MetricsSample(
        engine=engine,
        running=sums.get("running"),
        waiting=sums.get("waiting"),
        kv_cache_usage=sums.get("kv_cache_usage"),
        prompt_tokens=sums.get("prompt_tokens"),
        generation_tokens=sums.get("generation_tokens"),
        preemptions=sums.get("preemptions"),
        corrupted_requests=sums.get("corrupted_requests"),
        drafts=drafts,
        draft_tokens=drafted,
        accepted_tokens=accepted,
        accepted_first=sums.get("accepted_first"),
        accepted_second=sums.get("accepted_second"),
        verify_calls=sums.get("verify_calls"),
        acceptance_length=None if length is None else round(length, 3),
        draft_acceptance=round(accepted / drafted, 4) if drafted and accepted is not None else None,
        gpu_memory_utilization=_float(cache.get("gpu_memory_utilization")),
        num_gpu_blocks=_float(cache.get("num_gpu_blocks")),
        block_size=_float(cache.get("block_size")),
        cache_dtype=cache.get("cache_dtype"),
        weights_gib=sums.get("weights_gib"),
        where=where,
        order=order,
        time=time,
        clock=clock if time is not None else None,
        source=place,
    )
    return [sample, EngineSeen(name=engine, by="metric names", where=where, order=order, source=place)]


def _float(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def progress(samples: Sequence[MetricsSample]) -> list[TokenProgress]:
    """Each pair of consecutive samples of one server, compared. Samples without a time tell nothing."""
    out = []
    for index, later in enumerate(samples):
        earlier = next(
            (
                s
                for s in reversed(samples[:index])
                if s.where.joins(later.where) and s.engine == later.engine and s.clock == later.clock
            ),
            None,
        )
        if earlier is None or earlier.time is None or later.time is None or later.time <= earlier.time:
            continue
        if later.generation_tokens is None or earlier.generation_tokens is None:
            continue
        generated = later.generation_tokens - earlier.generation_tokens
        prompted = (later.prompt_tokens or 0) - (earlier.prompt_tokens or 0)
        if generated < 0 or prompted < 0:
            continue  # the server was restarted in between
        running = None if earlier.running is None or later.running is None else min(earlier.running, later.running)
        usages = (earlier.kv_cache_usage, later.kv_cache_usage)
        grew = None if usages[0] is None or usages[1] is None else usages[1] > usages[0]
        seconds = later.time - earlier.time
        count = "?" if running is None else f"{running:g}"
        text = f"{generated:g} tokens generated in {seconds:.1f} s, {count} requests running"
        out.append(
            TokenProgress(
                seconds=round(seconds, 3),
                running=running,
                new_prompt_tokens=prompted,
                new_generation_tokens=generated,
                kv_cache_grew=grew,
                still=generated == 0 and prompted == 0 and not grew,
                where=later.where,
                order=later.order,
                time=later.time,
                clock=later.clock,
                source=Source(later.source.source, line=later.source.line, text=text),
            )
        )
    return out
