"""A model's tokenizer files in a new folder, with a tokenizer class that keeps the checkpoint's byte-level decoder."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from ..errors import InputError, UsageError

__all__ = ["write_patched"]

CLASS = "PreTrainedTokenizerFast"
"""Takes tokenizer.json as it is; LlamaTokenizer of transformers 5 puts a Metaspace decoder in its place."""
MAX_FILE = 256 * 2**20
_COPIED = (
    "tokenizer.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja", "vocab.json", "merges.txt",
    "generation_config.json", "config.json",
)  # fmt: skip


def write_patched(targets: Sequence[str], folder: str) -> list[str]:
    """Copy the tokenizer of the one model among the targets, patched; sentences on what was done.

    Nothing of the model itself is changed. UsageError if there is no such model, or the folder exists already.
    """
    models = [path for path in targets if os.path.isfile(os.path.join(path, "tokenizer_config.json"))]
    if len(models) != 1:
        raise UsageError("--write-tokenizer needs one model folder with tokenizer_config.json and tokenizer.json")
    model = models[0]
    if not os.path.isfile(os.path.join(model, "tokenizer.json")):
        raise UsageError(f"--write-tokenizer: {model} has no tokenizer.json, so there is no decoder to keep")
    settings = _settings(os.path.join(model, "tokenizer_config.json"))
    before = settings.get("tokenizer_class")
    try:
        os.makedirs(folder)
    except FileExistsError:
        raise UsageError(f"--write-tokenizer {folder}: this exists already; name a new folder") from None
    except OSError as error:
        raise UsageError(f"--write-tokenizer {folder}: cannot be made: {error.strerror}") from None
    try:
        for name in _COPIED:
            _copy(os.path.join(model, name), os.path.join(folder, name))
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump({**settings, "tokenizer_class": CLASS}, file, ensure_ascii=False, indent=2)
            file.write("\n")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", place=folder) from None
    return [
        f"{folder}: tokenizer_class is now {CLASS} (it was {before}); nothing else is changed",
        f"start the server with --tokenizer {folder}, mounted into its container",
    ]


def _settings(path: str) -> dict[str, object]:
    try:
        with open(path, encoding="utf-8") as file:
            data = json.loads(file.read(MAX_FILE))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=path) from None
    except (ValueError, RecursionError):
        raise InputError("is no JSON", place=path) from None
    if not isinstance(data, dict):
        raise InputError("is no JSON object", place=path)
    return data


def _copy(source: str, target: str) -> None:
    """A regular file, if it is there."""
    if not os.path.isfile(source) or os.path.getsize(source) > MAX_FILE:
        return
    with open(source, "rb") as old, open(target, "xb") as new:
        while chunk := old.read(2**20):
            new.write(chunk)
