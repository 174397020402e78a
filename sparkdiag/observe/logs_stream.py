"""A log of any length, read in stretches: what is in memory at a time does not depend on its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .transcript_clean import plain_lines

__all__ = ["MAX_KEPT_LINE", "STRETCH", "stretches"]

STRETCH = 1024 * 1024
"""Bytes of a stretch, whole lines only: few enough to stay in a processor's cache from one step to the next."""

MAX_KEPT_LINE = 64 * 1024
"""Bytes that are kept of a line that is longer than a stretch."""


def stretches(chunks: Iterable[bytes]) -> Iterator[str]:
    """A log's bytes, however they are cut, as texts of whole lines, without colours and with plain line ends."""
    for block in _blocks(chunks):
        yield plain_lines(block.decode("utf-8", "replace"))


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Blocks that end with a line; the middle of an endless line is left out."""
    parts: list[bytes | memoryview] = []
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
        end = chunk.rfind(b"\n") + 1
        if end:
            parts[-1], rest = memoryview(chunk)[:end], chunk[end:]
            yield b"".join(parts)
            parts, size = ([rest] if rest else []), len(rest)
            continue
        data = b"".join(parts)
        end = data.rfind(b"\n") + 1
        if end:
            yield data[:end]
            parts, size = [data[end:]], len(data) - end
        else:
            parts, size, endless = [data[:MAX_KEPT_LINE]], MAX_KEPT_LINE, True
    if parts:
        yield b"".join(parts)
