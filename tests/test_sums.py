"""Sums over facts: the memory budget of a start, who shares the pool, draft acceptance, the bandwidth ceiling."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkdiag.derive.clusters import cluster_launches
from sparkdiag.derive.memory import memory_budgets
from sparkdiag.derive.model_size import model_size
from sparkdiag.derive.roofline import rooflines
from sparkdiag.derive.speculation import drafting
from sparkdiag.derive.sums import sums
from sparkdiag.derive.tenancy import tenancies
from sparkdiag.facts import Fact, LogHit, Where
from sparkdiag.facts.container import Container
from sparkdiag.facts.launch import Launch
from sparkdiag.facts.metrics import MetricsSample
from sparkdiag.facts.model import ModelConfig
from sparkdiag.facts.node import MemorySample, ProcessSeen
from sparkdiag.facts.sums import Drafter

from .corpus import FIXTURES


def log(
    signature: str, order: int = 0, *, process: str | None = None, where: Where | None = None, **captures: Any
) -> LogHit:
    return LogHit(
        signature=signature, captures=captures, order=order, last_order=order, process=process, where=where or Where()
    )


def launch(
    order: int = 0, *, partial: bool = False, engine: str = "vllm", model: str | None = "m", **flags: Any
) -> Launch:
    return Launch(form="args", engine=engine, model=model, flags=flags, partial=partial, order=order)


def values(fact: Fact, *names: str) -> tuple[Any, ...]:
    return tuple(fact.get(name) for name in names)


def budget(*facts: Fact) -> Fact:
    fact, _ = memory_budgets(facts)
    return fact


def test_the_sum_of_a_start_that_lost_its_budget() -> None:
    fact = budget(
        launch(gpu_memory_utilization=0.5),
        log("model-weights-size", 1, gib=16.4),
        log("kv-memory-found", 2, gib=9.5),
        log("kv-below-context", 3, length=262144, need=24.0, have=9.5),
    )
    assert values(fact, "asked_gib", "weights_gib", "expected_gib", "found_gib") == (60.8, 16.4, 44.4, 9.5)
    assert values(fact, "gap_gib", "gap_share", "would_fit", "total_assumed") == (34.9, 0.574, True, True)


def test_the_total_is_taken_from_what_tells_it() -> None:
    found = log("kv-memory-found", 2, gib=9.5)
    assert budget(found, MemorySample(by="free", total_gib=119.7)).get("total_gib") == 119.7
    refused = log("free-below-budget", 1, free=51.1, total=121.63, util=0.9, need=109.47)
    assert values(budget(refused), "total_gib", "free_gib", "safe_utilization", "total_assumed") == (
        121.63,
        51.1,
        0.41,
        False,
    )


def test_utilization_is_the_default_only_of_a_launch_seen_whole() -> None:
    found = log("kv-memory-found", 2, gib=9.5)
    assert budget(found, launch()).get("utilization") == 0.9
    assert budget(found, launch(partial=True)).get("utilization") is None
    assert budget(found, launch(kv_cache_memory_bytes=10**10)).get("utilization") is None
    assert budget(found, MetricsSample(gpu_memory_utilization=0.6)).get("utilization") == 0.6


def test_weights_of_another_process_or_run_do_not_count() -> None:
    facts = (
        launch(gpu_memory_utilization=0.5),
        log("model-weights-size", 1, gib=10.0, process="Worker_TP0"),
        log("model-weights-size", 2, gib=30.0, process="Worker_TP1"),
        log("kv-memory-found", 3, gib=5.0, process="Worker_TP0"),
    )
    assert budget(*facts).get("weights_gib") == 10.0
    later = log("kv-memory-found", 5, gib=5.0, where=Where(run="2"))
    earlier = log("model-weights-size", 1, gib=10.0, where=Where(run="1"))
    assert budget(later, earlier).get("weights_gib") is None


def test_the_older_summary_holds_the_sum_itself() -> None:
    fact = budget(log("profiling-summary", 1, total=121.63, util=0.5, weights=16.4, non_torch=39.1, peak=5.7, kv=-0.39))
    assert values(fact, "asked_gib", "expected_gib", "found_gib", "gap_gib") == (60.81, 44.41, -0.39, 44.8)


# -- tenancy --------------------------------------------------------------------------------------------------------


def holder(pid: int, name: str, gib: float, role: str | None = "core") -> ProcessSeen:
    return ProcessSeen(by="nvidia-smi", pid=pid, name=name, engine="vllm", role=role, memory_gib=gib)


def test_ranks_belong_to_their_engine() -> None:
    fact, _ = tenancies([holder(1, "VLLM::EngineCore", 2.0), holder(2, "VLLM::Worker_TP0", 60.0, "worker")])
    assert values(fact, "holders", "held_gib", "holder", "holder_pid") == (1, 62.0, "VLLM::Worker_TP0", 2)
    two, _ = tenancies([holder(1, "VLLM::EngineCore", 40.0), holder(2, "VLLM::EngineCore", 60.0)])
    assert two.get("holders") == 2


def test_the_same_process_seen_twice_and_a_desktop_are_no_tenants() -> None:
    fact, _ = tenancies(
        [holder(1, "VLLM::EngineCore", 40.0), holder(1, "VLLM::EngineCore", 41.0), holder(9, "Xorg", 0.1, None)]
    )
    assert values(fact, "holders", "held_gib") == (1, 41.0)


def test_containers_count_once_they_have_run_for_a_while() -> None:
    old = Container(by="ps", name="old", state="running", engine="vllm", up_seconds=3600.0)
    new = Container(by="ps", name="new", state="running", engine="vllm", up_seconds=20.0)
    gone = Container(by="ps", name="gone", state="exited", engine="vllm")
    fact, _ = tenancies([old, new, gone])
    assert values(fact, "containers", "names") == (1, ("old",))


def test_shares_of_two_launches_add_up() -> None:
    a, b = launch(port=8000, gpu_memory_utilization=0.6), launch(port=8001, gpu_memory_utilization=0.5)
    fact, _ = tenancies([a, b, launch(port=8000, gpu_memory_utilization=0.6)])
    assert values(fact, "launches", "utilization_sum") == (2, 1.1)
    assert tenancies([a]) == []


# -- drafting -------------------------------------------------------------------------------------------------------


def window(order: int, rate: float, length: float, accepted_tps: float, positions: str = "0.8, 0.6, 0.4") -> LogHit:
    return log(
        "spec-window",
        order,
        rate=rate,
        length=length,
        accepted=100,
        drafted=300,
        accepted_tps=accepted_tps,
        positions=positions,
    )


@pytest.mark.parametrize(
    ("depth", "block", "anchor", "beyond", "agrees"),
    [
        (7, 5, False, True, False),
        (5, 5, False, False, True),
        (7, 8, None, False, True),
        (8, 8, None, False, True),
        (4, 8, True, False, False),
    ],
)
def test_depth_against_the_block(depth: int, block: int, anchor: bool | None, beyond: bool, agrees: bool) -> None:
    facts = [
        Launch(form="args", flags={"speculative_config.num_speculative_tokens": depth}),
        Drafter(block=block, key="block_size", counts_anchor=anchor),
    ]
    fact, _ = drafting(facts)
    assert values(fact, "depth", "beyond_block", "agrees", "windows") == (depth, beyond, agrees, 0)


def test_a_window_that_reaches_back_over_idle_time_tells_no_steps() -> None:
    fact, _ = drafting([window(1, 21.9, 4.28, 0.73)])
    assert values(fact, "acceptance", "steps_per_s", "best_steps_per_s") == (0.219, None, None)


def test_windows_that_differ_and_steps() -> None:
    fact, _ = drafting([window(1, 13.1, 1.92, 10.9), window(10, 51.5, 4.61, 36.9)])
    assert values(fact, "lowest", "highest", "varies", "depth") == (0.131, 0.515, True, 3)
    assert fact.get("steps_per_s") == 11.0
    batched = log("throughput-window", 11, generation=120.0, running=4)
    shared, _ = drafting([window(10, 51.5, 4.61, 36.9), batched])
    assert shared.get("best_steps_per_s") == 2.6
    alike, _ = drafting([window(1, 50.0, 3.0, 20.0), window(2, 52.0, 3.1, 21.0)])
    assert alike.get("varies") is False


def test_acceptance_from_counters_and_from_sglang() -> None:
    fact, _ = drafting(
        [
            MetricsSample(
                drafts=105.0, draft_tokens=630.0, accepted_tokens=149.0, draft_acceptance=0.237, acceptance_length=2.42
            )
        ]
    )
    assert values(fact, "acceptance", "length") == (0.237, 2.42)
    sglang, _ = drafting([log("sglang-decode", 1, running=1, length=3.1, rate=0.72, generation=15.5)])
    assert values(sglang, "acceptance", "steps_per_s") == (0.72, 5.0)
    assert drafting([launch()]) == []


# -- roofline -------------------------------------------------------------------------------------------------------


MODELS = json.loads((FIXTURES / "models.json").read_text())["models"]


@pytest.mark.parametrize(
    ("name", "fixture"),
    [
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("deepseek-ai/DeepSeek-R1", "DeepSeek-V3"),
        ("moonshotai/Kimi-K2-Instruct", "Kimi-K2-Instruct"),
        ("zai-org/GLM-4.5-Air", "GLM-4.5-Air"),
        ("MiniMaxAI/MiniMax-M2.1", "MiniMax-M2"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "Mixtral-8x7B-Instruct-v0.1"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "Llama-4-Scout-17B-16E-Instruct"),
    ],
)
def test_what_a_sparse_model_reads_by_its_name_or_its_config(name: str, fixture: str) -> None:
    size = model_size(MODELS[fixture]["config"])
    assert size is not None
    share = size.streamed_bytes / size.weights_bytes
    speed = [log("model-weights-size", 1, gib=60.0), log("throughput-window", 2, generation=20.0, running=1)]
    named, _ = rooflines([launch(model=name), *speed])
    config = ModelConfig(model_type="x", dimensions=MODELS[fixture]["config"])
    configured, _ = rooflines([launch(model="house/model"), config, *speed])
    assert configured.get("dense") is named.get("dense") is False
    assert configured.get("read_gib") == pytest.approx(60 * share, abs=0.01)
    assert named.get("read_gib") == pytest.approx(60 * share, rel=0.05)


def test_a_cluster_s_weights_by_the_config_before_the_name() -> None:
    served = launch(model="x/Llama-4-Scout-17B-16E", tensor_parallel_size=1, pipeline_parallel_size=2, nnodes=2)
    named = cluster_launches([served])[0]
    assert named.get("weights_gib") == pytest.approx(31.7, abs=0.1)
    config = ModelConfig(model_type="llama4", dimensions=MODELS["Llama-4-Scout-17B-16E-Instruct"]["config"])
    assert cluster_launches([served, config])[0].get("weights_gib") == pytest.approx(200, rel=0.02)
    drafter = ModelConfig(model_type="llama", dimensions=MODELS["Llama-3.1-8B-Instruct"]["config"])
    assert cluster_launches([served, config, drafter])[0].get("weights_gib") == named.get("weights_gib")


def test_a_dense_model_against_its_ceiling() -> None:
    facts = [
        launch(model="nvidia/Llama-3.3-70B-Instruct-NVFP4"),
        log("model-weights-size", 1, gib=39.88),
        log("throughput-window", 2, generation=4.1, running=1),
        log("throughput-window", 3, generation=30.0, running=12),
    ]
    fact, _ = rooflines(facts)
    assert values(fact, "dense", "ceiling_tok_s", "measured_tok_s", "measured_share") == (True, 6.4, 4.1, 0.643)


def test_a_sparse_model_reads_its_active_share() -> None:
    facts = [
        launch(model="Qwen/Qwen3-30B-A3B"),
        log("model-weights-size", 1, gib=57.0),
        log("throughput-window", 2, generation=30.0, running=1),
    ]
    fact, _ = rooflines(facts)
    assert values(fact, "dense", "read_gib") == (False, 5.7)


def test_the_weights_by_the_models_name() -> None:
    facts = [
        launch(model="acme/Llama-3.1-70B-FP8", tensor_parallel_size=2),
        log("measured-interval", 2, milliseconds=200.0),
    ]
    fact, _ = rooflines(facts)
    assert values(fact, "estimated", "weights_gib", "read_gib", "measured_tok_s") == (True, 67.15, 33.57, 5.0)
    assert rooflines([launch(model="acme/house-model"), log("measured-interval", 2, milliseconds=200.0)]) == []


@pytest.mark.parametrize(
    ("model", "dense", "hybrid"),
    [
        ("openai/gpt-oss-120b", False, None),
        ("Qwen/Qwen3-32B", True, None),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", False, True),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", None, True),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", True, None),
        ("acme/house-model", None, None),
    ],
)
def test_what_a_name_tells_of_the_model(model: str, dense: bool | None, hybrid: bool | None) -> None:
    facts = [
        launch(model=model),
        log("model-weights-size", 1, gib=40.0),
        log("throughput-window", 2, generation=4.0, running=1),
    ]
    fact, _ = rooflines(facts)
    assert values(fact, "dense", "hybrid") == (dense, hybrid)


def test_sums_are_made_only_where_their_figures_are() -> None:
    assert sums([launch(), log("server-ready")]) == []
    kinds = {fact.kind for fact in sums([launch(gpu_memory_utilization=0.5), log("kv-memory-found", 1, gib=3.0)])}
    assert kinds == {"budget", "looked"}
