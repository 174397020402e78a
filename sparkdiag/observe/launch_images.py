"""Engine versions that image tags tell: an image of a release is named for it."""

from __future__ import annotations

from ..facts import Fact, Source
from ..facts.engine import EngineSeen
from ..facts.piece import Piece
from .patterns import lazy

__all__ = ["observe_images"]

_RELEASES = (
    ("vllm", lazy(r"\bvllm/vllm-openai(?:-\w+)?:v?(?P<version>\d+\.\d+\.\d+(?:\.?(?:rc|post|dev)\d+)?)")),
    ("sglang", lazy(r"\blmsysorg/sglang(?:-\w+)?:v?(?P<version>\d+\.\d+\.\d+(?:\.?(?:rc|post|dev)\d+)?)")),
)
_RUNNING = lazy(r"(?:docker|podman|nerdctl)(?: compose| container)? (?:ps|inspect)\b|kubectl (?:get|describe)\b")


def observe_images(piece: Piece) -> list[Fact]:
    """The engines of the images that a launch asks for or that containers run; not of those that are merely there."""
    launched = piece.kind in ("launch", "compose", "recipe")
    if not launched and not (piece.command and _RUNNING.match(piece.command)):
        return []
    out: dict[tuple[str, str], Fact] = {}
    for name, pattern in _RELEASES:
        for match in pattern.finditer(piece.text):
            line = piece.text.count("\n", 0, match.start())
            out.setdefault(
                (name, match["version"]),
                EngineSeen(
                    name=name,
                    version=match["version"],
                    by="image tag",
                    where=piece.where,
                    order=piece.order + line,
                    source=Source(piece.source, piece.first_line + line, text=match.group()),
                ),
            )
    return list(out.values())
