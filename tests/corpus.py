"""The labelled evidence under fixtures/, as the tests read it: exchanges, logs, rule fixtures, recorded servers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sparkdiag.diagnosis import Report
from sparkdiag.expected import Expected, differences, parse_expected

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
SERVERS = FIXTURES / "servers"


@dataclass(frozen=True)
class Labelled:
    """One piece of evidence and what must come of it."""

    id: str
    path: Path
    expected: Expected

    @property
    def text(self) -> str:
        return self.path.read_text()

    def exchange(self) -> dict[str, Any]:
        """Arguments of diagnose_exchange: the bodies and the status, as a proxy sees them."""
        return exchange_of(json.loads(self.text))


def exchange_of(recording: dict[str, Any]) -> dict[str, Any]:
    request = recording["request"]["body"]
    return {
        "request": request if isinstance(request, dict) else None,
        "response": recording["body"] if "body" in recording else recording["body_text"],
        "status": recording["status"],
    }


def _labels(index: Path, folder: Path) -> list[Labelled]:
    out = []
    for entry in yaml.safe_load(index.read_text())["recordings"]:
        expected = Expected(
            about=entry["about"],
            expect=tuple(entry["expect"]),
            reject=tuple(entry.get("reject", ())),
            negative=entry.get("negative", False),
        )
        out.append(Labelled(entry["path"].rsplit(".", 1)[0], folder / entry["path"], expected))
    return out


@cache
def exchanges() -> list[Labelled]:
    return _labels(FIXTURES / "exchanges.yaml", SERVERS)


@cache
def logs() -> list[Labelled]:
    return _labels(FIXTURES / "logs" / "labels.yaml", FIXTURES / "logs")


@cache
def rule_fixtures() -> list[Labelled]:
    """fixtures/rules/CHAPTER/NAME/: input.log or input.txt, and expected.yaml."""
    root = FIXTURES / "rules"
    out = []
    for place in sorted(root.glob("*/*/expected.yaml")):
        (text,) = [file for file in place.parent.iterdir() if file.name in ("input.log", "input.txt")]
        name = f"{place.parent.parent.name}/{place.parent.name}"
        out.append(Labelled(name, text, parse_expected(place.read_text(), f"{name}/expected.yaml")))
    return out


@cache
def servers() -> list[Labelled]:
    """Folders of recordings with what somebody who may make all these requests concludes."""
    places = sorted(SERVERS.glob("*/expected.yaml"))
    return [Labelled(p.parent.name, p.parent, parse_expected(p.read_text(), str(p))) for p in places]


@cache
def captures() -> list[Labelled]:
    """fixtures/captures/NAME/: what a live run collected, and expected.yaml."""
    places = sorted((FIXTURES / "captures").glob("*/expected.yaml"))
    return [Labelled(p.parent.name, p.parent, parse_expected(p.read_text(), str(p))) for p in places]


def wrong(expected: Expected, report: Report) -> list[str]:
    """Every point in which a report is not as expected, a line each."""
    return [
        f"{d.key}: expected {' or '.join(d.expected)}; got {', '.join(d.got)}" for d in differences(expected, report)
    ]
