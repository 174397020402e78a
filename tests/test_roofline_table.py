"""Expected speeds against published ones, and docs/roofline.md as its generator makes it."""

from __future__ import annotations

import importlib.util
import statistics
from types import ModuleType
from typing import Any

import pytest

from sparkdiag.derive.expected_speed import decode_speed

from .corpus import FIXTURES


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_roofline", FIXTURES.parent / "bench" / "roofline.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(bench: ModuleType) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = bench.decode_rows()
    return made


def test_the_page_is_what_its_generator_makes(bench: ModuleType) -> None:
    assert bench.PAGE.read_text() == bench.page()


def test_published_results_of_many_kinds_are_met(rows: list[dict[str, Any]]) -> None:
    assert len(rows) >= 15
    assert {row["size"].dense for row in rows} == {True, False}
    assert len({row["weights"] for row in rows}) >= 5
    assert statistics.median(abs(row["error"]) for row in rows) <= 0.12
    assert all(row["source"] for row in rows)


def test_every_outlier_is_explained(bench: ModuleType, rows: list[dict[str, Any]]) -> None:
    assert [row["model"] for row in rows if abs(row["error"]) > bench.OUTLIER and not row.get("why")] == []
    assert [row["model"] for row in rows if abs(row["error"]) <= bench.OUTLIER and row.get("why")] == []


def test_prefills_lie_in_the_band(bench: ModuleType) -> None:
    for row in bench.prefill_rows():
        assert row["made"].low <= row["tok_s"] <= row["made"].high, row["model"]


def test_playbook_b_s_figures(bench: ModuleType) -> None:
    """2.9 for a 70B dense model, 13 to 14 for dense ones, 27 and more for sparse ones."""
    assert bench._expected(*bench.DENSE_70B) == pytest.approx(2.9, rel=0.1)
    for name, weights in bench.DENSE:
        assert 10.5 <= bench._expected(name, weights) <= 15
    for name, weights in bench.SPARSE:
        assert 27 <= bench._expected(name, weights) <= 230


def test_the_sum_itself(bench: ModuleType) -> None:
    size = bench.sized("Qwen3-8B", "bf16")
    plain, long = decode_speed(size, 100), decode_speed(size, 40_000)
    assert plain.low < plain.expected < plain.high < plain.ceiling
    assert long.expected < plain.expected
    assert decode_speed(size, 100, accepted=2.0).expected == pytest.approx(2 * plain.expected)
    pair = decode_speed(size, 100, ranks=2)
    assert plain.expected < pair.expected < 2 * plain.expected
    assert pair.read_gib == pytest.approx(plain.read_gib / 2)
