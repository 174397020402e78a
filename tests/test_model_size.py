"""Sums from config.json against published sizes; bytes by format; the cache of each kind of attention."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdiag.derive.model_quant import read_quantization
from sparkdiag.derive.model_size import ModelSize, model_size

from .corpus import FIXTURES

MODELS: dict[str, Any] = json.loads((FIXTURES / "models.json").read_text())["models"]
GIB = 2**30


def sized(name: str, **more: Any) -> ModelSize:
    size = model_size({**MODELS[name]["config"], **more})
    assert size is not None
    return size


@pytest.mark.parametrize("name", sorted(MODELS))
def test_parameters_are_those_that_the_authors_publish(name: str) -> None:
    size, published = sized(name), MODELS[name]["published"]
    assert size.parameters / 1e9 == pytest.approx(published["total"], rel=0.02)
    # publishers round, and some count the input embedding, which no token streams
    table = next(part.parameters for part in size.parts if part.name == "embedding")
    low, high = size.active_parameters / 1e9, (size.active_parameters + table) / 1e9
    assert low * 0.8 <= published["active"] <= high * 1.1


def test_at_least_fifteen_models_of_all_kinds_are_checked() -> None:
    kinds = {(sized(name).dense, sized(name).attention) for name in MODELS}
    assert len(MODELS) >= 15
    assert {(True, "GQA"), (False, "GQA"), (False, "MLA"), (False, "hybrid GQA"), (True, "sliding GQA")} <= kinds


NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}


@pytest.mark.parametrize(
    ("name", "settings", "format", "gib"),
    [
        # sizes of published checkpoints, as their shards add up
        ("gpt-oss-120b", None, "mxfp4", 60.8),
        ("gpt-oss-20b", None, "mxfp4", 12.8),
        ("Qwen3-32B", {"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", 31.9),
        ("Qwen3-32B", {"quant_method": "awq", "bits": 4, "group_size": 128}, "int4", 18.0),
        ("Llama-3.3-70B-Instruct", NVFP4, "nvfp4", 39.8),
        ("Qwen3-30B-A3B", NVFP4, "nvfp4", 16.9),
        (
            "DeepSeek-V3",
            {"quant_method": "fp8", "weight_block_size": [128, 128]},
            "fp8",
            626.7,
        ),
    ],
)
def test_bytes_by_format(name: str, settings: dict[str, Any] | None, format: str, gib: float) -> None:
    size = sized(name, **({"quantization_config": settings} if settings else {}))
    assert size.quantization.format == format
    assert size.weights_bytes / GIB == pytest.approx(gib, rel=0.03)


def test_what_an_export_leaves_out_keeps_sixteen_bits() -> None:
    exempt = {**NVFP4, "ignore": ["lm_head", "model.layers.*.self_attn*"]}
    named = {**NVFP4, "ignore": ["lm_head", *(f"model.layers.{n}.self_attn" for n in range(48))]}
    pattern = {
        "config_groups": {"g": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}}}
    }
    pattern |= {"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*"]}
    sizes = [sized("Qwen3-30B-A3B", quantization_config=given).weights_bytes for given in (exempt, named, pattern)]
    assert len({round(size) for size in sizes}) == 1
    attention = next(p.parameters for p in sized("Qwen3-30B-A3B").parts if p.name == "attention")
    covered = sized("Qwen3-30B-A3B", quantization_config=NVFP4).weights_bytes
    assert sizes[0] - covered == pytest.approx(attention * (16 - 4.5) / 8)


def test_a_mixed_export_says_it_layer_by_layer() -> None:
    layers = {f"model.layers.{n}.mlp.experts.0.gate_proj": {"quant_algo": "NVFP4"} for n in range(48)}
    layers |= {f"model.layers.{n}.self_attn.q_proj": {"quant_algo": "FP8"} for n in range(48)}
    quant = {"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}}
    size = model_size(MODELS["Qwen3-30B-A3B"]["config"], quant=quant)
    assert size is not None
    assert size.quantization.format == "mixed"
    bits = {part.name: round(part.bytes * 8 / part.parameters, 2) for part in size.parts}
    assert (bits["experts"], bits["lm_head"]) == (4.5, 16)
    assert 8 <= bits["attention"] < 16


def test_the_index_decides() -> None:
    names = [
        f"model.layers.{n}.mlp.experts.0.gate_proj.{last}" for n in range(48) for last in ("weight", "weight_scale")
    ]
    names += [f"model.layers.{n}.self_attn.q_proj.weight" for n in range(48)]
    index = {"metadata": {"total_size": 18 * GIB}, "weight_map": dict.fromkeys(names, "model.safetensors")}
    size = model_size({**MODELS["Qwen3-30B-A3B"]["config"], "quantization_config": NVFP4}, index=index)
    assert size is not None
    assert (size.weights_bytes, size.weights_measured) == (18 * GIB, True)
    bits = {part.name: part.bytes * 8 / part.parameters for part in size.parts}
    assert bits["experts"] == 4.5
    assert bits["attention"] > 10


@pytest.mark.parametrize(
    ("name", "per_token", "at_32k_mib"),
    [
        ("Qwen3-32B", 256 * 1024, 8192),
        ("Llama-3.3-70B-Instruct", 320 * 1024, 10240),
        ("DeepSeek-V3", 61 * 576 * 2, 2145),
        ("gpt-oss-120b", 36 * 1024, 1157),
        ("gemma-3-27b-it", 80 * 1024, 2976),
        ("Qwen3-Next-80B-A3B-Instruct", 24 * 1024, 842),
    ],
)
def test_the_cache_of_a_sequence(name: str, per_token: float, at_32k_mib: float) -> None:
    kv = sized(name).kv
    assert kv.of(200_001) - kv.of(200_000) == per_token
    assert kv.of(32768) / 2**20 == pytest.approx(at_32k_mib, rel=0.03)


def test_an_fp8_cache_takes_half() -> None:
    plain, eight = (model_size(MODELS["Qwen3-32B"]["config"], kv_dtype=dtype) for dtype in ("auto", "fp8_e4m3"))
    assert plain is not None
    assert eight is not None
    assert eight.kv.token_bytes * 2 == plain.kv.token_bytes


def test_what_is_not_known_is_said() -> None:
    size = sized("Qwen3-32B", quantization_config={"quant_method": "novel"})
    assert (size.quantization.format, size.unknown) == ("unknown", ("what novel makes of the weights",))
    assert sized("Qwen3-32B").unknown == ()


def test_a_config_without_dimensions_gives_no_sum() -> None:
    assert model_size({}) is None
    assert model_size({"hidden_size": 4096, "num_hidden_layers": 10**9, "num_attention_heads": 4}) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
KEYS = sorted({key for entry in MODELS.values() for key in entry["config"]} | {"quantization_config", "text_config"})


@settings(deadline=None)
@given(st.sampled_from(sorted(MODELS)), st.dictionaries(st.sampled_from(KEYS), values, max_size=4), values)
def test_whatever_a_config_holds_the_sums_are_numbers_or_none(name: str, broken: dict[str, Any], quant: Any) -> None:
    config = {**MODELS[name]["config"], **broken, "quantization_config": quant}
    size = model_size(config)
    if size is not None:
        assert 0 <= size.streamed_bytes <= sum(part.bytes for part in size.parts) + 1
        assert size.kv.of(1000) >= 0
        assert isinstance(size.attention, str)


def test_patterns_that_could_run_away_are_not_run() -> None:
    config = {
        "quantization_config": {"quant_method": "compressed-tensors", "ignore": ["re:(a*)*b", "re:(", "re:.*mlp.*"]}
    }
    config["quantization_config"]["config_groups"] = {"g": {"weights": {"num_bits": 8, "type": "float"}}}  # type: ignore[assignment]
    read = read_quantization(config)
    assert (read.bits("model.layers.0.self_attn.q_proj"), read.bits("model.layers.0.mlp.gate_proj")) == (8, 16)
