"""YAML that knows its lines: mappings remember where they and their keys stand, and a key given twice is refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


MAX_NODES = 500_000
"""Values in one document. Aliases of aliases of lists could make billions out of a few lines."""


class Located(dict[str, Any]):
    """A mapping with the line (from 1) of itself and of each key."""

    line: int
    lines: dict[str, int]


class YamlError(Exception):
    """The text is no YAML, or not of the subset taken here; `line` says where."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


def load(text: str) -> Any:
    """The document's data: Located mappings, lists and scalars."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return None if node is None else _build(loader, node, itertools.count())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line + 1 if mark else 1, error.problem or "not readable as YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(1, f"not readable as YAML: {error}") from None


def _build(loader: Any, node: Any, built: Iterator[int]) -> Any:
    line = node.start_mark.line + 1
    if next(built) > MAX_NODES:
        raise YamlError(line, f"more than {MAX_NODES} values, the repeated ones counted")
    if isinstance(node, yaml.MappingNode):
        out = Located()
        out.line, out.lines = line, {}
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise YamlError(key_line, "a key must be a word")
            key = key_node.value  # as written: YAML 1.1 would read `on` as True
            if key in out:
                raise YamlError(key_line, f"'{key}' is given twice (first in line {out.lines[key]})")
            out[key] = _build(loader, value_node, built)
            out.lines[key] = key_line
        return out
    if isinstance(node, yaml.SequenceNode):
        return [_build(loader, item, built) for item in node.value]
    return loader.construct_object(node, deep=True)
