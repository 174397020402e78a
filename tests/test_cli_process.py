"""What only a process of its own can show: pipes that close, full disks, odd locales, and how quickly help comes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*argv: str, stdout: int = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sparkdiag", *argv],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=60,
    )


def test_help_and_wrong_usage() -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: sparkdiag TARGET...")
    done = run("watch", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sparkdiag: the verb watch is not built yet")


def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run("rules", "list", stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_standard_output_is_a_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = run("rules", "list", stdout=full.fileno())
    assert done.returncode == 2
    assert done.stderr == "sparkdiag: standard output cannot be written: No space left on device\n"


def test_a_closed_standard_output_is_a_sentence() -> None:
    command = f'"{sys.executable}" -m sparkdiag rules list >&-'
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("sparkdiag: standard output ")
    assert done.stderr.count("\n") == 1


def test_an_ascii_terminal_gets_escapes_and_no_error() -> None:
    done = run("explain", "output.byte-level-artifacts", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert "\\u0120" in done.stdout


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from sparkdiag.cli import main; main(['--help']); "
        "heavy = {'typing', 'dataclasses', 'json', 'asyncio', 'yaml', 'httpx', 'pydantic', 'hashlib', 'shutil', "
        "'sparkdiag.diagnosis', 'sparkdiag.infer', 'sparkdiag.report'}; "
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")


def test_importing_the_library_imports_nothing_heavy() -> None:
    code = (
        "import sys, sparkdiag; "
        "heavy = {'typing', 'dataclasses', 're', 'json', 'asyncio', 'logging', 'argparse', 'sparkdiag.diagnosis'}; "
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"],
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


READY = "INFO 01-01 00:00:00 [api_server.py:1] Application startup complete.\n"
NO_TOKEN = (
    "RuntimeError: Llama3JsonToolParser could not locate the bot token '<|python_tag|>' in the tokenizer.\x1b[2J\n"
)


def test_logs_from_files_and_from_standard_input(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    log.write_text(READY)
    done = run(str(log))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("healthy: ")
    command = [sys.executable, "-m", "sparkdiag", "-", "--format", "line"]
    piped = subprocess.run(command, cwd=ROOT, input=NO_TOKEN, capture_output=True, text=True, timeout=60)
    assert (piped.returncode, piped.stderr) == (1, "")
    assert piped.stdout.startswith("fault ")
    assert " output.tool-call-parser-wrong " in piped.stdout


def test_a_log_that_would_clear_the_screen_does_not(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    log.write_text(NO_TOKEN)
    for format in ("text", "markdown", "json"):
        done = run(str(log), "--format", format)
        assert done.returncode == 1
        assert "python_tag" in done.stdout
        assert "\x1b" not in done.stdout


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x00" * 5000, b"\xff\xfe\xfd" * 999, b"[" * 20000, b'{"a": 1'])
def test_files_without_sense_are_inconclusive(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "evidence.txt"
    file.write_bytes(content)
    done = run(str(file))
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("inconclusive: ")


def test_files_that_cannot_be_read_are_a_sentence(tmp_path: Path) -> None:
    done = run(str(tmp_path / "none.log"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"sparkdiag: {tmp_path / 'none.log'}: no such file\n"


def test_anonymize_numbers_hosts_in_the_report_and_in_what_is_saved(tmp_path: Path) -> None:
    log, saved = tmp_path / "serve.log", tmp_path / "saved"
    log.write_text(f"{NO_TOKEN.rstrip()} from http://spark-a.lan:8000 at 10.20.30.40\n")
    words = (str(log), "--json", "--save", str(saved))
    assert "spark-a.lan" in run(*words).stdout
    for file in saved.iterdir():
        file.unlink()
    done = run(*words, "--anonymize")
    texts = [done.stdout, *(file.read_text() for file in saved.iterdir())]
    assert len(texts) > 2
    assert not any("spark-a" in text or "10.20.30.40" in text for text in texts)
    assert "host-1" in done.stdout


def test_why_on_a_log(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    log.write_text(NO_TOKEN)
    done = run("why", "output.tool-call-parser-wrong", str(log))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("output.tool-call-parser-wrong: fired\nThe report claims it: ")
    assert "serve.log:1" in done.stdout
    assert run("why-not", "endpoint.server-not-listening", str(log)).returncode == 3


def test_an_interrupt_leaves_the_partial_report() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(30)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "sparkdiag", address]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # A shell's background job ignores Control-C, and its children inherit that.
        heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        with subprocess.Popen(command, cwd=ROOT, text=True, preexec_fn=heeds, **pipes) as process:
            try:
                connection, _ = silent.accept()
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
                connection.close()
            finally:
                process.kill()
    assert (process.returncode, err) == (130, "sparkdiag: interrupted\n")
    assert out.startswith("inconclusive: ")
    assert "stopped by the user" in out


def test_a_closed_standard_error_changes_no_exit_status() -> None:
    for words, status in (("lint x", 2), ("explain nothing-like-it", 2)):
        command = f'"{sys.executable}" -m sparkdiag {words} 2>&-'
        assert subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, timeout=60).returncode == status
