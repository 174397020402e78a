"""The settings of a launch, each with the rule and the source that set it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..derive.model_size import ModelSize
from .plan_inputs import PlannedModel
from .plan_memory import CEILING, FLOOR, HOST_GIB, MIN_AVAILABLE_GIB, Fit
from .plan_parsers import Parsers

__all__ = ["IMAGES", "Nodes", "Setting", "container_settings", "engine_settings", "link_settings", "short_name"]

IMAGES = {
    "vllm": ("vllm/vllm-openai:v0.28.0", "a release that was measured on a GB10 (vllm-project/recipes PR #918)"),
    "sglang": (
        "lmsysorg/sglang:v0.5.23",
        "a release of 2026 on CUDA 13; smoke-test it, no GB10 figure is known for it",
    ),
}
"""Pinned releases: a moving tag changes the engine under an unchanged launch."""
PORT = 8000
RAY_PORT = 6379


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, and who says so."""

    place: str
    """engine (an option of the server), docker (an option of docker run), env (a variable), or image."""
    name: str
    value: str | None
    """None: a switch."""
    why: str
    rule: str | None = None
    """The diagnosis that it prevents."""
    source: str = ""

    def words(self) -> list[str]:
        """As words of a command line; an image is one word, a variable `-e NAME=VALUE`."""
        if self.place == "env":
            return ["-e", f"{self.name}={self.value}"]
        if self.place == "image":
            return [self.value or ""]
        return [self.name] if self.value is None else [self.name, self.value]


@dataclass(frozen=True, slots=True)
class Nodes:
    """The addresses of two nodes on the link between them, and its interface."""

    head: str
    worker: str
    interface: str


def short_name(name: str) -> str:
    """A name for containers, units and files."""
    short = re.sub(r"[^a-z0-9.-]+", "-", name.rsplit("/", 1)[-1].lower()).strip("-.")
    return short[:48].rstrip("-.") or "model"


def served_as(model: PlannedModel) -> str:
    """The name by which clients ask for it."""
    return re.sub(r"[^\w.-]+", "-", model.name.rsplit("/", 1)[-1]).strip("-")[:80] or "model"


def model_word(model: PlannedModel) -> str:
    """What the engine is told to load: the repository, or the folder as it is mounted."""
    return model.repository or f"/models/{served_as(model)}"


def container_settings(model: PlannedModel, engine: str) -> list[Setting]:
    """Options of docker run, without name and image."""
    root = "$HOME/.cache"
    out = [
        Setting(
            "docker", "--gpus", "all", "without it the engine sees no GPU", "launch.gpu-not-passed", "playbook B§2"
        ),
        Setting("docker", "--ipc", "host", "/dev/shm of 64 MB is too small", "memory.shm-too-small", "playbook B§2"),
        Setting("docker", "-p", f"{PORT}:{PORT}", "clients reach it there", None, "playbook B§2"),
    ]
    if model.repository is not None:
        value = f"{root}/huggingface:/root/.cache/huggingface"
        out.append(Setting("docker", "-v", value, "weights are fetched once", "launch.model-not-found", "playbook B§2"))
    else:
        value = f"{model.path or '/path/to/the/model'}:{model_word(model)}:ro"
        out.append(Setting("docker", "-v", value, "the model's folder", "launch.model-not-found", "playbook B§2"))
    rule, source = "sparkrun.compile-cache-unwritable", "playbook A, sparkrun"
    why = "compiled kernels outlive the container"
    out.append(Setting("docker", "-v", f"{root}/llm-kernels:/kernels", why, rule, source))
    own = ("VLLM_CACHE_ROOT", "vllm") if engine == "vllm" else ("TORCHINDUCTOR_CACHE_DIR", "inductor")
    for name, folder in (own, ("TRITON_CACHE_DIR", "triton")):
        out.append(Setting("env", name, f"/kernels/{folder}", "in the mounted folder", rule, source))
    return out


def link_settings(nodes: Nodes, own: str, engine: str) -> list[Setting]:
    """What both nodes of a pair need at container launch; `own` is this node's address on the link."""
    host = "VLLM_HOST_IP" if engine == "vllm" else "SGLANG_HOST_IP"
    rule = "crossnode.node-ip-not-unique" if engine == "vllm" else "crossnode.queue-on-wrong-network"
    pins = [
        Setting(
            "env", name, nodes.interface, "the link's interface, not loopback or the LAN",
            "crossnode.gloo-on-loopback", "playbook B§6",
        )
        for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
    ]  # fmt: skip
    return [
        Setting("docker", "--network", "host", "the ranks find each other on the link", None, "playbook B§6"),
        Setting(
            "docker", "--ulimit", "memlock=-1", "RDMA buffers are pinned memory", "crossnode.rdma-registration-fails",
            "field report",
        ),
        Setting(
            "docker", "--device", "/dev/infiniband", "RoCE instead of sockets", "crossnode.nccl-transport",
            "field report",
        ),
        Setting("env", host, own, "this node's own address on the link", rule, "playbook B§6"),
        *pins,
    ]  # fmt: skip


def engine_settings(
    model: PlannedModel, size: ModelSize, fit: Fit, parsers: Parsers, engine: str, pair: bool
) -> list[Setting]:
    """Options of the server after its model, in the order in which they are shown."""
    vllm = engine == "vllm"
    native = size.shape.context
    out = [
        Setting("engine", "--served-model-name", served_as(model), "a short name for clients", None, "playbook B§2"),
        Setting(
            "engine", "--max-model-len" if vllm else "--context-length", str(fit.context),
            f"the cache holds {fit.sequences} of these" + (f"; the model's own limit is {native:,}" if native else ""),
            "launch.context-beyond-native", "playbook B§2",
        ),
        _share(size, fit, vllm),
        Setting(
            "engine", "--max-num-seqs" if vllm else "--max-running-requests", str(fit.sequences),
            "as many as the cache holds at full length", "memory.context-exceeds-kv-cache", "playbook B§2",
        ),
    ]  # fmt: skip
    if parsers.reasoning is not None:
        rule = "reasoning.think-tags-leak"
        out.append(
            Setting("engine", "--reasoning-parser", parsers.reasoning, parsers.reasoning_why, rule, "playbook B§4")
        )
    if parsers.tools is not None:
        if vllm:
            why, rule = "tool calls are refused without it", "output.tool-choice-not-enabled"
            out.append(Setting("engine", "--enable-auto-tool-choice", None, why, rule, "playbook B§2"))
        rule = "output.tool-call-parser-wrong"
        out.append(Setting("engine", "--tool-call-parser", parsers.tools, parsers.tools_why, rule, "playbook B§2"))
    out += _kernels(size, engine)
    if model.config.get("auto_map"):
        why = "the model brings Python code (auto_map), which this runs: read it first"
        out.append(
            Setting("engine", "--trust-remote-code", None, why, "launch.remote-code-not-trusted", "playbook B§2, §10")
        )
    if pair:
        out += _pair(engine)
    return out


def _share(size: ModelSize, fit: Fit, vllm: bool) -> Setting:
    number = fit.utilization if vllm else max(0.05, round(fit.utilization - fit.work_gib / 121.6, 2))
    if fit.utilization <= FLOOR:
        why = f"the need ({fit.need_gib:.0f} GiB) is below A's {FLOOR}; B's 0.85 would buy cache that is not needed"
    else:
        why = (
            f"the need is {fit.need_gib:.0f} GiB, more than A's {FLOOR} gives; beside A's {HOST_GIB:g} GiB of overhead "
            f"B's 0.85 would leave the system 1 GiB, this leaves {fit.available_gib:.0f} ({CEILING} is where "
            f"{MIN_AVAILABLE_GIB:g} are left)"
        )
    name = "--gpu-memory-utilization" if vllm else "--mem-fraction-static"
    return Setting("engine", name, f"{number:g}", why, "memory.utilization-too-high", "playbook A; playbook B§0")


def _kernels(size: ModelSize, engine: str) -> list[Setting]:
    """Kernel choices by format, where SM121 is known to need one."""
    if size.quantization.format != "nvfp4" or size.dense:
        return []
    why = "native FP4 expert kernels gave silent garbage on SM121 builds; Marlin was right"
    name = "--moe-backend" if engine == "vllm" else "--moe-runner-backend"
    sources = "NVIDIA/cutlass#3227; vllm-project/recipes PR #854"
    return [Setting("engine", name, "marlin", why, "output.nvfp4-native-corruption", sources)]


def _pair(engine: str) -> list[Setting]:
    rule, source = "crossnode.tensor-parallel-over-link", "playbook B§6"
    why = "activations cross the link once a step, not in every layer"
    if engine == "sglang":
        return [Setting("engine", "--pp-size", "2", why, rule, source)]
    return [
        Setting("engine", "--tensor-parallel-size", "1", "one GPU a node", "launch.parallel-size-mismatch", source),
        Setting("engine", "--pipeline-parallel-size", "2", why, rule, source),
        Setting(
            "engine", "--distributed-executor-backend", "ray", "said outright: newer versions default to mp over nodes",
            "crossnode.mp-executor", source,
        ),
    ]  # fmt: skip
