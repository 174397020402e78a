"""The output of usual commands into facts. One module a family of commands; each recognises its own by command or shape.

Add one: a function `observe_x(piece) -> list[Fact]` in a module here, and its line in `_PARSERS`.
"""

from __future__ import annotations

from collections.abc import Callable

from ...facts import Fact
from ...facts.piece import Piece

__all__ = ["observe_output"]

_PARSERS: tuple[Callable[[Piece], list[Fact]], ...] = ()


def observe_output(piece: Piece) -> list[Fact]:
    """The facts of one piece of command output (or text that looks like it); Looked facts say what was recognised."""
    out: list[Fact] = []
    for parser in _PARSERS:
        out += parser(piece)
    return out
