"""Replies as people print them: piped through programs, broken by terminals, told in fields. And what is none."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from sparkdiag.facts.replies import ChatReply
from sparkdiag.observe.json_runs import unwrapped
from sparkdiag.observe.pieces import observe_pieces
from sparkdiag.observe.printed_values import read_value
from sparkdiag.observe.transcript import read_text

URL = "http://192.0.2.10:8000/v1/chat/completions"
THOUGHT = "The user asks for the deepest lake. It's Baikal, with 1642 metres, and"
ANSWER = "Lake Baikal, 1,642 metres.\n\nIt lies in Siberia."


def reply(content: str | None, reasoning: str | None, finish: str = "stop", tokens: int = 40) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content, "reasoning": reasoning, "tool_calls": []}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": 9, "total_tokens": 9 + tokens, "completion_tokens": tokens},
    }


def told(text: str) -> list[ChatReply]:
    return [fact for fact in observe_pieces(read_text(text), ()) if isinstance(fact, ChatReply)]


def piped(pipe: str, printed: str, cap: int = 400) -> list[ChatReply]:
    body = json.dumps({"model": "m", "max_tokens": cap, "messages": [{"role": "user", "content": "The deepest lake?"}]})
    return told(f"$ curl -s {URL} -d '{body}' | {pipe}\n{printed}\n")


FORMS = [
    "jq .",
    "jq -c '.choices[0]'",
    "jq '.choices[0].message, .choices[0].finish_reason'",
    "jq -c '[.choices[0].finish_reason, .choices[0].message.content, .choices[0].message.reasoning]'",
    "jq -c '.choices[] | {fr: .finish_reason, c: .message.content, r: .message.reasoning}'",
    "jq 'del(.id, .usage)'",
    "jq -r '.choices[0] | \"\\(.finish_reason) | \\(.message.content|tojson) | \\(.message.reasoning|tojson)\"'",
    "jq -r '.choices[0] | [.finish_reason, (.message.content|tostring), (.message.reasoning|tostring)] | @tsv'",
    "jq -c . | fold -w 70",
    "jq . | grep -v created",
    'jq -c . | grep -oE \'"(content|reasoning|finish_reason)":("[^"]*"|null)\'',
]
"""Filters whose real output is judged, where jq is installed."""


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.parametrize("pipe", FORMS)
@pytest.mark.parametrize(
    ("content", "reasoning", "finish"), [(ANSWER, None, "stop"), (None, THOUGHT, "length"), (ANSWER, THOUGHT, "stop")]
)
def test_what_jq_prints_is_read(pipe: str, content: str | None, reasoning: str | None, finish: str) -> None:
    body = json.dumps(reply(content, reasoning, finish))
    printed = subprocess.run(["sh", "-c", pipe], input=body, capture_output=True, text=True, check=True, timeout=20)
    (fact,) = piped(pipe, printed.stdout)
    assert fact.finish_reason == finish
    assert fact.content_chars == len(content or "")
    assert fact.reasoning_chars == len(reasoning or "")


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (
            'print(c["finish_reason"], repr(m["content"]), repr(m.get("reasoning")))',
            f'length None "{THOUGHT}"',
        ),
        ('print(c["finish_reason"], "|", m["content"], "|", m["reasoning"])', f"length | None | {THOUGHT}"),
        ('print(c["finish_reason"]); print(m)', f"length\n{{'content': None, 'reasoning': {THOUGHT!r}}}"),
        (
            'print("CONTENT:", m["content"]); print("REASONING:", m["reasoning"]); print("FINISH:", c["finish"])',
            f"CONTENT: None\nREASONING: {THOUGHT}\nFINISH: length",
        ),
        (
            'print({"finish": c["finish_reason"], "content": m["content"], "reasoning": m["reasoning"]})',
            f"{{'finish': 'length', 'content': None, 'reasoning': {THOUGHT!r}}}",
        ),
        (
            'for k in m: print(k, "=", repr(m[k]))\nprint("finish", c["finish_reason"])',
            f"content = None\nreasoning = {THOUGHT!r}\nfinish_reason: length",
        ),
        (
            'print(f"finish={c[0]} content={m[1]!r} reasoning={m[2]!r}")',
            f"finish=length content=None reasoning={THOUGHT!r}",
        ),
    ],
)
def test_what_a_line_of_python_prints_is_read(program: str, printed: str) -> None:
    (fact,) = piped(f"python3 -c 'import json,sys; c=json.load(sys.stdin)[\"choices\"][0]; {program}'", printed)
    assert (fact.finish_reason, fact.content_chars, fact.reasoning_chars) == ("length", 0, len(THOUGHT))


def test_two_texts_one_after_the_other_cannot_be_told_apart() -> None:
    """Without quotes nobody knows where the content ends and the thought begins."""
    found = piped(
        "jq -r '.choices[0] | .finish_reason, .message.content, .message.reasoning'", "stop\nBaikal.\n\nIt is\ndeep."
    )
    assert [(fact.content_chars, fact.reasoning_chars) for fact in found] in ([], [(None, None)])


def test_a_null_tells_where_the_text_before_it_ends() -> None:
    (fact,) = piped(
        "jq -r '.choices[0] | .finish_reason, .message.content, .message.reasoning'", f"stop\n{ANSWER}\nnull"
    )
    assert (fact.content_chars, fact.reasoning_chars) == (len(ANSWER), 0)


def test_an_empty_text_prints_an_empty_line() -> None:
    (fact,) = piped("jq -r '.choices[0].message.content, .choices[0].finish_reason'", "\nlength")
    assert (fact.content_chars, fact.reasoning_chars, fact.finish_reason) == (0, None, "length")


def test_a_reply_as_long_as_its_cap_was_cut_off() -> None:
    printed = json.dumps(reply(None, THOUGHT)["choices"][0]["message"]) + '\n{"completion_tokens": 40}'
    (at_cap,) = piped("jq '.choices[0].message, .usage'", printed, cap=40)
    (below,) = piped("jq '.choices[0].message, .usage'", printed, cap=41)
    assert (at_cap.finish_reason, at_cap.at_token_cap) == ("length", True)
    assert (below.finish_reason, below.at_token_cap) == (None, False)


@pytest.mark.parametrize("width", [30, 79, 200])
def test_json_broken_by_a_terminal_is_joined(width: int) -> None:
    whole = json.dumps(reply(ANSWER, THOUGHT))
    lines = [whole[at : at + width] for at in range(0, len(whole), width)]
    assert json.loads(unwrapped("\n".join(lines))) == json.loads(whole)


def test_a_stream_broken_by_a_terminal_is_joined() -> None:
    parts: list[dict[str, Any]] = [{"content": "Lake "}, {"content": "Baikal."}]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": part, "finish_reason": None} for part in parts]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    lines = [f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}" for choice in choices]
    broken = "\n\n".join("\n".join(line[at : at + 60] for at in range(0, len(line), 60)) for line in lines)
    (fact,) = told(f"$ curl -sN {URL} -d '{{\"stream\": true}}'\n{broken}\n\ndata: [DONE]\n")
    assert (fact.excerpt, fact.finish_reason) == ("Lake Baikal.", "stop")


@pytest.mark.parametrize("text", ['{\n "a": 1\n}', "{not json\nat all}", '{"a": 1}\n{"b": 2}', "plain\ntext", ""])
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert unwrapped(text) == text


def test_a_key_is_no_second_half_of_the_string_before() -> None:
    found = read_value('"whole text"\n"finish_reason":"stop"', 0)
    assert found is not None
    assert found[0] == "whole text"
    joined = read_value("'one ' 'text'", 0)
    assert joined is not None
    assert joined[0] == "one text"


@pytest.mark.parametrize(
    "text",
    [
        "content = reply.choices[0].message.content\nreasoning = reply.choices[0].message.reasoning\n",
        'if choice.finish_reason == "length":\n    content = None\n',
        '{"role": "user", "content": "Why is the finish_reason length?"}\n',
        "The finish_reason field tells why a reply ended.\nIts content is text.\n",
        "INFO 11-30 10:00:00 [logger.py:40] Received request: finish_reason stop and content are set later\n",
    ],
)
def test_programs_questions_and_prose_are_no_replies(text: str) -> None:
    assert told(text) == []
