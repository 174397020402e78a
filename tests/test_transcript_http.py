"""curl taken apart, replies as HTTP writes them, and jq's cuts undone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkdiag.observe.jq_filters import object_literal, read_filter
from sparkdiag.observe.jq_shapes import restore
from sparkdiag.observe.transcript import read_text
from sparkdiag.observe.transcript_curl import read_curl

URL = "http://192.0.2.10:8000"


def asked(text: str) -> dict[str, Any]:
    """The meta of a transcript's only exchange."""
    (piece,) = (piece for piece in read_text(text) if piece.kind == "exchange")
    return dict(piece.meta)


@pytest.mark.parametrize(
    ("arguments", "method", "body"),
    [
        ("-s", "GET", None),
        ("-X DELETE", "DELETE", None),
        ("-XPOST", "POST", None),
        ("-d '{\"a\": 1}'", "POST", '{"a": 1}'),
        ("--data-raw='{}' -H 'Content-Type: application/json'", "POST", "{}"),
        ("--json '{}'", "POST", "{}"),
        ("-sSd '{}'", "POST", "{}"),
        ("-I", "HEAD", None),
    ],
)
def test_the_options_of_curl(arguments: str, method: str, body: str | None) -> None:
    curl = read_curl(f"curl {arguments} {URL}/v1/models 2>/dev/null")
    assert curl is not None
    assert (curl.method, curl.path, curl.body) == (method, "/v1/models", body)


def test_what_is_no_curl() -> None:
    assert read_curl("docker exec llm ls") is None
    assert read_curl("curl --version") is None


def test_the_key_is_known_by_its_being_there() -> None:
    keyed = read_curl(f"curl -H 'Authorization: Bearer x' {URL}/v1/models")
    assert keyed is not None
    assert keyed.key_sent is True
    assert asked(f"$ curl -s {URL}/v1/models\n{{}}\n")["key_sent"] is False


@pytest.mark.parametrize(
    ("body", "request_"),
    [
        ('\'{"model":"m","max_tokens":300}\'', {"model": "m", "max_tokens": 300}),
        ('"{\\"model\\":\\"m\\",\\"max_tokens\\":$N}"', {"model": "m"}),
        ('"$(jq -nc --argjson n 300 \'{model:"m",max_tokens:$n}\')"', {"model": "m", "max_tokens": 300}),
        ("@body.json", None),
        ('"$BODY"', None),
    ],
)
def test_the_request_as_far_as_it_is_shown(body: str, request_: dict[str, Any] | None) -> None:
    assert asked(f"$ curl -s {URL}/v1/chat/completions -d {body}\n{{}}\n")["request"] == request_


def test_a_body_from_a_here_document() -> None:
    text = f'$ curl -s {URL}/v1/completions -d @- <<EOF\n{{"prompt": "a"}}\nEOF\n{{}}\n'
    assert asked(text)["request"] == {"prompt": "a"}


@pytest.mark.parametrize(
    ("form", "printed", "status", "took"),
    [
        ("%{http_code}", '{"a": 1}404', 404, None),
        ("\\n%{http_code}\\n", '{"a": 1}\n404', 404, None),
        ("\\n%{http_code} %{time_total}\\n", '{"a": 1}\n200 12.504', 200, 12.504),
        ("\\ncode: %{http_code}\\n", '{"a": 1}\ncode: 503', 503, None),
    ],
)
def test_what_curl_writes_out_is_no_part_of_the_reply(form: str, printed: str, status: int, took: float | None) -> None:
    meta = asked(f"$ curl -s -w '{form}' {URL}/v1/models\n{printed}\n")
    assert (meta["status"], meta.get("took"), meta["response_text"]) == (status, took, '{"a": 1}')


def test_no_answer_is_no_status() -> None:
    meta = asked(f"$ curl -m 20 -s -o /dev/null -w '%{{http_code}}\\n' {URL}/health\n000\n")
    assert (meta["status"], meta["no_answer"], meta["time_limit"], meta["response_text"]) == (None, True, 20.0, "")
    meta = asked(f"$ curl {URL}/health\ncurl: (7) Failed to connect to 192.0.2.10 port 8000: Connection refused\n")
    assert (meta["curl_error"], meta["response_text"]) == (7, "")


def test_heads_are_read_from_i_and_from_v() -> None:
    head = "HTTP/1.1 401 Unauthorized\nserver: uvicorn\n\n"
    meta = asked(f'$ curl -i {URL}/v1/models\n{head}{{"error":"Unauthorized"}}\n')
    assert (meta["status"], meta["headers"]["server"], meta["response_text"]) == (
        401,
        "uvicorn",
        '{"error":"Unauthorized"}',
    )
    verbose = (
        f"$ curl -v {URL}/v1/models\n*   Trying 192.0.2.10:8000...\n> GET /v1/models HTTP/1.1\n> Host: h\n>\n"
        '< HTTP/1.1 200 OK\n< server: uvicorn\n<\n{"object":"list"}\n* Connection #0 to host h left intact\n'
    )
    meta = asked(verbose)
    assert (meta["status"], meta["response_text"]) == (200, '{"object":"list"}')


def test_a_stream_that_was_cut_off_is_marked() -> None:
    meta = asked(f'$ curl -sN {URL}/v1/completions -d "{{}}" | head -2\ndata: {{"choices":[]}}\n')
    assert meta["cut"] is True
    assert meta["response_text"] == 'data: {"choices":[]}'


WHOLE = {
    "choices": [
        {
            "finish_reason": "length",
            "message": {"content": None, "reasoning": "hm", "tool_calls": []},
            "text": "Hi\nyou",
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 300},
    "data": [{"id": "a"}, {"id": "b"}],
}


@pytest.mark.parametrize(
    ("argv", "printed", "summary"),
    [
        (
            ["-c", "[.choices[0].finish_reason,(.choices[0].message.content),(.choices[0].message.reasoning|length)]"],
            '["length",null,1289]',
            {"finish_reason": "length", "content": None, "reasoning_len": 1289, "reasoning_key": "reasoning"},
        ),
        (
            ["{finish: .choices[0].finish_reason, n: .usage.completion_tokens}"],
            '{\n  "finish": "stop",\n  "n": 61\n}',
            {"finish_reason": "stop", "completion_tokens": 61},
        ),
        (
            ["-c", ".choices[0] | {finish_reason, content: .message.content, r: .message.reasoning_content}"],
            '{"finish_reason":"stop","content":"ab","r":""}',
            {
                "finish_reason": "stop",
                "content": "ab",
                "content_len": 2,
                "reasoning": "",
                "reasoning_len": 0,
                "reasoning_key": "reasoning_content",
            },
        ),
        (
            ["-r", ".choices[0] | .text, .finish_reason"],
            "Hi\nyou\nstop",
            {"text": "Hi\nyou", "text_len": 6, "finish_reason": "stop"},
        ),
        (["-r", ".choices[0].message.content"], "null", {"content": None}),
        (["-r", ".choices[0].text"], " 4.", {"text": " 4.", "text_len": 3}),
        (
            [".choices[0].message | {content, tool_calls}"],
            '{"content":null,"tool_calls":[{}]}',
            {"content": None, "tool_calls": 1},
        ),
        (["-c", ".choices[].finish_reason"], '"stop"', {"finish_reason": "stop"}),
        ([".usage"], '{"completion_tokens": 3}', {"completion_tokens": 3}),
        (['.choices[0].message.content // "none"'], '"x"', {"content": "x", "content_len": 1}),
        (['.choices[0].message["content"]'], '"x"', {"content": "x", "content_len": 1}),
    ],
)
def test_values_go_back_to_where_the_filter_took_them(argv: list[str], printed: str, summary: dict[str, Any]) -> None:
    shaped = read_filter(argv)
    assert shaped is not None
    (found,) = restore(shaped, printed)
    assert found.summary() == summary


@pytest.mark.parametrize("path", [".", ".choices", ".choices[0]", ".usage", ".data", ".choices[0].message"])
def test_a_path_alone_restores_what_it_selects(path: str) -> None:
    value: Any = WHOLE
    for key in path.replace("[0]", ".0").split(".")[1:]:
        value = value if not key else value[int(key)] if key.isdigit() else value[key]
    shaped = read_filter([path])
    assert shaped is not None
    (found,) = restore(shaped, json.dumps(value, indent=2))
    document = found.document()
    for key in path.replace("[0]", ".0").split(".")[1:]:
        document = document if not key else document[int(key)] if key.isdigit() else document[key]
    assert document == value


def test_every_name_of_a_list_comes_back() -> None:
    text = f"$ curl -s {URL}/v1/models | jq -r '.data[].id'\nqwen\nllama\n"
    assert json.loads(asked(text)["response_text"])["data"] == [{"id": "qwen"}, {"id": "llama"}]


def test_choices_shown_whole_read_as_a_reply() -> None:
    text = f"$ curl -s {URL}/v1/chat/completions -d '{{}}' | jq .choices\n{json.dumps(WHOLE['choices'], indent=2)}\n"
    assert json.loads(asked(text)["response_text"]) == {"choices": WHOLE["choices"]}


@pytest.mark.parametrize(
    "argv", [["def f: .; f"], [".a | test("], ["reduce .[] as $x (0; .)"], ["((((" * 50], ["." * 5000]]
)
def test_filters_beyond_this_are_left_alone(argv: list[str]) -> None:
    assert read_filter(argv) is None


def test_an_object_of_constants() -> None:
    assert object_literal(
        ["-n", "--arg", "m", "x", '{model: $m, n: 3, stop: ["a"], deep: {ok: true}, from: .input}']
    ) == {
        "model": "x",
        "n": 3,
        "stop": ["a"],
        "deep": {"ok": True},
    }
