"""A model's own files, put together by folder: config, tokenizer, template, parsers, sizes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..derive.model_size import ModelSize, model_size
from ..facts import Fact, Looked, Source
from ..facts.piece import Piece
from ..facts.setup import ParserFile
from ..redact import redact
from .documents import Document

__all__ = ["ModelFolder", "facts_of", "read_models"]

MAX_JSON = 64 * 2**20
_DRAFTS = re.compile(r"dflash|dspark|draft|eagle|speculator|medusa", re.IGNORECASE)


@dataclass(slots=True)
class ModelFolder:
    """What the files of one model say. Everything but its name may be missing."""

    folder: str
    files: dict[str, Document] = field(default_factory=dict)
    data: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parsed JSON, by file name."""
    template: str | None = None
    template_at: Source | None = None
    parsers: list[ParserFile] = field(default_factory=list)

    @property
    def config(self) -> Mapping[str, Any]:
        return self.data.get("config.json", {})

    @property
    def text_config(self) -> Mapping[str, Any]:
        """The language model's part of the config."""
        inner = self.config.get("text_config")
        return inner if isinstance(inner, Mapping) else self.config

    @property
    def drafter(self) -> bool:
        """A drafter for speculation, no model to serve by itself."""
        words = f"{self.config.get('architectures')} {self.config.get('model_type')}"
        return bool(_DRAFTS.search(words)) or "dflash_config" in self.config or "speculators_config" in self.config

    @property
    def architecture(self) -> str | None:
        named = self.config.get("architectures")
        return str(named[0]) if isinstance(named, list) and named else None

    @property
    def model_type(self) -> str | None:
        value = self.config.get("model_type")
        return value if isinstance(value, str) else None

    def size(self, kv_dtype: str = "auto") -> ModelSize | None:
        """The sums of its config, or None where it tells too little."""
        if not self.config:
            return None
        try:
            return model_size(
                self.config,
                index=self.data.get("model.safetensors.index.json"),
                quant=self.data.get("hf_quant_config.json"),
                kv_dtype=kv_dtype,
            )
        except (TypeError, ValueError, ArithmeticError, RecursionError):
            return None  # a config with values of wild kinds tells no size

    def at(self, file: str, key: str) -> Source | None:
        """The line of a key in one of its files."""
        document = self.files.get(file)
        if document is None:
            return None
        match = re.search(rf'"{re.escape(key)}"\s*:', document.text)
        if match is None:
            return Source(document.name, 1, text=file)
        line = document.text.count("\n", 0, match.start())
        words = document.text.split("\n", line + 1)[line].strip()
        return Source(document.name, line + 1, text=redact(words)[:200])


def read_models(documents: Sequence[Document]) -> list[ModelFolder]:
    """One for each folder that holds a file of a model."""
    out: dict[str, ModelFolder] = {}
    for one in documents:
        if one.kind not in ("config", "template", "parser"):
            continue
        model = out.setdefault(one.folder, ModelFolder(one.folder))
        if one.kind == "config":
            file = one.file if one.file.endswith(".json") and one.file in _KNOWN else _guess(one.text)
            model.files[file] = one
            model.data[file] = _tokenizer(one.text) if file == "tokenizer.json" else _object(one.text)
        elif one.kind == "template":
            model.template, model.template_at = one.text, _line(one, "add_generation_prompt")
        else:
            from ..observe.parser_files import read_parser_file

            found = read_parser_file(one.text, one.name)
            if found is not None:
                model.parsers.append(found)
    for model in out.values():
        if model.template is None:
            model.template, model.template_at = _own_template(model)
    return list(out.values())


_KNOWN = frozenset(
    {
        "config.json",
        "tokenizer_config.json",
        "generation_config.json",
        "hf_quant_config.json",
        "tokenizer.json",
        "params.json",
        "model.safetensors.index.json",
    }
)


def _guess(text: str) -> str:
    """Which file of a model a JSON text of another name is."""
    head = text[:200_000]
    for file, key in (
        ("model.safetensors.index.json", "weight_map"),
        ("hf_quant_config.json", "producer"),
        ("tokenizer_config.json", "tokenizer_class"),
    ):
        if f'"{key}"' in head and '"architectures"' not in head:
            return file
    return "config.json"


def _object(text: str) -> Mapping[str, Any]:
    if len(text) > MAX_JSON:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


_PARTS = re.compile(r'"(?P<key>decoder|pre_tokenizer|normalizer)"\s*:\s*(?=[{n])')


def _tokenizer(text: str) -> Mapping[str, Any]:
    """The parts of tokenizer.json that stand before its vocabulary; the file is large, and often read in part."""
    out: dict[str, Any] = {}
    decoder = json.JSONDecoder()
    for match in _PARTS.finditer(text):
        try:
            value, _ = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        out.setdefault(match["key"], value)
    return out


def decoder_kinds(tokenizer: Mapping[str, Any]) -> tuple[str, ...]:
    """Types of the decoder, those inside a sequence included."""
    found: list[str] = []
    queue: list[Any] = [tokenizer.get("decoder")]
    while queue and len(found) < 20:
        part = queue.pop(0)
        if isinstance(part, Mapping):
            if isinstance(part.get("type"), str):
                found.append(part["type"])
            inner = part.get("decoders")
            queue += inner[:20] if isinstance(inner, list) else []
    return tuple(found)


def _line(document: Document, word: str) -> Source:
    at = document.text.find(word)
    line = document.text.count("\n", 0, max(at, 0))
    return Source(document.name, line + 1, text=document.text.split("\n", line + 1)[line].strip()[:200])


def _own_template(model: ModelFolder) -> tuple[str | None, Source | None]:
    """The template inside tokenizer_config.json; of a list of named ones the default."""
    value = model.data.get("tokenizer_config.json", {}).get("chat_template")
    if isinstance(value, list):
        named = {str(one.get("name")): one.get("template") for one in value if isinstance(one, Mapping)}
        value = named.get("default", next(iter(named.values()), None))
    if not isinstance(value, str):
        return None, None
    return value, model.at("tokenizer_config.json", "chat_template")


def facts_of(model: ModelFolder, order: int) -> list[Fact]:
    """The facts that any rule may ask for: what configs say, how deep a drafter was trained, what the template does."""
    from ..observe.configs import observe_config
    from ..observe.outputs.drafters import observe_drafter
    from ..observe.templates import template_facts

    out: list[Fact] = []
    for file, document in model.files.items():
        data = model.data[file]
        if data and file != "model.safetensors.index.json":
            place = model.at(file, next(iter(data)))
            piece = Piece(
                "config",
                document.text if file != "tokenizer.json" else "",
                source=document.name,
                order=order,
                first_line=1 if place is None else place.line or 1,
                meta={"doc": dict(data), "file": document.name},
            )
            if not model.drafter:
                out += observe_config(piece)
            elif file == "config.json":
                out += observe_drafter(piece)
    if model.template is not None and not model.drafter:
        at = model.template_at
        piece = Piece("template", model.template, source=at.source if at else "chat template", order=order)
        out += template_facts(piece)
        out.append(Looked(probe="template", order=order))
    return [*out, *model.parsers]
