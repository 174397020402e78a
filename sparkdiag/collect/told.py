"""The little that collecting itself must know from earlier items, to know what to ask next and what not to send."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from ..capture import Item

__all__ = [
    "busy",
    "generated",
    "is_sglang",
    "is_vllm_or_sglang",
    "keeps_special_tokens",
    "model_name",
    "seems_frozen",
    "tools_are_meant",
]

_RUNNING = re.compile(r"^(?:vllm:num_requests_running|sglang:num_running_reqs)(?:\{[^}\n]*\})?\s+([-+0-9.eE]+)", re.M)
_WAITING = re.compile(r"^(?:vllm:num_requests_waiting|sglang:num_queue_reqs)(?:\{[^}\n]*\})?\s+([-+0-9.eE]+)", re.M)
_GENERATED = re.compile(r"^(?:vllm|sglang):generation_tokens_total(?:\{[^}\n]*\})?\s+([-+0-9.eE]+)", re.M)
_TOKENS = re.compile(r"^((?:vllm|sglang):(?:prompt|generation)_tokens_total(?:\{[^}\n]*\})?)\s+([-+0-9.eE]+)", re.M)


_STUCK = "nothing is sent to an engine that may be stuck"


def _data(items: Iterable[Item], *probes: str) -> dict[str, Any]:
    """The JSON object of the first of the probes that was answered with one."""
    for item in items:
        if item.probe in probes and item.status == "ok":
            try:
                found = json.loads(item.text)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                return found
    return {}


def model_name(items: Iterable[Item], asked: str | None) -> str | None:
    """The name to send: the user's, else the first that is served. None: send none, and the engines take their own; a
    name made up here would be refused, and look like the user's fault."""
    if asked:
        return asked
    listed = _data(items, "models").get("data")
    first = listed[0] if isinstance(listed, list) and listed else None
    name = first.get("id") if isinstance(first, dict) else None
    return name if isinstance(name, str) and 0 < len(name) < 1000 else None


def keeps_special_tokens(items: Sequence[Item]) -> bool:
    """vLLM and SGLang show special tokens if asked to; other servers refuse a field that they do not know."""
    listed = _data(items, "models").get("data")
    owners = [entry.get("owned_by") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return any(owner in ("vllm", "sglang") for owner in owners) or is_sglang(items)


def is_sglang(items: Sequence[Item]) -> bool:
    return bool(_data(items, "model-info")) or "max_total_num_tokens" in _data(items, "server-info")


def is_vllm_or_sglang(items: Sequence[Item]) -> bool:
    """They take keys that OpenAI's API does not have, also behind a proxy that lets their metrics through."""
    metrics = next((item.text for item in items if item.probe == "metrics" and item.status == "ok"), "")
    return keeps_special_tokens(items) or bool(_TOKENS.search(metrics) or _RUNNING.search(metrics))


_LOADS = ("num_running_reqs", "running_reqs", "num_reqs", "load")
"""What versions of SGLang call the requests at hand in the internal state of their server info."""


def busy(items: Sequence[Item]) -> str | None:
    """That others are being served, in words; None where nothing says so."""
    probes = ("metrics", "metrics-again", "bench-metrics")
    samples = [item.text for item in items if item.probe in probes and item.status == "ok"]
    running = max((_sum(_RUNNING, text) for text in samples), default=0.0)
    waiting = max((_sum(_WAITING, text) for text in samples), default=0.0)
    states = _data(items, "server-info").get("internal_states")
    for state in states if isinstance(states, list) and not samples else ():
        known = [state.get(name) for name in _LOADS] if isinstance(state, dict) else []
        running += next((value for value in known if isinstance(value, int) and not isinstance(value, bool)), 0)
    if running or waiting:
        return f"{running + waiting:g} request{'s are' if running + waiting != 1 else ' is'} being served here"
    if len(samples) >= 2 and _sum(_GENERATED, samples[-1]) - _sum(_GENERATED, samples[0]) > _OWN:
        return "tokens are being generated here for somebody else"
    return None


_OWN = 3
"""SGLang's health route generates a token itself."""


def tools_are_meant(items: Sequence[Item]) -> bool:
    """SGLang says so itself: a tool-call parser is set."""
    return any(bool(_data(items, probe).get("tool_call_parser")) for probe in ("model-info", "server-info"))


def seems_frozen(items: Sequence[Item]) -> str | None:
    """Why nothing may be sent: requests run and no token is counted, or the health route does not answer at all."""
    samples = [i for i in items if i.probe in ("metrics", "metrics-again", "metrics-later") and i.status == "ok"]
    if len(samples) >= 2:
        before, after = samples[-2].text, samples[-1].text
        running = min(_sum(_RUNNING, before), _sum(_RUNNING, after))
        counters, later = dict(_TOKENS.findall(before)), dict(_TOKENS.findall(after))
        if running > 0 and counters and counters == later:
            return f"requests are running and no token was counted between two samples; {_STUCK}"
        if running > 0 and counters:
            return None
    for item in items:
        if item.probe in ("health", "models") and item.status == "timeout":
            return f"{item.asked.get('path', item.probe)} gave no answer; {_STUCK}"
    return None


def _sum(pattern: re.Pattern[str], text: str) -> float:
    total = 0.0
    for found in pattern.finditer(text):
        try:
            value = float(found[1])
        except ValueError:
            continue
        total += value if isfinite(value) else 0.0
    return total


def _cap(item: Item) -> int:
    body = item.asked.get("body")
    if not isinstance(body, dict) or item.status == "skipped":
        return 0
    cap = body.get("max_tokens", 1 if "sampling_params" in body else 0)
    return cap if isinstance(cap, int) else 0


def generated(items: Iterable[Item]) -> int:
    """Tokens that earlier probes used up: as the server counted them, else what was allowed."""
    total = 0
    for item in items:
        counts = re.findall(r'"completion_tokens":\s?(\d{1,7})', item.text[-4000:])
        refused = item.status == "http-error"
        total += 0 if refused else min(int(counts[-1]), _cap(item)) if counts else _cap(item)
    return total
