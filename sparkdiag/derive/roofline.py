"""One request's speed against what the memory bandwidth allows: a token's weights come through it each time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..facts import Fact, Looked
from ..facts.sums import Roofline

__all__ = ["BANDWIDTH", "rooflines"]

BANDWIDTH = 273e9
"""Bytes per second of a GB10's LPDDR5X."""

_ACTIVE = re.compile(r"(?<![\d.])(?P<total>\d+(?:\.\d+)?)B-?A(?P<active>\d+(?:\.\d+)?)B(?![a-z])", re.IGNORECASE)
_SPARSE = re.compile(
    r"\bA\d+(?:\.\d+)?B\b|moe|mixtral|gpt-oss|deepseek-(?:v[234]|r1(?!-distill)|coder-v2)|glm-(?:4\.[5-9]|"
    r"5)(?!-?v?-9b)|minimax|"
    r"kimi-k|qwen3-next|qwen3-coder-(?:next|480|30)|step-?3|ernie-4\.5-(?:21|300)|llama-4|hunyuan-a|dbrx|grok|arctic|"
    r"phi-3\.5-moe|"
    r"nemotron-(?:3|super|ultra)|longcat|ling-|ring-",
    re.IGNORECASE,
)  # fmt: skip
_DENSE = re.compile(
    r"llama-?(?:2|3(?:\.[123])?)-|(?:meta-)?llama-3|deepseek-r1-distill|qwen(?:1\.5|2|2\.5)-(?!.*moe)|qwq|"
    r"qwen3(?:\.\d)?-(?:0\.6|1\.7|4|8|9|14|27|32)b|gemma-[23]-|gemma-4-31b|mistral-(?:small|large|nemo|7b)|devstral|"
    r"magistral|"
    r"codestral|phi-[34](?!.*moe)|command-r|aya-|yi-|falcon-|granite-3|solar|exaone|olmo-2|seed-oss|nemotron-nano-8b|"
    r"llama-3\.[13]-nemotron",
    re.IGNORECASE,
)  # fmt: skip
_HYBRID = re.compile(
    r"mamba|jamba|zamba|bamba|falcon-?h1|nemotron-?h|nemotron-(?:3|nano-(?:9b-v2|12b-v2|2))|qwen3[-_]?next|"
    r"qwen3\.[5-9]|granite-?4.*-h|"
    r"granitemoehybrid|lfm2|minimax-(?:text|m1)|kimi-linear|ring-.*linear|rwkv|linear[-_]?attention|plamo-?2|hymba|"
    r"xlstm",
    re.IGNORECASE,
)  # fmt: skip


_SHARES = (
    (re.compile(r"gpt-oss-20b", re.IGNORECASE), 0.27),
    (re.compile(r"gpt-oss-120b", re.IGNORECASE), 0.077),
    (re.compile(r"deepseek-(?:v3|r1)(?!-distill)", re.IGNORECASE), 0.055),
    (re.compile(r"kimi-k2", re.IGNORECASE), 0.031),
    (re.compile(r"glm-4\.[567]-air|glm-4\.5v", re.IGNORECASE), 0.12),
    (re.compile(r"minimax-m2", re.IGNORECASE), 0.046),
    (re.compile(r"mixtral-8x7b", re.IGNORECASE), 0.273),
    (re.compile(r"llama-4-scout", re.IGNORECASE), 0.15),
)
"""Share of its weights that a token reads, for sparse models whose names do not tell: the sums of model_size.py."""

_SIZED = ("model-weights-size", "llama-bench-row")
"""Lines that tell the size of the weights."""
_TIMED = ("throughput-window", "sglang-decode", "measured-speed", "llama-bench-row")
"""Lines that tell tokens per second."""


def rooflines(facts: Sequence[Fact]) -> list[Fact]:
    """One Roofline for each loaded model of which a single request's speed is known.

    Without a line that tells the weights' size, it is taken from the model's name (70B and NVFP4 make 39 GiB).
    """
    out: list[Fact] = []
    for loaded in facts:
        if not _tells_size(loaded) or loaded.where.rank not in (None, "TP0"):
            continue
        weights = _number(loaded, "gib") or _number(loaded, "size") or _number(loaded, "weights_gib")
        if weights is None or weights <= 0.1 or any(other.where.joins(loaded.where) for other in out):
            continue
        made = _roofline(loaded, weights, facts)
        if made is not None:
            out.append(made)
    if not out:
        named = next((fact for fact in facts if fact.kind in ("launch", "name") and _estimate(fact) is not None), None)
        size = None if named is None else _estimate(named)
        made = None if named is None or size is None else _roofline(named, size, facts, estimated=True)
        out += [made] if made is not None else []
    return [*out, Looked(probe="roofline", where=out[0].where, source=out[0].source)] if out else []


def _tells_size(fact: Fact) -> bool:
    if fact.kind == "metrics":
        return fact.get("weights_gib") is not None
    return fact.kind == "log" and fact.get("signature") in _SIZED


_PARAMETERS = re.compile(r"(?<![\d.A-Za-z])(?P<size>\d+(?:\.\d+)?)B(?![a-z])", re.IGNORECASE)
_BYTES = (
    (re.compile(r"nvfp4|mxfp4|fp4|awq|gptq|int4|w4a16|4-?bit|q4", re.IGNORECASE), 0.56),
    (re.compile(r"fp8|int8|w8a8|8-?bit|q8", re.IGNORECASE), 1.03),
)


def _estimate(fact: Fact) -> float | None:
    """GiB of weights by a model's name."""
    name = str(fact.get("model" if fact.kind == "launch" else "name") or "")
    found = _PARAMETERS.search(name)
    if found is None:
        return None
    quantization = str(fact.get("flag.quantization") or "") if fact.kind == "launch" else ""
    per = next((size for pattern, size in _BYTES if pattern.search(f"{name} {quantization}")), 2.0)
    return float(found["size"]) * 1e9 * per / 2**30


def _roofline(base: Fact, weights: float, facts: Sequence[Fact], *, estimated: bool = False) -> Roofline | None:
    speeds = sorted(list(_measured(base, facts)) or _told(base, facts), key=lambda pair: pair[0])
    if not speeds:
        return None
    near = [fact for fact in facts if fact.where.joins(base.where)]
    names = [str(fact.get(key)) for fact in near for key in ("model", "name", "root") if _names(fact, key)]
    dense, hybrid, share = _kind_of(names, near)
    measured, source = speeds[-1]
    ranks = max((int(v) for f in near if (v := _number(f, "flag.tensor_parallel_size")) is not None), default=1)
    read = weights * share / (ranks if estimated else 1)
    ceiling = BANDWIDTH / (read * 2**30)
    return Roofline(
        model=names[0] if names else None,
        weights_gib=round(weights, 2),
        estimated=estimated,
        read_gib=round(read, 2),
        dense=dense,
        hybrid=hybrid,
        ranks=ranks,
        ceiling_tok_s=round(ceiling, 1),
        measured_tok_s=round(measured, 1),
        measured_share=round(measured / ceiling, 3),
        speculative=any(_speculates(fact) for fact in near),
        where=base.where,
        order=max(base.order, source.order),
        source=source.source,
    )


def _told(base: Fact, facts: Sequence[Fact]) -> list[tuple[float, Fact]]:
    """The first speed that somebody tells in words: it counts where nothing was measured."""
    for fact in facts:
        if (
            fact.kind == "log"
            and fact.get("signature") in ("speed-told", "speed-said")
            and fact.where.joins(base.where)
        ):
            speed = _number(fact, "generation")
            return [(speed, fact)] if speed else []
    return []


def _measured(base: Fact, facts: Sequence[Fact]) -> Iterator[tuple[float, Fact]]:
    """Tokens per second that one request alone got, from log windows, benchmarks, and timed replies."""
    timed = {fact.order: seconds for fact in facts if fact.kind == "http" and (seconds := _number(fact, "seconds"))}
    for fact in facts:
        if not fact.where.joins(base.where):
            continue
        if fact.kind == "log" and fact.get("signature") in _TIMED:
            speed, running = _number(fact, "generation"), _number(fact, "running")
            if speed and running in (None, 1.0):
                yield speed, fact
        elif fact.kind == "log" and fact.get("signature") == "measured-interval":
            if milliseconds := _number(fact, "milliseconds"):
                yield 1000 / milliseconds, fact
        elif fact.kind in ("chat", "completion"):
            tokens, seconds = _number(fact, "completion_tokens"), timed.get(fact.order)
            if tokens is not None and tokens >= 64 and seconds and seconds >= 2:
                yield tokens / seconds, fact
        elif fact.kind == "bench" and not fact.get("others") and (_number(fact, "tokens") or 0) >= 32:
            speed = _number(fact, "tokens_per_s")
            yield from [(speed, fact)] if speed else []


def _names(fact: Fact, key: str) -> bool:
    return fact.kind in ("launch", "name", "served", "chat", "completion") and isinstance(fact.get(key), str)


def _kind_of(names: Sequence[str], facts: Sequence[Fact]) -> tuple[bool | None, bool | None, float]:
    """(dense, hybrid, share of the weights that one token reads) from names and the model's own config."""
    text = " ".join(names)
    configs = [f for f in facts if f.kind == "config" and (f.get("architecture") or f.get("model_type"))]
    hybrid = bool(_HYBRID.search(text)) or any(
        _HYBRID.search(f"{f.get('architecture')} {f.get('model_type')}") for f in configs
    )
    summed = next((share for fact in configs if (share := _summed(fact)) is not None), None)
    if summed is not None:
        return False, hybrid or None, summed
    active = _ACTIVE.search(text)
    if active is not None and float(active["total"]) > 0:
        return False, hybrid or None, min(1.0, float(active["active"]) / float(active["total"]))
    known = next((share for pattern, share in _SHARES if pattern.search(text)), None)
    if known is not None:
        return False, hybrid or None, known
    if _SPARSE.search(text) or any(f.get("experts") for f in configs):
        return False, hybrid or None, 1.0
    if _DENSE.search(text) or configs:
        return True, hybrid or None, 1.0
    return None, hybrid or None, 1.0


def _summed(config: Fact) -> float | None:
    """The share of a sparse model's weights that a token reads, by a whole config.json's dimensions."""
    dimensions = getattr(config, "dimensions", None)
    if not dimensions:
        return None
    from .model_size import model_size

    size = model_size(dimensions)
    if size is None or size.dense or not size.shape.vocab or not size.weights_bytes:
        return None
    return size.streamed_bytes / size.weights_bytes


def _speculates(fact: Fact) -> bool:
    if fact.kind == "launch":
        return any(fact.get(f"flag.{name}") is not None for name in ("speculative_config", "speculative_algorithm"))
    if fact.kind == "bench":
        several = (_number(fact, "tokens_per_arrival") or 1.0) >= 1.3
        return fact.get("accepted_by") != "no speculation" and (fact.get("accepted_by") is not None or several)
    return fact.kind == "log" and fact.get("signature") == "spec-window"


def _number(fact: Fact, name: str) -> float | None:
    value = fact.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
