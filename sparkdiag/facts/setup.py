"""Facts about what is about to be started: a launch and its model's files, put together before anything runs.

They are made by sparkdiag.advise alone, so a rule that asks for one speaks in `lint` and never of a running server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import ClassVar

from ..records import dataclass
from .base import Fact, Source, places_among


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed(Fact):
    """Facts that know where each of their fields comes from."""

    lines: Mapping[str, Source] = field(default_factory=dict)
    """The place of each field that is shown somewhere, by the field's name."""

    def places(self, names: Iterable[str]) -> tuple[Source, ...]:
        return places_among(self.lines, names, self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup(_Placed):
    """One launch of an engine against the model that it serves: parsers, formats, kernels."""

    kind: ClassVar[str] = "setup"
    form: str
    engine: str | None = None
    version: str | None = None
    """The engine's, where the image's tag or the caller tells it."""
    architecture: str | None = None
    utilization: float | None = None
    batched_tokens: int | None = None
    sequences: int | None = None
    family: str | None = None
    """Of the model: qwen3-coder, gpt-oss, glm-4.5 ..."""
    named: str | None = None
    """The model as the launch names it."""
    thinks: bool | None = None
    """The model thinks unless it is told not to; False where its template or its name rules that out."""
    think_tags: str | None = None
    """How it marks its thoughts: think, channel, mistral, seed, gemma, granite ..."""
    opens_think: bool | None = None
    """The template's generation prompt ends in an open think tag."""
    template: bool = False
    """The template itself was read."""
    template_plain: bool = False
    """It was read, and knows no thinking at all."""
    enable_reasoning: bool = False
    """The switch that vLLM had before --reasoning-parser alone was enough."""
    reasoning_parser: str | None = None
    parser_tags: str | None = None
    """Which marks that parser splits on."""
    parser_needs_open: bool | None = None
    """It waits for an opening tag in the output."""
    parser_eats_plain: bool | None = None
    """It files text without any tag as thought."""
    parser_names: tuple[str, ...] = ()
    """Names that the parser files beside the launch register."""
    parser_registered: bool | None = None
    """Whether the file registers the name asked for; None without a file, or for a name that the engine has."""
    parser_only_in_file: bool = False
    """Such a file registers the name asked for, and the engine is not known to have it."""
    parser_other: str | None = None
    """The name by which this engine knows it, where the given one belongs to another engine."""
    plugin: str | None = None
    tool_parser: str | None = None
    tool_other: str | None = None
    tool_style: str | None = None
    """How the model writes calls: hermes, qwen-xml, glm, mistral, harmony ..."""
    tool_parser_style: str | None = None
    tool_parser_fits: bool | None = None
    tool_switch: bool = False
    """--enable-auto-tool-choice"""
    context: int | None = None
    """--max-model-len, in tokens."""
    native_context: int | None = None
    context_stretched: bool | None = None
    """Launch or config stretches the positions on purpose."""
    format: str | None = None
    """Of the weights: nvfp4, mxfp4, fp8, awq, gptq, mixed, bf16 ..."""
    moe: bool | None = None
    dense: bool | None = None
    hybrid: bool | None = None
    """SSM, Mamba or linear-attention layers."""
    streamed_gib: float | None = None
    """Weights that one token reads when it is alone."""
    ceiling_tok_s: float | None = None
    """Tokens per second that the memory bandwidth allows for one request, without speculation."""
    backend: str | None = None
    """Kernels asked for by name: marlin, native, emulation; None where the engine chooses."""
    tokenizer_class: str | None = None
    tokenizer_decoder: str | None = None
    """Of tokenizer.json: ByteLevel, Metaspace ..."""
    transformers_major: int | None = None
    """Of the transformers that saved the files."""
    remote_code: bool | None = None
    """The launch lets the model's own code run."""
    depth: int | None = None
    """Tokens drafted a step."""
    block: int | None = None
    """What the drafter was trained at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit(_Placed):
    """The memory sum of one node before the start, in GiB of its unified pool. Unknown sizes are None."""

    kind: ClassVar[str] = "fit"
    total_gib: float
    utilization: float
    utilization_told: bool = True
    """False: the engine's default."""
    utilization_by: str = ""
    """The same in words."""
    budget_gib: float
    """utilization x total: weights, cache and the engine's own work."""
    beside_low_gib: float
    """What is used outside the budget on a lean host: system, Python processes, CUDA context."""
    beside_high_gib: float
    """The same as it was measured on a host in daily use."""
    used_gib: float
    """Budget and what is beside it on the busy host: what `free` shows while serving."""
    left_low_gib: float
    """Left for the system on the busy host."""
    left_high_gib: float
    """Left on the lean one."""
    left_at_45_gib: float
    """Left on the busy host at 0.45."""
    left_at_85_gib: float
    weights_gib: float | None = None
    """On this node."""
    whole_gib: float | None = None
    """Weights of the whole model, over all nodes."""
    cache_one_gib: float | None = None
    """KV cache of one sequence of the whole context, on this node."""
    cache_all_gib: float | None = None
    """Of all sequences that the launch admits, each at its full length."""
    context: int | None = None
    sequences: int | None = None
    inside_gib: float
    """What the engine needs inside its budget beside weights and cache: activations, graphs, workspace."""
    need_gib: float | None = None
    """Weights, one full context, and the engine's own."""
    need_utilization: float | None = None
    """The smallest utilization that holds it."""
    advised: float | None = None
    """A utilization that holds what is needed, a tenth to spare, and leaves the system its share; None: no such."""
    room_gib: float | None = None
    """Budget less what is needed: clearly below zero the start is refused."""
    weights_room_gib: float | None = None
    """Budget less weights alone."""
    room_at_45_gib: float | None = None
    room_at_85_gib: float | None = None
    alone_room_gib: float | None = None
    """What one node at 0.80 would have left if it served the whole model."""
    nodes: int = 1
    batched_tokens: int | None = None
    exact: bool = False
    """Weights by the checkpoint's own files, and nothing about its shape is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement(_Placed):
    """Where the ranks of one launch go: DGX Sparks have one GPU each."""

    kind: ClassVar[str] = "placement"
    form: str
    engine: str | None = None
    version: str | None = None
    ranks: int = 1
    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    nodes: int = 1
    """Over which the launch says that they are spread."""
    spread: str | None = None
    """How it says so: nnodes, ray, sparkrun, data-parallel."""
    surplus: int = 0
    """Ranks that find no GPU on the one node that the launch knows of."""
    certain: bool = False
    """Nothing outside of what was read can bring further GPUs: the launch is its container's own command."""
    executor: str | None = None
    ray_started: bool = False
    """What was read starts Ray."""
    network: str | None = None
    """host, bridge, or another network's name; None where there is no container."""
    host_ip: str | None = None
    gloo_interface: str | None = None
    nccl_interface: str | None = None
    loopback: bool | None = None
    """An address or interface between the nodes is the loopback."""
    pinned: bool | None = None
    """Address and interfaces between the nodes are all set."""
    ray_v2: bool | None = None
    address_on: int = 1
    """Nodes that are told this launch's own address."""
    channel: str | None = None
    """VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE"""
    thinks: bool | None = None
    min_nodes: int | None = None
    """A recipe's."""
    service_engines: int = 1
    """Engines that what was read starts on one node."""
    service_share: float | None = None
    """The sum of their utilizations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(_Placed):
    """How a container of a launch is started."""

    kind: ClassVar[str] = "entry"
    form: str
    engine: str | None = None
    image: str | None = None
    entrypoint: str | None = None
    """What the image's own entrypoint is known to be: engine, wrapper (runs its arguments), or None."""
    overridden: bool = False
    """The launch sets the entrypoint itself."""
    begins: str | None = None
    """The first word of the command: options, model, program, shell."""
    command: str | None = None
    gpu: bool | None = None
    amd64: bool | None = None
    """Image or platform is for x86-64."""
    ipc_shared: bool = False
    shm_gib: float | None = None
    privileged: bool = False
    devices: bool = False
    capabilities: tuple[str, ...] = ()
    docker_socket: bool = False
    restart: str | None = None
    unit: bool = False
    user_unit: bool | None = None
    linger: bool | None = None
    """What was read switches linger on, or shows it on."""
    container: str | None = None
    removed: bool | None = None
    """The container of the last run is gone at the next start: --rm, or a removal before it."""
    started_again: bool = False
    """docker start of an old container."""
    ray: bool = False
    sparkrun: str | None = None
    """sparkrun's version, where the caller tells it."""
    cache_redirected: bool | None = None
    """HOME, VLLM_CACHE_ROOT and TRITON_CACHE_DIR are set."""
    enters_cache: bool | None = None
    """A recipe's command changes into the mounted cache first."""
    stops_blind: bool = False
    """A script stops a sparkrun workload without naming its cluster."""
    unfollowed: bool = False
    """A script runs sparkrun without following it (--no-follow)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin(_Placed):
    """Who published what a launch runs: an image or weights."""

    kind: ClassVar[str] = "origin"
    what: str
    """image or weights."""
    name: str
    publisher: str | None = None
    known: bool | None = None
    """The publisher is one with a public record; None where the name tells no publisher."""
    official: bool | None = None
    """An image of the engine's or the vendor's own; weights of the model's author. None: cannot tell."""
    author: str | None = None
    """The organisation that made the model, where its name tells."""
    instead: str | None = None
    """The official counterpart, where there is one."""
    tag: str | None = None
    pinned: bool | None = None
    """By a digest, a commit or a version's tag."""
    local: bool = False
    """A path on the node."""
    quantized_by_other: bool = False
    """A quantized copy by somebody else than the author."""
    blast: str | None = None
    """What it could reach: privileged, the Docker socket, devices, code of the model's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserFile(Fact):
    """A Python file beside a model that registers parsers."""

    kind: ClassVar[str] = "parser-file"
    reasoning: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
