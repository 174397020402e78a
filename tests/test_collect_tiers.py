"""What the tiers send, in which order, within which budget, and when they send nothing."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sparkdiag
from sparkdiag.capture import Item
from sparkdiag.collect import Settings, collect_active, collect_passive, collect_probe, requests, told
from sparkdiag.errors import UsageError
from tests.endpoint_server import (
    Engine,
    Route,
    as_json,
    as_stream,
    as_text,
    chat_events,
    listening,
    metrics,
    silent,
    vllm,
)

KEY = "correct-horse-battery"
PASSIVE = ["tcp-api", "health", "models", "version", "server-info", "model-info", "metrics", "metrics-again"]
RENDERED = ["tokenize", "detokenize"]
ACTIVE = ["chat", *RENDERED, "completion", "logit-text", "logit-shuffled"]


def settings(address: str, **more: Any) -> Settings:
    given: dict[str, Any] = {"answer_seconds": 5.0, "metrics_gap": 0.02, "later_gap": 0.1, "netrc": None, **more}
    return Settings("t1", address, **given)


def passive(address: str, **more: Any) -> list[Item]:
    return asyncio.run(collect_passive(settings(address, **more)))


def active(address: str, items: list[Item], **more: Any) -> list[Item]:
    return asyncio.run(collect_active(settings(address, **more), items))


def both(address: str, **more: Any) -> list[Item]:
    first = passive(address, **more)
    return first + active(address, first, **more)


def probe(name: str, address: str, items: list[Item], **more: Any) -> list[Item]:
    return asyncio.run(collect_probe(name, settings(address, **more), items))


def named(items: list[Item], name: str) -> Item:
    return next(item for item in items if item.probe == name)


def names(items: list[Item]) -> list[str]:
    return [item.probe for item in items]


# --- passive


def test_the_passive_tier_asks_every_route_and_generates_nothing() -> None:
    with Engine(vllm()) as engine:
        items = passive(engine.url)
    assert names(items) == PASSIVE
    assert {item.status for item in items[1:4]} == {"ok"}
    assert all(asked.method == "GET" for asked in engine.asked)
    again = named(items, "metrics-again")
    assert (again.at or 0) - (named(items, "metrics").at or 0) >= 0.02
    assert all(item.target == "t1" and item.at is not None for item in items)


def test_old_names_of_routes_are_asked_where_the_new_ones_are_not_known() -> None:
    routes = vllm()
    routes["GET /get_server_info"] = as_json({"version": "0.5.2"})
    routes["GET /model_info"] = as_json({"model_path": "m"})
    with Engine(routes) as engine:
        items = passive(engine.url)
        assert "GET /get_model_info" not in engine.paths()
    assert named(items, "server-info").asked["path"] == "/get_server_info"
    assert named(items, "model-info").asked["path"] == "/model_info"


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/models"])
def test_a_path_prefix_and_v1_lead_to_the_same_routes(end: str) -> None:
    routes = {name.replace(" /", " /gate/llm/"): route for name, route in vllm().items()}
    with Engine(routes) as engine:
        items = both(f"{engine.url}/gate/llm{end}")
    assert {item.status for item in items if item.probe in ("health", "models", "chat", "completion")} == {"ok"}
    assert named(items, "models").asked == {
        "method": "GET", "path": "/v1/models", "key_sent": False, "prefix": "/gate/llm"
    }  # fmt: skip


def test_a_proxy_that_serves_without_v1_is_found() -> None:
    routes = {name.replace(" /", " /openai/").replace("/v1/", "/"): route for name, route in vllm().items()}
    with Engine(routes) as engine:
        items = both(f"{engine.url}/openai")
        assert "POST /openai/chat/completions" in engine.paths()
    assert named(items, "models").asked["path"] == "/models"
    assert named(items, "chat").status == "ok"


def test_a_web_site_that_is_no_engine_is_told_as_it_is() -> None:
    page: Route = as_text("<html>welcome</html>", media="text/html")
    with Engine({f"GET {path}": page for path in ("/health", "/v1/models", "/metrics")}) as engine:
        items = both(engine.url)
    assert named(items, "models").text == "<html>welcome</html>"
    assert named(items, "chat").code == 404


# --- active


def test_the_active_tier_chats_and_completes_the_same_turn_in_the_models_own_template() -> None:
    with Engine(vllm()) as engine:
        items = both(engine.url)
        sent = {asked.path: asked.body for asked in engine.asked if asked.method == "POST"}
    assert names(items) == PASSIVE + ACTIVE
    chat, raw = named(items, "chat"), named(items, "completion")
    assert chat.asked["turn"] == raw.asked["turn"] == "plain"
    assert raw.asked["rendered"] == "tokenize"
    body = chat.asked["body"]
    assert (body["model"], body["max_tokens"], body["temperature"], body["stream"]) == ("served", 256, 0, True)
    assert body["stream_options"] == {"include_usage": True}
    assert raw.asked["body"]["prompt"] == "<|user|>\nhi<|assistant|>\n"
    assert raw.asked["body"]["add_special_tokens"] is False, "the template wrote the start token already"
    assert sent["/detokenize"]["tokens"] == [1, 2, 3]
    assert sent["/tokenize"]["messages"] == body["messages"]
    assert chat.media == "text/event-stream"
    assert chat.chunks[0][0] == 0
    assert chat.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("lost", ["post_tokenize", "post_detokenize"])
def test_without_a_template_from_the_server_the_completion_is_chatml(lost: str) -> None:
    with Engine(vllm(**{lost: as_json({"detail": "Not Found"}, 404)})) as engine:
        raw = named(both(engine.url), "completion")
    assert raw.asked["rendered"] == "chatml"
    assert re.fullmatch(r"<\|im_start\|>user\n.+<\|im_end\|>\n<\|im_start\|>assistant\n", raw.asked["body"]["prompt"])
    assert "add_special_tokens" not in raw.asked["body"]


def test_a_route_that_renders_is_used_where_tokenize_is_not_there() -> None:
    routes = vllm(post_tokenize=as_json({}, 404))
    routes["POST /v1/chat/completions/render"] = as_json({"token_ids": [7, 8]})
    with Engine(routes) as engine:
        raw = named(both(engine.url), "completion")
    assert raw.asked["rendered"] == "render"


@pytest.mark.parametrize("reply", [[], "x", {"tokens": []}, {"tokens": ["a"]}, {"tokens": [1] * 20_000}, None])
def test_a_tokenizer_that_answers_nonsense_does_no_harm(reply: Any) -> None:
    with Engine(vllm(post_tokenize=as_json(reply))) as engine:
        assert named(both(engine.url), "completion").asked["rendered"] == "chatml"


@pytest.mark.parametrize(
    "models",
    [as_text("no json"), as_json({"data": []}), as_json([]), as_json({"data": [{"id": 5}]}), as_json({}, 500),
     as_text("[" * 20_000)],
)  # fmt: skip
def test_without_a_known_name_none_is_sent(models: Route) -> None:
    with Engine(vllm(get_v1_models=models)) as engine:
        assert "model" not in named(both(engine.url), "chat").asked["body"]
        assert named(both(engine.url, model="mine"), "chat").asked["body"]["model"] == "mine"


def test_tools_are_tried_there_and_back_when_they_are_meant() -> None:
    with Engine(vllm()) as engine:
        items = both(engine.url, tools=True)
    call, result = named(items, "tools").asked["body"], named(items, "tools-result").asked["body"]
    assert call["tool_choice"] == "auto"
    assert call["stream"] is True
    assert [message["role"] for message in result["messages"]] == ["user", "assistant", "tool"]
    assert result["messages"][1]["tool_calls"][0]["function"]["name"] == call["tools"][0]["function"]["name"]


@pytest.mark.parametrize(("parser", "tried"), [("qwen", True), (None, False)])
def test_sglang_says_itself_whether_tools_are_meant(parser: str | None, tried: bool) -> None:
    routes = vllm()
    routes["GET /model_info"] = as_json({"model_path": "m", "tool_call_parser": parser})
    with Engine(routes) as engine:
        items = both(engine.url)
    assert ("tools" in names(items)) is tried
    logit = named(items, "logit-text").asked
    assert logit["path"] == "/generate"
    assert logit["body"]["return_logprob"] is True


def test_the_logit_check_asks_for_one_token_and_the_same_words_in_another_order() -> None:
    text, shuffled = (requests.logit("m", shuffled=s)["prompt"] for s in (False, True))
    assert sorted(text.split()) == sorted(shuffled.split())
    assert sum(a == b for a, b in zip(text.split(), shuffled.split(), strict=True)) <= 3
    assert len(text.split()) < 80, "128 tokens at most"
    assert requests.logit("m", shuffled=True) == requests.logit("m", shuffled=True)


def test_the_budget_of_tokens_holds_over_all_rounds() -> None:
    with Engine(vllm()) as engine:
        items = both(engine.url, max_generated=300)
        caps = [i.asked["body"]["max_tokens"] for i in items if "max_tokens" in i.asked.get("body", {})]
        assert sum(caps) <= 300
        assert named(items, "completion").asked["body"]["max_tokens"] == 44 - 2
        later = probe("chat-larger-budget", engine.url, items, max_generated=300)
        assert later[0].status == "skipped"
        assert "too few are left" in (later[0].why or "")
        none = both(engine.url, max_generated=0)
        assert {item.status for item in none if item.probe in ("chat", "completion", "logit-text")} == {"skipped"}


def test_tokens_are_counted_as_the_server_says_and_a_refusal_costs_none() -> None:
    body = {"max_tokens": 256}
    counted = Item("t", "chat", "ok", asked={"body": body}, text='data: {"usage": {"completion_tokens": 9}}')
    uncounted = Item("t", "chat", "ok", asked={"body": body}, text="data: x")
    refused = Item("t", "chat", "http-error", asked={"body": body})
    lied = Item("t", "chat", "ok", asked={"body": body}, text='{"completion_tokens": 9000000}')
    assert [told.generated([item]) for item in (counted, uncounted, refused, lied)] == [9, 256, 0, 256]


def test_passive_generates_nothing() -> None:
    with Engine(vllm()) as engine:
        items = active(engine.url, passive(engine.url), passive=True)
        items += probe("chat-again", engine.url, items, passive=True)
        assert all(asked.method == "GET" for asked in engine.asked)
    assert {item.status for item in items} == {"skipped"}
    assert {item.why for item in items} == {"--passive: nothing is generated"}


def running(*tokens: int) -> Route:
    """/metrics of an engine with two requests running; one count of tokens a scrape, the last one over and over."""
    counts = iter(tokens)
    return lambda asked: as_text(metrics(2, next(counts, tokens[-1])))(asked)


def test_nothing_is_sent_to_an_engine_that_may_be_stuck_until_a_later_sample_shows_progress() -> None:
    with Engine(vllm(get_metrics=running(50, 50, 50, 90))) as engine:
        items = both(engine.url)
        assert "POST /v1/chat/completions" not in engine.paths()
        assert {item.status for item in items if item.probe in ACTIVE} == {"skipped"}
        assert "no token was counted" in (named(items, "chat").why or "")
        items += probe("metrics-later", engine.url, items)
        assert probe("chat", engine.url, items)[0].status == "skipped", "still no progress"
        items += probe("metrics-later", engine.url, items)
        assert probe("chat", engine.url, items)[0].status == "ok"


@pytest.mark.parametrize("passive", [True, False])
def test_a_whole_run_takes_the_later_sample_where_the_counters_stood(passive: bool, tmp_path: Path) -> None:
    with Engine(vllm(get_metrics=running(50))) as engine:
        report = sparkdiag.diagnose_sync(
            engine.url, passive=passive, metrics_gap=0.05, later_gap=0.2, save=str(tmp_path / "saved")
        )
        assert "POST /v1/chat/completions" not in engine.paths()
    assert (tmp_path / "saved" / "metrics-later.prom").is_file()
    assert report.verdict == "inconclusive", "the samples are too near to each other for a claim"


def test_a_busy_engine_is_not_a_stuck_one() -> None:
    with Engine(vllm(get_metrics=running(50, 60))) as engine:
        assert named(both(engine.url), "chat").status == "ok"
    idle = as_text(metrics(0, 50))
    with Engine(vllm(get_metrics=idle)) as engine:
        assert named(both(engine.url), "chat").status == "ok"


def test_nothing_is_sent_where_health_does_not_answer() -> None:
    def slow(asked: object) -> Any:
        time.sleep(1)
        return 200, {}, b""

    with Engine(vllm(get_health=slow)) as engine:
        items = both(engine.url, answer_seconds=0.2)
    assert "/health gave no answer" in (named(items, "chat").why or "")


def test_a_later_sample_waits_long_enough_or_is_not_taken() -> None:
    with Engine(vllm()) as engine:
        items = passive(engine.url)
        at = max(item.at or 0 for item in items if item.probe.startswith("metrics"))
        clock = {"clock": lambda: at + 0.01}
        started = time.monotonic()
        assert probe("metrics-later", engine.url, items, **clock)[0].status == "ok"
        assert time.monotonic() - started >= 0.09
        short = probe("metrics-later", engine.url, items, seconds=1.05, later_gap=12.0, **clock)
        assert (short[0].status, "does not reach" in (short[0].why or "")) == ("skipped", True)


def test_a_chat_without_an_answer_is_the_last_thing_that_is_sent() -> None:
    def never(asked: object) -> Any:
        time.sleep(2)
        return 200, {}, b""

    with Engine(vllm(post_v1_chat_completions=never)) as engine:
        items = active(engine.url, passive(engine.url), seconds=0.6)
        assert sum(asked.method == "POST" for asked in engine.asked) == 1
    assert named(items, "chat").status == "timeout"
    assert {item.status for item in items[1:]} == {"skipped"}


@pytest.mark.parametrize("status", [401, 403, 429])
def test_a_refused_chat_is_not_repeated_in_other_forms(status: int) -> None:
    with Engine(vllm(post_v1_chat_completions=as_json({"error": "no"}, status))) as engine:
        items = both(engine.url)
        assert sum(asked.method == "POST" for asked in engine.asked) == 1
    assert (named(items, "chat").code, named(items, "completion").status) == (status, "skipped")


def test_a_chat_that_fails_for_another_reason_leaves_the_raw_completion_to_tell_more() -> None:
    with Engine(vllm(post_v1_chat_completions=as_text("Internal Server Error", 500))) as engine:
        items = both(engine.url)
    assert (named(items, "chat").code, named(items, "completion").status) == (500, "ok")


def test_an_endless_reply_is_cut_by_the_probe_and_leaves_time_for_the_others() -> None:
    def endless(asked: object) -> Any:
        def pieces() -> Iterator[bytes]:
            while True:
                yield b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n'
                time.sleep(0.01)

        return 200, {"content-type": "text/event-stream"}, pieces()

    with Engine(vllm(post_v1_chat_completions=endless)) as engine:
        first = passive(engine.url)
        started = time.monotonic()
        items = active(engine.url, first, seconds=1.0)
        assert time.monotonic() - started < 1.5
    chat = named(items, "chat")
    assert (chat.asked["cut_by"], chat.truncated, chat.status) == ("probe", True, "ok")
    assert named(items, "completion").status == "ok"


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("chat-again", {"max_tokens": 256}),
        ("chat-larger-budget", {"max_tokens": 1024}),
        ("chat-thinking-off", {"chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
def test_probes_on_demand_ask_the_same_question(name: str, more: dict[str, Any]) -> None:
    with Engine(vllm()) as engine:
        items = both(engine.url)
        [item] = probe(name, engine.url, items)
    first = named(items, "chat").asked
    assert item.probe == name
    assert item.asked == {**first, "body": {**first["body"], **more}}


def test_probes_with_several_parts_and_unknown_ones() -> None:
    with Engine(vllm()) as engine:
        items = passive(engine.url)
        assert names(probe("tools", engine.url, items)) == ["tools", "tools-result"]
        assert names(probe("logit", engine.url, items)) == ["logit-text", "logit-shuffled"]
        assert names(probe("completion", engine.url, items)) == [*RENDERED, "completion"]
        with pytest.raises(UsageError, match="no probe 'ping'"):
            probe("ping", engine.url, items)


def test_the_key_goes_with_every_request_and_stands_in_no_item() -> None:
    def echo(asked: Any) -> Any:
        return as_stream(*chat_events(f"your key is {asked.headers['authorization']}"))(asked)

    with Engine(vllm(post_v1_chat_completions=echo)) as engine:
        items = both(engine.url, api_key=KEY)
        assert all(asked.headers["authorization"] == f"Bearer {KEY}" for asked in engine.asked)
    assert KEY not in json.dumps([item.to_dict() for item in items])
    assert KEY not in "".join(item.text for item in items)


def test_a_port_that_cannot_be_reached_is_asked_nothing() -> None:
    with listening(silent) as port:
        pass
    items = both(f"127.0.0.1:{port}")
    assert items[0].status == "refused"
    assert {item.status for item in items[1:]} == {"skipped"}


def test_what_the_demo_server_did_not_record_is_skipped() -> None:
    unrecorded = as_json({"detail": "Not Found"}, 404, **{"x-demo-recording": "none"})
    with Engine(vllm(get_metrics=unrecorded)) as engine:
        items = passive(engine.url)
    assert named(items, "metrics").status == "skipped"
