"""The logit check: does the model prefer a well-known text to the same tokens shuffled?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..capture import Item
from ..facts import Fact, Looked, Source, Where
from ..facts.replies import LogitCheck
from .bodies import mapping, read_body

MIN_TOKENS = 8


def logit_fact(items: Iterable[Item], step: int) -> list[Fact]:
    """The check, where both halves of the probe came back with log-probabilities."""
    halves: dict[str, tuple[int, Item, list[float]]] = {}
    for number, item in enumerate(items):
        if item.probe in ("logit-text", "logit-shuffled") and item.status == "ok":
            found = prompt_logprobs(read_body(item.text).data)
            if len(found) >= MIN_TOKENS:
                halves[item.probe] = (number * step, item, found)
    if len(halves) != 2:
        return []
    order, item, text = halves["logit-text"]
    _, _, shuffled = halves["logit-shuffled"]
    mean_text, mean_shuffled = sum(text) / len(text), sum(shuffled) / len(shuffled)
    margin = mean_text - mean_shuffled
    words = f"mean log-probability {mean_text:.2f} for the text, {mean_shuffled:.2f} shuffled"
    place = Source(item.file or item.probe, path="$.choices[0]", text=words)
    where = Where(target=item.target or None)
    return [
        LogitCheck(
            text_logprob=round(mean_text, 4),
            shuffled_logprob=round(mean_shuffled, 4),
            margin=round(margin, 4),
            tokens=min(len(text), len(shuffled)),
            where=where,
            order=order,
            source=place,
        ),
        Looked(probe="logit", where=where, order=order, source=place),
    ]


def prompt_logprobs(data: Any) -> list[float]:
    """Log-probabilities (nats) of the prompt's tokens, the first left out, in any engine's shape."""
    reply = mapping(data)
    choices = reply.get("choices")
    choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    told = choice.get("prompt_logprobs", reply.get("prompt_logprobs"))
    if isinstance(told, list):
        return _numbers(_of_prompt_entry(entry) for entry in told[1:])
    tokens = mapping(choice.get("logprobs")).get("token_logprobs")
    if isinstance(tokens, list):
        return _numbers(tokens[1:])
    meta = mapping(reply.get("meta_info")).get("input_token_logprobs")
    if isinstance(meta, list):
        return _numbers(entry[0] if isinstance(entry, list) and entry else None for entry in meta[1:])
    return []


def _of_prompt_entry(entry: Any) -> Any:
    """vLLM gives a mapping of token ids to candidates: the prompt's own token comes first."""
    if not isinstance(entry, dict) or not entry:
        return None
    first = next(iter(entry.values()))
    return first.get("logprob") if isinstance(first, dict) else first


def _numbers(values: Iterable[Any]) -> list[float]:
    return [
        float(v) for v in values if isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(float(v))
    ]
