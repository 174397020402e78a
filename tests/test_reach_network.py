"""Hosts in a network of their own: ping that answers where ports do not, and the reverse. Needs root and namespaces."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

import sparkdiag

_OWN = os.getpid() % 60_000  # several runs may go on at once
NAMESPACE = f"sparkdiag-{_OWN}"
NEAR, FAR = f"sd{_OWN}a", f"sd{_OWN}b"
HERE, THERE, NOBODY = (f"198.18.{_OWN // 31 % 250}.{_OWN % 31 * 8 + n}" for n in (1, 2, 3))

_LISTENERS = """
import socket, sys, threading
kinds = dict(word.split("=") for word in sys.argv[1:])
kept = []
for port, kind in kinds.items():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", int(port)))
    listener.listen(0 if kind == "full" else 50)
    kept.append(listener)
    if kind == "full":
        for _ in range(3):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", int(port)))
            kept.append(one)
        continue
    def serve(listener=listener, kind=kind):
        while True:
            connection, _ = listener.accept()
            kept.append(connection)
            if kind == "ssh":
                connection.sendall(b"SSH-2.0-OpenSSH_9.6\\r\\n")
    threading.Thread(target=serve, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    """A network namespace joined to this one by a pair of interfaces."""
    if os.getuid() != 0:
        pytest.skip("network namespaces need root")
    try:
        _run("ip", "netns", "add", NAMESPACE)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces here: {getattr(error, 'stderr', None) or error}")
    try:
        _run("ip", "link", "add", NEAR, "type", "veth", "peer", "name", FAR, "netns", NAMESPACE)
        _run("ip", "addr", "add", f"{HERE}/29", "dev", NEAR)
        _run("ip", "link", "set", NEAR, "up")
        for command in (("addr", "add", f"{THERE}/29", "dev", FAR), ("link", "set", FAR, "up")):
            _run("ip", "-n", NAMESPACE, *command)
        _run("ip", "-n", NAMESPACE, "link", "set", "lo", "up")
        yield NAMESPACE
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", NEAR], check=False, capture_output=True)


@pytest.fixture
def ports(namespace: str, request: pytest.FixtureRequest) -> Iterator[None]:
    """Listeners over there: `port=kind`, kind one of silent, full (its queue is), ssh."""
    mute = "noping" in request.param
    setting = f"echo {int(mute)} > /proc/sys/net/ipv4/icmp_echo_ignore_all"
    _run("ip", "netns", "exec", namespace, "sh", "-c", setting)
    process = subprocess.Popen(
        ["ip", "netns", "exec", namespace, sys.executable, "-c", _LISTENERS, *(p for p in request.param if "=" in p)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield
    process.communicate("")


def _diagnosed(address: str = THERE) -> sparkdiag.Report:
    return sparkdiag.diagnose_sync(f"http://{address}:8000", timeout=3.0, passive=True)


def _results(report: sparkdiag.Report) -> dict[str, str]:
    return {fact["probe"]: fact["result"] for fact in report.facts if fact["kind"] == "reach"}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkdiag.collect.reach.BANNER_SECONDS", 1.0)
    monkeypatch.setattr("sparkdiag.collect.reach.CONNECT_SECONDS", 1.0)
    monkeypatch.setattr("sparkdiag.collect.reach.PING_SECONDS", 1.5)
    monkeypatch.setattr("sparkdiag.collect.below._PATIENCE", 0.3)


@pytest.mark.parametrize("ports", [("22=silent", "8000=full")], indirect=True)
@pytest.mark.usefixtures("ports")
def test_ping_answers_and_no_port_does() -> None:
    report = _diagnosed()
    assert {probe: _results(report)[probe] for probe in ("ping", "tcp-api", "tcp-ssh", "ssh-banner")} == {
        "ping": "ok", "tcp-api": "timeout", "tcp-ssh": "ok", "ssh-banner": "silent",
    }  # fmt: skip
    assert [d.id for d in report.claimed] == ["memory.node-starved"]
    assert report.broken_link == "memory"


@pytest.mark.parametrize("ports", [("noping", "22=ssh", "8000=full")], indirect=True)
@pytest.mark.usefixtures("ports")
def test_a_port_answers_and_ping_does_not() -> None:
    report = _diagnosed()
    assert {probe: _results(report)[probe] for probe in ("ping", "tcp-api", "tcp-ssh", "ssh-banner")} == {
        "ping": "timeout", "tcp-api": "timeout", "tcp-ssh": "ok", "ssh-banner": "ok",
    }  # fmt: skip
    assert report.claimed == ()


@pytest.mark.parametrize("ports", [("noping", "22=silent", "8000=full")], indirect=True)
@pytest.mark.usefixtures("ports")
def test_a_silent_port_behind_which_nothing_else_answers_says_nothing_of_memory() -> None:
    report = _diagnosed()
    assert _results(report)["ssh-banner"] == "silent"
    assert "memory.node-starved" not in {d.id for d in report.claimed}


@pytest.mark.parametrize("ports", [("22=ssh",)], indirect=True)
@pytest.mark.usefixtures("ports")
def test_a_node_that_is_well_and_serves_nothing() -> None:
    report = _diagnosed()
    assert (_results(report)["tcp-api"], _results(report)["ping"]) == ("refused", "ok")
    assert [d.id for d in report.claimed] == ["endpoint.server-not-listening"]


@pytest.mark.usefixtures("namespace")
def test_an_address_that_nobody_has() -> None:
    began = time.monotonic()
    report = _diagnosed(NOBODY)
    assert time.monotonic() - began < 10
    assert _results(report)["ping"] in ("timeout", "unreachable")
    assert [d.id for d in report.claimed] == ["endpoint.node-unreachable"]
    assert report.broken_link == "power and network"
