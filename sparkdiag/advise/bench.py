"""The figures of a bench out of a judged case: what was measured, what was not and why, and what to know of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..case import Case
from ..facts.bench import BenchCompared, BenchRun

__all__ = ["Bench", "bench_of", "notes"]

WARM_UP = "warm-up"
_FEW = 64
"""Tokens below which a speed is a first impression."""
_STALLS = 5.0
"""The 99th percentile of the gaps over their median, above which the server stops now and then."""
_SEVERAL = 1.3
"""Tokens per arrival above which the gaps are none between tokens."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a bench says. `missing` has a reason for each workload that has no speed, and for the bench as a whole."""

    address: str
    engine: str | None
    version: str | None
    model: str | None
    runs: tuple[BenchRun, ...]
    compared: BenchCompared | None
    missing: tuple[tuple[str, str], ...]

    @property
    def answered(self) -> bool:
        """Every workload that was asked for has its speed."""
        return bool(self.runs) and not self.missing

    def share(self, run: BenchRun) -> float | None:
        """Its steps per second over those that the memory bandwidth allows; None where one of them is not known."""
        ceiling = None if self.compared is None else self.compared.ceiling_steps_per_s
        return round(run.steps_per_s / ceiling, 3) if run.steps_per_s and ceiling else None

    def to_dict(self) -> dict[str, Any]:
        """The part of `--json` that is not the report's."""
        return {
            "format": 1,
            "endpoint": self.address,
            "engine": self.engine,
            "version": self.version,
            "model": self.model,
            "answered": self.answered,
            "workloads": [{**_plain(run), "share": self.share(run), "notes": notes(run)} for run in self.runs],
            "compared": None if self.compared is None else _plain(self.compared),
            "missing": [{"workload": name, "why": why} for name, why in self.missing],
        }


def _plain(fact: BenchRun | BenchCompared) -> dict[str, Any]:
    return {key: value for key, value in fact.to_dict().items() if key not in ("kind", "where", "source")}


def bench_of(case: Case) -> Bench:
    """The bench that the case holds; without runs where it holds none."""
    runs = tuple(fact for fact in case.facts if isinstance(fact, BenchRun))
    compared = next((fact for fact in case.facts if isinstance(fact, BenchCompared)), None)
    seen = [fact for fact in case.facts if fact.kind == "engine" and fact.get("name") in ("vllm", "sglang")]
    names = [fact.get("name") for fact in seen]
    versions = [fact.get("version") for fact in seen if fact.get("version")]
    served = [fact.get("name") for fact in case.facts if fact.kind == "served"]
    models = [run.model for run in runs if run.model] + served
    return Bench(
        address=next(iter(case.report.targets.values()), ""),
        engine=_text(names),
        version=_text(versions),
        model=_text(models),
        runs=runs,
        compared=compared,
        missing=tuple(_missing(case, runs)),
    )


def _text(values: list[Any]) -> str | None:
    return next((value for value in values if isinstance(value, str)), None)


def _missing(case: Case, runs: tuple[BenchRun, ...]) -> list[tuple[str, str]]:
    out = []
    for item in () if case.capture is None else case.capture.items:
        if item.probe != "bench" or (item.status == "ok" and item.asked.get("workload") != WARM_UP):
            continue
        if item.status == "ok":
            continue
        name = str(item.asked.get("workload") or "all")
        if name != WARM_UP:
            answered = f"status {item.code}: {_words(item.text)}" if item.status == "http-error" else item.status
            out.append((name, item.why or answered))
    out += [(run.workload, _no_speed(run)) for run in runs if run.tokens_per_s is None]
    if not runs and not out:
        out.append(("all", "this case holds no bench"))
    return out


def _words(text: str) -> str:
    return " ".join(text.split())[:200]


def _no_speed(run: BenchRun) -> str:
    if run.error is not None:
        return f"the reply ended in an error: {run.error}"
    if not run.arrivals and not run.tokens:
        return "the reply holds no text"
    if run.cut_by == "probe":
        return "the time ended before the reply did, and the server counts its tokens only at the end"
    return "the server does not say how many tokens it made (no usage in the stream): chunks are no tokens"


def notes(run: BenchRun) -> list[str]:
    """What to know before one of its figures is quoted."""
    out = []
    if run.counted_by == "metrics":
        out.append("The stream carries no usage; its tokens are what the server's own counter grew by.")
    if run.tokens and run.counter_tokens and run.counted_by == "usage" and run.tokens > 1.1 * run.counter_tokens + 8:
        out.append(
            f"The reply's usage says {run.tokens} tokens, the server's own counter {run.counter_tokens}: if usage "
            "counts too many, as it did in some builds with speculation, tok/s is too high by as much."
        )
    if run.hidden_tokens:
        out.append(
            f"About {run.hidden_tokens} of {run.tokens} tokens left no text: thinking that the server does not show. "
            "The first text is not the first token."
        )
    if run.whole:
        why = (
            "tokens are left out of it"
            if run.hidden_tokens
            else "its text came in one piece, or was held back on the way"
        )
        out.append(f"tok/s is over the whole request, prompt included: the stream does not show its pace ({why}).")
    if run.others:
        out.append("Others were served at the same time: these are not the figures of one request alone.")
    if run.degenerate is not None:
        out.append(f"The text is no good ({run.degenerate}); repeated text is drafted better than real text is.")
    if run.thought_share is not None and run.thought_share > 0.5 and run.workload != "prose":
        out.append(f"{run.thought_share:.0%} of the text is thought: this is the speed of thinking about the task.")
    if run.tokens is not None and run.tokens < _FEW:
        capped = run.max_tokens is not None and run.tokens >= run.max_tokens
        more = " --timeout and --max-generated allow more." if capped or run.cut_by == "probe" else ""
        out.append(f"Only {run.tokens} tokens: a first impression.{more}")
    if run.cut_by is not None:
        ended = {"probe": "our own deadline", "limit": "our own limit of its size"}.get(run.cut_by, "the connection")
        out.append(f"The reply was cut off by {ended}.")
    if run.tokens_per_arrival is not None and run.tokens_per_arrival > _SEVERAL and not run.whole:
        out.append(f"Each arrival brings {run.tokens_per_arrival:g} tokens: the gaps are between arrivals.")
    if run.cached_tokens and run.prompt_tokens and run.cached_tokens > run.prompt_tokens / 2:
        out.append(
            f"{run.cached_tokens} of the {run.prompt_tokens} prompt tokens were in the prefix cache: the first text "
            "comes later for a new prompt."
        )
    if run.gap_p99_ms and run.gap_median_ms and run.gap_p99_ms > _STALLS * run.gap_median_ms and not run.whole:
        out.append(
            f"One gap in a hundred is {run.gap_p99_ms / run.gap_median_ms:.0f} times the median, the longest "
            f"{run.gap_longest_ms:g} ms: the server, or the way to it, stops now and then."
        )
    if run.accepted_by is None:
        out.append("The server does not tell its drafts: accepted length and steps per second are not known.")
    elif run.accepted_by == "gauge":
        out.append("The accepted length is the server's last window, not this request's alone.")
    elif run.accepted_length and run.tokens_per_step and run.accepted_length > 1.1 * run.tokens_per_step:
        out.append(
            f"Some steps had no draft: those that had one give {run.accepted_length:g} tokens, all of them "
            f"{run.tokens_per_step:g}."
        )
    return out


def figures(run: BenchRun) -> Mapping[str, str]:
    """The cells of its row, in the order of `COLUMNS`."""
    return {
        "workload": run.workload,
        "tok/s": _number(run.tokens_per_s),
        "per step": _number(run.tokens_per_step, 2),
        "steps/s": _number(run.steps_per_s),
        "accepted": "-" if run.acceptance is None else f"{run.acceptance:.0%}",
        "first": "-" if run.ttft_s is None else f"{run.ttft_s:.2f} s",
        "gap": _number(run.gap_median_ms),
        "p99 ms": _number(run.gap_p99_ms),
        "tokens": "-" if run.tokens is None else str(run.tokens),
    }


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
