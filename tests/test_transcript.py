"""Pasted text cut into pieces: prompts, headings, documents, requests, nodes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from sparkdiag.facts.piece import Piece
from sparkdiag.observe.transcript import read_output, read_text, read_texts

REPLY = {
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
}


def kinds(text: str) -> list[str]:
    return [piece.kind for piece in read_text(text)]


def only(text: str) -> Piece:
    (piece,) = read_text(text)
    return piece


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("$ nvidia-smi -L", "nvidia-smi -L"),
        ("root@spark-a:/workspace# ray status", "ray status"),
        ("(venv) user@spark-a:~/models$ ls", "ls"),
        ("[user@spark-a models]$ df -h", "df -h"),
        ("spark-a:~$ free -h", "free -h"),
        ("bash-5.2# env", "env"),
        ("➜  ~ docker ps", "docker ps"),
        ("C:\\Users\\me>ssh spark-a free -h", "free -h"),
        ("# docker ps -a", "docker ps -a"),
        ("$ echo $HOME     # as the service user", "echo $HOME"),
        ("$ sudo -u llm docker exec -it vllm nvidia-smi -L", "nvidia-smi -L"),
        ("$ ssh spark-b 'free -h'", "free -h"),
        ("$ bash -c 'ip -br addr'", "ip -br addr"),
    ],
)
def test_the_command_of_a_prompt_is_known_without_its_wrappers(line: str, command: str) -> None:
    piece = only(f"{line}\nsome output\n")
    assert (piece.command, piece.text, piece.first_line) == (command, "some output", 2)


@pytest.mark.parametrize(
    "line",
    [
        "# nvidia-smi shows nothing",
        "# head (192.0.2.10)",
        "### Environment",
        "price: 5$ a month",
        "user@example.org wrote this",
        "# time to first token is fine",
    ],
)
def test_a_remark_is_no_command(line: str) -> None:
    assert all(piece.command is None for piece in read_text(f"{line}\nsome words\n"))


def test_continued_lines_quotes_and_here_documents_belong_to_the_command() -> None:
    text = (
        "$ docker run --rm \\\n    --gpus all img \\\n    bash\nfirst\n"
        '$ curl http://h:8000/v1/completions -d \'{\n  "prompt": "a",\n  "max_tokens": 4\n}\'\n{}\n'
        "$ cat <<EOF\nx\nEOF\nx\n$ uname -m\naarch64\n"
    )
    pieces = read_text(text)
    assert [p.text for p in pieces if p.kind != "launch"] == ["first", "{}", "x", "aarch64"]
    asked = next(p for p in pieces if p.kind == "exchange")
    assert asked.meta["request"] == {"prompt": "a", "max_tokens": 4}
    assert pieces[-1].first_line == 15


def test_an_open_quote_that_is_none_does_not_swallow_the_next_prompt() -> None:
    assert [p.command for p in read_text("$ echo it's\nx\n$ uname -m\naarch64\n")] == ["echo it's", "uname -m"]


def test_the_output_of_a_list_is_shared_out() -> None:
    text = "$ uname -m; docker image inspect i --format '{{.Os}}'\naarch64\nlinux\n"
    assert [(p.command, p.text) for p in read_text(text)] == [
        ("uname -m", "aarch64"),
        ("docker image inspect i --format '{{.Os}}'", "linux"),
    ]


def test_a_log_after_an_output_is_no_part_of_it() -> None:
    log = "(EngineCore pid=7) ERROR 09-02 06:40:31 [core.py:1101] EngineCore failed to start."
    first, second = read_text(f"$ nvidia-smi -L\nGPU 0: NVIDIA GB10\n\n{log}\n")
    assert (first.command, first.text) == ("nvidia-smi -L", "GPU 0: NVIDIA GB10")
    assert (second.kind, second.command, second.text) == ("log", None, log)


def test_words_beside_what_goes_on_all_the_time_are_no_part_of_it() -> None:
    background = 'INFO:     192.0.2.7:40001 - "GET /health HTTP/1.1" 200 OK\n' * 6
    words = "the pane stays blank\nwhy is that\n"
    assert [(p.kind, p.first_line) for p in read_text(background + words)] == [("log", 1), ("text", 7)]
    assert [(p.kind, p.first_line) for p in read_text(words + background)] == [("text", 1), ("log", 3)]
    assert kinds(background + "ValueError: no\n  more of it\n" + background) == ["log"]


def test_headings_that_name_commands_or_requests_count_as_them() -> None:
    text = "--- docker ps\nCONTAINER ID\n--- GET /health\n200\n--- client config\nagent:\n  max_tokens: 16\n"
    ps, health, config = read_text(text)
    assert ps.command == "docker ps"
    assert (health.kind, health.meta["path"], health.meta["status"]) == ("exchange", "/health", 200)
    assert (config.kind, config.meta["heading"]) == ("config", "client config")


@pytest.mark.parametrize(
    "text",
    [
        "Output of `docker ps`:\nx\n",
        "### `docker ps`\n\n```\nx\n```\n",
        "**docker ps**\n```\nx\n```\n",
        "```\ndocker ps\nx\n```\n```\n$ uname -m\n```\n",
        "<summary>docker ps</summary>\n\nx\n",
    ],
)
def test_a_command_may_stand_without_a_prompt(text: str) -> None:
    first = read_text(text)[0]
    assert (first.command, first.text.strip()) == ("docker ps", "x")


@pytest.mark.parametrize(
    "line", ["nvcc fatal   : Unsupported gpu architecture 'compute_121a'", "curl: (7) Failed to connect to 192.0.2.1"]
)
def test_what_a_program_says_of_itself_is_no_command(line: str) -> None:
    log = f"INFO 04-01 10:00:00 [core.py:90] start\n{line}\nninja: build stopped.\n"
    assert [(piece.command, piece.text) for piece in read_text(log)] == [(None, log.rstrip())]


def test_a_file_that_a_here_document_writes() -> None:
    text = "$ cat > recipe.yaml <<'EOF'\nmodel: a/b\nruntime: vllm\ncontainer: img\nEOF\n$ uname -m\naarch64\n"
    recipe, uname = read_text(text)
    assert (recipe.kind, recipe.text, recipe.first_line) == ("recipe", "model: a/b\nruntime: vllm\ncontainer: img", 2)
    assert uname.text == "aarch64"


def test_what_looks_like_a_heading_but_is_output_stays_output() -> None:
    text = (
        "$ ping -c 1 h\n--- h ping statistics ---\n1 packets transmitted\n"
        "$ docker run img bash\n==========\n== CUDA ==\n==========\n"
    )
    ping, _, cuda = read_text(text)
    assert ping.text.startswith("--- h ping")
    assert cuda.text.count("\n") == 2


def test_documents_are_recognised_without_any_command() -> None:
    pretty = json.dumps({"model_type": "qwen3", "architectures": ["A"]}, indent=2)
    text = (
        f"{json.dumps(REPLY, indent=2)}\n\n{pretty}\n\n"
        'data: {"choices":[]}\n\ndata: [DONE]\n\n'
        '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0"} 1.0\n\n'
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.28.0\n\n## recipe\n"
        "model: a/b\nruntime: vllm\ncontainer: img\n\n"
        "export NCCL_DEBUG=INFO\nvllm serve a/b --port 8000\n"
    )
    assert kinds(text) == ["json", "config", "sse", "metrics", "compose", "recipe", "launch"]


def test_a_document_that_is_cut_at_either_end_is_still_json() -> None:
    lines = json.dumps(REPLY, indent=2).split("\n")
    assert kinds("\n".join(lines[:-3])) == ["json"]
    assert kinds("\n".join(lines[4:])) == ["json"]


def test_a_request_and_its_reply_are_one_exchange() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 16}
    for text in (
        f"POST /v1/chat/completions {json.dumps(request)}\nHTTP/1.1 200 OK\n{json.dumps(REPLY, indent=1)}\n",
        f"POST /v1/chat/completions HTTP/1.1\nHost: h\n\n{json.dumps(request)}\n\nHTTP/1.1 200 OK\n"
        f"content-type: application/json\n\n{json.dumps(REPLY)}\n",
    ):
        piece = only(text)
        assert (piece.kind, piece.meta["path"], piece.meta["status"]) == ("exchange", "/v1/chat/completions", 200)
        assert piece.meta["request"] == request
        assert json.loads(piece.meta["response_text"]) == REPLY
    first, second = read_text(f"Request:\n{json.dumps(request)}\n\nResponse:\n{json.dumps(REPLY)}\n")
    assert first.kind == "json"
    assert (second.kind, second.meta["request"]) == ("exchange", request)


def test_a_recorded_exchange_is_one() -> None:
    request = {"messages": [], "max_tokens": 4}
    record = {"request": {"method": "POST", "path": "/v1/x", "body": request}, "status": 200, "body": REPLY}
    piece = only(json.dumps(record, indent=1))
    assert (piece.kind, piece.meta["path"], piece.meta["request"]) == ("exchange", "/v1/x", request)
    assert json.loads(piece.meta["response_text"]) == REPLY
    piece = only(json.dumps({"request": request, "status": 500, "body_text": "no"}))
    assert (piece.meta["path"], piece.meta["status"]) == ("/v1/chat/completions", 500)
    assert piece.meta["response_text"] == "no"


@pytest.mark.parametrize(
    ("wrap", "plain"),
    [
        (
            lambda line: {"log": f"{line}\n", "stream": "stderr", "time": "2026-09-14T08:19:31Z"},
            "2026-09-14T08:19:31Z {}",
        ),
        (lambda line: {"level": "error", "ts": "2026-09-14T08:19:31Z", "msg": line}, "2026-09-14T08:19:31Z ERROR: {}"),
        (
            lambda line: {
                "MESSAGE": line,
                "__REALTIME_TIMESTAMP": "1789374000000000",
                "_HOSTNAME": "spark-a",
                "SYSLOG_IDENTIFIER": "kernel",
            },
            "2026-09-14T08:20:00Z spark-a kernel: {}",
        ),
    ],
)
def test_a_log_in_json_is_a_log(wrap: Callable[[str], dict[str, str]], plain: str) -> None:
    lines = ["(EngineCore pid=7) one", "(EngineCore pid=7) two"]
    piece = only("\n".join(json.dumps(wrap(line)) for line in lines))
    assert (piece.kind, piece.text) == ("log", "\n".join(plain.format(line) for line in lines))


def test_a_file_shown_elsewhere_fills_in_the_request() -> None:
    text = (
        f"$ curl -s http://h:8000/v1/chat/completions -d @ask.json\n{json.dumps(REPLY)}\n"
        "$ jq '{max_tokens, tools: (.tools|length)}' ask.json\n" + '{\n "max_tokens": 300,\n "tools": 3\n}\n'
    )
    request = read_text(text)[0].meta["request"]
    assert request["max_tokens"] == 300
    assert len(request["tools"]) == 3


def test_a_loop_gives_an_exchange_a_turn() -> None:
    text = (
        '$ for n in 300 4000; do curl -s http://h:8000/v1/completions -d "{\\"max_tokens\\": $n}"'
        " | jq -c '[.usage.completion_tokens]'; done\n"
        "[300]\n[61]\n"
    )
    first, second = read_text(text)
    assert [p.meta["request"] for p in (first, second)] == [{"max_tokens": 300}, {"max_tokens": 4000}]
    assert [p.meta["jq_replies"] for p in (first, second)] == [
        [{"completion_tokens": 300}],
        [{"completion_tokens": 61}],
    ]
    assert [p.first_line for p in (first, second)] == [2, 3]


def test_one_name_of_a_node_tells_nothing_apart() -> None:
    piece = only("user@spark-a:~$ free -h\nMem: 1\n")
    assert piece.where.node is None


@pytest.mark.parametrize(
    "text",
    [
        "user@spark-a:~$ free\nx\nuser@spark-b:~$ free\ny\n",
        "[spark-a] $ free\nx\n[spark-b] $ free\ny\n",
        "$ ssh spark-a free\nx\n$ ssh spark-b free\ny\n",
        "=== free on spark-a ===\nx\n=== free on spark-b ===\ny\n",
    ],
)
def test_two_names_of_nodes_are_told_apart(text: str) -> None:
    assert [(p.command, p.where.node) for p in read_text(text)] == [("free", "spark-a"), ("free", "spark-b")]


def test_a_remark_names_the_node_of_what_follows() -> None:
    text = (
        "# head (192.0.2.10)\nvllm serve m --node-rank 0\n# worker (192.0.2.11)\nvllm serve m --node-rank 1\n"
        "$ ssh 192.0.2.11 free\nx\n"
    )
    assert [p.where.node for p in read_text(text)] == ["head", "head", "worker", "worker", "worker"]


def test_a_container_is_named_by_what_reads_from_it() -> None:
    text = "$ docker logs llm\n[2026-09-01 12:00:00] x\n$ docker exec -it llm env\nA_B=1\n"
    assert [p.where.container for p in read_text(text)] == ["llm", "llm"]


def test_a_change_between_tries_makes_two_runs() -> None:
    ask = "$ curl -s -o /dev/null -w '%{http_code}' http://h:8000/health\n200\n"
    pieces = read_text(f"{ask}$ # only change: --enforce-eager\n{ask}")
    assert [p.where.run for p in pieces if p.kind == "exchange"] == ["1", "2"]
    assert {p.where.run for p in read_text(f"{ask}$ # the weather is fine\n{ask}")} == {None}


def test_a_second_paste_is_read_once() -> None:
    text = "$ curl -s http://h:8000/metrics\nvllm:num_requests_running 1.0\n"
    assert kinds(f"{text}\n{text}") == ["metrics", "repeat"]


def test_sleep_tells_the_time_between_two_scrapes() -> None:
    scrape = "curl -s http://h:8000/metrics"
    sample = "vllm:num_requests_running 1.0"
    pieces = read_text(f"$ {scrape}\n{sample}\n$ sleep 3m; {scrape}\n{sample}\n$ uname -m\nx\n")
    assert [p.meta.get("at") for p in pieces if p.kind == "metrics"] == [None, 180.0]


def test_orders_and_lines_are_those_of_the_text() -> None:
    first, second = read_text("$ uname -m\naarch64\n\n$ uname -r\n6.17\n", source="f", start_order=100)
    assert (first.source, first.first_line, first.order, first.meta["span"]) == ("f", 2, 101, (1, 3))
    assert (second.first_line, second.order, second.meta["span"]) == (5, 104, (4, 5))


def test_texts_are_read_as_one_case() -> None:
    asked, told = read_texts([("a", "$ uname -m\n"), ("b", "aarch64\n")])
    assert (asked.kind, asked.source) == ("command", "a")
    assert (told.source, told.command, told.text, told.first_line) == ("b", "uname -m", "aarch64", 1)
    stopped = read_texts([("a", "$ sparkrun stop x ; echo rc=$?\nStopping\nStopped\n"), ("b", "rc=0\n")])
    assert [(p.command, p.text) for p in stopped if p.text == "rc=0"] == [("echo rc=$?", "rc=0")]
    pieces = read_texts([("head.log", "[2026-09-01 12:00:00] x\n"), ("worker.log", "[2026-09-01 12:00:00] y\n")])
    assert [(p.source, p.where.node) for p in pieces] == [("head.log", "head"), ("worker.log", "worker")]
    assert [p.order for p in read_texts([("a", "x"), ("b", "y")], start_orders=[0, 1000])] == [0, 1000]


def test_the_output_of_a_known_command_needs_no_prompt() -> None:
    (piece,) = read_output("ssh spark-b docker logs llm", "[2026-09-01 12:00:00] x\n", source="probe", start_order=5)
    assert (piece.kind, piece.command, piece.where.container, piece.order) == ("log", "docker logs llm", "llm", 5)


def test_a_container_in_the_background_prints_no_log() -> None:
    text = "$ docker run -d --name node img\na91c3bd5d0aa\n$ docker logs node\nbash: ray: command not found\n"
    assert kinds(text) == ["launch", "output", "log"]


def test_a_key_that_a_report_sets_in_bold_is_that_key() -> None:
    text = json.dumps(REPLY | {"usage": None}).replace('"content"', '"**content**"')
    assert '"content": "Hi"' in only(text).text


def test_a_table_of_symptoms_and_fixes_is_a_remark() -> None:
    table = "| Symptom | Cause | Fix |\n|---|---|---|\n| `OSError: [Errno 98] Address already in use` | two | one |\n"
    assert kinds(table) == ["comment"]
    assert kinds(table + "\nOSError: [Errno 98] Address already in use\n") == ["comment", "log"]
    assert "comment" not in kinds(table.replace("Fix", "Result"))
