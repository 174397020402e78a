"""Replies of healthy servers, of all sorts, claim no fault: parsed, streamed, or as clients print them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import yaml

import sparkdiag
from sparkdiag.diagnosis import Report
from tests.corpus import FIXTURES

FOLDER = FIXTURES / "healthy" / "replies"


@cache
def answers() -> list[dict[str, str]]:
    return yaml.safe_load((FOLDER / "answers.yaml").read_text())["answers"]  # type: ignore[no-any-return]


@cache
def whole() -> list[dict[str, Any]]:
    return yaml.safe_load((FOLDER / "whole.yaml").read_text())["replies"]  # type: ignore[no-any-return]


def faults(report: Report) -> list[str]:
    return [f"{d.id} {d.level}" for d in report.diagnoses if d.claimed and d.kind == "fault"]


def request(asked: str, **more: Any) -> dict[str, Any]:
    return {"model": "marble-14b", "messages": [{"role": "user", "content": asked}], "max_tokens": 2048, **more}


def reply(message: dict[str, Any], characters: int) -> dict[str, Any]:
    tokens = max(1, characters // 4)
    choice = {"index": 0, "message": {"role": "assistant", **message}, "logprobs": None, "finish_reason": "stop"}
    return {
        "id": "c1", "object": "chat.completion", "created": 1796057185, "model": "marble-14b", "choices": [choice],
        "usage": {"prompt_tokens": 12, "completion_tokens": tokens, "total_tokens": 12 + tokens},
    }  # fmt: skip


THOUGHT = "The user asks something, and I know the answer. I give it at once."


def plain(asked: str, answer: str) -> Report:
    return sparkdiag.diagnose_exchange(
        request=request(asked), response=reply({"content": answer, "reasoning": None}, len(answer))
    )


def thought_first(asked: str, answer: str) -> Report:
    message = {"content": f"\n\n{answer}", "reasoning_content": THOUGHT}
    return sparkdiag.diagnose_exchange(request=request(asked), response=reply(message, len(answer) + len(THOUGHT)))


def with_tools(asked: str, answer: str) -> Report:
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
    body = request(asked, tools=[tool])
    return sparkdiag.diagnose_exchange(request=body, response=reply({"content": answer}, len(answer)))


def streamed(asked: str, answer: str) -> Report:
    return sparkdiag.diagnose_exchange(request=request(asked, stream=True), response=stream(answer))


def raw(asked: str, answer: str) -> Report:
    choice = {"index": 0, "text": answer, "finish_reason": "stop"}
    return sparkdiag.diagnose_exchange(
        request={"model": "marble-14b", "prompt": asked, "max_tokens": 2048},
        response={"object": "text_completion", "model": "marble-14b", "choices": [choice]},
    )


def printed_object(asked: str, answer: str) -> Report:
    message = (
        f"ChatCompletionMessage(content={answer!r}, refusal=None, role='assistant', tool_calls=[], reasoning=None)"
    )
    choice = f"Choice(finish_reason='stop', index=0, logprobs=None, message={message}, stop_reason=None)"
    return sparkdiag.diagnose_text(f"ChatCompletion(id='c1', choices=[{choice}], model='m', object='chat.completion')")


def printed_fields(asked: str, answer: str) -> Report:
    return sparkdiag.diagnose_text(f"reasoning: None\ncontent: {answer}\nfinish_reason: stop\ncompletion_tokens: 40\n")


def pasted_json(asked: str, answer: str) -> Report:
    body = json.dumps(reply({"content": answer}, len(answer)), ensure_ascii=False)
    return sparkdiag.diagnose_text(f"$ curl -s http://192.0.2.10:8000/v1/chat/completions -d @q.json\n{body}\n")


def stream(answer: str) -> str:
    parts = [answer[i : i + 7] for i in range(0, len(answer), 7)]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": part} for part in parts)]
    chunks = [
        {"object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": d, "finish_reason": None}]}
        for d in deltas
    ]
    chunks[-1]["choices"][0]["finish_reason"] = "stop"  # type: ignore[index]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


WAYS: tuple[Callable[[str, str], Report], ...] = (
    plain, thought_first, with_tools, streamed, raw, printed_object, printed_fields, pasted_json,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_answers_of_all_sorts_claim_no_fault(way: Callable[[str, str], Report]) -> None:
    wrong = {a["name"]: faults(way(a["asked"], a["answer"])) for a in answers()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_most_answers_are_a_sign_of_health() -> None:
    verdicts = [plain(a["asked"], a["answer"]).verdict for a in answers()]
    assert verdicts.count("healthy") >= 0.9 * len(verdicts)


@pytest.mark.parametrize("case", whole(), ids=lambda case: case["name"])
def test_whole_replies_claim_no_fault(case: dict[str, Any]) -> None:
    body = case["response"]
    assert faults(sparkdiag.diagnose_exchange(request=case["request"], response=body)) == []
    assert faults(sparkdiag.diagnose_exchange(request=case["request"], response=json.dumps(body))) == []


def pastes(case: dict[str, Any]) -> Iterator[str]:
    body = json.dumps(case["response"], ensure_ascii=False, indent=2)
    if case["request"] is not None:
        yield f"request: {json.dumps(case['request'])}\nresponse: {json.dumps(case['response'])}\n"
    yield body
    yield f"```json\n{body}\n```\n"
    yield repr(case["response"])


@pytest.mark.parametrize("case", whole(), ids=lambda case: case["name"])
def test_whole_replies_claim_no_fault_when_pasted(case: dict[str, Any]) -> None:
    assert [faults(sparkdiag.diagnose_text(text)) for text in pastes(case)] == [[] for _ in pastes(case)]
