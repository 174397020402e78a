"""How far one gets with a host without logging in: each outcome told apart, with its time, within its time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sparkdiag.capture import Capture, Item, Target
from sparkdiag.collect import Settings, collect_endpoint, ping, reach
from sparkdiag.evidence import Evidence
from sparkdiag.observe.collected import observe_capture
from tests.endpoint_server import Engine, listening, silent, vllm
from tests.ssh_server import free_port


def host(name: str, port: int, seconds: float = 20.0) -> reach.Host:
    began = time.monotonic()
    return reach.Host("t1", name, lambda: time.monotonic() - began, seconds, port)


def looked_at(port: int, name: str = "127.0.0.1") -> dict[str, Item]:
    return {item.probe: item for item in asyncio.run(reach.host_items(host(name, port)))}


def results(items: list[Item] | dict[str, Item]) -> dict[str, str]:
    """Probe to result, as the rules see it."""
    found = list(items.values()) if isinstance(items, dict) else items
    facts = observe_capture(Capture(targets=(Target("t1", "endpoint", "http://h:1"),), items=tuple(found)), ())
    return {str(fact.get("probe")): str(fact.get("result")) for fact in facts if fact.kind == "reach"}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "BANNER_SECONDS", 0.3)
    monkeypatch.setattr(reach, "CONNECT_SECONDS", 0.4)
    monkeypatch.setattr("sparkdiag.collect.below._PATIENCE", 0.1)


def greeting(data: bytes, *, wait: bool = False) -> Callable[[socket.socket], None]:
    """Says something at once, as SSH servers do; or once something was said to it."""

    def serve(connection: socket.socket) -> None:
        if wait:
            connection.recv(1000)
        connection.sendall(data)
        if b"SSH-" in data:
            connection.recv(1000)
        connection.close()

    return serve


@contextlib.contextmanager
def full_queue() -> Iterator[int]:
    """A port whose queue is full: the kernel answers nothing to a connection request."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


# --- the SSH port


def test_a_banner_is_timed_and_shown() -> None:
    with listening(greeting(b"SSH-2.0-OpenSSH_9.6p1 Ubuntu-3ubuntu13.14\r\n")) as port:
        items = looked_at(port)
    assert (items["tcp-ssh"].status, items["ssh-banner"].status) == ("ok", "ok")
    assert items["ssh-banner"].text == "SSH-2.0-OpenSSH_9.6p1 Ubuntu-3ubuntu13.14"
    assert items["tcp-ssh"].asked == {"host": "127.0.0.1", "port": port, "address": "127.0.0.1"}
    assert items["ssh-banner"].took is not None
    assert items["ssh-banner"].took < 2


def test_words_may_stand_before_the_banner() -> None:
    with listening(greeting(b"Welcome to the lab\r\nno trespassing\r\nSSH-2.0-dropbear\r\n")) as port:
        assert results(looked_at(port))["ssh-banner"] == "ok"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("serve", "result", "told"),
    [
        (silent, "silent", "accepted, no banner within 0.3 s"),
        (lambda connection: connection.close(), "closed", "closed at once"),
        (greeting(b"Exceeded MaxStartups\r\n"), "closed", "takes no more logins"),
        (greeting(b"HTTP/1.1 400 Bad Request\r\n\r\n", wait=True), "other", "HTTP/1.1 400 Bad Request"),
        (greeting(b"220 mail ESMTP\r\n"), "other", "220 mail ESMTP"),
        (greeting(b"\x00" * 20_000), "other", "no SSH"),
    ],
)
def test_what_is_no_banner_is_told_apart(serve: Callable[[socket.socket], None], result: str, told: str) -> None:
    with listening(serve) as port:
        items = looked_at(port)
    assert results(items)["tcp-ssh"] == "ok"
    assert results(items)["ssh-banner"] == result
    assert told in (items["ssh-banner"].why or "")


@pytest.mark.usefixtures("impatient")
def test_a_refused_port_a_filtered_port_and_an_unknown_name() -> None:
    assert results(looked_at(free_port()))["tcp-ssh"] == "refused"
    with full_queue() as port:
        items = looked_at(port)
    assert (results(items)["tcp-ssh"], items["tcp-ssh"].why) == ("timeout", "no connection within 0.4 s")
    assert "ssh-banner" not in items
    unknown = looked_at(22, "nosuch.invalid")
    assert [(item.probe, item.status) for item in unknown.values()] == [("ping", "dns")]


def test_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 on loopback here")
    with listener:
        port = listener.getsockname()[1]
        monkeypatch.setattr(reach, "BANNER_SECONDS", 0.2)
        items = looked_at(port, "::1")
    assert items["tcp-ssh"].asked["address"] == "::1"
    assert results(items)["ssh-banner"] == "silent"
    assert items["ping"].status in ("ok", "denied")


def test_a_name_with_several_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first that answers counts, and what became of the other is said."""
    real = socket.getaddrinfo

    def both(name: str, *args: object, **more: object) -> object:
        if name != "spark-a":
            return real(name, *args, **more)  # type: ignore[arg-type]
        return [(2, 1, 6, "", (address, 22)) for address in ("127.0.0.9", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    with listening(greeting(b"SSH-2.0-x\r\n")) as port:
        items = looked_at(port, "spark-a")
    assert items["tcp-ssh"].asked["address"] == "127.0.0.1"
    assert items["tcp-ssh"].why == "127.0.0.9: nothing listens on this port"
    assert results(items)["ssh-banner"] == "ok"


# --- ping


def test_ping_has_a_time_and_says_how_it_was_sent() -> None:
    found = asyncio.run(ping.ping(["127.0.0.1"], 2.0))
    if found.status == "denied":
        pytest.skip("this machine allows no ping at all")
    assert (found.status, found.address) == ("ok", "127.0.0.1")
    assert found.by in ("icmp socket", "raw socket", "ping command")
    assert found.took is not None
    assert 0 < found.took < 1


def test_without_any_way_to_ping_an_accepted_connection_says_that_the_kernel_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ping, "_SOCKETS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with listening(greeting(b"SSH-2.0-x\r\n")) as port:
        items = looked_at(port)
    assert items["ping"].status == "ok"
    assert f"port {port} accepted a connection shows as well" in (items["ping"].why or "")
    assert looked_at(free_port())["ping"].status == "denied"


@pytest.mark.parametrize(
    ("printed", "status", "told"),
    [
        ("64 bytes from 192.0.2.9: icmp_seq=1 ttl=64 time=0.612 ms", "ok", ""),
        ("From 192.0.2.1 icmp_seq=1 Destination Host Unreachable", "timeout", "unreachable"),
        ("2 packets transmitted, 0 received, 100% packet loss", "timeout", "no reply"),
        ("ping: socktype: SOCK_RAW: Operation not permitted", "denied", "may not send pings"),
    ],
)
def test_the_ping_command_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: str, status: str, told: str
) -> None:
    monkeypatch.setattr(ping, "_SOCKETS", ())
    program = tmp_path / "ping"
    program.write_text(f"#!/bin/sh\necho '{printed}'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = asyncio.run(ping.ping(["192.0.2.9"], 2.0))
    assert (found.status, found.by) == (status, "ping command")
    assert told in (found.why or "")
    assert found.took == (0.00061 if status == "ok" else None)


def test_an_echo_of_others_is_not_ours() -> None:
    """A raw socket sees every echo that the machine gets; only one with our own payload counts."""
    ours = ping._request(socket.AF_INET, 7, 1)
    assert ours[:1] == b"\x08"
    assert ping._checksum(ours) == 0
    assert ours.endswith(ping._PAYLOAD)


# --- the endpoint's host


def collected(address: str, **more: object) -> list[Item]:
    given: dict[str, object] = {"answer_seconds": 0.6, "metrics_gap": 0.02, "netrc": None, **more}
    return asyncio.run(collect_endpoint(Settings("t1", address, **given)))  # type: ignore[arg-type]


def report_on(items: list[Item], address: str = "http://127.0.0.1:1") -> object:
    evidence = Evidence(capture=Capture(targets=(Target("t1", "endpoint", address),)))
    evidence.add(items)
    return evidence.judged().report


@pytest.mark.usefixtures("impatient")
def test_an_endpoint_that_answers_has_its_host_left_alone() -> None:
    with Engine(vllm()) as engine, listening(silent) as ssh:
        items = collected(engine.url, ssh_port=ssh, answer_seconds=5.0)
    assert not {item.probe for item in items} & {"ping", "tcp-ssh", "ssh-banner"}


@pytest.mark.usefixtures("impatient")
def test_a_refused_port_is_an_answer() -> None:
    with listening(silent) as ssh:
        items = collected(f"127.0.0.1:{free_port()}", ssh_port=ssh)
    assert not {item.probe for item in items} & {"tcp-ssh", "ssh-banner"}


@pytest.mark.usefixtures("impatient")
def test_a_silent_endpoint_has_its_host_looked_at_meanwhile() -> None:
    with listening(silent) as api, listening(silent) as ssh:
        began = time.monotonic()
        items = collected(f"127.0.0.1:{api}", ssh_port=ssh)
        assert time.monotonic() - began < 3
    assert results(items)["ssh-banner"] == "silent"
    if results(items)["ping"] != "ok":
        pytest.skip("this machine allows no ping at all")
    assert [d.id for d in report_on(items).claimed] == ["memory.node-starved"]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("impatient")
def test_a_port_that_takes_no_connection_has_its_host_looked_at() -> None:
    with full_queue() as api, listening(greeting(b"SSH-2.0-x\r\n")) as ssh:
        items = collected(f"127.0.0.1:{api}", ssh_port=ssh, connect_seconds=0.3)
    assert results(items)["tcp-api"] == "timeout"
    assert results(items)["ssh-banner"] == "ok"
    assert not {d.id for d in report_on(items).claimed} & {"memory.node-starved", "endpoint.node-unreachable"}  # type: ignore[attr-defined]


def test_ping_is_here() -> None:
    """The tests above skip where nothing can be pinged; with the program there, they must not."""
    if shutil.which("ping") and os.getuid() == 0:
        assert asyncio.run(ping.ping(["127.0.0.1"], 2.0)).status == "ok"
