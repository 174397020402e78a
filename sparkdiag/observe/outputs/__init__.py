"""The output of usual commands into facts. One module a family of commands; each recognises its own by command or shape.

Add one: a function `observe_x(piece) -> list[Fact]` in a module here, and its line in `_PARSERS`.
"""

from __future__ import annotations

from collections.abc import Callable

from ...facts import Fact
from ...facts.piece import Piece
from .clients import observe_clients
from .cluster import observe_cluster
from .disks import observe_disks
from .drivers import observe_drivers
from .images import observe_images
from .node import observe_node
from .packages import observe_packages

__all__ = ["observe_output"]

_PARSERS: tuple[Callable[[Piece], list[Fact]], ...] = (
    observe_packages,
    observe_drivers,
    observe_images,
    observe_disks,
    observe_cluster,
    observe_node,
    observe_clients,
)


def observe_output(piece: Piece) -> list[Fact]:
    """The facts of one piece of command output (or text that looks like it); Looked facts say what was recognised."""
    out: list[Fact] = []
    for parser in _PARSERS:
        out += parser(piece)
    return out
