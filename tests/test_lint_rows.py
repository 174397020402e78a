"""Every row of the field notes that shows before a start has a setup that shows it, and a near miss that is clean."""

from __future__ import annotations

import pytest

from sparkdiag.advise.lint import lint_case
from tests.lint_corpus import documents_of, engines_of, setups

ROWS: list[tuple[str, str, str, str]] = [
    ("B§0 dense or sparse", "launch.dense-over-moe", "dense-model", "sparse-model-near-miss"),
    ("B§0 hybrids", "throughput.hybrid-below-promise", "hybrid-model", "sparse-model-near-miss"),
    ("B§0 the pool at 0.85", "memory.utilization-too-high", "little-left-and-little-needed", "enough-left-near-miss"),
    ("B§0 one model a node", "memory.two-models-one-node", "engines-share-a-node", "engines-divide-a-node-near-miss"),
    (
        "B§1 NGC, mixed precision",
        "image.ngc-mixed-precision",
        "mixed-precision-on-ngc",
        "mixed-precision-on-newer-vllm-near-miss",
    ),
    (
        "B§1 newer architectures",
        "image.architecture-unknown",
        "qwen3-next-on-older-vllm",
        "qwen3-5-on-newer-vllm-near-miss",
    ),
    ("B§1 nightly", "provenance.build-opaque", "image-tag-moves", "image-by-digest-near-miss"),
    (
        "B§2 the template, later",
        "image.architecture-unknown",
        "single-node-template-on-an-old-engine",
        "single-node-template",
    ),
    ("B§2 GPU", "launch.gpu-not-passed", "no-gpu-for-the-container", "gpu-reserved-near-miss"),
    ("B§2 shared memory", "launch.shared-memory-small", "small-shared-memory", "gpu-reserved-near-miss"),
    (
        "B§2 tool parser",
        "output.tool-call-parser-wrong",
        "tool-parser-of-another-family",
        "tool-parser-of-the-family-near-miss",
    ),
    (
        "B§2 tool calling enabled",
        "output.tool-choice-not-enabled",
        "tool-parser-without-the-switch",
        "tool-parser-of-the-family-near-miss",
    ),
    ("B§2 native context", "launch.context-beyond-native", "context-beyond-native", "context-stretched-near-miss"),
    (
        "B§3 exports differ",
        "provenance.weights-not-official",
        "quantized-copy-of-somebody-known",
        "official-image-and-weights-near-miss",
    ),
    (
        "B§3 stale tokenizer",
        "loading.stale-tokenizer-mirror",
        "tokenizer-of-transformers-5",
        "tokenizer-of-transformers-5-on-newer-vllm-near-miss",
    ),
    ("B§6 not needed", "crossnode.not-needed", "model-that-fits-one-node-over-two", "two-nodes-of-65-gib-near-miss"),
    (
        "B§6 topology",
        "crossnode.tensor-parallel-over-link",
        "two-nodes-tensor-parallel",
        "two-nodes-as-the-playbook-says",
    ),
    (
        "B§6 environment",
        "crossnode.addresses-not-pinned",
        "two-nodes-addresses-left-open",
        "two-nodes-as-the-playbook-says",
    ),
    ("B§6 executor", "crossnode.mp-executor", "two-nodes-mp-with-ray", "two-nodes-by-rank-near-miss"),
    ("B§6 row 1", "crossnode.node-ip-not-unique", "one-address-for-two-nodes", "an-address-for-each-node-near-miss"),
    ("B§6 row 2", "crossnode.gloo-on-loopback", "two-nodes-on-loopback", "two-nodes-as-the-playbook-says"),
    (
        "B§6 row 3",
        "crossnode.compiled-graph-deadlock",
        "two-nodes-on-the-compiled-graph",
        "two-nodes-as-the-playbook-says",
    ),
    (
        "B§6 row 3, before 0.20",
        "crossnode.compiled-graph-deadlock",
        "two-nodes-before-the-second-executor",
        "two-nodes-as-the-playbook-says",
    ),
    (
        "B§6 row 4",
        "crossnode.channel-over-shm",
        "two-nodes-channel-over-shared-memory",
        "two-nodes-as-the-playbook-says",
    ),
    (
        "B§6 rows 3 and 4, from 0.25",
        "launch.setting-without-effect",
        "two-nodes-after-the-compiled-graph",
        "two-nodes-as-the-playbook-says",
    ),
    ("B§6 row 5", "crossnode.load-peak-oom", "load-peak-beyond-the-node", "two-nodes-of-65-gib-near-miss"),
    ("B§6 row 6", "crossnode.tensor-parallel-over-link", "two-nodes-tensor-parallel", "two-nodes-as-the-playbook-says"),
    ("B§6 budget", "reasoning.crossnode-budget", "two-nodes-thinking", "two-nodes-as-the-playbook-says"),
    ("B§9 linger, docker group", "persistence.linger-unchecked", "user-unit", "user-unit-with-linger-near-miss"),
    (
        "B§9 recreate",
        "persistence.container-reused",
        "old-container-started-again",
        "unit-removes-its-container-near-miss",
    ),
    (
        "B§9 names",
        "persistence.container-not-removed",
        "unit-leaves-its-container",
        "unit-removes-its-container-near-miss",
    ),
    (
        "B§10 publisher",
        "provenance.publisher-unknown",
        "publisher-of-image-unknown",
        "official-image-and-weights-near-miss",
    ),
    ("B§10 inspectable", "provenance.build-opaque", "image-tag-moves", "image-by-digest-near-miss"),
    (
        "B§10 the author's weights",
        "provenance.weights-not-official",
        "publisher-of-weights-unknown",
        "official-image-and-weights-near-miss",
    ),
    (
        "B§10 blast radius",
        "provenance.blast-radius",
        "container-reaches-the-machine",
        "official-image-and-weights-near-miss",
    ),
    (
        "B§10 official path",
        "provenance.official-path",
        "publisher-of-image-unknown",
        "official-image-and-weights-near-miss",
    ),
    ("A memory", "memory.utilization-too-high", "little-left-and-little-needed", "enough-left-near-miss"),
    ("A stop", "sparkrun.stop-without-cluster", "stop-without-cluster", "stop-with-cluster-near-miss"),
    (
        "A entrypoint",
        "sparkrun.image-entrypoint",
        "recipe-of-an-upstream-image",
        "recipe-with-its-entrypoint-cleared-near-miss",
    ),
    (
        "A working directory",
        "sparkrun.workdir-not-accessible",
        "recipe-without-caches-on-older-sparkrun",
        "recipe-with-caches-on-older-sparkrun-near-miss",
    ),
    (
        "A caches",
        "sparkrun.compile-cache-unwritable",
        "recipe-without-caches-on-older-sparkrun",
        "recipe-with-caches-on-older-sparkrun-near-miss",
    ),
    ("A node count", "sparkrun.solo-placement", "recipe-runs-solo", "recipe-over-two-nodes-near-miss"),
    ("A hang", "sparkrun.download-hang", "run-without-following", "stop-with-cluster-near-miss"),
    (
        "A draft depth",
        "throughput.draft-depth-mismatch",
        "draft-deeper-than-the-drafter",
        "draft-as-deep-as-the-drafter-near-miss",
    ),
]
"""(row, what it is called here, the setup that shows it, the near miss). What only a bench shows stands with bench."""


def _shown(name: str) -> set[str]:
    """Ids in the report, symptoms included, sure or only possible."""
    (folder,) = [one.path for one in setups() if one.id == name]
    report = lint_case(documents_of(folder), engines=engines_of(folder), rule_engine="python").report
    return {d.id for top in report.diagnoses for d in (top, *top.symptoms)}


@pytest.mark.parametrize(("row", "diagnosis", "setup", "near_miss"), ROWS, ids=[row[0] for row in ROWS])
def test_the_row_is_shown_and_its_near_miss_is_clean(row: str, diagnosis: str, setup: str, near_miss: str) -> None:
    assert diagnosis in _shown(setup), row
    assert diagnosis not in _shown(near_miss), row
