"""The line on which each option of a launch stands: a finding about a flag points at the flag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..facts import Source
from ..facts.launch import Launch
from ..redact import redact

__all__ = ["option_pattern", "with_lines"]

_WHOLE = frozenset({"recipe", "unit"})
"""Forms of which one file holds one launch, its options before and after the command."""
_SHORT = {
    "tensor_parallel_size": ("tp", "tp-size", "tensor_parallel"),
    "pipeline_parallel_size": ("pp", "pp-size", "pipeline_parallel"),
    "data_parallel_size": ("dp", "dp-size", "data_parallel"),
    "quantization": ("q",),
    "model": ("model-path", "m"),
    "context_length": ("max_model_len",),
    "max_model_len": ("context_length",),
    "volume": ("v", "volumes"),
    "network": ("net", "network_mode"),
    "device": ("devices",),
    "publish": ("p", "ports"),
    "workdir": ("w", "working_dir"),
    "gpus": ("deploy", "runtime", "nvidia"),
}


def with_lines(launches: Sequence[Launch], text: str) -> list[Launch]:
    """The launches of one text, in its order, each with the places of its options."""
    lines = text.split("\n")
    starts = [max(0, (launch.source.line or 1) - 1) for launch in launches]
    out = []
    for launch, start in zip(launches, starts, strict=True):
        later = [other for other in starts if other > start]
        span = range(len(lines)) if launch.form in _WHOLE else range(start, min(later, default=len(lines)))
        found: dict[str, Source] = {}
        for name, pattern in _patterns(launch):
            line = _first(lines, span, pattern)
            if line is None:
                line = _first(lines, range(start), pattern)
            if line is not None:
                words = redact(lines[line].strip())[:300]
                found[name] = Source(launch.source.source, line + 1, text=words)
        out.append(replace(launch, lines=found))
    return out


def _first(lines: Sequence[str], span: range, pattern: re.Pattern[str]) -> int | None:
    return next((at for at in span if not lines[at].lstrip().startswith("#") and pattern.search(lines[at])), None)


def _patterns(launch: Launch) -> Iterator[tuple[str, re.Pattern[str]]]:
    for name in launch.flags:
        yield f"flag.{name}", option_pattern(name.partition(".")[0])
    for name in launch.docker:
        yield f"docker.{name}", option_pattern(name.removeprefix("unit_"))
    for name in launch.env:
        yield f"env.{name}", re.compile(rf"(?<![\w.]){re.escape(name)}[\"']?\s*[=:]")
    for name in ("image", "model"):
        value = getattr(launch, name)
        if value:
            yield name, re.compile(re.escape(str(value)))


def option_pattern(name: str) -> re.Pattern[str]:
    """--max-model-len, --max_model_len=, max_model_len: and the option's short forms."""
    words = [name, *_SHORT.get(name, ())]
    spelled = "|".join(re.escape(word).replace("_", "[-_]").replace(r"\-", "[-_]") for word in words)
    return re.compile(
        rf"(?:^|[\s\"'\[,(])(?:-{{1,2}}(?:{spelled})(?=[\s=\"',\]]|$)|(?:{spelled})[\"']?\s*[:=])", re.IGNORECASE
    )
