"""What only a process of its own can show: pipes that close, full disks, odd locales, and how quickly help comes."""

from __future__ import annotations

import os
import subprocess
import sys
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
    done = run("lint", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sparkdiag: the verb lint is not built yet")


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
