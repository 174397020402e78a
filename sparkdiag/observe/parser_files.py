"""The names that a bundled parser file registers, read from its source: nothing of it is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts import Source
from ..facts.setup import ParserFile

__all__ = ["read_parser_file"]

MAX_SOURCE = 1_000_000


def read_parser_file(text: str, source: str) -> ParserFile | None:
    """What `@ReasoningParserManager.register_module(...)` and its like say; None where nothing is registered.

    A file that is no Python of this version is looked through for the decorator's words.
    """
    if len(text) > MAX_SOURCE or "register" not in text:
        return None
    try:
        found = list(_registered(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = list(_worded(text))
    reasoning = tuple(dict.fromkeys(name for kind, name, _ in found if kind == "reasoning"))
    tools = tuple(dict.fromkeys(name for kind, name, _ in found if kind == "tool"))
    if not reasoning and not tools:
        return None
    line = found[0][2]
    words = text.split("\n")[line - 1].strip()[:300]
    return ParserFile(reasoning=reasoning, tools=tools, source=Source(source, line, text=words))


def _registered(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """(kind, name, line) of each registration: a decorator, or a call of the manager."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                yield from _call(decorator, node.name)
        elif isinstance(node, ast.Expr):
            yield from _call(node.value, None)


def _call(node: ast.AST, class_name: str | None) -> Iterator[tuple[str, str, int]]:
    call = node if isinstance(node, ast.Call) else None
    target = call.func if call is not None else node
    if not isinstance(target, ast.Attribute) or not target.attr.startswith("register"):
        return
    owner = target.value
    manager = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    kind = "reasoning" if "reason" in manager.lower() else "tool" if "tool" in manager.lower() else None
    if kind is None:
        return
    line: int = target.lineno
    arguments = [] if call is None else [*call.args[:1], *(k.value for k in call.keywords if k.arg == "name")]
    names = [name for argument in arguments for name in _strings(argument)]
    if not names and class_name is not None:
        names = [class_name]  # without a name the class's own is taken
    for name in names:
        yield kind, name, line


def _strings(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value[:100]]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [name for item in node.elts[:50] for name in _strings(item)]
    return []


def _worded(text: str) -> Iterator[tuple[str, str, int]]:
    import re

    pattern = re.compile(
        r"(Reasoning|Tool)ParserManager\.register\w*\(\s*(?:name\s*=\s*)?\[?\s*['\"]([\w.-]{1,100})['\"]"
    )
    for match in pattern.finditer(text):
        kind = "reasoning" if match[1] == "Reasoning" else "tool"
        yield kind, match[2], text.count("\n", 0, match.start()) + 1
