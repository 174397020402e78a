"""A run that is cancelled ends, also where a part of it swallows the cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from sparkdiag.collect.stopping import stoppable


async def _swallows(times: int, seen: list[str]) -> str:
    for _ in range(times):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            seen.append("swallowed")
    await asyncio.sleep(30)
    return "went on to its end"


async def _fails_when_stopped(times: int, seen: list[str]) -> str:
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        seen.append("swallowed")
    raise OSError("the connection is gone")


@pytest.mark.parametrize(("work", "times"), [(_swallows, 0), (_swallows, 2), (_fails_when_stopped, 1)])
def test_cancelled_work_ends(work: Callable[[int, list[str]], Coroutine[None, None, str]], times: int) -> None:
    seen: list[str] = []

    async def main() -> None:
        outer = asyncio.ensure_future(stoppable(work(times, seen)))
        await asyncio.sleep(0.01)
        outer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await outer
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert seen == ["swallowed"] * times


def test_results_and_errors_come_through() -> None:
    async def good() -> int:
        return 7

    async def bad() -> int:
        raise ValueError("no")

    assert asyncio.run(stoppable(good())) == 7
    with pytest.raises(ValueError, match="no"):
        asyncio.run(stoppable(bad()))
