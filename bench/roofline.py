"""docs/roofline.md: expected speeds against published ones of DGX Sparks (fixtures/gb10-results.yaml).

    python bench/roofline.py            print the page
    python bench/roofline.py --write    write it; a test holds the page current

Predictions come from the models' config values in fixtures/models.json and the constants of
sparkdiag/derive/expected_speed.py, which hold for all rows.
"""

from __future__ import annotations

import json
import statistics
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from sparkdiag.derive import expected_speed as speed
from sparkdiag.derive.model_size import ModelSize, model_size

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "roofline.md"
OUTLIER = 0.25
"""Share by which prediction and measurement may differ without a word."""

MODELS: dict[str, Any] = json.loads((ROOT / "fixtures" / "models.json").read_text())["models"]
RESULTS: dict[str, Any] = yaml.safe_load((ROOT / "fixtures" / "gb10-results.yaml").read_text())


def sized(name: str, weights: str) -> ModelSize:
    """A fixture's model in one of the formats of the results."""
    config = {key: value for key, value in MODELS[name]["config"].items() if key != "quantization_config"}
    size = model_size({**config, "quantization_config": RESULTS["weights"][weights]})
    assert size is not None
    return size


def decode_rows() -> list[dict[str, Any]]:
    """Each published decode with its prediction and the error as a share of the measurement."""
    out = []
    for row in RESULTS["decode"]:
        size = sized(row["model"], row["weights"])
        made = speed.decode_speed(size, row["context"], accepted=row.get("accepted", 1.0), ranks=row.get("nodes", 1))
        out.append({**row, "size": size, "made": made, "error": made.expected / row["tok_s"] - 1})
    return out


def left_out(rows: list[dict[str, Any]]) -> float:
    """Median error when each row is predicted with constants that were fitted to the others."""
    grid = [(share / 100, layer * 1e-6) for share in range(64, 92, 2) for layer in range(0, 140, 20)]

    def error(row: dict[str, Any], share: float, layer: float) -> float:
        reading = row["made"].read_gib * 2**30 / speed.BANDWIDTH
        return abs(1 / (reading / share + len(row["size"].shape.layers) * layer) / row["tok_s"] - 1)

    table = [[error(row, *constants) for row in rows] for constants in grid]
    errors = []
    for at in range(len(rows)):
        best = min(table, key=lambda line: statistics.median(line[:at] + line[at + 1 :]))
        errors.append(best[at])
    return statistics.median(errors)


def prefill_rows() -> list[dict[str, Any]]:
    out = []
    for row in RESULTS["prefill"]:
        size = sized(row["model"], row["weights"])
        out.append({**row, "size": size, "made": speed.prefill_speed(size)})
    return out


def page() -> str:
    """The whole page."""
    rows = decode_rows()
    one = [row for row in rows if row.get("nodes", 1) == 1 and "accepted" not in row]
    beyond = [row for row in rows if abs(row["error"]) > OUTLIER]
    text = [
        "# Expected speed, and what was published",
        _fill(
            "Made by `bench/roofline.py` from `fixtures/models.json` (config values of the models) and",
            "`fixtures/gb10-results.yaml` (published results of DGX Sparks, one request alone). Do not edit by hand.",
        ),
        "## The sum",
        "    seconds a step = bytes read / (273 GB/s x share reached) + layers x 60 us\n"
        "    tokens a second = accepted length / seconds a step",
        _sum(one),
        "## How well it holds",
        _held(rows, one),
        _table(
            "model | weights | engine | context | read, GiB | ceiling | expected (band) | measured | error | source",
            [_line(row) for row in rows],
        ),
        _fill(
            "Engine: one node unless it says two. Accepted length 1 unless it says otherwise. Error: expected over",
            "measured, less 1.",
        ),
        f"## Outliers (more than {OUTLIER:.0%})",
        "\n".join(_fill(f"- {_who(row)}: {row['why']}", hang="  ") for row in beyond),
        "## Prefill",
        _fill(
            "Two operations for each active parameter and token, over what published prefills reach: 45 to 170 TFLOP/s",
            "for dense models, 13 to 57 for sparse ones, whose experts see few tokens each. The bands span these rows,",
            "and are no finer than that: engine and format decide where in them a prefill falls.",
        ),
        _table("model | weights | engine | prompt | band, tok/s | measured | source", map(_prefill, prefill_rows())),
        "## Playbook B, section 0",
        _playbook(),
    ]
    return "\n\n".join(text) + "\n"


def _fill(*lines: str, hang: str = "") -> str:
    return textwrap.fill(" ".join(lines), 118, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


def _table(head: str, rows: Iterable[str]) -> str:
    return "\n".join([f"| {head} |", "|" + " --- |" * (head.count("|") + 1), *rows])


def _sum(one: list[dict[str, Any]]) -> str:
    reached = sorted(row["tok_s"] * row["made"].read_gib * 2**30 / speed.BANDWIDTH for row in one)
    quarter = len(reached) // 4
    return _fill(
        "Bytes read: each active weight by its format, scales included, and the sequence's KV cache. The share reached",
        "is",
        f"{speed.REACHED} for the expected figure, {speed.REACHED_LOW} and {speed.REACHED_HIGH} for the band. A kernel",
        "that only reads reaches 0.85 (231 to 234 GB/s, antirez/ds4#773). Two nodes with TP=2 read half each, and add",
        "100 us a layer for the link. These constants are the same for all rows.",
        f"Of the {len(one)} rows of one node without speculation, the middle half reach {reached[quarter]:.2f} to",
        f"{reached[-quarter - 1]:.2f} of 273 GB/s with everything in a step counted.",
    )


def _held(rows: list[dict[str, Any]], one: list[dict[str, Any]]) -> str:
    median = statistics.median(abs(row["error"]) for row in one)
    every = statistics.median(abs(row["error"]) for row in rows)
    near = sum(abs(row["error"]) <= OUTLIER for row in rows)
    return _fill(
        f"Median error: {median:.0%} over {len(one)} results of one node, {every:.0%} over all {len(rows)}.",
        f"{near} of {len(rows)} are within {OUTLIER:.0%}; the others are explained below. Both constants (0.75, 60 us)",
        "were chosen on these rows, in round numbers. Fitted anew without a row, they predict that row with a median",
        f"error of {left_out(one):.0%}.",
    )


def _who(row: dict[str, Any]) -> str:
    return f"{row['model']}, {row['weights']}, {row['engine']} ({row['error']:+.0%})"


def _line(row: dict[str, Any]) -> str:
    made: speed.DecodeSpeed = row["made"]
    engine = row["engine"] + (", two nodes" if row.get("nodes", 1) == 2 else "")
    engine += f", accepted length {row['accepted']}" if "accepted" in row else ""
    band = f"{_short(made.expected)} ({_short(made.low)} to {_short(made.high)})"
    cells = [row["model"], row["weights"], engine, str(row["context"]), f"{made.read_gib:.1f}", _short(made.ceiling)]
    return "| " + " | ".join([*cells, band, f"{row['tok_s']:g}", f"{row['error']:+.0%}", row["source"]]) + " |"


def _prefill(row: dict[str, Any]) -> str:
    made: speed.PrefillSpeed = row["made"]
    return (
        f"| {row['model']} | {row['weights']} | {row['engine']} | {row['prompt']} | {made.low:.0f} to {made.high:.0f} "
        f"| {row['tok_s']:g} | {row['source']} |"
    )


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 20 else f"{value:.0f}"


DENSE_70B = ("Llama-3.3-70B-Instruct", "fp8")
DENSE = (("Qwen3-8B", "bf16"), ("Qwen3-14B", "fp8"), ("Qwen3.5-27B", "Q4_K_M"), ("gemma-3-27b-it", "Q4_0"))
SPARSE = (
    ("Qwen3.5-122B-A10B", "nvfp4"), ("Qwen3-30B-A3B", "bf16"), ("gpt-oss-120b", "mxfp4 experts"),
    ("Qwen3-30B-A3B", "fp8"), ("NVIDIA-Nemotron-3-Nano-30B-A3B", "nvfp4"), ("Qwen3-30B-A3B", "nvfp4"),
)  # fmt: skip
"""Models that its author may have had: which they were is not told."""


def _playbook() -> str:
    dense = ", ".join(f"{name} {weights} {_short(_expected(name, weights))}" for name, weights in DENSE)
    sparse = ", ".join(f"{name} {weights} {_short(_expected(name, weights))}" for name, weights in SPARSE)
    big = _short(_expected(*DENSE_70B))
    lines = [
        f"- *A 70B dense model at about 2.9 tok/s*: {DENSE_70B[0]} in FP8 is expected at {big}.",
        f"- *Dense models at 13 to 14 tok/s regardless of size*: {dense}. The sum says that size does matter: 13 to 14 "
        "is what an 8B model gives in 16 bits, a 14B in 8 and a 27B in 4.",
        f"- *Sparse models at 27 to 230 tok/s*: {sparse}. Above about 100, speculation has a part, or fewer than 3B "
        "active parameters.",
    ]
    return "\n".join(_fill(line, hang="  ") for line in lines)


def _expected(name: str, weights: str) -> float:
    return speed.decode_speed(sized(name, weights), 512).expected


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    else:
        sys.stdout.write(page())
