"""The output of usual commands into facts. One module a family of commands; each knows its own by command or shape.

Add one: a function `observe_x(piece) -> list[Fact]` in a module here, and its lines in `_parsers`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ...facts import Fact
from ...facts.piece import Piece

__all__ = ["observe_output"]

MIN_LINES = 3
"""Lines of a log without a command below which it holds no command's output: most logs' stray lines."""
_NODE = ("banner", "MemAvailable", "mem avail", "packets transmitted", " kernel: ", "docker.sock")
"""Words by which even a stray line tells of the node."""


@cache
def _parsers() -> tuple[Callable[[Piece], list[Fact]], ...]:
    """All parsers, in their order. Imported at the first piece that may be theirs: they are many."""
    from .client_code import observe_client_code
    from .clients import observe_clients
    from .cluster import observe_cluster
    from .disks import observe_disks
    from .drivers import observe_drivers
    from .images import observe_images
    from .node import observe_node
    from .packages import observe_packages

    return (
        observe_packages,
        observe_drivers,
        observe_images,
        observe_disks,
        observe_cluster,
        observe_node,
        observe_clients,
        observe_client_code,
    )


def _unconnected(piece: Piece) -> list[Fact]:
    """One line of a client's log tells that its server could not be reached."""
    if not any(word in piece.text for word in ("onnect", "ECONN", "dial tcp", "Max retries", "urlopen")):
        return []
    from .clients import observe_clients

    return observe_clients(piece)


def observe_output(piece: Piece) -> list[Fact]:
    """The facts of one piece of command output (or text that looks like it); Looked facts say what was recognised."""
    stray = piece.kind == "log" and piece.command is None and piece.text.count("\n") < MIN_LINES
    if stray and not any(word in piece.text for word in _NODE):
        return _unconnected(piece)
    out: list[Fact] = []
    for parser in _parsers():
        out += parser(piece)
    return out
