"""A log of any length, read in stretches: what is in memory at a time does not depend on its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..facts.piece import Piece
from .transcript_clean import plain_lines

__all__ = ["MAX_KEPT_LINE", "STRETCH", "stretches"]

STRETCH = 4 * 1024 * 1024
"""Bytes of a stretch, whole lines only."""

MAX_KEPT_LINE = 64 * 1024
"""Bytes that are kept of a line that is longer than a stretch."""


def stretches(chunks: Iterable[bytes], piece: Piece) -> Iterator[Piece]:
    """A log's bytes, however they are cut, as pieces of whole lines; `piece` says what all of them have in common."""
    line = 0
    for block in _blocks(chunks):
        text = plain_lines(block.decode("utf-8", "replace"))
        yield replace(piece, text=text, first_line=piece.first_line + line, order=piece.order + line)
        line += block.count(b"\n")


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Blocks that end with a line; the middle of an endless line is left out."""
    parts: list[bytes] = []
    size = 0
    endless = False
    for chunk in chunks:
        if endless:
            at = chunk.find(b"\n")
            if at < 0:
                continue
            chunk, endless = chunk[at:], False
        parts.append(chunk)
        size += len(chunk)
        if size < STRETCH:
            continue
        data = b"".join(parts)
        end = data.rfind(b"\n") + 1
        if end:
            yield data[:end]
            parts, size = ([data[end:]] if end < len(data) else []), len(data) - end
        else:
            parts, size, endless = [data[:MAX_KEPT_LINE]], MAX_KEPT_LINE, True
    if parts:
        yield b"".join(parts)
