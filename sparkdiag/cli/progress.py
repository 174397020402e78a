"""A progress line on a terminal, for files that take longer than a second to read. Elsewhere: silence."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..files import Progress

PATIENCE = 1.0
"""Seconds before the line is shown."""


def progress_line() -> Progress | None:
    """A callback that draws on standard error; None where that is no terminal."""
    try:
        if not sys.stderr.isatty():
            return None
    except (AttributeError, ValueError):
        return None
    begun = last = time.monotonic()

    def draw(name: str, done: int, size: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - begun < PATIENCE or now - last < 0.1:
            return
        last = now
        read = f"{done / 2**20:.0f} MiB"
        share = f" of {size / 2**20:.0f} MiB, {done * 100 // size}%" if size else ""
        end = "\r" if size is None or done < size else "\r\033[K"
        sys.stderr.write(f"\r\033[Kreading {name[-40:]}: {read}{share}{end}")
        sys.stderr.flush()

    return draw
