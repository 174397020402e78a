"""How large a model is, by arithmetic from its config: parameters, bytes of weights, bytes read a token, KV cache.

    size = model_size(config)                      # config.json, parsed
    size.weights_bytes, size.streamed_bytes        # all of it; what one token reads
    size.kv.of(32768)                              # bytes of one sequence's cache at a context

Pure. Counts follow the published architectures; biases and norms (under 0.1% of a model) are left out, and what a
config does not tell stands in `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records import dataclass
from .model_quant import Quantization, read_quantization
from .model_shape import Layer, Shape, read_shape

__all__ = ["KvCache", "ModelSize", "Part", "model_size"]

KV_BITS = {"fp8": 8, "fp8_e4m3": 8, "fp8_e5m2": 8, "nvfp4": 4.5, "bfloat16": 16, "float16": 16, "auto": 16}
"""Bits of one cached element, by --kv-cache-dtype."""
STATE_BYTES = 4
"""A linear layer's state is kept in fp32."""
INDEX_BYTES_PER_128 = 132
"""A sparse-attention indexer keeps 128 fp8 values and one fp32 scale a token."""


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of weights, over all layers."""

    name: str
    """embedding, lm_head, attention, linear attention, mlp, shared experts, router, experts, vision."""
    parameters: int
    active: int
    """Of those, what one token's forward pass reads."""
    bytes: float
    active_bytes: float


@dataclass(frozen=True, slots=True)
class KvCache:
    """The cache of one sequence."""

    token_bytes: float
    """Bytes a token, in layers that keep all of them."""
    window_token_bytes: float
    """Bytes a token, in sliding layers, up to the window."""
    window: int
    state_bytes: float
    """Bytes of linear-attention or Mamba state, whatever the length."""

    def of(self, tokens: int) -> float:
        """Bytes of one sequence of so many tokens."""
        return self.token_bytes * tokens + self.window_token_bytes * min(tokens, self.window) + self.state_bytes


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The sums of one model."""

    shape: Shape
    quantization: Quantization
    parts: tuple[Part, ...]
    weights_bytes: float
    weights_measured: bool
    """The bytes come from the index's total, not from the sum."""
    kv: KvCache
    unknown: tuple[str, ...]

    @property
    def parameters(self) -> int:
        """All parameters of the language model and a vision tower, without layers for multi-token prediction."""
        return sum(part.parameters for part in self.parts)

    @property
    def active_parameters(self) -> int:
        """What one token passes through: all of a dense model but its input embedding and its vision tower."""
        return sum(part.active for part in self.parts)

    @property
    def streamed_bytes(self) -> float:
        """Bytes of weights that one decoded token reads when it is alone in its batch."""
        return sum(part.active_bytes for part in self.parts)

    @property
    def dense(self) -> bool:
        return self.shape.moe_layers == 0

    @property
    def attention(self) -> str:
        """MLA, MHA, GQA or MQA; `hybrid` before it where linear layers stand between; `sliding` where windows do."""
        shape = self.shape
        kind = (
            "MLA" if shape.mla else "MHA" if shape.kv_heads == shape.heads else "MQA" if shape.kv_heads == 1 else "GQA"
        )
        if shape.count("linear") or shape.count("mamba"):
            if not any(shape.count(name) for name in ("full", "sliding", "mla")):
                return "linear"
            return f"hybrid {kind}"
        return f"sliding {kind}" if shape.count("sliding") else kind


def model_size(
    config: Mapping[str, Any],
    *,
    index: Mapping[str, Any] | None = None,
    quant: Mapping[str, Any] | None = None,
    kv_dtype: str = "auto",
) -> ModelSize | None:
    """The sums of a parsed config.json, or None where it lacks what they need.

    `index` is a parsed model.safetensors.index.json (its total size wins over the sum, its names tell what is
    quantized), `quant` hf_quant_config.json, `kv_dtype` the value of --kv-cache-dtype.
    """
    shape = read_shape(config)
    if shape is None:
        return None
    map = index.get("weight_map") if index else None
    quantization = read_quantization(config, quant, list(map)[:1_000_000] if isinstance(map, Mapping) else ())
    parts = _parts(shape, quantization)
    unknown = list(shape.unknown)
    if not quantization.known:
        unknown.append(f"what {quantization.method or 'its quantization'} makes of the weights")
    measured = _total(index)
    if shape.mtp_layers and measured is None:
        unknown.append("the size of its layers for multi-token prediction, which are not counted")
    if shape.vision[0] and measured is None:
        unknown.append("the exact size of its vision tower")
    return ModelSize(
        shape=shape,
        quantization=quantization,
        parts=parts,
        weights_bytes=measured if measured is not None else sum(part.bytes for part in parts),
        weights_measured=measured is not None,
        kv=_kv(shape, KV_BITS.get(kv_dtype, 16) / 8),
        unknown=tuple(unknown),
    )


def _total(index: Mapping[str, Any] | None) -> float | None:
    metadata = index.get("metadata") if index else None
    total = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    usable = isinstance(total, (int, float)) and not isinstance(total, bool) and 0 < total < 1e15
    return float(total) if usable and total is not None else None


class _Sum:
    """Parameters and bits by part, added up layer by layer."""

    def __init__(self, quantization: Quantization) -> None:
        self.quantization = quantization
        self.rows: dict[str, list[float]] = {}

    def add(self, name: str, module: str, parameters: float, share: float = 1.0) -> None:
        if parameters <= 0:
            return
        size = parameters * self.quantization.bits(module) / 8
        row = self.rows.setdefault(name, [0, 0, 0, 0])
        for at, value in enumerate((parameters, parameters * share, size, size * share)):
            row[at] += value

    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(name, round(r[0]), round(r[1]), r[2], r[3]) for name, r in self.rows.items())


def _parts(shape: Shape, quantization: Quantization) -> tuple[Part, ...]:
    total = _Sum(quantization)
    table = shape.vocab * shape.hidden
    total.add("embedding", "model.embed_tokens", table, 1.0 if shape.tied else 0.0)
    if not shape.tied:
        total.add("lm_head", "lm_head", table)
    for at, layer in enumerate(shape.layers):
        _mixer(total, shape, layer, f"model.layers.{at}")
        _mlp(total, shape, layer, f"model.layers.{at}.mlp")
    depth, width, inner = shape.vision
    total.add("vision", "visual.embed_tokens", depth * (4 * width * width + 2 * width * inner), 0.0)
    return total.parts()


def _mixer(total: _Sum, shape: Shape, layer: Layer, place: str) -> None:
    hidden, kind = shape.hidden, layer.attention
    if kind == "mla" and (mla := shape.mla):
        wide = shape.heads * (mla.nope + mla.rope)
        query = hidden * mla.q_rank + mla.q_rank * wide if mla.q_rank else hidden * wide
        latent = hidden * (mla.kv_rank + mla.rope) + mla.kv_rank * shape.heads * (mla.nope + mla.value)
        index = mla.index_dim * (mla.index_heads * mla.q_rank + hidden) + hidden * mla.index_heads
        total.add("attention", f"{place}.self_attn.q_b_proj", query + latent + index)
        total.add("attention", f"{place}.self_attn.o_proj", shape.heads * mla.value * hidden)
    elif kind in ("full", "sliding"):
        full = kind == "full"
        kv_heads = shape.global_kv_heads if full else shape.kv_heads
        dim = shape.global_head_dim if full else shape.head_dim
        value = shape.value_dim or dim
        keys = kv_heads * (dim + (0 if full and shape.shared_kv else value))
        queries = shape.heads * dim * (2 if shape.output_gate else 1)
        total.add("attention", f"{place}.self_attn.q_proj", hidden * (queries + keys))
        total.add("attention", f"{place}.self_attn.o_proj", shape.heads * value * hidden)
    elif kind in ("linear", "mamba") and (line := shape.linear):
        values = line.value_heads * line.value_dim
        if kind == "mamba":
            mixed = values + 2 * line.groups * line.key_dim
            into, conv = hidden * (values + mixed + line.value_heads), mixed * line.conv
        else:
            keys = line.key_heads * line.key_dim
            into, conv = hidden * (2 * keys + 2 * values + 2 * line.value_heads), (2 * keys + values) * line.conv
        total.add("linear attention", f"{place}.linear_attn.in_proj", into)
        total.add("linear attention", f"{place}.linear_attn.out_proj", values * hidden)
        total.add("linear attention", "model.embed_tokens", conv)


def _mlp(total: _Sum, shape: Shape, layer: Layer, place: str) -> None:
    matrices = 3 if shape.gated else 2
    if layer.mlp == "dense" or (layer.mlp == "moe" and shape.beside_moe):
        total.add("mlp", f"{place}.gate_proj", matrices * shape.hidden * shape.intermediate)
    if layer.mlp != "moe":
        return
    total.add("router", f"{place}.gate", shape.hidden * shape.experts)
    total.add("shared experts", f"{place}.shared_experts.gate_proj", matrices * shape.hidden * shape.shared_width)
    if shape.expert_input != shape.hidden:
        total.add("experts", f"{place}.gate", 2 * shape.hidden * shape.expert_input)
    one = matrices * shape.expert_input * shape.expert_width
    share = shape.experts_per_token / shape.experts if shape.experts else 0.0
    total.add("experts", f"{place}.experts.0.gate_proj", one * shape.experts, share)


def _kv(shape: Shape, element: float) -> KvCache:
    token = 0.0
    if mla := shape.mla:
        index = mla.index_dim * INDEX_BYTES_PER_128 / 128
        token += shape.count("mla") * ((mla.kv_rank + mla.rope) * element + index)
    dim, value = shape.global_head_dim, shape.value_dim or shape.global_head_dim
    token += shape.count("full") * shape.global_kv_heads * (dim + value) * element
    sliding = shape.count("sliding") * shape.kv_heads * (shape.head_dim + (shape.value_dim or shape.head_dim)) * element
    state = 0.0
    if line := shape.linear:
        matrix = line.value_heads * line.key_dim * line.value_dim * STATE_BYTES
        width = line.value_heads * line.value_dim + 2 * (line.groups or line.key_heads) * line.key_dim
        state = (shape.count("linear") + shape.count("mamba")) * (matrix + line.conv * width * 2)
    return KvCache(token, sliding, shape.window, state)
