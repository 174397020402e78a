"""Nothing that is said to it makes the tool run anything but its list, and no secret in an address is kept."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import sparkdiag
from sparkdiag.collect.commands import COMMANDS, CONTAINER
from sparkdiag.collect.scripts import MAX_CONTAINERS
from tests.corpus import FIXTURES
from tests.endpoint_server import Engine, as_json, vllm
from tests.node_runs import collected, named, only
from tests.node_stand_ins import Spark
from tests.ssh_server import SshServer, needs_sshd

KEY = "sk-live-" + "W4" * 14


def _docker_calls(shell: str) -> Iterator[str]:
    """The argument lists with which a command of the list calls docker, as `$*` shows them."""
    words: list[str] | None = None
    for token in [*shlex.shlex(shell, posix=True, punctuation_chars=True), ";"]:
        if words is None:
            words = [] if token == "docker" else None
        elif token[0] in "|&;()<>":
            yield " ".join(words[:-1] if token[0] == ">" and words[-1:] == ["2"] else words)
            words = None
        else:
            words.append(token)


def _allowed() -> list[re.Pattern[str]]:
    calls = {call for one in COMMANDS for text in (one.shell, one.only_if) for call in _docker_calls(text)}
    assert len(calls) > 8
    name = "[A-Za-z0-9][A-Za-z0-9_.-]*"
    return [re.compile(re.escape(call).replace(CONTAINER, name)) for call in calls]


@needs_sshd
def test_what_is_said_over_the_wire_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hostile names from the API, in a recipe, in a compose file, and from docker on the node, in one run over SSH."""
    spark, mark, asked = Spark(tmp_path / "node"), tmp_path / "ran", tmp_path / "asked"
    evil = [f"$(touch${{IFS}}{mark})", f"`touch {mark}`", f";touch {mark};", "--privileged", "-v", "x'y", "../x"]
    rows = "".join(f'4c3f1a2b9d8e   image   "cmd"   2 hours ago   Up 2 hours   {name}\n' for name in evil)
    spark.prints("ps-table", "CONTAINER ID   IMAGE   COMMAND   CREATED   STATUS   NAMES\n" + rows)
    spark.prints("names", "\n".join([*evil, Spark.NAME]) + "\n")
    spark.program(
        "docker",
        f"printf '%s\\n' \"$*\" >> {asked}\n"
        f'case "$*" in *--format*Names*) exec /usr/bin/cat {spark.folder}/names ;;\n'
        f"  'ps -a') exec /usr/bin/cat {spark.folder}/ps-table ;; esac\n"
        f"exec /usr/bin/cat {spark.folder}/names",
    )
    command = f"vllm serve m --served-model-name {evil[0]}; touch {mark}"
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(json.dumps({"model": evil[0], "runtime": "vllm", "container": evil[2], "command": command}))
    compose = tmp_path / "compose.yaml"
    compose.write_text(
        json.dumps({"services": {"llm": {"container_name": evil[1], "image": evil[2], "command": command}}})
    )
    models = as_json({"object": "list", "data": [{"id": evil[0], "owned_by": "vllm", "root": evil[1]}]})
    version = as_json({"version": f"0.33.0; touch {mark}"})
    with (
        SshServer(tmp_path / "ssh", path=str(spark.folder)) as server,
        Engine(vllm(get_v1_models=models, get_version=version)) as engine,
    ):
        monkeypatch.setenv("PATH", f"{server.client}:{os.environ['PATH']}")
        report = sparkdiag.diagnose_sync(engine.url, str(recipe), str(compose), ssh="spark-a")
    assert report.facts
    assert not mark.exists()
    allowed = _allowed()
    lines = asked.read_text().splitlines()
    assert [line for line in lines if not any(pattern.fullmatch(line) for pattern in allowed)] == []
    looked_into = {line.split()[-1] for line in lines if line.startswith("top ")}
    assert looked_into <= {Spark.NAME}
    assert len(looked_into) <= MAX_CONTAINERS


@needs_sshd
def test_a_node_that_speaks_german_is_asked_in_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = Spark(tmp_path / "node")
    spark.program("df", '[ "$LC_ALL" = C ] && exec /usr/bin/df "$@"\necho "Dateisystem Größe Benutzt Verf. Verw%"')
    only(monkeypatch, "disk", "inodes")
    with SshServer(tmp_path / "ssh", path=str(spark.folder)) as server:
        monkeypatch.setenv("PATH", f"{server.client}:{os.environ['PATH']}")
        items = collected()
    assert all(named(items, probe).text.startswith("Filesystem") for probe in ("disk", "inodes"))


def test_a_key_in_an_address_is_not_kept(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    with Engine(vllm()) as engine:
        report = sparkdiag.diagnose_sync(f"{engine.url}/v1?api_key={KEY}", passive=True, save=str(saved))
    kept = "".join(file.read_text() for file in saved.iterdir()) + json.dumps(report.to_dict())
    assert KEY not in kept
    assert sparkdiag.diagnose_capture(saved).to_dict() == report.to_dict()


def test_the_neighbour_of_a_starved_node_and_the_order_of_its_repair() -> None:
    """The network card's lock-up looks the same from outside: it is named, and told apart after the power cycle."""
    starved = sparkdiag.diagnose_capture(FIXTURES / "captures" / "node-starved").diagnoses[0]
    assert starved.id == "memory.node-starved"
    assert "ConnectX" in starved.cause
    steps = [step.do for step in starved.fix]
    cycle = next(number for number, text in enumerate(steps) if "power-cycle" in text)
    assert "few minutes" in steps[cycle], "what to do before it"
    after = steps[cycle + 1 :]
    assert "network card" in after[0], "what to look at after it"
    assert any("smaller footprint" in text for text in after)
    turned = sparkdiag.diagnose_capture(FIXTURES / "captures" / "node-silent-and-fatal-pcie-errors").diagnoses[0]
    assert turned.id == "node.nic-pcie-lockup"


@pytest.mark.parametrize(
    ("capture", "link"),
    [
        ("node-unreachable", "power and network"),
        ("node-starved", "memory"),
        ("engine-dead", "engine"),
        ("mxfp4-garbage-logit-agrees", "model"),
        ("client-reads-new-key", None),
    ],
)
def test_the_link_at_which_the_chain_breaks(capture: str, link: str | None) -> None:
    assert sparkdiag.diagnose_capture(FIXTURES / "captures" / capture).broken_link == link


LEAK = {"choices": [{"message": {"content": "<think>\nHm.\n</think>\n\nYes."}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("text", "link"),
    [("exec /usr/bin/bash: exec format error\n", "container"), (json.dumps(LEAK), "parser")],
)
def test_the_link_of_a_pasted_fault(text: str, link: str) -> None:
    assert sparkdiag.diagnose_text(text).broken_link == link
