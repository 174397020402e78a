"""How a server was started, from whatever shows it: commands, scripts, files, units, printed arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..facts import Fact, Source, Value
from ..facts.launch import Launch
from ..facts.piece import Piece
from ..redact import redact

if TYPE_CHECKING:
    from .launch_commands import Shown
    from .launch_options import Options

__all__ = ["launch_fact", "observe_launch"]


def observe_launch(piece: Piece) -> list[Fact]:
    """The launch facts of one piece: a launch, compose or recipe piece, or output that prints arguments."""
    return [launch_fact(shown, piece) for shown in _shown(piece)]


_PRINTERS = frozenset({"docker", "podman", "nerdctl", "ps", "pgrep", "pstree", "cat", "tr", "env", "printenv"})


def _shown(piece: Piece) -> list[Shown]:
    text, command = piece.text, piece.command
    if piece.kind == "launch":
        from .launch_commands import launches_of_text

        return launches_of_text(text)
    if piece.kind == "compose" or _composed(command):
        from .launch_yaml import launches_of_compose

        return launches_of_compose(text)
    if piece.kind == "recipe" or (piece.kind == "config" and command is None and "command:" in text):
        from .launch_yaml import launches_of_recipe

        return launches_of_recipe(text)
    program = command.split()[:1] if command and piece.kind in ("output", "json", "text", "log") else []
    if command and program and program[0].rsplit("/", 1)[-1] in _PRINTERS:
        from .launch_printed import launches_of_output

        return launches_of_output(command, text, piece.meta.get("doc"))
    return []


def _composed(command: str | None) -> bool:
    return (
        command is not None
        and re.match(r"(?:docker|podman)[ -]compose\b[^|;]*\bconfig\b(?!.*grep -\w*c)", command) is not None
    )


def launch_fact(shown: Shown, piece: Piece, line: str | None = None) -> Launch:
    """The fact of one launch, with its place in the piece, and that line where it is at hand."""
    if line is None:
        before = piece.text.split("\n", shown.line + 1)
        line = before[shown.line] if shown.line < len(before) else ""
    where = piece.where
    if where.container is None and shown.container:
        where = replace(where, container=shown.container)
    return Launch(
        form=shown.form,
        engine=shown.engine,
        image=shown.image,
        model=shown.model,
        runtime=shown.runtime,
        command=redact(shown.command)[:2000],
        flags=_safe(shown.flags),
        env=_safe(shown.env),
        docker=_safe(shown.docker),
        partial=shown.partial,
        where=where,
        order=piece.order + shown.line,
        source=Source(piece.source, piece.first_line + shown.line, text=redact(line.strip())[:500]),
    )


def _safe(options: Mapping[str, Value]) -> Options:
    """Options without secrets, whatever they are called."""
    out: Options = {}
    for name, value in options.items():
        if isinstance(value, str):
            told = redact(f"{name}={value}")
            out[name] = told.partition("=")[2] if told.startswith(f"{name}=") else redact(value)
        elif isinstance(value, tuple):
            out[name] = tuple(redact(item) for item in value)
        else:
            out[name] = value
    return out
