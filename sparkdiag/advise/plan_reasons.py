"""What a plan took for granted, what to try first, and why it did not choose otherwise."""

from __future__ import annotations

import re

from ..derive.model_size import ModelSize
from .plan_inputs import PlannedModel
from .plan_memory import CEILING, HOST_GIB, PAIR_LIMIT_GIB, PAIR_PROVEN_GIB, Fit, available_gib
from .plan_parsers import Parsers
from .plan_settings import PORT, Nodes

SLOW_LOAD_GIB = 40
"""Weights of which a start is long enough to look stuck."""
NEW_TRANSFORMERS = 5
"""A config from this major version on may name an architecture that an image of last year does not know."""

__all__ = ["alternatives", "assumptions", "smoke_tests"]


def assumptions(
    model: PlannedModel, size: ModelSize, fit: Fit, parsers: Parsers, arrangement: str, runtime: str, link: Nodes | None
) -> tuple[str, ...]:
    """What the files do not tell."""
    out = [
        f"The pool has 121.6 GiB, nothing else uses the GPU, and the rest of the machine takes about {HOST_GIB:g} GiB "
        "while serving (field note A): compare MemAvailable after the start."
    ]
    if not size.weights_measured:
        out.append("The weights' size is the sum over the config's dimensions: no safetensors index was read.")
    out += [f"Not known from the config: {what}." for what in size.unknown]
    if not size.shape.context:
        out.append("The config names no native context (max_position_embeddings): check the model card.")
    if model.repository is None and model.path is not None and not model.weights:
        out.append(f"The weights lie beside the config, in {model.path}: there are none now.")
    if runtime == "sparkrun" and model.repository is None:
        out.append("sparkrun fetches a model by org/name: put that where the recipe has a path.")
    if model.repository is None and model.path is None:
        out.append("Put the model's folder where /path/to/the/model stands.")
    if model.template is None:
        out.append("There is no chat template here: the parsers are chosen by family and name alone.")
    if parsers.thinks is None:
        known = f"; its family's is {parsers.family}" if parsers.family else ""
        out.append(f"Nothing tells whether the model thinks, so no reasoning parser is set{known}.")
    if arrangement in ("pair", "each-node") and link is None:
        out.append("192.0.2.1, 192.0.2.2 and enp1s0f0np0 are stand-ins: give --hosts and --interface.")
    if arrangement == "pair":
        out.append("Both nodes have the same image, the model at the same path, and RoCE works on their link.")
    word = "lies above the 65 GiB that are proven" if fit.weights_gib + fit.kv_gib > PAIR_PROVEN_GIB else ""
    if arrangement == "pair" and word:
        out.append(f"The footprint of a node ({fit.need_gib:.0f} GiB) {word}, below the advised 90: watch the load.")
    return tuple(out)


def smoke_tests(
    model: PlannedModel, size: ModelSize, fit: Fit, parsers: Parsers, arrangement: str, engine: str
) -> tuple[str, ...]:
    """What only a real request shows, the likeliest trouble first."""
    out: list[str] = []
    if arrangement == "none":
        return ()
    out += _architecture(model)
    if arrangement == "pair" and engine == "vllm":
        out.append(
            "Before the start, on both nodes: the image must hold Ray (docker run --rm --entrypoint python3 IMAGE -c "
            "'import ray'); several tags do not (image.ray-missing): then add it in a derived image on both nodes."
        )
    if size.shape.mla is not None:
        out.append(
            "MLA: send one real request before anything else; its decode kernel is compiled then, and fails on some "
            "builds (kernel.mla-shape-compatible, kernel.triton-shared-memory). A newer build is the cure."
        )
    if size.shape.count("linear") or size.shape.count("mamba"):
        out.append(
            "Linear attention: the first requests, and the profiling of the cache, meet kernels that may ask for more "
            "shared memory than SM121 has (kernel.triton-shared-memory)."
        )
    if size.quantization.format in ("nvfp4", "mxfp4", "mixed"):
        rule = (
            "output.mxfp4-marlin-corruption"
            if size.quantization.format == "mxfp4"
            else "output.nvfp4-native-corruption"
        )
        out.append(
            f"{size.quantization.format.upper()}: ask a question whose answer is known, several times, on "
            f"/v1/completions too: wrong kernels answer garbage with a healthy server ({rule})."
        )
    if _byte_level(model):
        out.append(
            "The tokenizer class is Llama's and the decoder is byte-level: look for Ġ in the reply "
            "(output.byte-level-artifacts), and patch tokenizer_class if it is there."
        )
    if parsers.reasoning is None and parsers.thinks is None:
        out.append("Look for </think> in a reply's content: if it is there, a reasoning parser is missing.")
    if parsers.tools is not None:
        out.append("Let it make one tool call, and read tool_calls in the reply (output.tool-call-parser-wrong).")
    if fit.weights_gib > SLOW_LOAD_GIB:
        out.append(
            f"Loading {fit.weights_gib:.0f} GiB takes {fit.weights_gib / 7.5:.0f} minutes or more (75 took 10) and is "
            "not stuck while shards come (loading.slow-not-stuck); free the page cache before it if MemFree is low."
        )
    out.append(f"sparkdiag http://NODE:{PORT} --tools does all of this, and names what is wrong.")
    if arrangement == "pair":
        out.append("Let one reply run to several thousand tokens: a stall in mid-reply shows only then.")
        if parsers.thinks:
            out.append(
                "Give replies 8000 tokens or more: a thinking model is cut off otherwise (reasoning.crossnode-budget)."
            )
    return tuple(out)


def _architecture(model: PlannedModel) -> list[str]:
    """What the image must know, by the version of transformers that wrote the config."""
    wrote = re.match(r"(\d{1,3})\.[\w.]{1,16}", str(model.config.get("transformers_version") or ""))
    if wrote is None or int(wrote[1]) < NEW_TRANSFORMERS:
        return []
    return [
        f"The config was written by transformers {wrote[0]}: an image with an older one may not know the architecture, "
        "and ends at once with words that say so (image.architecture-unknown)."
    ]


def _byte_level(model: PlannedModel) -> bool:
    named = model.tokenizer_config.get("tokenizer_class")
    return isinstance(named, str) and named.startswith("LlamaTokenizer") and model.decoder == "ByteLevel"


def alternatives(
    model: PlannedModel, size: ModelSize, fit: Fit, single: Fit, parsers: Parsers, arrangement: str, engine: str
) -> tuple[tuple[str, str], ...]:
    """(what else could be done, why the plan does not)."""
    out: list[tuple[str, str]] = []
    if arrangement in ("one-node", "each-node"):
        out.append((
            "both nodes for one copy (TP=2 or PP=2)",
            "it fits one node: the link would carry every step and can fail; two copies serve more "
            "(crossnode.not-needed)",
        ))  # fmt: skip
        out.append((
            "--gpu-memory-utilization 0.85 (note B)",
            f"it would leave the system {max(0, available_gib(0.85)):.0f} GiB on a machine like note A's, where 0.80 "
            f"made a node unreachable; the numbers need {fit.utilization:g}. On a bare node with MemAvailable to spare "
            "it is usual, and buys cache only",
        ))  # fmt: skip
    if fit.utilization > 0.45 and arrangement != "none":
        need = f"{fit.need_gib:.0f} GiB"
        out.append(("--gpu-memory-utilization 0.45 (note A)", f"it gives 55 GiB, and the need is {need}"))
    if arrangement == "pair":
        out.append((
            "one node",
            f"the need is {single.need_gib:.0f} GiB, and {CEILING * 121.6:.0f} can be given ({CEILING} of the pool)",
        ))  # fmt: skip
        out.append((
            "TP=2 over the link",
            "it exchanges activations in every layer; common in recipes over ConnectX-7, and faster for one request "
            "there: measure both if the speed disappoints (crossnode.tensor-parallel-over-link)",
        ))  # fmt: skip
        out.append((
            "vLLM's own mp executor (--nnodes 2 --node-rank N)",
            "works as well, without Ray; the field notes' experience is with Ray (crossnode.mp-executor)",
        ))  # fmt: skip
        out.append((
            "VLLM_USE_RAY_V2_EXECUTOR_BACKEND and VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE (note B§6)",
            "needed on vLLM 0.20 to 0.24 only: V2 is the default from 0.25, and both are gone by 0.33",
        ))  # fmt: skip
    if arrangement == "none":
        out.append((
            "two nodes",
            f"a node would carry {fit.need_gib:.0f} GiB; {PAIR_LIMIT_GIB:.0f} is the limit, 110 ran out of memory"
            if fit.nodes == 2
            else "not looked at: plan with --nodes 2",
        ))  # fmt: skip
    if size.dense and size.parameters > 8e9:
        out.append((
            "a dense model at all",
            "each token reads all weights; a sparse model of this size decodes several times faster "
            "(launch.dense-over-moe)",
        ))  # fmt: skip
    if arrangement != "none":
        out.append((
            "--kv-cache-dtype fp8",
            "halves the cache, which is not short here; it can cost accuracy"
            if not fit.reduced
            else "would double what the cache holds; it can cost accuracy: try it, with a known question",
        ))  # fmt: skip
        out.append(_ngc(size))
        out.append(("--enforce-eager", "costs about half of the speed on this GPU and saves little memory"))
        out.append((
            "a moving tag (nightly, latest)",
            "the engine changes under an unchanged launch; cu130-nightly stood still for months (image.stale-nightly)",
        ))  # fmt: skip
        out.append((
            "docker start, or a restart policy",
            "a restarted container meets its old /tmp/ray; the unit makes it anew (persistence.stale-ray-state)",
        ))  # fmt: skip
    if size.quantization.format == "mxfp4" and arrangement != "none":
        out.append((
            "--moe-backend emulation (note B§5)",
            "correct everywhere and about 60 times slower: only if a known question is answered wrong",
        ))  # fmt: skip
    if size.shape.mtp_layers and arrangement != "none":
        out.append((
            "speculation with the model's own MTP layers",
            "measure without it first; then the gain is the mean accepted length, which content decides (0.19 "
            "accepted on prose, 0.95 on code, note A), and the depth is the drafter's "
            "(throughput.draft-depth-mismatch)",
        ))  # fmt: skip
    if parsers.reasoning is None:
        out.append(("--reasoning-parser", parsers.reasoning_why))
    if parsers.tools is None:
        out.append(("--tool-call-parser", parsers.tools_why))
    return tuple(out)


def _ngc(size: ModelSize) -> tuple[str, str]:
    lags = "its vLLM is older than the tag's date, and new architectures come later"
    mixed = "it refuses ModelOpt's MIXED_PRECISION, which this checkpoint uses, up to 26.02"
    because = mixed if size.quantization.format == "mixed" and "modelopt" in (size.quantization.method or "") else lags
    return (
        "NVIDIA's image (nvcr.io/nvidia/vllm)",
        f"{because} (image.ngc-mixed-precision, image.architecture-unknown)",
    )
