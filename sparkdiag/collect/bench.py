"""A bench: named workloads one after the other, each sent once as a timed stream, a sample of /metrics between them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..capture import Item
from . import requests, told
from .http import Ask, Session
from .passive import passive_items
from .settings import Settings
from .workloads import WARM_UP, Workload, workload_body

__all__ = ["METRICS", "RUN", "BenchPlan", "Tell", "collect_bench"]

RUN = "bench"
METRICS = "bench-metrics"
REFUSED = "bench-refused"
"""Probes of the items; `asked.workload` names the workload, and `warm-up` is none of them. A refused request is asked
again without the keys that are not OpenAI's, so it is no evidence against the server."""

Tell = Callable[[str, int, int, float], None]
"""What runs now, its number from 1, of how many, for how many seconds so far."""

_WARM_UP_TOKENS = 32
_FEWEST = 24
"""A stream of fewer tokens than this tells no speed."""
_MOST = 2000
"""More of them tell nothing more."""
_SHARE = 0.8
"""Of the time that a workload has, what it is planned to take: a slow spell must not cut it off."""
_SETTLE = 0.3
"""Seconds after a stream's end until the engine's counters hold all of it."""
_LINGERS = 1.0
_TICK = 0.5


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What to measure."""

    workloads: tuple[Workload, ...]
    over_traffic: bool = False
    """Measure although others are being served."""


@dataclass(slots=True)
class _Pace:
    """How fast the server is, as far as it is known: it sets how many tokens fit into the time."""

    left: int
    """Tokens that may still be generated."""
    tokens_per_s: float | None = None
    items: list[Item] = field(default_factory=list)

    def note(self, item: Item, granted: int) -> None:
        """Whole requests count, prefill included: a little too slow is on the safe side."""
        counts = re.findall(r'"completion_tokens":\s?(\d{1,7})', item.text[-4000:])
        events = item.text.count("\ndata:") if item.truncated else granted  # of a stream that was cut, what there is
        used = min(int(counts[-1]) if counts else events, granted)
        self.left -= granted if item.truncated else used if item.status == "ok" else 0
        if item.status == "ok" and item.took and used >= 2:
            self.tokens_per_s = used / item.took

    def tokens(self, seconds: float, workloads: int) -> int:
        """For the next of so many workloads that are left, each with so many seconds. Where they do not reach for all,
        the first are measured."""
        share = min(_MOST, self.left, max(_FEWEST, self.left // workloads))
        return share if self.tokens_per_s is None else min(share, int(self.tokens_per_s * seconds * _SHARE))


async def collect_bench(settings: Settings, plan: BenchPlan, add: Callable[[list[Item]], None], tell: Tell) -> None:
    """Hands its items to `add` as they come, so that an interrupt loses none: the passive tier, a warm-up, then for
    each workload a `bench` with a `bench-metrics` before and after it. What was not sent says why."""
    async with Session(settings) as session:
        tell("a look at the server", 0, len(plan.workloads), 0.0)
        items = await passive_items(session)
        add(items)
        refused = _refused(items, plan)
        if refused is not None:
            add([session.skipped(RUN, refused)])
            return
        model = told.model_name(items, settings.model)
        pace = _Pace(settings.max_generated)
        counted = any(item.probe == "metrics" and item.status == "ok" for item in items)
        sender = _Sender(session, model, len(plan.workloads), told.is_vllm_or_sglang(items), tell)
        warm = await sender.send(WARM_UP, min(_WARM_UP_TOKENS, pace.left), 0, 0.5, add)
        if warm.status != "ok":
            add([session.skipped(RUN, f"the warm-up was not answered: {warm.why or warm.code or warm.status}")])
            return
        pace.note(warm, _WARM_UP_TOKENS)
        add(last := await _sample(session, "warm-up", counted))
        for number, workload in enumerate(plan.workloads, 1):
            remaining = len(plan.workloads) - number + 1
            share = (session.left() - 1) / remaining
            tokens = pace.tokens(share, remaining)
            others = [] if plan.over_traffic else await _others(session, last)
            add(others)
            why = told.busy(others)
            if why is None and (tokens < _FEWEST or share < 1):
                why = (
                    f"too little is left of the time and of the {settings.max_generated} tokens: "
                    f"{max(tokens, 0)} of the {_FEWEST} that a speed takes"
                )
            if why is not None:
                notes = {"workload": workload.name, "about": workload.about}
                add([session.item(RUN, "skipped", asked=notes, why=why, at=round(session.now(), 4))])
                continue
            run = await sender.send(workload, tokens, number, 1 / remaining, add)
            pace.note(run, tokens)
            add(last := await _sample(session, workload.name, counted))


@dataclass(slots=True)
class _Sender:
    """Sends a workload once, or, where the server refused it unread for keys of ours, once more without them."""

    session: Session
    model: str | None
    of: int
    extras: bool
    tell: Tell

    async def send(
        self, workload: Workload, tokens: int, number: int, share: float, add: Callable[[list[Item]], None]
    ) -> Item:
        item = await self._once(workload, tokens, number, share)
        if item.code in (400, 422) and self.extras:
            self.extras = False
            add([replace(item, probe=REFUSED)])
            item = await self._once(workload, tokens, number, share)
        add([item])
        return item

    async def _once(self, workload: Workload, tokens: int, number: int, share: float) -> Item:
        ask = Ask(
            RUN,
            requests.CHAT,
            workload_body(workload, self.model, tokens, extras=self.extras),
            max(1.0, (self.session.left() - 1) * share),
            {"workload": workload.name, "about": workload.about},
        )
        ticking = asyncio.create_task(_tick(self.tell, workload.name, number, self.of, self.session))
        try:
            return await self.session.send(ask)
        finally:
            ticking.cancel()


async def _tick(tell: Tell, name: str, number: int, of: int, session: Session) -> None:
    began = session.now()
    while True:
        tell(name, number, of, session.now() - began)
        await asyncio.sleep(_TICK)


async def _sample(session: Session, workload: str, counted: bool) -> list[Item]:
    """The counters after this workload, and before the next; none where there are no metrics."""
    if not counted:
        return []
    await asyncio.sleep(max(0.0, min(_SETTLE, session.left() - 0.5)))
    return [await session.send(Ask(METRICS, "/metrics", notes={"workload": workload}))]


async def _others(session: Session, last: Sequence[Item]) -> list[Item]:
    """A further sample where the last one shows requests: what lingers of our own is gone by then."""
    if told.busy(last) is None or session.left() < 2 * _LINGERS:
        return []
    await asyncio.sleep(_LINGERS)
    return await _sample(session, str(last[-1].asked.get("workload")), counted=True)


def _refused(items: Sequence[Item], plan: BenchPlan) -> str | None:
    reached = next((item for item in items if item.probe == "tcp-api"), None)
    if reached is not None and reached.status != "ok":
        return f"the port cannot be reached: {reached.why}"
    frozen = told.seems_frozen(items)
    if frozen is not None:
        return frozen
    busy = told.busy(items)
    if busy is not None and not plan.over_traffic:
        return f"{busy}; a bench would slow them down and measure them as well (--over-traffic runs it all the same)"
    return None
