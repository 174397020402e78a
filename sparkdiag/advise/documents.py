"""Texts that lint reads, recognised for what they are: a launch, a compose file, a recipe, a file of a model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["COMMAND", "Document", "document", "documents"]

COMMAND = "command"
"""Name of a launch that was given as words after `--`."""

_CONFIGS = frozenset({
    "config.json", "tokenizer_config.json", "generation_config.json", "hf_quant_config.json", "params.json",
    "model.safetensors.index.json", "tokenizer.json",
})  # fmt: skip
_SERVICES = re.compile(r"^services\s*:", re.MULTILINE)
_POD = re.compile(r"^\s*(?:- )?containers\s*:", re.MULTILINE)
_RECIPE = re.compile(
    r"^(?:recipe_version|model|runtime|container|defaults|executor_config|metadata|min_nodes|command)\s*:", re.MULTILINE
)
_JSON_KEY = re.compile(r'"(?:architectures|model_type|quantization|weight_map|tokenizer_class)"\s*:')
_ASSIGNED = re.compile(
    r"^[ \t]*(?:export[ \t]+|readonly[ \t]+|local[ \t]+|declare[ \t]+(?:-\w+[ \t]+)*)?(?P<name>[A-Za-z_]\w*)="
    r"(?:\"(?P<double>[^\"\n`]*)\"|'(?P<single>[^'\n]*)'|(?P<plain>[^\s\"'`;|&()<>]*))[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_ARRAY = re.compile(r"^[ \t]*(?P<name>[A-Za-z_]\w*)=\((?P<items>[^()]*)\)[ \t]*$", re.MULTILINE)
_ARRAY_USED = r"\"?\$\{%s\[[@*]\]\}\"?"
_USED = re.compile(r"\$(?:\{(?P<braced>[A-Za-z_]\w*)(?::?-(?P<default>[^{}$`]*))?\}|(?P<bare>[A-Za-z_]\w*))")


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its kind: launch, compose, recipe, config, template, parser or text."""

    name: str
    """As findings quote it: the path that was given, or `command`."""
    kind: str
    text: str
    bytes: int | None = None
    """Size of the whole file, where only its beginning was read."""

    @property
    def file(self) -> str:
        """The name without its folder."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def folder(self) -> str:
        return self.name.rsplit("/", 1)[0] if "/" in self.name else ""


def documents(texts: Iterable[tuple[str, str]]) -> list[Document]:
    """(name, text) pairs, each recognised."""
    return [document(name, text) for name, text in texts]


def document(name: str, text: str, size: int | None = None) -> Document:
    return Document(name, _kind(name.rsplit("/", 1)[-1], text), text.replace("\r\n", "\n"), size)


def _kind(file: str, text: str) -> str:
    if file in _CONFIGS:
        return "config"
    if file.endswith((".jinja", ".jinja2")):
        return "template"
    if file.endswith(".py"):
        return "parser"
    head = text.lstrip()
    if head.startswith("{"):
        return "config" if _JSON_KEY.search(text[:200_000]) else "text"
    if _SERVICES.search(text) or (_POD.search(text) and "image:" in text):
        return "compose"
    if file.endswith((".yaml", ".yml")) or not re.search(r"^(?:#!|\[Unit\]|\[Service\])", text, re.MULTILINE):
        found = {match.group().rstrip(" :") for match in _RECIPE.finditer(text)}
        if len(found) >= 2 and found & {"model", "container", "runtime"}:
            return "recipe"
    return "launch"


def expanded(text: str) -> str:
    """A script with the variables that it sets itself filled in, and defaults for those that it leaves to its caller.

    Lines stay where they are. A variable that is set more than once, or from another program, is left as it stands.
    """
    if "$" not in text:
        return text
    found: dict[str, str | None] = {}
    for match in _ASSIGNED.finditer(text):
        value = match["double"] if match["double"] is not None else match["single"] or match["plain"] or ""
        found[match["name"]] = None if match["name"] in found else value
    known: dict[str, str] = {}
    for name, raw in found.items():
        if raw is not None and not ("$(" in raw or "`" in raw):
            filled = _filled(raw, known)
            if "$" not in filled:
                known[name] = filled
    for array in _ARRAY.finditer(text):
        items = " ".join(line.split("#")[0].strip() for line in array["items"].split("\n"))
        text = re.sub(_ARRAY_USED % re.escape(array["name"]), items.replace("\\", r"\\"), text)
    return _filled(text, known)


def _filled(text: str, known: dict[str, str]) -> str:
    def put(match: re.Match[str]) -> str:
        value = known.get(match["braced"] or match["bare"])
        if value is None or value == "":
            value = match["default"] if match["default"] is not None else None
        return match.group() if value is None else value

    return _USED.sub(put, text)
