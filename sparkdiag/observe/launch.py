"""How a server was started, from whatever shows it: commands, scripts, files, units, printed arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ..facts import Fact, Source, Value
from ..facts.launch import Launch
from ..facts.piece import Piece
from ..redact import redact
from .launch_commands import Shown, launches_of_text
from .launch_options import Options

__all__ = ["launch_fact", "observe_launch"]


def observe_launch(piece: Piece) -> list[Fact]:
    """The launch facts of one piece: a launch, compose or recipe piece, or output that prints arguments."""
    from .launch_printed import launches_of_output
    from .launch_yaml import launches_of_compose, launches_of_recipe

    text = piece.text
    if piece.kind == "launch":
        shown = launches_of_text(text)
    elif piece.kind == "compose" or _composed(piece.command):
        shown = launches_of_compose(text)
    elif piece.kind == "recipe" or (piece.kind == "config" and piece.command is None and "command:" in text):
        shown = launches_of_recipe(text)
    elif piece.kind in ("output", "json", "text", "log") and piece.command:
        shown = launches_of_output(piece.command, text, piece.meta.get("doc"))
    else:
        shown = []
    return [launch_fact(one, piece) for one in shown]


def _composed(command: str | None) -> bool:
    return (
        command is not None
        and re.match(r"(?:docker|podman)[ -]compose\b[^|;]*\bconfig\b(?!.*grep -\w*c)", command) is not None
    )


def launch_fact(shown: Shown, piece: Piece) -> Launch:
    """The fact of one launch, with its place in the piece."""
    lines = piece.text.split("\n")
    words_there = lines[shown.line].strip() if shown.line < len(lines) else ""
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
        source=Source(piece.source, piece.first_line + shown.line, text=redact(words_there)[:500]),
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
