"""The cheap look: it lets no faulty recording pass, stops few healthy ones, and costs little more than parsing."""

from __future__ import annotations

import json
import timeit
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkdiag
from sparkdiag.observe.bodies import read_body
from tests.corpus import FIXTURES, exchanges

REPLIES = FIXTURES / "healthy" / "replies"


def as_parsed(response: Any) -> Any:
    """What a client library hands over: a stream's chunks joined, as a proxy joins them."""
    return read_body(response).data if isinstance(response, str) else response


def test_every_faulty_reply_is_suspicious() -> None:
    faulty = [e for e in exchanges() if e.expected.expect and not e.expected.negative]
    missed = [e.id for e in faulty if not sparkdiag.suspicious(as_parsed(e.exchange()["response"]))]
    assert len(faulty) > 150
    assert missed == []


def test_few_healthy_replies_are() -> None:
    healthy = [e for e in exchanges() if e.expected.negative and not e.expected.expect]
    parsed = {e.id: as_parsed(e.exchange()["response"]) for e in healthy if e.exchange()["status"] == 200}
    answered = {name: reply for name, reply in parsed.items() if isinstance(reply, dict)}
    alarms = [name for name, reply in answered.items() if sparkdiag.suspicious(reply)]
    assert len(answered) > 150
    assert len(alarms) <= 0.02 * len(answered), alarms


def test_few_answers_of_all_sorts_are() -> None:
    """The corpus of odd answers: letters of other languages and quoted tags may be looked at, most are not."""
    answers = [a["answer"] for a in yaml.safe_load((REPLIES / "answers.yaml").read_text())["answers"]]
    odd = [a for a in answers if sparkdiag.suspicious(chat(a))]
    assert len(odd) <= 0.17 * len(answers), odd


def chat(content: Any, finish: str = "stop", **message: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return {"choices": [choice], "usage": {"completion_tokens": max(1, len(str(content)) // 4)}}


@pytest.mark.parametrize(
    "reply",
    [
        None,
        {},
        chat("", reasoning="The answer is four."),
        {"choices": [{"message": {"role": "assistant", "content": None}, "finish_reason": "stop"}]},
        chat("cut off in the", "length"),
        chat("<think>\nOne moment.\n</think>\n\nFour."),
        chat("[THINK]One moment.[/THINK]Four."),
        chat('<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'),
        chat("TheĠanswerĠisĠfour.Ċ"),
        chat("!" * 48),
        chat("multimult" * 20),
        chat("示范 тест handle تعل ση kam การ Пример lock 示范 тест تعل ση การ"),
        {"error": {"message": "The model `x` does not exist."}},
        {"type": "message", "content": [{"type": "thinking", "thinking": "Hm"}], "stop_reason": "max_tokens"},
        {"object": "response", "status": "incomplete", "output": []},
    ],
)
def test_what_is_odd(reply: Any) -> None:
    assert sparkdiag.suspicious(reply) is True


@pytest.mark.parametrize(
    "reply",
    [
        chat("Four."),
        chat("\n\nFour.", reasoning="2 + 2 is 4."),
        chat(None, "tool_calls", tool_calls=[{"function": {"name": "now", "arguments": "{}"}}]),
        {"choices": [{"text": "<think>\nHm.\n</think>\nFour.", "finish_reason": "stop"}]},
        {"object": "list", "data": [{"id": "m"}]},
        {"count": 3, "tokens": [1, 2, 3], "token_strs": ["Ġa"]},
        {"type": "message", "content": [{"type": "text", "text": "Four."}], "stop_reason": "end_turn"},
    ],
)
def test_what_is_not(reply: Any) -> None:
    assert sparkdiag.suspicious(reply) is False


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "finish_reason", "usage", "tool_calls", "text", "type"])
            | st.text(max_size=6),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_it_never_raises(reply: Any) -> None:
    assert sparkdiag.suspicious(reply) in (True, False)


def test_it_costs_a_few_times_the_parsing() -> None:
    text = "The quick brown fox, whose jump over the lazy dog vexed me, is back: it goes on & on, as ever. " * 20
    reply = chat(text)
    body = json.dumps(reply)

    def cost(run: Any) -> float:
        return min(timeit.repeat(run, number=200, repeat=7))

    assert cost(lambda: sparkdiag.suspicious(reply)) < 12 * cost(lambda: json.loads(body))
