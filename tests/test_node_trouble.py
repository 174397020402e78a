"""Nodes that go wrong in the middle, and machines that are no Spark: what is said, and what is not."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sparkdiag
from sparkdiag.collect import node, shell
from sparkdiag.report import render
from tests.node_runs import collected, named, only
from tests.node_stand_ins import Spark, meminfo
from tests.ssh_server import SshServer, needs_sshd

pytestmark = needs_sshd


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    return Spark(tmp_path / "node")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    with SshServer(tmp_path / "ssh", path=str(tmp_path / "node")) as one:
        monkeypatch.setenv("PATH", f"{one.client}:{os.environ['PATH']}")
        yield one


def problems(report: sparkdiag.Report) -> dict[str, str]:
    return {problem.what: problem.why for problem in report.problems}


# --- a node that hangs as a whole


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "nvidia-smi", "uname", seconds=1)
    monkeypatch.setattr(shell, "_GRACE", 1.0)
    monkeypatch.setattr(node, "_SIGN_OF_LIFE", 1.0)
    monkeypatch.setattr("sparkdiag.collect.reach.BANNER_SECONDS", 1.0)


@pytest.mark.usefixtures("impatient")
def test_a_node_that_hangs_is_told_from_a_driver_that_does(spark: Spark, server: SshServer, tmp_path: Path) -> None:
    """Everything on it stands, not just nvidia-smi: it is looked at once more from outside."""
    asked = tmp_path / "asked"
    spark.program("nvidia-smi", f"touch {asked}; sleep 30")

    def freeze() -> None:
        end = time.monotonic() + 10
        while not asked.exists() and time.monotonic() < end:
            time.sleep(0.02)
        for pid in server.processes():
            os.kill(pid, signal.SIGSTOP)

    frozen = threading.Thread(target=freeze)
    frozen.start()
    began = time.monotonic()
    report = sparkdiag.diagnose_sync(ssh="spark-a", timeout=20.0)
    assert time.monotonic() - began < 12
    frozen.join()
    reached = {fact["probe"]: fact["result"] for fact in report.facts if fact["kind"] == "reach"}
    assert (reached["ssh-login"], reached["tcp-ssh"], reached["ssh-banner"]) == ("ok", "ok", "silent")
    assert "the node stopped answering" in problems(report)["nvidia-smi"]
    assert any(fact["kind"] == "memory" for fact in report.facts)
    claimed = {d.id for d in report.claimed}
    assert "node.driver-hangs" not in claimed
    if reached["ping"] == "ok":
        assert claimed == {"memory.node-starved"}


@pytest.mark.usefixtures("impatient")
def test_a_driver_that_hangs_on_a_node_that_answers(spark: Spark, server: SshServer) -> None:
    spark.program("timeout", 'shift 3\ncase "$*" in *nvidia-smi*) sleep 30 ;; *) exec "$@" ;; esac')
    report = sparkdiag.diagnose_sync(ssh="spark-a", timeout=20.0)
    assert [d.id for d in report.claimed] == ["node.driver-hangs"]
    assert report.broken_link == "container"


def test_a_node_that_is_frozen_from_the_start(spark: Spark, server: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkdiag.collect.reach.BANNER_SECONDS", 1.0)
    for pid in server.processes():
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    report = sparkdiag.diagnose_sync(ssh="spark-a", timeout=3.0)
    assert time.monotonic() - began < 20
    assert "no banner in time" in problems(report)["ssh-login"]
    assert "no login" in problems(report)["commands"]


# --- services that do not run


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            "the Docker daemon does not run, or not at its usual socket",
        ),
        (
            "failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is correct and if "
            "the daemon is running: dial unix /var/run/docker.sock: connect: no such file or directory",
            "the Docker daemon does not run, or not at its usual socket",
        ),
        ("permission denied while trying to connect to the Docker daemon socket at unix:///run/docker.sock",
         "not allowed: needs membership of the group docker"),
    ],
)  # fmt: skip
def test_why_docker_tells_nothing(
    spark: Spark, server: SshServer, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    only(monkeypatch, "docker-ps", "docker-inspect")
    spark.docker(refused=said)
    report = sparkdiag.diagnose_sync(ssh="spark-a")
    assert problems(report) == {"docker-ps": told}
    assert not [fact for fact in report.facts if fact["kind"] == "container"]
    assert [d.id for d in report.claimed if d.kind == "fault"] == []


def test_a_node_without_systemd(spark: Spark, server: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "linger", "units")
    said = (
        "System has not been booted with systemd as init system (PID 1). Can't operate.\n"
        "Failed to connect to bus: Host is down"
    )
    for name in ("loginctl", "systemctl"):
        spark.program(name, f'echo "{said}" >&2\nexit 1')
    items = collected()
    assert {named(items, probe).status for probe in ("linger", "units")} == {"refused"}
    report = sparkdiag.diagnose_sync(ssh="spark-a")
    assert problems(report) == {"linger": "systemd does not run here", "units": "systemd does not run here"}
    assert report.verdict == "inconclusive"
    assert "tried: systemd does not run here" in render(report, "text")


# --- machines that are no Spark


def test_a_small_machine_that_is_well(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gibibyte is little on a Spark, and plenty on a machine of four."""
    spark.file("proc/meminfo", meminfo(1.0).replace(f"{round(121.69 * 2**20):>9}", f"{4 * 2**20:>9}"))
    spark.docker(refused="Cannot connect to the Docker daemon at unix:///var/run/docker.sock.")
    for name in ("nvidia-smi", "sparkrun", "ibdev2netdev"):
        (spark.folder / name).unlink()
    monkeypatch.setenv("PATH", f"{spark.folder}:/usr/bin:/bin:/usr/sbin:/sbin")
    report = sparkdiag.diagnose_sync(local=True)
    assert [d.id for d in report.claimed if d.kind == "fault"] == []
    assert report.verdict == "inconclusive"
    text = render(report, "text")
    assert text.startswith("inconclusive: nothing wrong was seen")
    assert "nvidia-smi" in text.partition("Not collected")[2]
