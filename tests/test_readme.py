"""What README.md shows is what the program prints, and the commands it names exist."""

import re
from pathlib import Path

import pytest

from sparkdiag.cli import main

README = Path(__file__).parent.parent / "README.md"


def _steady(text: str) -> str:
    """Without what differs from run to run and from version to version: the port and the last line."""
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    text = re.sub(r"^sparkdiag \d.*(?:\n.*fingerprint.*|\n[0-9a-f]{12}$)?", "VERSION", text, flags=re.M)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def test_the_output_shown_is_the_demo_s(capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"```console\n\$ sparkdiag demo\n(.*?)```", README.read_text(), re.S)
    assert shown is not None
    assert main(["demo"]) == 0
    assert _steady(shown[1]) == _steady(capsys.readouterr().out)


def test_two_commands_do_all_the_set_up() -> None:
    text = README.read_text()
    assert "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/sparkdiag demo" in text
    assert "bash tests/run" in text
    assert "bash tests/run" in (README.parent / ".ci" / "run").read_text()
