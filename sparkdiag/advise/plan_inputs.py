"""A model's own files, read for a plan: a folder, a config.json, or a repository in the local Hugging Face cache."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError

__all__ = ["NoConfigError", "PlannedModel", "read_model"]

MAX_FILE = 64 * 2**20
"""Bytes of one file: an index of the largest models has 10 MB."""
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96}\Z")
_SNAPSHOT = re.compile(r"models--([^/]+?)--([^/]+)/snapshots/[^/]+/?\Z")
_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt")


class NoConfigError(Exception):
    """There is no config.json to plan from; the words say what to do."""


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """What was read. A document that is not there is an empty mapping."""

    name: str
    """The name to show: org/name where it is known, else the folder's."""
    repository: str | None
    """org/name on Hugging Face, where the path tells."""
    path: str | None
    """The folder, absolute; None for a config that stands alone in no folder of a model."""
    config: Mapping[str, Any]
    quant: Mapping[str, Any] = field(default_factory=dict)
    index: Mapping[str, Any] = field(default_factory=dict)
    tokenizer_config: Mapping[str, Any] = field(default_factory=dict)
    decoder: str | None = None
    """tokenizer.json's decoder: ByteLevel, Metaspace, Sequence."""
    template: str | None = None
    """The chat template's text; None where none was found."""
    weights: bool = False
    """The folder holds files of weights."""
    weights_bytes: int | None = None
    """Their size, where there is no index."""
    parser_files: tuple[str, ...] = ()
    """Python files of the model that look like parsers."""


def read_model(target: str, cache: str | None = None) -> PlannedModel:
    """Read a target. NoConfigError where there is nothing to read, InputError where it cannot be read.

    `cache` is the hub folder of a Hugging Face cache, for targets like org/name.
    """
    path = target
    if not os.path.exists(path):
        found = _cached(target, cache)
        if found is None:
            raise NoConfigError(_missing(target))
        path = found
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    file = os.path.join(folder, "config.json") if os.path.isdir(path) else path
    if not os.path.isfile(file):
        raise NoConfigError(f"{target} holds no config.json: a plan needs at least that file of the model.")
    config = _document(file)
    if config is None:
        raise InputError("is no JSON object; a plan needs the model's config.json", place=file)
    alone = not os.path.isdir(path) and os.path.basename(path) != "config.json"
    if alone:
        return PlannedModel(name=_named(config) or os.path.basename(path), repository=None, path=None, config=config)
    return _folder(folder, config)


def _folder(folder: str, config: Mapping[str, Any]) -> PlannedModel:
    repository = _repository(folder)
    names = sorted(os.listdir(folder))[:20_000]
    index = _document(os.path.join(folder, "model.safetensors.index.json")) or {}
    tokenizer_config = _document(os.path.join(folder, "tokenizer_config.json")) or {}
    weights = [name for name in names if name.endswith(_WEIGHTS)]
    return PlannedModel(
        name=repository or _named(config) or os.path.basename(folder) or "model",
        repository=repository,
        path=folder,
        config=config,
        quant=_document(os.path.join(folder, "hf_quant_config.json")) or {},
        index=index,
        tokenizer_config=tokenizer_config,
        decoder=_decoder(os.path.join(folder, "tokenizer.json")),
        template=_template(folder, names, tokenizer_config),
        weights=bool(weights),
        weights_bytes=_size(folder, weights) if weights and not index else None,
        parser_files=tuple(name for name in names if re.search(r"(?:reason|tool|parser)\w*\.py\Z", name))[:20],
    )


def _missing(target: str) -> str:
    if _REPOSITORY.match(target):
        return (
            f"{target} is neither a folder here nor in the local Hugging Face cache. Fetch its small files first: "
            f"hf download {target} --include '*.json' --include '*.jinja' --local-dir {target.split('/')[1]}, "
            f"then: sparkdiag plan {target.split('/')[1]}"
        )
    return f"{target} does not exist; plan takes a model's folder or its config.json."


def _cached(target: str, cache: str | None) -> str | None:
    if cache is None or not _REPOSITORY.match(target):
        return None
    root = os.path.join(cache, "models--" + target.replace("/", "--"), "snapshots")
    try:
        snapshots = [os.path.join(root, name) for name in os.listdir(root)]
    except OSError:
        return None
    usable = [path for path in snapshots if os.path.isfile(os.path.join(path, "config.json"))]
    return max(usable, key=os.path.getmtime, default=None)


def _repository(folder: str) -> str | None:
    found = _SNAPSHOT.search(folder)
    return f"{found[1]}/{found[2]}" if found else None


def _named(config: Mapping[str, Any]) -> str | None:
    name = config.get("_name_or_path")
    return name if isinstance(name, str) and _REPOSITORY.match(name) else None


def _document(path: str) -> dict[str, Any] | None:
    """A JSON object; None where the file is not there, too large, or holds something else."""
    try:
        if os.path.getsize(path) > MAX_FILE:
            return None
        with open(path, encoding="utf-8", errors="replace") as file:
            value = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _decoder(path: str) -> str | None:
    """The decoder's type: read from the head of tokenizer.json, whose vocabulary comes after it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            head = file.read(4 * 2**20)
    except OSError:
        return None
    found = re.search(r'"decoder"\s*:\s*\{\s*"type"\s*:\s*"(\w+)"', head)
    return found[1] if found else None


def _template(folder: str, names: list[str], tokenizer_config: Mapping[str, Any]) -> str | None:
    for name in ("chat_template.jinja", "chat_template.json"):
        if name in names:
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    text = file.read(2**20)
            except OSError:
                continue
            if name.endswith(".jinja"):
                return text
            data = _document(os.path.join(folder, name)) or {}
            if isinstance(data.get("chat_template"), str):
                return str(data["chat_template"])
    told = tokenizer_config.get("chat_template")
    if isinstance(told, list):
        told = next((entry.get("template") for entry in told if isinstance(entry, Mapping)), None)
    return told if isinstance(told, str) else None


def _size(folder: str, names: list[str]) -> int | None:
    """Bytes of the weights, or None where they are links or pointers to what is not here."""
    try:
        total = sum(os.path.getsize(os.path.join(folder, name)) for name in names if name.endswith(".safetensors"))
    except OSError:
        return None
    return total if total > 10**7 else None
