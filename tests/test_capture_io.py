"""Captures come back as they were saved, without secrets; what cannot be read is told and harms nothing."""

from __future__ import annotations

import io
import json
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sparkdiag import capture_sources, schema
from sparkdiag.capture import STATUSES, Capture, Item, Target
from sparkdiag.capture_io import anonymized, load, save
from sparkdiag.errors import CaptureError, UsageError

KEY = "correcthorsebattery"


AWKWARD = 'data: {"a": 1}\r\n\n\x00\x1b[31m\u2028ü\ufffd'


def sample() -> Capture:
    chat = {"method": "POST", "path": "/v1/chat/completions", "body": {"model": "m", "stream": True}, "turn": "plain"}
    return Capture(
        started="2026-11-30T12:00:00Z",
        targets=(Target("t1", "endpoint", "http://spark-a:8000"),),
        items=(
            Item("t1", "tcp-api", "ok", id="1", asked={"host": "spark-a", "port": 8000}, took=0.01),
            Item("t1", "health", "ok", id="2", code=200, asked={"method": "GET", "path": "/health"}, at=0.0, took=0.5),
            Item("t1", "chat", "ok", id="3", code=200, asked=chat, headers={"server": "uvicorn"}, file="chat.sse",
                 media="text/event-stream", chunks=((0, 0.1), (12, 0.25)), text=AWKWARD),
            Item("t1", "metrics-again", "skipped", id="4", why="no /metrics here"),
        ),
        answers={"client_reads": "reasoning"},
    )  # fmt: skip


def test_a_capture_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    save(sample(), tmp_path / "deep" / "capture")
    loaded, problems = load(tmp_path / "deep" / "capture")
    assert loaded == sample()
    assert problems == []


def test_saving_twice_gives_the_same_bytes_and_leaves_nothing_behind(tmp_path: Path) -> None:
    first = save(sample(), tmp_path)
    (tmp_path / "expected.yaml").write_text("format: 1\n")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    save(first, tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    save(Capture(items=first.items[:1]), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["capture.json", "expected.yaml"]


def test_secrets_are_removed_before_anything_is_written(tmp_path: Path) -> None:
    item = Item(
        "t1", "log", "ok", why=f"401 for Authorization: Bearer {KEY}1", text=f"vllm serve m --api-key {KEY}\n",
        asked={"command": f"curl -H 'Authorization: Bearer {KEY}'", "body": {"api_key": KEY}},
    )  # fmt: skip
    save(Capture(items=(item,), answers={"password": KEY}), tmp_path)
    assert KEY not in "".join(file.read_text() for file in tmp_path.iterdir())
    assert "[secret: API key]" in load(tmp_path)[0].items[0].text


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        save(sample(), tmp_path)
    (tmp_path / "capture.json").write_text("[]")
    with pytest.raises(UsageError, match="no capture's"):
        save(sample(), tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        save(sample(), tmp_path / "thesis.txt")
    assert sorted(os.listdir(tmp_path)) == ["capture.json", "thesis.txt"]


def test_file_names_are_plain_and_unique(tmp_path: Path) -> None:
    names = ["../../etc/passwd", "serve.log", "SERVE.log", "capture.json", "/abs", "a b\n.txt", "..", None, None]
    save(Capture(items=tuple(Item("t1", "x/../y", "ok", file=name, text="z") for name in names)), tmp_path)
    loaded, problems = load(tmp_path)
    assert problems == []
    assert len({item.file for item in loaded.items}) == len(names)
    assert {file.name for file in tmp_path.iterdir()} == {item.file for item in loaded.items} | {"capture.json"}


@pytest.mark.parametrize("outer", ["", "case-7/"])
@pytest.mark.parametrize("kind", ["tar.gz", "tgz", "zip"])
def test_an_archive_is_read_like_its_folder(tmp_path: Path, kind: str, outer: str) -> None:
    save(sample(), tmp_path / "c")
    archive = tmp_path / f"c.{kind}"
    files = sorted((tmp_path / "c").iterdir())
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as target:
            for file in files:
                target.write(file, outer + file.name)
    else:
        with tarfile.open(archive, "w:gz") as tar:
            for file in files:
                tar.add(file, outer + file.name)
    assert load(archive) == (sample(), [])


def test_archives_cannot_lead_out_link_or_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_sources, "MAX_FILE", 1000)
    monkeypatch.setattr(capture_sources, "MAX_TOTAL", 1500)
    monkeypatch.setattr(capture_sources, "MAX_FILES", 5)
    archive = tmp_path / "evil.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:

        def add(name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = "") -> None:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(data), kind, link
            tar.addfile(info, io.BytesIO(data))

        add("../up.log")
        add("/etc/abs.log")
        add("sym.log", b"", tarfile.SYMTYPE, "/etc/passwd")
        add("hard.log", b"", tarfile.LNKTYPE, "up.log")
        add("pipe.log", b"", tarfile.FIFOTYPE)
        add("bomb.log", b"0" * 1_000_000)
        add("a.log", b"a" * 900)
        add("b.log", b"b" * 900)
        for number in range(10):
            add(f"n{number}.log")
    capture, problems = load(archive)
    assert [item.file for item in capture.items] == ["a.log", "n0.log", "n1.log", "n2.log", "n3.log"]
    told = dict(problems)
    assert "leads out" in told["../up.log"]
    assert "leads out" in told["/etc/abs.log"]
    assert "is a link" in told["sym.log"]
    assert "is a link" in told["hard.log"]
    assert "ordinary" in told["pipe.log"]
    assert "larger than" in told["bomb.log"]
    assert "more than" in told["b.log"]
    assert "more than 5" in told["further files"]


@pytest.mark.parametrize("name", ["x.tar.gz", "x.zip", "x.tgz"])
@pytest.mark.parametrize("data", [b"", b"not an archive", b"\x1f\x8b\x08\x00garbage", b"PK\x03\x04garbage"])
def test_a_damaged_archive_is_an_error_with_its_name(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CaptureError, match=name):
        load(tmp_path / name)


def test_links_pipes_binaries_and_empty_files_of_a_folder_are_told(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "link.log").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe.log")
    (folder / "core").write_bytes(bytes(range(256)) * 4 + b"\0" * 500)
    (folder / "empty.log").touch()
    (folder / "serve.log").write_text("INFO: started\n")
    (folder / ".hidden").write_text("x")
    capture, problems = load(folder)
    assert [(item.probe, item.file, item.text) for item in capture.items] == [("file", "serve.log", "INFO: started\n")]
    assert set(dict(problems)) == {"link.log", "pipe.log", "core", "empty.log"}


def test_recorded_exchanges_and_launches_become_items(tmp_path: Path) -> None:
    def exchange(name: str, path: str, asked: Any, **more: Any) -> None:
        data = {"request": {"method": "POST", "path": path, "body": asked}, "status": 200, "headers": {}} | more
        (tmp_path / name).write_text(json.dumps(data))

    hi = {"messages": [{"role": "user", "content": "hi"}]}
    exchange("a-chat.json", "/v1/chat/completions", hi, body={"choices": []}, total_s=1.5)
    exchange("b-stream.json", "/v1/chat/completions", {**hi, "stream": True}, body_text="data: [DONE]\n\n",
             headers={"Content-Type": "text/event-stream", "Set-Cookie": "s=1"})  # fmt: skip
    exchange("c-raw.json", "/v1/completions", {"prompt": "<|im_start|>user\nhi<|im_end|>\n"}, body={}, status=500)
    exchange("d-other.json", "/v1/completions", {"prompt": "this"}, body={})
    (tmp_path / "_server.json").write_text(json.dumps({"cmd": ["serve", "/m", "--api-key", KEY], "env": {"A": "b c"}}))
    (tmp_path / "e-failed.json").write_text(json.dumps({"cmd": ["python", "-m", "x"], "exit_code": 1}))
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    capture, problems = load(tmp_path)
    assert problems == []
    items = {item.file: item for item in capture.items}
    chat, stream, raw = items["a-chat.json"], items["b-stream.json"], items["c-raw.json"]
    assert (chat.probe, chat.status, chat.code, chat.took) == ("exchange", "ok", 200, 1.5)
    assert chat.asked == {"method": "POST", "path": "/v1/chat/completions", "body": hi, "turn": "hi"}
    assert json.loads(chat.text) == {"choices": []}
    assert (stream.text, stream.asked["stream"], stream.media) == ("data: [DONE]\n\n", True, "text/event-stream")
    assert stream.headers["set-cookie"] == "[secret: cookie]"
    assert (raw.status, raw.asked["turn"]) == ("http-error", "hi"), "the raw completion of the same turn"
    assert items["d-other.json"].asked["turn"] == "this", "another turn, though 'hi' is within 'this'"
    assert items["_server.json"].text == "A='b c' vllm serve /m --api-key '[secret: API key]'\n"
    assert (items["e-failed.json"].status, items["e-failed.json"].code) == ("exit-error", 1)
    assert items["config.json"].probe == "file"


def test_a_single_exchange_file_is_a_capture(tmp_path: Path) -> None:
    file = tmp_path / "reply.json"
    file.write_text(json.dumps({"request": {"messages": []}, "status": 404, "body": {"detail": "Not Found"}}))
    capture, _ = load(file)
    assert [(i.probe, i.code, i.asked["body"]) for i in capture.items] == [("exchange", 404, {"messages": []})]


def test_evidence_named_in_capture_json_that_cannot_be_read_is_no_empty_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(sample(), tmp_path)
    (tmp_path / "stray.log").write_text("x")
    monkeypatch.setattr(capture_sources, "MAX_FILE", 2000)
    (tmp_path / "chat.sse").write_bytes(b"x" * 3000)
    capture, problems = load(tmp_path)
    assert capture.items[2].status == "skipped"
    assert "larger" in (capture.items[2].why or "")
    assert set(dict(problems)) == {"chat.sse", "stray.log"}
    (tmp_path / "chat.sse").unlink()
    with pytest.raises(CaptureError, match=r"capture\.json: item 3 names the file 'chat\.sse'"):
        load(tmp_path)


WRONG = [
    ("[]", "no mapping"),
    ('{"format": 1, "items": [}', "capture.json:1: is no JSON"),
    ("[" * 100_000, "nested too deep"),
    ('{"format": 2, "items": []}', "'format' is 2; this version reads 1"),
    ('{"items": []}', "has no 'format'"),
    ('{"format": 1, "items": 5}', "'items' must be a list, not 5"),
    ('{"format": 1, "items": [{"target": "t", "status": "ok"}]}', "'items[0]' has no 'probe'"),
    (
        '{"format": 1, "items": [{"target": "t", "probe": "p", "status": "fine"}]}',
        "'items[0].status' is 'fine'; it must",
    ),
    (
        '{"format": 1, "items": [{"target": "t", "probe": "p", "status": "ok", "took": "1 s"}]}',
        "must be a number or null",
    ),
    ('{"format": 1, "items": [{"target": "t", "probe": "p", "status": "ok", "file": "../x"}]}', "the name of a file"),
    ('{"format": 1, "items": [{"target": "t", "probe": "p", "status": "ok", "chunks": [[1]]}]}', "must have 2 entries"),
    ('{"format": 1, "items": [], "targets": [{"id": "a"}]}', "'targets[0]' has no 'kind'"),
]


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_a_malformed_capture_json_is_told_with_file_path_and_sentence(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "capture.json").write_text(text)
    with pytest.raises(CaptureError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "capture.json"))
    assert told in str(caught.value)


def test_keys_that_are_not_known_are_ignored(tmp_path: Path) -> None:
    item = {"target": "t", "probe": "p", "status": "ok", "later": 1}
    (tmp_path / "capture.json").write_text(json.dumps({"format": 1, "items": [item], "later": {}}))
    assert load(tmp_path)[0].items == (Item("t", "p", "ok"),)


def test_what_is_not_there_or_holds_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such file"):
        load(tmp_path / "nowhere")
    with pytest.raises(CaptureError, match="holds no evidence"):
        load(tmp_path)


def test_anonymizing_numbers_hosts_in_all_texts() -> None:
    item = Item("t1", "log", "ok", text="spark-a (10.1.2.3) joined; http://spark-b.lan:1/x", why="spark-a refused")
    capture = anonymized(Capture(targets=(Target("t1", "endpoint", "http://spark-a:8000"),), items=(item,)))
    assert capture.targets[0].address == "http://host-1.example:8000"
    assert capture.items[0].text == "host-1.example (192.0.2.1) joined; http://host-2.example:1/x"
    assert capture.items[0].why == "host-1.example refused"


@pytest.mark.parametrize("name", schema.NAMES)
def test_published_schemas_are_current(name: str) -> None:
    assert schema.published(name) == schema.current(name), "run: python -m sparkdiag.schema"


def test_the_capture_schema_knows_every_status_and_takes_what_is_saved() -> None:
    data = sample().to_dict()
    schema.check(data, "capture", "capture.json")
    assert schema.published("capture")["$defs"]["Item"]["properties"]["status"]["enum"] == list(STATUSES)


def test_the_report_schema_takes_what_a_report_prints() -> None:
    from sparkdiag.diagnosis import Avoid, Diagnosis, Evidence, FixStep, NextProbe, Problem, Report, Suppressed

    where = {"target": "t1", "node": None, "container": None, "rank": None, "run": None}
    inner = Diagnosis("a.c", "r2", "t", "limit", "hint", "c", where)
    outer = Diagnosis(
        "a.b", "r", "t", "fault", "likely", "c", where,
        (FixStep("do", command="x", undo="y"),), (Avoid("a", "b"),), "ok",
        (Evidence("chat", "text", path="$.x"), Evidence("log", "text", line=3)), (inner,), ("B 4",), "v", ("n",),
    )  # fmt: skip
    report = Report(
        "0.1", "hash", "python", "fault", (outer,), (Suppressed("a.d", "r", "b"),), (NextProbe("p", ("a.b",), "none"),),
        ({"kind": "chat"},), (Problem("w", "y"),), ("a good reply",),
    ).to_dict()  # fmt: skip
    schema.check(report, "report", "report")
    with pytest.raises(CaptureError, match=r"'diagnoses\[0\]\.level' is 'sure'; it must be one of hint"):
        schema.check({**report, "diagnoses": [{**report["diagnoses"][0], "level": "sure"}]}, "report", "report")


def test_the_expected_schema_refuses_keys_that_do_not_exist() -> None:
    schema.check({"format": 1, "expect": ["a.b"], "pinned": {"a.b": "likely"}, "verdict": "fault"}, "expected", "e")
    with pytest.raises(CaptureError, match=r"has no key 'expects'; did you mean 'expect'\?"):
        schema.check({"format": 1, "expects": []}, "expected", "expected.yaml")
    with pytest.raises(CaptureError, match=r"'pinned\[a\.b\]' is 'sure'"):
        schema.check({"format": 1, "pinned": {"a.b": "sure"}}, "expected", "expected.yaml")
