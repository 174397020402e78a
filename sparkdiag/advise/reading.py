"""Reading what lint is pointed at: files, model folders, folders of launches, standard input. Sizes are bounded."""

from __future__ import annotations

import json
import os
import re
import struct

from ..diagnosis import Problem
from ..errors import InputError
from .documents import COMMAND, Document, document

__all__ = ["read_targets"]

MAX_TEXT = 4 * 2**20
"""Bytes of one text; a launch or a config is far smaller."""
MAX_INDEX = 64 * 2**20
TOKENIZER_HEAD = 8 * 2**20
"""The parts of tokenizer.json that count stand before its vocabulary."""
MAX_HEADER = 32 * 2**20
MAX_FILES = 200

_MODEL_FILES = (
    "config.json", "params.json", "tokenizer_config.json", "generation_config.json", "hf_quant_config.json",
    "model.safetensors.index.json", "tokenizer.json", "chat_template.jinja",
)  # fmt: skip
_LAUNCH_FILE = re.compile(
    r"(?:\.(?:sh|bash|service|ya?ml|env|conf)|(?:^|/)(?:Dockerfile|\.env|run|start|serve|launch)[^/]*)\Z", re.IGNORECASE
)
_PARSER_FILE = re.compile(r"(?:parser|plugin|reason|tool).*\.py\Z", re.IGNORECASE)
_WEIGHTS = re.compile(r"\.safetensors\Z")


def read_targets(targets: list[str], command: str | None = None) -> tuple[list[Document], list[Problem]]:
    """All texts of all targets, and a problem for each that cannot be read. InputError for a name that is no file."""
    found: list[Document] = []
    problems: list[Problem] = []
    for target in targets:
        if target == "-":
            found += _standard_input(problems)
        elif os.path.isdir(target):
            found += _folder(target.rstrip("/") or "/", problems)
        elif os.path.exists(target):
            found += _file(target, problems)
        else:
            raise InputError("no such file", place=target)
    if command is not None:
        found.append(document(COMMAND, command))
    return found, problems


def _standard_input(problems: list[Problem]) -> list[Document]:
    from ..files import read_standard_input

    read = read_standard_input()
    problems += read.problems
    if read.stream is not None:
        problems.append(Problem("standard input", "too large to be a launch; nothing was read"))
        return []
    return [document("standard input", read.text)] if read.text.strip() else []


def _file(path: str, problems: list[Problem], limit: int = MAX_TEXT) -> list[Document]:
    """One file's text; of a tokenizer's its head."""
    name = os.path.basename(path)
    if name == "tokenizer.json":
        limit = TOKENIZER_HEAD
    elif name.endswith(".index.json"):
        limit = MAX_INDEX
    try:
        with open(path, "rb") as file:
            data = file.read(limit + 1)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        problems.append(Problem(path, f"cannot be read: {error.strerror}"))
        return []
    if len(data) > limit:
        if name != "tokenizer.json":
            problems.append(Problem(path, "too large to be a launch or a model's settings; nothing was read"))
            return []
        data = data[:limit]
    from ..files import decode

    text, said = decode(data, path)
    problems += said
    return [document(path, text, size)] if text.strip() else []


def _folder(path: str, problems: list[Problem]) -> list[Document]:
    """A model's folder, or one with launches and models in it."""
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        problems.append(Problem(path, f"cannot be read: {error.strerror}"))
        return []
    if "config.json" in names or "params.json" in names:
        return _model(path, names, problems)
    out: list[Document] = []
    for name in names[:MAX_FILES]:
        inner = os.path.join(path, name)
        if os.path.isdir(inner):
            if not os.path.islink(inner) and os.path.exists(os.path.join(inner, "config.json")):
                out += _model(inner, sorted(os.listdir(inner)), problems)
        elif _LAUNCH_FILE.search(name) or _PARSER_FILE.search(name) or name in _MODEL_FILES:
            out += _file(inner, problems)
    if not out:
        problems.append(Problem(path, "no launch, recipe or model file in this folder"))
    return out


def _model(path: str, names: list[str], problems: list[Problem]) -> list[Document]:
    out: list[Document] = []
    for name in _MODEL_FILES:
        if name in names:
            out += _file(os.path.join(path, name), problems)
    for name in [n for n in names if n.endswith(".py")][:MAX_FILES]:
        if _PARSER_FILE.search(name):
            out += _file(os.path.join(path, name), problems)
    if "model.safetensors.index.json" not in names:
        measured = _measured(path, [n for n in names if _WEIGHTS.search(n)])
        if measured is not None:
            out.append(document(os.path.join(path, "model.safetensors.index.json"), measured))
    return out


def _measured(path: str, names: list[str]) -> str | None:
    """What an index would say, from the files themselves: their sizes, and the tensors that their headers name."""
    total, tensors = 0, {}
    for name in names[:MAX_FILES]:
        try:
            total += os.path.getsize(os.path.join(path, name))
            tensors.update(dict.fromkeys(_header(os.path.join(path, name)), name))
        except OSError:
            return None
    if not total:
        return None
    return json.dumps({"metadata": {"total_size": total}, "weight_map": tensors})


def _header(path: str) -> list[str]:
    """Names of the tensors in a safetensors file."""
    with open(path, "rb") as file:
        head = file.read(8)
        length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        if not 0 < length <= MAX_HEADER:
            return []
        try:
            data = json.loads(file.read(length))
        except (ValueError, RecursionError):
            return []
    return [str(name) for name in data if name != "__metadata__"][:1_000_000] if isinstance(data, dict) else []
