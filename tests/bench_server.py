"""An engine on loopback that streams with known timing: so many tokens a step, so many seconds a step, and counters."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.endpoint_server import Answer, Asked, Route, as_json, as_text

HEADS = ("bri", "lo", "can", "der", "mo", "ster", "pla", "gre", "tin", "vol", "wa")
TAILS = ("ken ", "ver ", "dle ", "ton ", "ry ", "sel ", "mer ", "ding ", "low ", "ness ", "ty ", "ped ", "ling ")


def word(number: int) -> str:
    """The text of one token, of about four letters as in English; it repeats after 286."""
    return TAILS[number % len(TAILS)] if number % 2 else HEADS[number % len(HEADS)]


@dataclass
class TimedEngine:
    """What it is like; `routes()` for an endpoint_server.Engine. Tokens a step: by workload, told by the prompt."""

    step: float = 0.01
    prefill: float = 0.03
    per_step: Mapping[str, int] = field(default_factory=dict)
    depth: int = 3
    speculates: bool = False
    engine: str = "vllm"
    usage: bool = True
    metrics: bool = True
    hides_thought: float = 0.0
    """Share of the tokens that are thought and never sent."""
    thinks: float = 0.0
    """Share of the tokens that are sent as reasoning."""
    held_back: bool = False
    """A proxy in front sends all of it at the end."""
    running: int = 0
    joined_after: int | None = None
    """After so many requests somebody else comes."""
    others: int = 0
    """Tokens that somebody else gets during each of our requests."""
    model: str = "served"
    refuses: str | None = None
    """A key of the request that gives a 400."""
    stall: int | None = None
    """Before this token it stops for fifty steps."""
    verify_counter: bool = True
    tokens: int = 100
    drafts: int = 40
    accepted: int = 60
    first: int = 30
    served: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def routes(self) -> dict[str, Route]:
        routes: dict[str, Route] = {
            "GET /health": as_text(""),
            "GET /v1/models": as_json({"object": "list", "data": [{"id": self.model, "owned_by": self.engine}]}),
            "POST /v1/chat/completions": self._chat,
        }
        if self.engine == "vllm":
            routes["GET /version"] = as_json({"version": "0.33.0"})
        if self.metrics:
            routes["GET /metrics"] = lambda asked: as_text(self._counters())(asked)
        return routes

    def _counters(self) -> str:
        p = self.engine
        if self.joined_after is not None and len(self.served) >= self.joined_after:
            self.running = 1
        self.tokens += 5 * self.running  # theirs
        names = (
            ("num_requests_running", "num_requests_waiting") if p == "vllm" else ("num_running_reqs", "num_queue_reqs")
        )
        lines = [
            f'{p}:{names[0]}{{m="x"}} {self.running}.0',
            f'{p}:{names[1]}{{m="x"}} 0.0',
            f'{p}:generation_tokens_total{{m="x"}} {self.tokens}.0',
            f'{p}:prompt_tokens_total{{m="x"}} 50.0',
        ]
        if p == "vllm" and self.speculates:
            lines += [
                f'vllm:spec_decode_num_drafts_total{{m="x"}} {self.drafts}.0',
                f'vllm:spec_decode_num_draft_tokens_total{{m="x"}} {self.drafts * self.depth}.0',
                f'vllm:spec_decode_num_accepted_tokens_total{{m="x"}} {self.accepted}.0',
                f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{m="x",position="0"}} {self.first}.0',
            ]
        if p == "sglang":
            lines.append(f'sglang:spec_accept_length{{m="x"}} {2.5 if self.speculates else 0.0}')
            if self.speculates and self.verify_counter:
                lines.append(f'sglang:spec_verify_calls_total{{m="x"}} {self.drafts}.0')
        return "\n".join(lines) + "\n"

    def _chat(self, asked: Asked) -> Answer:
        with self._lock:
            self.served.append(asked.body)
        if self.refuses is not None and self.refuses in json.dumps(asked.body):
            return (
                400,
                {"content-type": "application/json"},
                b'{"error": {"message": "not supported here", "code": 400}}',
            )
        return 200, {"content-type": "text/event-stream"}, self._stream(asked.body)

    def _stream(self, body: Mapping[str, Any]) -> Iterator[bytes]:
        events = self._events(body)
        if self.held_back:
            events = iter([b"".join(events)])
        yield from events

    def _events(self, body: Mapping[str, Any]) -> Iterator[bytes]:
        prompt = body["messages"][-1]["content"]
        workload = "code" if "LRUCache" in prompt else "structured" if "JSON" in prompt else "prose"
        per_step = self.per_step.get(workload, 1) if self.speculates else 1
        total, made = int(body["max_tokens"]), 0
        options = body.get("stream_options", {})
        time.sleep(self.prefill)
        yield self._event({"role": "assistant", "content": ""}, None)
        while made < total:
            now = 1 if made == 0 else min(per_step, total - made)
            if made:
                time.sleep(self.step * (50 if self.stall is not None and made <= self.stall < made + now else 1))
                with self._lock:
                    self.drafts += 1
                    self.accepted += now - 1
                    self.first += now > 1
            text = "".join(word(made + n) for n in range(now))
            made += now
            with self._lock:
                self.tokens += now
            counted = made if options.get("continuous_usage_stats") and self.usage else None
            if made <= self.hides_thought * total:
                continue
            key = "reasoning" if made <= self.thinks * total else "content"
            yield self._event({key: text}, counted)
        with self._lock:
            self.tokens += self.others
        yield self._event({}, None, "length")
        if options.get("include_usage") and self.usage:
            usage = {"prompt_tokens": 120, "completion_tokens": made, "total_tokens": 120 + made}
            yield b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    def _event(self, delta: Mapping[str, Any], counted: int | None, finish: str | None = None) -> bytes:
        event: dict[str, Any] = {
            "object": "chat.completion.chunk",
            "model": self.model,
            "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}],
        }
        if counted is not None:
            event["usage"] = {"prompt_tokens": 120, "completion_tokens": counted, "total_tokens": 120 + counted}
        return b"data: " + json.dumps(event).encode() + b"\n\n"
