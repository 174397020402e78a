"""Facts about the model: what its names say, and what its files hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelName(Fact):
    """A name of the model in service: served name, path, repository."""

    kind: ClassVar[str] = "name"
    name: str
    thinks: bool | None = None
    """True for names like Thinking or R1, False for Instruct, Coder or Base; None where the name does not tell."""
    format: str | None = None
    """Quantization format in the name: mxfp4, nvfp4, fp8, awq, gptq."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSeen(Fact):
    """What a chat template (or a prompt rendered with it) does about thinking."""

    kind: ClassVar[str] = "template"
    opens_think: bool | None = None
    """Its generation prompt ends in an open think tag, with no switch set."""
    has_switch: bool | None = None
    """It reads enable_thinking or thinking."""
    default_thinking: bool | None = None
    """What it does when the request sets no switch; None where the part seen does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig(Fact):
    """What one of the model's own files says: config.json, hf_quant_config.json, tokenizer_config.json, an index."""

    kind: ClassVar[str] = "config"
    file: str | None = None
    """Its name without the folder, where the evidence tells."""
    architecture: str | None = None
    model_type: str | None = None
    max_positions: int | None = None
    """max_position_embeddings: the native context in tokens."""
    rope_scaled: bool | None = None
    """The file itself stretches its positions (rope_scaling, yarn)."""
    heads: int | None = None
    kv_heads: int | None = None
    layers: int | None = None
    hidden_size: int | None = None
    experts: int | None = None
    quant_method: str | None = None
    quant_algo: str | None = None
    """ModelOpt's algorithm: NVFP4, FP8, MIXED_PRECISION."""
    tokenizer_class: str | None = None
    decoder: str | None = None
    """tokenizer.json: ByteLevel, Metaspace, Sequence."""
    transformers_major: int | None = None
    """Major version of the transformers that saved it."""
    custom_code: bool | None = None
    """auto_map: the model brings Python code of its own."""
    chat_template: bool | None = None
    dimensions: Mapping[str, Any] = field(default_factory=dict)
    """A config.json's settings of widths, layers, experts and quantization, as it has them: for sums over them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles(Fact):
    """A listing of a model's folder."""

    kind: ClassVar[str] = "files"
    path: str | None = None
    count: int = 0
    weights: int = 0
    """Files that hold weights: safetensors, bin, pt, gguf."""
    shards_named: int | None = None
    """How many there should be, by `-of-00013`."""
    incomplete: int = 0
    """Downloads that have not ended: *.incomplete, *.part, *.aria2."""
    config: bool = False
    tokenizer: bool = False
    smallest_weight_bytes: int | None = None
    """Where sizes are listed: a Git LFS pointer has about 130."""
