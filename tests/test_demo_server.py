"""The demo server: the nearest recording, in the form that was asked for, and a plain word where there is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sparkdiag.apps.demo_server import RECORDING_HEADER, DemoServer
from sparkdiag.apps.recordings import load_server
from sparkdiag.apps.streams import join, split, usage_of
from sparkdiag.errors import CaptureError, InputError

SERVERS = Path(__file__).resolve().parent.parent / "fixtures" / "servers"
NAMES = sorted(folder.name for folder in SERVERS.iterdir())
TOOL = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}}
OFF = {"chat_template_kwargs": {"enable_thinking": False}}
AFTER_TOOL = [
    {"role": "user", "content": "How late is it?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "get_time"}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "noon"},
]
SAID = ("content", "reasoning", "reasoning_content")


class Client:
    """Asks one demo server."""

    def __init__(self, server: DemoServer, http: httpx.Client) -> None:
        self.server, self.http = server, http
        self.model = server.recorded.model

    def get(self, path: str) -> httpx.Response:
        return self.http.get(path)

    def chat(self, text: str = "Name a colour.", **more: Any) -> httpx.Response:
        body = {"model": self.model, "messages": [{"role": "user", "content": text}], "max_tokens": 256, **more}
        return self.http.post("/v1/chat/completions", json=body)

    def complete(self, prompt: Any, **more: Any) -> httpx.Response:
        return self.http.post("/v1/completions", json={"model": self.model, "prompt": prompt, **more})


def serving(name: str) -> Iterator[Client]:
    with DemoServer(SERVERS / name) as server:
        headers = {"authorization": f"Bearer {server.api_key}"} if server.api_key else {}
        with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as http:
            yield Client(server, http)


@pytest.fixture
def vllm() -> Iterator[Client]:
    yield from serving("vllm-think-qwen3")


@pytest.fixture
def sglang() -> Iterator[Client]:
    yield from serving("sglang-think-wrongtool")


@pytest.fixture
def guarded() -> Iterator[Client]:
    yield from serving("vllm-llamatok-apikey")


def used(response: httpx.Response) -> str:
    return response.headers[RECORDING_HEADER]


def said(reply: dict[str, Any]) -> dict[str, Any]:
    """Texts of the first choice that are not empty."""
    message = reply["choices"][0].get("message") or {"content": reply["choices"][0]["text"]}
    return {key: message[key] for key in SAID if message.get(key)}


@pytest.mark.parametrize(
    ("question", "recording"),
    [
        ({}, "chat-hi"),
        ({"stream": True, "stream_options": {"include_usage": True}}, "chat-hi-stream"),
        ({"max_tokens": 8}, "chat-hi-max6"),
        ({"max_tokens": 1}, "chat-hi-max1"),
        (OFF, "chat-hi-enable_thinking-false"),
        ({"text": "loop forever"}, "chat-loop-max300"),
        ({"text": "think long", "max_tokens": 60}, "chat-think-long-max64"),
        ({"text": "think long", "max_tokens": 4000}, "chat-think-long-full"),
        ({"tools": [TOOL]}, "tool-hermes"),
        ({"tools": [TOOL], "stream": True}, "tool-hermes-stream"),
        ({"tools": [TOOL], "tool_choice": "required"}, "tool-required"),
        ({"text": "weather xml", "tools": [TOOL]}, "tool-xml"),
        ({"messages": AFTER_TOOL, "tools": [TOOL], "stream": True}, "tool-result"),
        ({"response_format": {"type": "json_object"}}, "guided-json"),
        ({"include_reasoning": False}, "chat-loop-max64-noreasoning"),
        ({"logprobs": True, "top_logprobs": 2}, "chat-hi-logprobs"),
        ({"model": "another"}, "err-unknown-model"),
    ],
)
def test_the_nearest_chat_is_taken(vllm: Client, question: dict[str, Any], recording: str) -> None:
    assert used(vllm.chat(**question)) == recording


def test_raw_completions_differ_by_the_open_tag_and_by_length_in_tokens(vllm: Client) -> None:
    turn = "<|im_start|>user\nName a colour.<|im_end|>\n<|im_start|>assistant\n"
    assert used(vllm.complete(turn)) == "completions-hi"
    assert used(vllm.complete(turn + "<think>\n")) == "completions-hi-prefilled"
    assert used(vllm.complete([759] * 14)) == "completions-hi-prefilled"
    assert used(vllm.complete([759] * 12)) == "completions-hi"


def test_what_was_not_recorded_is_said_to_be_so(vllm: Client, sglang: Client) -> None:
    missing = [
        vllm.get("/nowhere"),
        vllm.complete("a well-known text", echo=True, logprobs=1),
        vllm.complete("a well-known text", prompt_logprobs=1),
        vllm.chat(tools=[TOOL], **OFF),
        sglang.get("/metrics"),
        sglang.get("/server_info"),
        sglang.get("/get_model_info"),
        vllm.http.post("/detokenize", json={"tokens": [1, 2]}),
    ]
    assert [(r.status_code, used(r)) for r in missing] == [(404, "none")] * len(missing)


def test_metrics_move_from_the_first_scrape_to_the_one_after(vllm: Client) -> None:
    assert [used(vllm.get("/metrics")) for _ in range(3)] == ["get-metrics", "get-metrics-after", "get-metrics-after"]


def test_stand_ins_only_where_the_engine_has_the_route(sglang: Client, guarded: Client) -> None:
    assert sglang.get("/v1/models").json()["data"][0]["owned_by"] == "sglang"
    assert guarded.get("/version").json() == {"version": "0.32.0"}
    assert guarded.get("/v1/models").json()["data"][0]["max_model_len"] == 2048
    for client, path in ((sglang, "/version"), (guarded, "/server_info")):
        response = client.get(path)
        assert (response.status_code, used(response)) == (404, "stand-in: an engine without this route")


def test_tokens_that_the_server_gave_become_text_again(vllm: Client) -> None:
    asked = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}], "add_generation_prompt": True}
    tokens = vllm.http.post("/tokenize", json=asked).json()["tokens"]
    prompt = vllm.http.post("/detokenize", json={"model": "tiny", "tokens": tokens}).json()["prompt"]
    assert prompt == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


def test_a_key_is_asked_for_as_the_recorded_server_did(guarded: Client) -> None:
    with httpx.Client(base_url=guarded.server.url, trust_env=False) as http:
        for headers in ({}, {"authorization": "Bearer wrong"}):
            response = http.get("/v1/models", headers=headers)
            assert (response.status_code, response.json()) == (401, {"error": "Unauthorized"})
            assert used(response) == "err-no-key"
        assert http.get("/health").status_code == 200
    assert "Ġ" in guarded.chat().json()["choices"][0]["message"]["content"]


def test_a_stream_without_usage_gets_that_of_the_same_question(vllm: Client) -> None:
    response = vllm.chat(tools=[TOOL], stream=True, stream_options={"include_usage": True})
    assert used(response) == "tool-hermes-stream, usage of tool-hermes"
    usage = usage_of(response.text)
    assert usage is not None
    assert usage["completion_tokens"] > 0
    assert response.text.endswith("data: [DONE]\n\n")


def test_usage_is_left_out_where_it_was_not_asked_for(vllm: Client) -> None:
    assert usage_of(vllm.chat(stream=True).text) is None


@pytest.mark.parametrize("name", NAMES)
def test_streams_and_whole_replies_become_each_other(name: str) -> None:
    recorded = {r.name: r for r in load_server(SERVERS / name).recordings}
    for whole in recorded.values():
        if whole.status != 200 or not isinstance(whole.reply, dict) or not whole.reply.get("choices"):
            continue
        again = join(split(whole.reply, usage=True))
        assert again is not None, whole.name
        assert said(again) == said(whole.reply), whole.name
        assert again["usage"] == whole.reply["usage"]
        ended, meant = again["choices"][0], whole.reply["choices"][0]
        assert ended["finish_reason"] == meant["finish_reason"]
        assert (ended.get("message") or {}).get("tool_calls", []) == [
            {k: v for k, v in call.items() if k != "index"}
            for call in (meant.get("message") or {}).get("tool_calls") or []
        ]
    stream, whole = join(recorded["chat-hi-stream"].text), recorded["chat-hi"].reply
    assert stream is not None
    words = {key: " ".join(text.split()) for key, text in said(stream).items()}
    assert words == {key: " ".join(text.split()) for key, text in said(whole).items()}
    assert stream["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]


def test_a_stream_recording_is_joined_when_asked_whole(vllm: Client) -> None:
    response = vllm.chat("think long", max_tokens=40)
    assert used(response) == "chat-think-long-max40-stream"
    reply = response.json()
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["choices"][0]["message"]["content"] is None
    assert reply["usage"]["completion_tokens"] == 40


def test_hostile_requests_get_an_answer(vllm: Client) -> None:
    for body in (b"", b"[", b"null", b"[" * 100_000, b"\xff\xfe", json.dumps({"model": 3, "messages": 7}).encode()):
        response = vllm.http.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
        assert response.status_code in (200, 400, 404)
    assert vllm.get("/health").status_code == 200


def test_folders_that_hold_no_recordings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="holds no recording"):
        DemoServer(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        DemoServer(tmp_path / "absent")
    (tmp_path / "chat.json").write_text("{")
    with pytest.raises(CaptureError, match=r"chat\.json: is no JSON"):
        DemoServer(tmp_path)
