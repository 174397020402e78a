"""Control-C and cancellation that hold."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["stoppable"]

_T = TypeVar("_T")
_AGAIN = 0.5
"""Seconds to wait before a task that is still running is cancelled again."""


async def stoppable(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of `work`; where this is cancelled, so is `work`, until it has ended.

    A connection that opens at that very moment can swallow one cancellation (its losing attempts are ended by the same
    means), and the run would go on to its end.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_AGAIN)
        if not task.cancelled():
            task.exception()  # looked at: it is of no use any more
        raise
    return task.result()
