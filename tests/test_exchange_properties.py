"""Any request and any reply give a report, soon: arbitrary JSON, hostile shapes, text like printed replies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sparkdiag
from sparkdiag.diagnosis import Report
from sparkdiag.observe.printed_values import known, read_value

KEYS = st.sampled_from(
    [
        "choices", "message", "messages", "delta", "content", "reasoning", "reasoning_content", "finish_reason",
        "usage", "completion_tokens", "prompt_tokens", "max_tokens", "tool_calls", "function", "name", "arguments",
        "tools", "text", "error", "code", "detail", "type", "role", "model", "object", "data", "id", "stop_reason",
        "output", "index", "chat_template_kwargs", "enable_thinking", "completion_tokens_details", "meta_info", "msg",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "stop", "length", "assistant", "<think>", "</think>", "chat.completion", "message", "response", "error", "3",
        "-1", "<tool_call>{", "Ġ", "\x00", "\ud800", "!!!!!!!!!!!!", "The model `x` does not exist.", "list", "1e999",
        "",
    ]
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | WORDS | st.text(max_size=30)
)  # numbers as strings among them
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=6)
        | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=40,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=8)
ONCE = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def judged(request: Any, response: Any, status: int = 200) -> Report:
    began = time.monotonic()
    report = sparkdiag.diagnose_exchange(request=request, response=response, status=status)
    assert time.monotonic() - began < 5
    json.dumps(report.to_dict())
    return report


@ONCE
@given(st.none() | OBJECTS, OBJECTS | JSON, st.sampled_from([200, 400, 401, 404, 500, 503]))
def test_any_json_gives_a_report(request: Any, response: Any, status: int) -> None:
    judged(request, response, status)


@ONCE
@given(OBJECTS, st.lists(OBJECTS, max_size=5))
def test_any_reply_of_the_usual_shape_gives_a_report(message: dict[str, Any], more: list[dict[str, Any]]) -> None:
    choices = [{"message": message, "finish_reason": "stop"}, *more]
    judged({"messages": [message], "max_tokens": "64"}, {"choices": choices, "usage": message})


@ONCE
@given(st.text(max_size=400) | st.binary(max_size=400).map(lambda raw: raw.decode("utf-8", "surrogateescape")))
def test_any_text_gives_a_report(body: str) -> None:
    judged(body, body)
    judged(None, f"data: {body}\n\ndata: [DONE]\n\n")


@ONCE
@given(st.text(alphabet="ChatCompletion(choices=[Choice(message={'content': \"None\"})], b'data: \n|-=>", max_size=300))
def test_text_like_printed_replies_gives_a_report(text: str) -> None:
    sparkdiag.diagnose_text(text)


@ONCE
@given(JSON)
def test_what_python_prints_is_read_back(value: Any) -> None:
    """Only for what repr and the reader agree on: no infinities, no lone surrogates."""
    plain = json.loads(json.dumps(value, allow_nan=False)) if _finite(value) else None
    found = read_value(repr(plain), 0)
    assert found is not None
    assert known(found[0]) == plain


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return value == value and abs(value) < 1e300 and (value == 0 or abs(value) > 1e-300)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list) else True


def body(content: str) -> str:
    return '{"choices":[{"message":{"content":"' + content + '"},"finish_reason":"stop"}]}'


HOSTILE: dict[str, Callable[[], str]] = {
    "brackets": lambda: "[" * 10_000,
    "closed-brackets": lambda: "[" * 10_000 + "]" * 10_000,
    "objects": lambda: '{"a":' * 10_000,
    "errors-in-errors": lambda: '{"error":' * 3_000 + '"x"' + "}" * 3_000,
    "brackets-in-a-string": lambda: body("[" * 20_000),
    "not-utf-8": lambda: b'{"choices": \xff\xfe}'.decode("utf-8", "surrogateescape"),
    "nul": lambda: "\x00" * 1_000 + '{"choices":[]}',
    "a-long-number": lambda: '{"choices":[],"usage":{"completion_tokens":' + "9" * 5_000 + "}}",
    "infinite": lambda: '{"choices":[],"usage":{"completion_tokens":1e999}}',
    "numbers-as-strings": lambda: (
        '{"choices":[{"message":{"content":""},"finish_reason":"length"}],"usage":{"completion_tokens":"64"}}'
    ),
    "no-usage": lambda: '{"choices":[{"message":{"content":"Hi."},"finish_reason":"stop"}]}',
    "no-choices": lambda: '{"choices":[],"usage":null}',
    "truncated": lambda: '{"choices":[{"message":{"content":"The answ',
    "a-long-word": lambda: body("a" * 1_000_000),
    "many-words": lambda: body("a b " * 250_000),
    "many-tags": lambda: body("<think>" * 50_000),
    "many-calls": lambda: body("<tool_call>" * 50_000),
    "many-ticks": lambda: body("`" * 300_000),
    "many-letters": lambda: body("aĠ" * 200_000),
    "many-events": lambda: 'data: {"choices":[{"delta":{"content":"x"}}]}\n\n' * 10_000,
    "empty-events": lambda: "data: {}\n\n" * 20_000,
    "many-choices": lambda: '{"choices":[' + ",".join(['{"text":"x"}'] * 20_000) + "]}",
    "objects-printed": lambda: "ChatCompletion(" * 5_000,
    "dicts-printed": lambda: "{'id': " * 5_000,
    "apostrophes": lambda: "{'content': '" + "x'y" * 30_000,
    "labels": lambda: "content: x\n" * 5_000,
    "bytes-printed": lambda: "b'data: {\"choices\":[]}'\n" * 3_000,
    "a-table": lambda: "| content | reasoning |\n|---|---|\n" + "| a | b |\n" * 5_000,
    "errors-printed": lambda: "Error code: 400 - {'a': " * 3_000,
    "escapes": lambda: "\x1b[31m\x1b]0;title\x07" * 2_000 + body("x"),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_shapes_give_a_report(name: str) -> None:
    text = HOSTILE[name]()
    judged(None, text)
    judged(text, text, 500)
    began = time.monotonic()
    sparkdiag.diagnose_text(text)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("response", "wanted"),
    [
        ('{"choices":[{"message":{"content":null,"reasoning":"So it is","role":"assistant"},"finish_reason":"length"}],'
         '"usage":{"completion_tokens":"64"}}', "reasoning.budget-spent-thinking"),
        ('{"choices":[{"message":{"content":"<think>\\nHm.\\n</think>\\nYes."},"finish_reason":"stop"}],"usage":"none"}',
         "reasoning.think-tags-leak"),
        ('{"error":{"message":"The model `x` does not exist.","code":"404"}}', "endpoint.model-name-unknown"),
    ],
)  # fmt: skip
def test_odd_types_hide_nothing(response: str, wanted: str) -> None:
    asked = {"model": "m", "max_tokens": "64", "messages": [{"role": "user", "content": "hi"}]}
    assert wanted in [d.id for d in judged(asked, response).diagnoses]
