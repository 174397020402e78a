"""Whatever an endpoint does, each request ends as one item: in bounded time and memory, with its failure told apart."""

from __future__ import annotations

import asyncio
import gzip
import resource
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pytest_httpx import HTTPXMock

from sparkdiag.capture import Item
from sparkdiag.collect import Settings, collect_passive
from sparkdiag.collect.failures import classify
from sparkdiag.collect.http import Ask, Session
from tests.endpoint_server import Engine, as_json, as_text, listening, metrics, reset, saying, silent

KEY = "correct-horse-battery"


def settings(address: str, **more: Any) -> Settings:
    given: dict[str, Any] = {"connect_seconds": 2.0, "answer_seconds": 0.4, "metrics_gap": 0.05, "netrc": None, **more}
    return Settings("t1", address, **given)


def send(address: str, ask: Ask = Ask("models", "/v1/models"), **more: Any) -> Item:  # noqa: B008 (frozen)
    async def run() -> Item:
        async with Session(settings(address, **more)) as session:
            return await session.send(ask)

    return asyncio.run(run())


def connect(address: str, **more: Any) -> Item:
    async def run() -> Item:
        async with Session(settings(address, **more)) as session:
            return await session.connect()

    return asyncio.run(run())


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


# --- below HTTP


def test_a_closed_port_is_refused_and_nothing_more_is_sent() -> None:
    items = asyncio.run(collect_passive(settings(f"127.0.0.1:{closed_port()}")))
    assert (items[0].probe, items[0].status) == ("tcp-api", "refused")
    assert {item.status for item in items[1:]} == {"skipped"}
    assert all("cannot be reached" in (item.why or "") for item in items[1:])


def test_a_name_with_several_addresses_that_all_refuse_is_refused() -> None:
    assert connect(f"localhost:{closed_port()}").status == "refused"


def test_a_name_that_does_not_resolve_is_dns() -> None:
    item = connect("http://nosuch.invalid")
    assert (item.status, item.took is not None) == ("dns", True)


def test_a_silent_name_server_is_dns_and_does_not_hold_up_the_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **more: time.sleep(3))
    started = time.monotonic()
    item = connect("http://spark-a.example", connect_seconds=0.1)
    assert time.monotonic() - started < 1.5
    assert (item.status, item.why) == ("dns", "the name server gave no answer within 0.1 s")


def test_a_port_that_takes_no_connection_times_out() -> None:
    with socket.socket() as listener:  # its queue is full, so the kernel answers nothing
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        item = connect(f"127.0.0.1:{port}", connect_seconds=0.3)
        for one in waiting:
            one.close()
    assert (item.status, item.why) == ("timeout", "no connection within 0.3 s")


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (OSError(113, "No route to host"), "timeout", "unreachable: no route to host"),
        (OSError(101, "Network is unreachable"), "timeout", "unreachable"),
        (OSError("Multiple exceptions: [Errno 101] x, [Errno 111] y"), "refused", "nothing listens"),
        (ConnectionResetError(104, "x"), "reset", "reset"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "dns", "name server gave no answer"),
        (PermissionError(13, "x"), "denied", "does not allow"),
        (ExceptionGroup("g", [OSError(99, "x"), ConnectionRefusedError(111, "y")]), "refused", "nothing listens"),
        (RuntimeError("odd"), "reset", "odd"),
    ],
)
def test_failures_below_http_are_told_apart(error: Exception, status: str, told: str) -> None:
    outer = httpx.ConnectError("All connection attempts failed")
    outer.__cause__ = error
    assert classify(outer)[0] == status
    assert told in classify(outer)[1]


def test_a_server_that_accepts_and_says_nothing_times_out_all_routes_side_by_side() -> None:
    with listening(silent) as port:
        started = time.monotonic()
        items = asyncio.run(collect_passive(settings(f"127.0.0.1:{port}")))
        assert time.monotonic() - started < 2
    assert items[0].status == "ok"
    assert {item.status for item in items[1:-1]} == {"timeout"}
    assert items[1].why == "no answer within 0.4 s"
    assert items[-1].status == "skipped"


def test_a_reset_instead_of_an_answer() -> None:
    with listening(reset) as port:
        assert send(f"127.0.0.1:{port}").status == "reset"


def test_a_connection_closed_without_an_answer() -> None:
    with listening(saying(b"")) as port:
        item = send(f"127.0.0.1:{port}")
    assert (item.status, item.why) == ("reset", "the server closed the connection without an answer")


@pytest.mark.parametrize("data", [b"220 mail.example ready\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x46", b"\0" * 70_000])
def test_what_is_no_http_is_said_to_be_none(data: bytes) -> None:
    with listening(saying(data)) as port:
        item = send(f"127.0.0.1:{port}")
    assert item.status == "reset"
    assert "no HTTP" in (item.why or "")


def test_tls_to_a_port_that_speaks_plain_http() -> None:
    with Engine({}) as engine:
        item = send(f"https://127.0.0.1:{engine.port}", answer_seconds=3)
    assert item.status == "tls"
    assert "does not speak TLS" in (item.why or "")


# --- in the middle of the answer

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"


@pytest.mark.parametrize("ending", ["closed", "reset"])
def test_an_answer_that_breaks_off_keeps_what_came(ending: str) -> None:
    def break_off(connection: socket.socket) -> None:
        time.sleep(0.1)
        if ending == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.close()

    with listening(saying(HEAD + b'{"data": [', then=break_off)) as port:
        item = send(f"127.0.0.1:{port}", answer_seconds=3)
    assert (item.status, item.code, item.text, item.truncated) == ("ok", 200, '{"data": [', True)
    assert "broke off in the middle" in (item.why or "")
    assert "cut_by" not in item.asked


def test_an_answer_that_stops_is_cut_by_the_probe_and_says_so() -> None:
    with listening(saying(HEAD + b'{"data": [', then=silent)) as port:
        item = send(f"127.0.0.1:{port}")
    assert (item.status, item.text, item.truncated) == ("ok", '{"data": [', True)
    assert item.why == "cut by the probe's own deadline after 0.4 s"
    assert item.asked["cut_by"] == "probe"


def test_headers_without_a_body_are_no_empty_answer() -> None:
    with listening(saying(HEAD, then=silent)) as port:
        item = send(f"127.0.0.1:{port}")
    assert (item.status, item.code, item.why) == ("timeout", 200, "headers, but no body within 0.4 s")


def endless(piece: bytes, pause: float = 0.0) -> Iterator[bytes]:
    while True:
        yield piece
        if pause:
            time.sleep(pause)


def test_an_endless_stream_ends_at_the_deadline_with_the_times_of_its_chunks() -> None:
    event = b'data: {"choices": []}\n\n'
    stream = (200, {"content-type": "text/event-stream"}, endless(event, 0.02))
    with Engine({"GET /v1/models": lambda asked: stream}) as engine:
        started = time.monotonic()
        item = send(engine.url)
        assert time.monotonic() - started < 1.5
    assert item.asked["cut_by"] == "probe"
    assert len(item.chunks) > 3
    offsets, times = zip(*item.chunks, strict=True)
    assert list(offsets) == sorted(offsets)
    assert list(times) == sorted(times)
    assert item.text.encode()[offsets[1] :].startswith(event)


def test_a_body_of_a_gigabyte_costs_neither_memory_nor_time() -> None:
    def giant(asked: object) -> Any:
        return 200, {"content-type": "text/plain"}, (b"x" * 2**20 for _ in range(1024))

    with Engine({"GET /metrics": giant}) as engine:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        item = send(engine.url, Ask("metrics", "/metrics"), answer_seconds=20)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (len(item.text), item.truncated) == (4 * 2**20, True)
    assert "longer than 4 MiB" in (item.why or "")
    assert "cut_by" not in item.asked
    assert grown < 200 * 1024, "kilobytes"


def test_a_compressed_answer_is_unpacked_within_the_limit() -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    packed = {"content-encoding": "gzip", "content-type": "application/json"}
    routes = {
        "GET /bomb": lambda asked: (200, packed, bomb),
        "GET /v1/models": lambda asked: (200, packed, gzip.compress(b'{"data": []}')),
        "GET /lie": lambda asked: (200, packed, b'{"data": []}'),
    }
    with Engine(routes) as engine:
        assert len(send(engine.url, Ask("models", "/bomb"), body_limit=100_000).text) == 100_000
        assert send(engine.url).text == '{"data": []}'
        assert send(engine.url, Ask("models", "/lie")).text == '{"data": []}'
        assert engine.asked[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<html><body>hello</body></html>", "<html><body>hello</body></html>"),
        (b'{"data": [{"id"', '{"data": [{"id"'),
        (b"[" * 10_000, "[" * 10_000),
        (b"\xff\xfe\x00a\x1b[31m", "\ufffd\ufffd\x00a\x1b[31m"),
        (b"", ""),
    ],
)
def test_bodies_are_handed_on_as_they_are(body: bytes, text: str) -> None:
    with Engine({"GET /v1/models": lambda asked: (200, {}, body)}) as engine:
        item = send(engine.url)
    assert (item.status, item.code, item.text, item.truncated) == ("ok", 200, text, False)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_status_is_an_answer(status: int) -> None:
    with Engine({"GET /v1/models": as_json({"error": "no"}, status, **{"retry-after": "7"})}) as engine:
        item = send(engine.url)
        assert len(engine.asked) == 1, "never retried"
    assert (item.status, item.code, item.text) == ("http-error", status, '{"error": "no"}')
    assert item.headers["retry-after"] == "7"


# --- redirects and keys


def to(location: str, status: int = 307) -> Any:
    return lambda asked: (status, {"location": location}, b"")


def test_a_redirect_on_the_same_host_is_followed_twice_at_most() -> None:
    routes = {
        "GET /metrics": to("/metrics/"),
        "GET /metrics/": as_text(metrics(0, 1)),
        "GET /v1/models": to("/v1/models"),
    }
    with Engine(routes) as engine:
        item = send(engine.url, Ask("metrics", "/metrics"))
        assert (item.status, item.text) == ("ok", metrics(0, 1))
        assert item.asked["redirected"] == ["/metrics/"]
        around = send(engine.url)
        assert (around.status, around.code) == ("http-error", 307)
        assert "circle" in (around.why or "")
        assert len(engine.asked) == 2 + 3


def test_a_redirect_to_another_host_is_noted_and_not_followed() -> None:
    with Engine({}) as other, Engine({"GET /v1/models": to(f"http://localhost:{other.port}/v1/models")}) as engine:
        item = send(engine.url, api_key=KEY)
        assert other.asked == []
    assert (item.status, item.code) == ("http-error", 307)
    assert "another host, localhost" in (item.why or "")


def test_the_key_does_not_follow_to_another_port() -> None:
    answer = as_json({"data": []})
    with (
        Engine({"GET /x": answer}) as other,
        Engine({"GET /v1/models": to(f"http://127.0.0.1:{other.port}/x")}) as engine,
    ):
        item = send(engine.url, api_key=KEY)
        assert item.status == "ok"
        assert engine.asked[0].headers["authorization"] == f"Bearer {KEY}"
        assert "authorization" not in other.asked[0].headers


@pytest.mark.parametrize("location", ["http://[bad", "javascript:alert(1)", "http://127.0.0.1:99999/", "//"])
def test_a_redirect_to_nonsense_is_an_answer_like_any_other(location: str) -> None:
    with Engine({"GET /v1/models": to(location)}) as engine:
        item = send(engine.url)
    assert item.status in ("http-error", "reset")
    assert item.why


def test_a_post_is_not_turned_into_a_get() -> None:
    with Engine({"POST /v1/chat/completions": to("/x", 302)}) as engine:
        item = send(engine.url, Ask("chat", "/v1/chat/completions", {"max_tokens": 1}))
        assert engine.paths() == ["POST /v1/chat/completions"]
    assert "GET" in (item.why or "")


def test_the_key_is_sent_and_reaches_no_item() -> None:
    def echo(asked: Any) -> Any:
        sent = asked.headers.get("authorization", "nothing")
        return (
            401,
            {"content-type": "text/plain", "x-echo": sent, "set-cookie": "session=1"},
            f"you sent {sent}".encode(),
        )

    with Engine({"GET /v1/models": echo}) as engine:
        item = send(engine.url, api_key=KEY)
        assert engine.asked[0].headers["authorization"] == f"Bearer {KEY}"
        assert send(engine.url).text == "you sent nothing"
    assert item.asked["key_sent"] is True
    assert KEY not in repr(item)
    assert KEY not in item.text
    assert item.headers["set-cookie"] == "[secret: cookie]"


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{closed_port()}")
    with Engine({"GET /v1/models": as_json({})}) as engine:
        assert send(engine.url).status == "ok"


def test_nothing_is_sent_after_the_run_has_ended() -> None:
    with Engine({}) as engine:
        item = send(engine.url, seconds=0.0)
        assert engine.asked == []
    assert (item.status, item.why) == ("skipped", "the time for this run was used up")


def test_times_are_those_of_the_runs_clock() -> None:
    ticks = iter(range(10, 100))
    with Engine({"GET /v1/models": as_json({})}) as engine:
        item = send(engine.url, clock=lambda: float(next(ticks)))
    assert item.at == 10.0
    assert item.took is not None
    assert item.took >= 1


def test_a_certificate_that_is_not_accepted_is_tls(httpx_mock: HTTPXMock) -> None:
    import ssl

    cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
    cause.verify_message = "self-signed certificate"
    error = httpx.ConnectError("failed")
    error.__cause__ = cause
    httpx_mock.add_exception(error)
    item = send("https://spark-a.example")
    assert (item.status, item.why) == ("tls", "the certificate is not accepted: self-signed certificate")


def test_headers_without_end_and_without_bound_are_cut(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(headers=[(f"x-{n}", "v" * 5000) for n in range(100)])
    item = send("http://spark-a.example")
    assert len(item.headers) <= 64
    assert max(len(value) for value in item.headers.values()) <= 1000
