"""What holds for any text: reading never fails, covers every line once, and does not depend on how it was pasted."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkdiag.facts import Signature
from sparkdiag.observe.launch import observe_launch
from sparkdiag.observe.logs import observe_logs
from sparkdiag.observe.transcript import read_text, read_texts

LINES = (
    "$ nvidia-smi -L",
    "$ curl -s http://192.0.2.10:8000/v1/chat/completions -d '{\"max_tokens\": 4}' | jq -c '.choices[0]'",
    "$ curl -v http://h/health -d '{",
    "$ for n in 1 2; do curl -s http://h/x; done",
    "$ date; ps aux",
    "$ # only change: --enforce-eager",
    "user@spark-a:~$ ssh spark-b free -h",
    "[spark-b] $ ip -br addr",
    "# head (192.0.2.10)",
    "# docker ps",
    ">>> import torch",
    "... print(1)",
    "vllm serve a/b --port 8000 \\",
    "  --max-model-len 128k",
    'docker run --gpus all -e A=$B img bash -c "ray start --head"',
    "ExecStart=/usr/bin/vllm serve a/b",
    "export NCCL_DEBUG=INFO",
    "services:",
    "  llm: {image: x, command: vllm serve y}",
    "model: a/b",
    "runtime: vllm",
    "{",
    '  "choices": [{"message": {"content": null}, "finish_reason": "length"}],',
    "}",
    '{"error":{"message":"no","code":404}}',
    'data: {"choices":[]}',
    "data: [DONE]",
    "HTTP/1.1 400 Bad Request",
    "POST /v1/completions HTTP/1.1",
    "> GET /health HTTP/1.1",
    "< HTTP/1.1 200 OK",
    'vllm:num_requests_running{engine="0"} 1.0',
    "(APIServer pid=1) INFO 09-14 08:19:31 [utils.py:233] non-default args: {'model': 'a/b', 'x': <E.F: 'g'>}",
    "(EngineCore pid=7) ERROR 09-14 08:19:32 [core.py:1] ValueError: No available memory",
    "[2026-09-01 12:00:00 TP0] server_args=ServerArgs(model_path='a', tp_size=2",
    "Sep 01 12:00:00 spark-a kernel: Out of memory: Killed process 1 (x)",
    "Traceback (most recent call last):",
    '  File "x.py", line 1, in f',
    "--- docker ps",
    "=== worker ===",
    "```",
    "```yaml",
    "| a | b |",
    "&quot;x&quot;",
    "\x1b[31mred\x1b[0m",
    "a\rb\rc",
    "<<EOF",
    "'\"`$(",
    "",
    "   ",
)
TEXTS = st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=40)), max_size=14).map("\n".join)
SIGNATURES = (
    Signature("no-memory", ("No available memory",), r"No available memory"),
    Signature("any-error", ("Error", "ERROR"), r"(?P<what>\w*[Ee]rror)", (("what", "text"),), ("any",)),
)
MANY = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))


def line_count(text: str) -> int:
    """Lines as an editor counts them; a text of carriage returns alone has its lines there."""
    if "\n" not in text and text.count("\r") > 1:
        text = text.replace("\r", "\n")
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def facts(text: str) -> list[tuple[object, ...]]:
    pieces = read_text(text)
    found = [fact for piece in pieces for fact in observe_launch(piece)] + observe_logs(pieces, SIGNATURES)
    places = ("source", "last_line", "last_order")
    return [tuple((k, str(v)) for k, v in fact.to_dict().items() if k not in places) for fact in found]


def content(text: str) -> list[tuple[object, ...]]:
    pieces = [piece for piece in read_text(text) if piece.kind != "repeat" and (piece.text.strip() or piece.command)]
    return [(piece.kind, piece.command, piece.text.strip(), piece.where) for piece in pieces]


@MANY
@given(TEXTS)
def test_every_line_is_covered_once_and_nothing_fails(text: str) -> None:
    pieces = read_text(text)
    at = 1
    for piece in pieces:
        first, last = piece.meta["span"]
        assert first == at
        assert last >= first - 1
        assert piece.first_line >= first
        at = last + 1
    assert at - 1 == line_count(text)
    facts(text)


@MANY
@given(TEXTS, TEXTS)
def test_several_texts_are_covered_each_for_itself(one: str, two: str) -> None:
    pieces = read_texts([("one", one), ("two", two)])
    for source, text in (("one", one), ("two", two)):
        spans = [piece.meta["span"] for piece in pieces if piece.source == source]
        assert sum(last - first + 1 for first, last in spans) == line_count(text)


SESSION = """$ docker logs llm
(APIServer pid=1) INFO 09-14 08:19:31 [utils.py:233] non-default args: {'model': 'a/b', 'max_model_len': 4096}
(EngineCore pid=7) INFO 09-14 08:20:31 [gpu_worker.py:456] Available KV cache memory: -2.26 GiB
(EngineCore pid=7) ERROR 09-14 08:20:32 [core.py:1101] ValueError: No available memory for the cache blocks.
$ curl -s http://192.0.2.10:8000/v1/models | jq -r '.data[].id'
a/b
$ docker run -d --gpus all vllm/vllm-openai:v0.28.0 --model a/b \\
    --max-model-len 4096
a91c3bd5d0aa
# a remark
{
  "object": "chat.completion",
  "choices": [{"message": {"content": "<b> & \\"c\\""}, "finish_reason": "stop"}]
}
"""


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


@pytest.mark.parametrize(
    "paste",
    [
        pytest.param(lambda t: t.replace("\n", "\r\n"), id="windows"),
        pytest.param(lambda t: "".join(f"> {line}\n" for line in t.split("\n")), id="quoted"),
        pytest.param(lambda t: "".join(f"> > {line}\n" for line in t.split("\n")), id="quoted twice"),
        pytest.param(lambda t: f"```console\n{t}```\n", id="fenced"),
        pytest.param(lambda t: f"<details>\n\n```\n{t}```\n</details>\n", id="details"),
        pytest.param(lambda t: "".join(f"    {line}\n" for line in t.split("\n")), id="indented"),
        pytest.param(lambda t: f"{t}\n\n{t}", id="twice"),
        pytest.param(escaped, id="escaped"),
        pytest.param(lambda t: t.replace("INFO", "\x1b[32mINFO\x1b[0m"), id="coloured"),
        pytest.param(lambda t: t.replace("(APIServer", "[0;36m(APIServer"), id="colours without their escape"),
    ],
)
def test_the_way_of_pasting_changes_nothing(paste) -> None:  # type: ignore[no-untyped-def]
    assert content(paste(SESSION)) == content(SESSION)
    assert facts(paste(SESSION)) == facts(SESSION)
    assert len(facts(SESSION)) >= 5


def test_long_hostile_texts_are_read_in_linear_time() -> None:
    import time

    def seconds(text: str) -> float:
        begin = time.perf_counter()
        read_text(text)
        return time.perf_counter() - begin

    for line in ("{", '{"a": [', "$ echo '", "> x", "[1", "&lt;", "a: b", "``` x", "(x pid=1) y", "# c", "\r"):
        small, large = seconds(f"{line}\n" * 2000), seconds(f"{line}\n" * 8000)
        assert large < max(0.5, small * 16), line


def test_nothing_is_nothing() -> None:
    assert read_text("") == []
    assert [piece.kind for piece in read_text("\n \n")] == ["text"]
