"""The shape of a model as its config.json tells it: one entry a layer, under one set of names for all families.

Pure reading. What a config leaves open is taken by its family's custom where there is one, and said in `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..records import dataclass

__all__ = ["Layer", "Linear", "Mla", "Shape", "read_shape", "text_part"]

MAX_LAYERS = 1000
MAX_DIMENSION = 10**8
"""No real model comes near; a config beyond it is damaged, and its arithmetic would be too."""

_PARTS = ("text_config", "language_config", "llm_config", "thinker_config")
_TIED = ("gemma", "cohere", "gpt2", "falcon", "bloom", "starcoder2")
"""Families whose output head is the embedding table unless the config says otherwise."""
_PLAIN_MLP = ("relu2", "gelu_new", "gelu_fast", "relu")
"""Activations of MLPs with two matrices; the others gate with a third."""


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer is made of."""

    attention: str
    """full, sliding, mla, linear (gated delta, KDA, lightning), mamba, or none."""
    mlp: str
    """dense, moe, or none."""


@dataclass(frozen=True, slots=True)
class Mla:
    """Widths of multi-head latent attention."""

    kv_rank: int
    q_rank: int
    """0: the queries are not compressed."""
    nope: int
    rope: int
    value: int
    index_heads: int = 0
    index_dim: int = 0
    """Sparse attention's indexer: DeepSeek-V3.2, GLM-5."""


@dataclass(frozen=True, slots=True)
class Linear:
    """Widths of the layers that keep a state of fixed size for each sequence instead of a cache."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    conv: int
    groups: int = 0
    """Mamba: groups of B and C; then key_dim is the state's size and value_dim the head's."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Dimensions of the language model. Widths count elements; 0 where the model has no such part."""

    family: str
    hidden: int
    vocab: int
    layers: tuple[Layer, ...]
    heads: int
    kv_heads: int
    head_dim: int
    global_kv_heads: int
    """Of full layers, in models whose sliding layers have others (Gemma 4, MiMo); else kv_heads."""
    global_head_dim: int
    value_dim: int
    """Width of one head's values, where it differs from head_dim."""
    shared_kv: bool
    """Full layers make their values of the keys' projection: one matrix less, the cache holds both (Gemma 4)."""
    window: int
    mla: Mla | None
    linear: Linear | None
    output_gate: bool
    """The query projection makes a gate as well: twice as wide (Qwen3-Next)."""
    intermediate: int
    gated: bool
    experts: int
    experts_per_token: int
    expert_width: int
    expert_input: int
    """Width at which experts work: hidden, but for models with a latent one (Nemotron 3)."""
    shared_width: int
    """All shared experts of a layer together."""
    beside_moe: bool
    """Layers with experts keep a dense MLP too (Gemma 4)."""
    tied: bool
    context: int
    mtp_layers: int
    vision: tuple[int, int, int]
    """(layers, hidden, intermediate) of a vision tower; zeros without."""
    unknown: tuple[str, ...] = ()

    def count(self, attention: str) -> int:
        return sum(layer.attention == attention for layer in self.layers)

    @property
    def moe_layers(self) -> int:
        return sum(layer.mlp == "moe" for layer in self.layers)


def text_part(config: Mapping[str, Any]) -> dict[str, Any]:
    """The language model's settings: the document's own, under those of its text part."""
    out = dict(config)
    for _ in range(3):
        inner = next((out[name] for name in _PARTS if isinstance(out.get(name), Mapping)), None)
        if inner is None:
            break
        for name in _PARTS:
            out.pop(name, None)
        out = {**out, **{key: value for key, value in inner.items() if value is not None}}
    return out


class _Reader:
    """Typed look-ups in a config, each under the names that different families use."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config

    def number(self, *names: str, default: int = 0) -> int:
        for name in names:
            value = self.config.get(name)
            if isinstance(value, list) and value:
                value = value[0]
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_DIMENSION:
                return value
        return default

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.config.get(name)
        return value if isinstance(value, bool) else default

    def text(self, name: str) -> str:
        value = self.config.get(name)
        return value if isinstance(value, str) else ""

    def items(self, name: str) -> Sequence[Any]:
        value = self.config.get(name)
        return value if isinstance(value, list) and len(value) <= MAX_LAYERS else []

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.config.get(name)
        return value if isinstance(value, Mapping) else {}


def read_shape(document: Mapping[str, Any]) -> Shape | None:
    """The shape, or None where the config lacks what all sums need: width, layers, heads."""
    read = _Reader(text_part(document))
    family = read.text("model_type").lower() or str(document.get("model_type") or "").lower()[:80]
    hidden = read.number("hidden_size", "n_embd", "d_model", "dim")
    count = read.number("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    pattern = read.text("hybrid_override_pattern").replace("|", "")
    count = count or len(pattern)
    heads = read.number("num_attention_heads", "n_head", "n_heads")
    if not (hidden and 0 < count <= MAX_LAYERS and heads):
        return None
    unknown: list[str] = []
    mla = _mla(read)
    layers = _layers(read, family, count, pattern[:MAX_LAYERS], mla is not None)
    kv_heads = read.number("num_key_value_heads", "num_kv_heads", "n_head_kv", default=heads)
    head_dim = read.number("head_dim", "attention_head_dim", "kv_channels", default=hidden // heads)
    experts = read.number(
        "num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "num_routed_experts"
    )
    intermediate = read.number("intermediate_size", "ffn_hidden_size", "n_inner", default=4 * hidden)
    dense_width = read.number("intermediate_size_mlp", "dense_intermediate_size", default=intermediate)
    expert_width = read.number("moe_intermediate_size", "moe_ffn_hidden_size", default=intermediate)
    linear = _linear(read, hidden, heads, head_dim)
    if linear is None and any(layer.attention in ("linear", "mamba") for layer in layers):
        unknown.append("the widths of its linear attention layers")
    if not read.number("vocab_size"):
        unknown.append("the size of its vocabulary")
    if read.items("block_configs"):
        unknown.append("the widths of its layers, which differ from one to the next (block_configs)")
    if read.number("hidden_size_per_layer_input"):
        unknown.append("its embeddings of each layer, which need not stay in memory")
    if family.startswith("deepseek_v4"):
        unknown.append("its compressed attention cache, which is smaller than counted here")
    return Shape(
        family=family,
        hidden=hidden,
        vocab=read.number("vocab_size", "padded_vocab_size"),
        layers=layers,
        heads=heads,
        kv_heads=_swa(read, "num_key_value_heads", kv_heads),
        head_dim=_swa(read, "head_dim", head_dim),
        global_kv_heads=read.number("num_global_key_value_heads", default=kv_heads),
        global_head_dim=read.number("global_head_dim", default=head_dim),
        value_dim=read.number("v_head_dim", default=0) if mla is None else 0,
        shared_kv=read.flag("attention_k_eq_v"),
        window=_window(read),
        mla=mla,
        linear=linear,
        output_gate=read.flag("attn_output_gate", family.startswith(("qwen3_next", "qwen3_5"))),
        intermediate=dense_width,
        gated=read.text("mlp_hidden_act") not in _PLAIN_MLP and read.text("hidden_act") not in _PLAIN_MLP,
        experts=experts,
        experts_per_token=min(experts, _per_token(read)) if experts else 0,
        expert_width=expert_width,
        expert_input=read.number("moe_latent_size", default=hidden),
        shared_width=_shared(read, family, expert_width, intermediate),
        beside_moe=read.flag("enable_moe_block"),
        tied=read.flag("tie_word_embeddings", family.startswith(_TIED)),
        context=read.number("max_position_embeddings", "n_positions", "seq_length", "max_sequence_length"),
        mtp_layers=read.number("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"),
        vision=_vision(document),
        unknown=tuple(unknown),
    )


def _per_token(read: _Reader) -> int:
    return read.number(
        "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "moe_top_k", "top_k_experts", "top_k",
        default=1,
    )  # fmt: skip


def _swa(read: _Reader, name: str, default: int) -> int:
    """A width of the sliding layers, where they have their own (MiMo)."""
    return read.number(f"swa_{name}", default=default)


def _mla(read: _Reader) -> Mla | None:
    rank = read.number("kv_lora_rank")
    if not rank:
        return None
    nope = read.number("qk_nope_head_dim", default=128)
    return Mla(
        kv_rank=rank,
        q_rank=read.number("q_lora_rank"),
        nope=nope,
        rope=read.number("qk_rope_head_dim", default=64),
        value=read.number("v_head_dim", default=nope),
        index_heads=read.number("index_n_heads"),
        index_dim=read.number("index_head_dim"),
    )


def _linear(read: _Reader, hidden: int, heads: int, head_dim: int) -> Linear | None:
    if value_heads := read.number("linear_num_value_heads"):
        return Linear(
            key_heads=read.number("linear_num_key_heads", default=value_heads),
            value_heads=value_heads,
            key_dim=read.number("linear_key_head_dim", default=128),
            value_dim=read.number("linear_value_head_dim", default=128),
            conv=read.number("linear_conv_kernel_dim", default=4),
        )
    if mamba_heads := read.number("mamba_num_heads", "mamba_n_heads"):
        return Linear(
            key_heads=mamba_heads,
            value_heads=mamba_heads,
            key_dim=read.number("ssm_state_size", "mamba_d_state", default=128),
            value_dim=read.number("mamba_head_dim", "mamba_d_head", default=64),
            conv=read.number("conv_kernel", "mamba_d_conv", default=4),
            groups=read.number("n_groups", "mamba_n_groups", default=1),
        )
    kda = _Reader(read.mapping("linear_attn_config"))
    if kda_heads := kda.number("num_heads"):
        width = kda.number("head_dim", default=128)
        return Linear(kda_heads, kda_heads, width, width, kda.number("short_conv_kernel_size", default=4))
    if read.items("attn_type_list") or read.items("decoder_attention_types"):
        return Linear(heads, heads, head_dim, head_dim, 0)
    return None


def _shared(read: _Reader, family: str, expert_width: int, intermediate: int) -> int:
    width = read.number(
        "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim",
        "shared_intermediate_size",
    )  # fmt: skip
    shared = read.number("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
    if width:
        return width * max(1, shared) if family.startswith("nemotron") else width
    if family.startswith("llama4"):
        return intermediate
    return shared * expert_width


def _window(read: _Reader) -> int:
    if read.config.get("use_sliding_window") is False:
        return 0
    return read.number("sliding_window", "sliding_window_size")


def _layers(read: _Reader, family: str, count: int, pattern: str, mla: bool) -> tuple[Layer, ...]:
    if pattern:
        return tuple(_BLOCKS.get(mark, Layer("none", "none")) for mark in pattern)
    return tuple(Layer(_attention(read, family, at, mla), _mlp(read, at)) for at in range(count))


_BLOCKS = {
    "M": Layer("mamba", "none"), "*": Layer("full", "none"), "-": Layer("none", "dense"), "E": Layer("none", "moe"),
}  # fmt: skip
"""Nemotron-H writes each block as a sign; a block is attention or an MLP, not both."""


def _attention(read: _Reader, family: str, at: int, mla: bool) -> str:
    own = "mla" if mla else "full"
    types = read.items("layer_types") or read.items("layers_block_type")
    if at < len(types):
        word = str(types[at])
        if "sliding" in word or "chunked" in word or "local" in word:
            return "sliding" if _window(read) or "chunked" not in word else own
        if "mamba" in word:
            return "mamba"
        return "linear" if "linear" in word or "recurrent" in word else own
    listed = read.items("attn_type_list") or read.items("hybrid_layer_pattern")
    if at < len(listed):
        lightning = bool(read.items("attn_type_list"))
        other = "linear" if lightning else "sliding"
        return (own if listed[at] == 1 else other) if lightning else (other if listed[at] == 1 else own)
    kda = read.mapping("linear_attn_config").get("kda_layers")
    if isinstance(kda, list):
        return "linear" if at + 1 in kda else own
    if every := read.number("full_attention_interval"):
        return own if (at + 1) % every == 0 else "linear"
    if read.number("linear_num_value_heads") and family.startswith(("qwen3_next", "qwen3_5")):
        return own if (at + 1) % 4 == 0 else "linear"
    if _window(read):
        every = read.number("sliding_window_pattern", "_sliding_window_pattern")
        every = every or {"gemma2": 2, "gpt_oss": 2, "gemma3": 6, "cohere2": 4}.get(family.removesuffix("_text"), 0)
        return own if every and (at + 1) % every == 0 else "sliding"
    return own


def _mlp(read: _Reader, at: int) -> str:
    if not read.number("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts", "num_routed_experts"):
        return "dense"
    listed = read.config.get("moe_layers_enum")
    if isinstance(listed, str):
        return "moe" if str(at) in listed.split(",") else "dense"
    if at in read.items("mlp_only_layers"):
        return "dense"
    types = read.items("mlp_layer_types")
    if at < len(types):
        return "moe" if "sparse" in str(types[at]) or "moe" in str(types[at]) else "dense"
    frequency = read.config.get("moe_layer_freq")
    if isinstance(frequency, list) and at < len(frequency):
        return "moe" if frequency[at] else "dense"
    if at < read.number("first_k_dense_replace", "moe_layer_start_index", "num_dense_layers"):
        return "dense"
    moe = read.items("moe_layers")
    if moe:
        return "moe" if at in moe else "dense"
    step = read.number("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval", default=1) or 1
    return "moe" if (at + 1) % step == 0 else "dense"


def _vision(document: Mapping[str, Any]) -> tuple[int, int, int]:
    read = _Reader(_Reader(document).mapping("vision_config"))
    width = read.number("hidden_size", "embed_dim", "width")
    return (
        read.number("num_hidden_layers", "depth", "layers"),
        width,
        read.number("intermediate_size", default=4 * width),
    )
