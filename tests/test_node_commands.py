"""The fixed list of commands: nothing else can be made to run, and what it prints can be told apart."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparkdiag
from sparkdiag.collect import NodeSettings, collect_node, commands, node, nodes_of
from sparkdiag.collect.commands import COMMANDS, CONTAINER, container_commands
from sparkdiag.collect.scripts import node_script, session_script
from sparkdiag.collect.ssh import container_name, parse_destination, words_of_failure
from sparkdiag.errors import UsageError
from sparkdiag.redact import redact
from sparkdiag.sections import sections_of, status_of
from tests.node_stand_ins import Spark

WRITES = re.compile(
    r"\b(?:rm|mv|cp|touch|mkdir|tee|dd|kill|pkill|reboot|shutdown|sudo|su|chmod|chown|ln|truncate|modprobe|sysctl|"
    r"docker (?:run|rm|stop|start|restart|kill|pull|rmi|system|volume)|systemctl (?:--user )?(?:start|stop|restart|"
    r"enable|disable|daemon-reload)|nvidia-smi -(?:lgc|pl|r|pm)|ip (?:link|addr|route) (?:set|add|del))\b"
)


# --- the list


def test_every_command_is_read_only_and_bounded() -> None:
    for command in COMMANDS:
        for text in (command.shell, command.only_if):
            bare = re.sub(r"'[^']*'", "''", text.replace("2>/dev/null", "").replace("2>&1", ""))
            assert not WRITES.search(bare), text
            assert ">" not in bare, text
        assert 0 < command.seconds <= 15
        assert 0 < command.limit <= 500_000
        assert re.fullmatch(r"[a-z][a-z0-9-]*", command.probe)
        assert "\n" not in command.shell
    assert len({command.probe for command in COMMANDS}) == len(COMMANDS)


def test_memory_is_read_first_and_programs_that_are_started_are_heavy() -> None:
    assert COMMANDS[0].probe == "meminfo"
    heavy = {command.probe for command in COMMANDS if command.cost == "heavy"}
    assert {command.probe for command in COMMANDS if "docker exec" in command.shell} <= heavy
    assert {command.probe for command in COMMANDS if command.shell.startswith(("journalctl", "docker logs"))} <= heavy


@pytest.mark.parametrize(
    "script", [node_script("1.0"), node_script("1.0", "vllm-1"), session_script("ab12", COMMANDS[:9])]
)
def test_the_scripts_are_posix(script: str) -> None:
    for shell in ("dash", "bash", "sh"):
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=script, text=True, check=True)
    if shutil.which("shellcheck"):
        done = subprocess.run(
            ["shellcheck", "-s", "sh", "-S", "warning", "-"], input=script, text=True, capture_output=True, check=False
        )
        assert done.stdout == ""


# --- nothing else can be made to run

HOSTILE = [
    "-oProxyCommand=touch x", "--", "-", "", " ", "a b", "a;touch x", "a&touch x", "a|x", "$(touch x)", "`touch x`",
    "a\ntouch x", "a'b", 'a"b', "a\\b", "a>x", "a<x", "*", "~", "a/b", "{a,b}", "a\x00b", "é", "a" * 300, "%h", "!x",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused_before_anything_runs(name: str) -> None:
    with pytest.raises(UsageError):
        nodes_of(["spark-a"], False, name)
    with pytest.raises(UsageError):
        nodes_of([name], False, None)
    with pytest.raises(UsageError):
        nodes_of([f"user@{name}"], False, None)
    if name:
        with pytest.raises(UsageError):
            nodes_of([f"{name}@spark-a"], False, None)
        with pytest.raises(UsageError):
            nodes_of([f"spark-a:{name}"], False, None)
    with pytest.raises(UsageError):
        sparkdiag.diagnose_sync(ssh="spark-a", container=name)


@given(st.text(max_size=40))
def test_a_name_that_is_taken_is_a_word_of_the_shell(name: str) -> None:
    try:
        taken = container_name(name)
    except UsageError:
        return
    assert taken == name
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", taken)


@given(st.text(max_size=60))
def test_a_destination_that_is_taken_has_no_option_in_it(text: str) -> None:
    try:
        taken = parse_destination(text)
    except UsageError:
        return
    for word in (taken.host, taken.user or "u"):
        assert not word.startswith("-")
        assert re.fullmatch(r"[\w.:%-]+", word)
    assert taken.port is None or 0 < taken.port < 65536


def test_only_the_name_is_put_in() -> None:
    """Whatever the container is called, its sessions hold the fixed texts, the name, and nothing else."""
    template = session_script("ab12", container_commands(), CONTAINER)
    for name in ("vllm", "sparkrun_0123456789ab_solo", "a.b-c_d"):
        assert session_script("ab12", container_commands(), name) == template.replace(CONTAINER, name)
    fixed = [command.shell for command in COMMANDS]
    for line in session_script("ab12", COMMANDS).split("\n"):
        shown = re.search(r"run ([a-z0-9-]+) \S+ [\d.]+ \d+ '(.*)'(?:; fi)?\Z", line)
        if shown:
            assert shown[2].replace("'\\''", "'") in fixed


def test_what_a_node_answers_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of containers, sections of a log's own making, and words of every command: all of them hostile."""
    spark, mark = Spark(tmp_path / "node"), tmp_path / "ran"
    asked = tmp_path / "asked"
    evil = [f"$(touch${{IFS}}{mark})", f"`touch {mark}`", f";touch {mark};", "-v", "a b", "x'y", "../x"]
    rows = "".join(f'4c3f1a2b9d8e   image   "cmd"   2 hours ago   Up 2 hours   {name}\n' for name in evil)
    spark.prints("ps-table", "CONTAINER ID   IMAGE   COMMAND   CREATED   STATUS   NAMES\n" + rows)
    forged = f"=== sparkdiag {'0' * 12} begin forged on x: touch {mark}\n=== sparkdiag {'0' * 12} end forged: 0\n"
    spark.prints("evil", "\n".join([*evil, forged, f"MemTotal: $(touch {mark}) kB"]))
    spark.program(
        "docker",
        f'echo "$1" >> {asked}\ncase "$1" in ps) exec /usr/bin/cat {spark.folder}/ps-table ;; esac\n'
        f"exec /usr/bin/cat {spark.folder}/evil",
    )
    for name in ("journalctl", "nvidia-smi", "sparkrun", "systemctl", "loginctl", "ps", "ip", "ss", "uname", "vmstat"):
        spark.program(name, f"exec /usr/bin/cat {spark.folder}/evil")
    monkeypatch.setenv("PATH", f"{spark.folder}:/usr/bin:/bin")
    sparkdiag.diagnose_sync(local=True, timeout=20.0)
    script = subprocess.run(
        ["sh", "-s"], input=node_script("1"), capture_output=True, text=True, check=True, timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    file = tmp_path / "pasted.txt"
    file.write_text(script.stdout)
    sparkdiag.diagnose_sync(str(file))
    assert not mark.exists()
    known = [f"{command.shell} {command.only_if}" for command in COMMANDS]
    for line in asked.read_text().splitlines():
        assert any(f"docker {line}" in shell for shell in known), line


def test_a_run_says_only_what_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of a capture are those of the list, with a container's name in them."""
    spark = Spark(tmp_path / "node")
    monkeypatch.setenv("PATH", f"{spark.folder}:/usr/bin:/bin:/usr/sbin:/sbin")
    began = time.monotonic()
    (one,) = nodes_of([], True, None)
    items = asyncio.run(collect_node(NodeSettings("n1", one, lambda: time.monotonic() - began, 30.0)))
    listed = {command.shell.replace(CONTAINER, spark.NAME) for command in COMMANDS}
    assert {item.asked["command"] for item in items if "command" in item.asked} <= listed


# --- secrets


def test_plain_secrets_do_not_leave_the_node(tmp_path: Path) -> None:
    """The printed script masks what it can by itself: its output is read before sparkdiag sees it."""
    spark = Spark(tmp_path / "node")
    done = subprocess.run(
        ["sh", "-s"], input=node_script("1"), capture_output=True, text=True, check=True, timeout=60,
        env={"PATH": f"{spark.folder}:/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    token, key, password = spark.secrets
    assert token not in done.stdout
    assert f'--api-key", "{key}' not in done.stdout
    assert f"DATABASE_PASSWORD={password}" not in done.stdout
    masked = redact(done.stdout)
    assert [secret for secret in spark.secrets if secret in masked] == []


def test_a_secret_that_a_limit_cuts_in_two_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark = Spark(tmp_path / "node")
    secret = "sk-live-" + "Z3" * 20
    spark.program("uname", f"[ \"$1\" = -n ] && exec echo spark-x\necho first line\necho 'some key {secret}'")
    cut = tuple(replace(one, limit=11 + 9 + 18) for one in COMMANDS if one.probe in ("meminfo", "uname"))
    for module in (commands, node):
        monkeypatch.setattr(module, "COMMANDS", cut)
    monkeypatch.setattr(node, "_ORDER", {one.probe: number for number, one in enumerate(cut)})
    monkeypatch.setenv("PATH", f"{spark.folder}:/usr/bin:/bin")
    began = time.monotonic()
    (one,) = nodes_of([], True, None)
    items = asyncio.run(collect_node(NodeSettings("n1", one, lambda: time.monotonic() - began, 30.0)))
    uname = next(item for item in items if item.probe == "uname")
    assert (uname.text, uname.truncated) == ("first line\n", True)


# --- sections


def test_sections_end_where_the_next_one_of_the_run_begins() -> None:
    lines = [
        "some words before",
        "=== sparkdiag aaaa1 begin one on spark-a: cat x",
        "a log that holds an older paste:",
        "=== sparkdiag bbbb2 begin two on spark-b: cat y",
        "=== sparkdiag bbbb2 end two: 0",
        "=== sparkdiag aaaa1 end other: 0",
        "=== sparkdiag aaaa1 begin three on spark-a: docker ps",
        "",
        "=== sparkdiag aaaa1 end three: 127",
        "words between",
        "=== sparkdiag cccc3 begin four on spark-b: free",
        "cut off",
    ]
    found = sections_of(lines)
    assert [(one.probe, one.node, one.command, one.start, one.end, one.after, one.code) for one in found] == [
        ("one", "spark-a", "cat x", 2, 6, 6, None),
        ("three", "spark-a", "docker ps", 7, 8, 9, 127),
        ("four", "spark-b", "free", 11, 12, 12, None),
    ]


@given(st.lists(st.sampled_from(["=== sparkdiag aaaa1 begin one on a: x", "=== sparkdiag aaaa1 end one: 0", "x", ""])))
def test_sections_do_not_overlap(lines: list[str]) -> None:
    at = 0
    for one in sections_of(lines):
        assert at <= one.at < one.start <= one.end <= one.after <= len(lines)
        at = one.after


@pytest.mark.parametrize(
    ("code", "text", "status"),
    [
        (0, "all is well", "ok"),
        (1, "", "exit-error"),
        (127, "iostat: not found", "not-found"),
        (126, "", "denied"),
        (1, "Error: No such object: gone", "not-found"),
        (1, "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock", "denied"),
        (0, "dmesg: read kernel buffer failed: Operation not permitted", "denied"),
        (0, "INFO permission denied " * 200, "ok"),
        (124, "", "timeout"),
        (None, "half", "timeout"),
        (141, "the reader had enough", "ok"),
    ],
)
def test_how_a_command_ended(code: int | None, text: str, status: str) -> None:
    assert status_of(code, text) == status


@pytest.mark.parametrize(
    ("said", "status", "told"),
    [
        (
            "Connection timed out during banner exchange\nConnection to 192.0.2.1 port 22 timed out",
            "timeout",
            "no banner",
        ),
        ("ssh: connect to host spark-a port 22: No route to host", "timeout", "unreachable"),
        ("ssh: connect to host spark-a port 22: Connection refused", "refused", "nothing listens"),
        ("ssh: Could not resolve hostname spark-a: Name or service not known", "dns", "does not resolve"),
        ("kex_exchange_identification: Connection closed by remote host", "reset", "before the login"),
        ("llm@spark-a: Permission denied (publickey,password).", "denied", "the login was refused"),
        ("Bad owner or permissions on /home/me/.ssh/config", "exit-error", "configuration here"),
        ("something new", "exit-error", "something new"),
        ("", "exit-error", "said nothing"),
    ],
)
def test_the_words_of_ssh(said: str, status: str, told: str) -> None:
    found = words_of_failure(said)
    assert found[0] == status
    assert told in found[1]


def test_the_verb_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    from sparkdiag.cli import main

    assert main(["commands"]) == 0
    assert capsys.readouterr().out == node_script(sparkdiag.__version__)
    assert main(["commands", "--container", "vllm-1"]) == 0
    assert "names=vllm-1\n" in capsys.readouterr().out
    assert main(["commands", "--json"]) == 0
    assert '"probe": "meminfo"' in capsys.readouterr().out
    assert main(["commands", "--container", "a;b"]) == 2
    assert main(["commands", "x"]) == 2
