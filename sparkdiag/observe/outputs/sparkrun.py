"""sparkrun's own output, and its containers in the lists of docker and of sparkrun itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts import Fact, Source
from ...facts.engine import EngineSeen
from ...facts.piece import Piece
from ...facts.sparkrun import SparkrunOutput, Workload
from .lines import looked

__all__ = ["observe_sparkrun"]

MAX_TEXT = 1_000_000

_COMMAND = re.compile(r"(?:uvx |uv run )?(?:\S*/)?sparkrun(?: -\w+| --[\w-]+)* (?P<verb>[a-z][\w-]*)(?P<rest>.*)", re.S)
_VERSION = re.compile(r"\bsparkrun,? (?:v|version )(?P<version>\d+\.\d+[\w.]*)")
_STOPPED = re.compile(
    r"Stopped \d+ (?:job|workload|container)s?\b|Workload stopped\b|(?:[Cc]luster|Solo workload) '[^']+' stopped on"
)
_NOT_STOPPED = re.compile(r"Workload NOT fully stopped|failed to stop containers on")
_DENIED = re.compile(r"(?:(?P<user>[\w.-]+)@[\w.:-]+: )?Permission denied \([\w,-]+\)")
_SSH = re.compile(
    r"Permission denied \(publickey|Host key verification failed|ssh: connect to host|"
    r"Connection (?:timed out|refused|closed) |SSH [\w ()]{3,24} <- \S+ (?:FAILED|TIMEOUT|ERROR)"
    r"|Could not resolve hostname|kex_exchange_identification|Too many authentication failures"
)
_UNCONFIRMED = re.compile(r"did not confirm on")
_USED = re.compile(r"Note: (?P<need>\d+) nodes? required, using (?P<used>\d+) of (?P<given>\d+) hosts?")
_SOLO = re.compile(r"Placement: solo on|Mode:\s+solo\b")
_SPREAD = re.compile(r"Placement: \d+(?: of \d+)? hosts from|Mode:\s+cluster \((?P<nodes>\d+) nodes?\)")
_CONTAINER = re.compile(
    r"\b(?P<name>sparkrun_[0-9a-f]{4,16}(?:_[0-9a-f]{4,12})?_(?P<role>solo|node_\d+|head|worker(?:_\d+)?))\b"
)
_LISTING = re.compile(r"(?:docker|podman) (?:container )?(?:ps|ls)\b")
_GONE = re.compile(r"\b(?:Exited|Created|Dead|exited|Removal In Progress)\b")


def observe_sparkrun(piece: Piece) -> list[Fact]:
    """What one sparkrun command said, its version, and sparkrun's containers that a list shows."""
    if len(piece.text) > MAX_TEXT:
        return []
    command = piece.command or ""
    if "sparkrun" not in piece.text and "sparkrun" not in command and "Workload" not in piece.text:
        return []
    out: list[Fact] = []
    asked = _COMMAND.match(command)
    verb = asked["verb"] if asked else _verb(piece)
    if verb is not None and verb != "logs":
        out += [_output(piece, verb, asked["rest"] if asked else "")]
    version = _VERSION.search(piece.text)
    if version is not None:
        number = piece.text.count("\n", 0, version.start())
        place = Source(piece.source, piece.first_line + number, text=version.group())
        out.append(
            EngineSeen(
                name="sparkrun", version=version["version"], by="sparkrun itself", where=piece.where,
                order=piece.order + number, source=place,
            )
        )  # fmt: skip
    if _LISTING.search(command) or verb in ("status", "list", "ps", "cluster"):
        workloads = list(_workloads(piece, "docker" if _LISTING.search(command) else "sparkrun", " -a" in command))
        out += workloads
        out += looked(piece, "workload")
    elif (named := _CONTAINER.search(command)) is not None:
        source = Source(piece.source, piece.first_line, text=command[:300])
        out.append(
            Workload(
                name=named["name"], up=None, solo=named["role"] == "solo", seen_by="name", where=piece.where,
                order=piece.order, source=source,
            )
        )  # fmt: skip
    if any(fact.kind == "sparkrun" for fact in out):
        out += looked(piece, "sparkrun")
    return out


def _verb(piece: Piece) -> str | None:
    """The command that a text without a prompt comes from."""
    if piece.command is not None:
        return None
    text = piece.text
    if re.search(r"^(?:Workload stopped on|Workload NOT fully stopped|Stopped \d+ job\(s\))", text, re.M):
        return "stop"
    if re.search(r"^sparkrun v\d", text, re.M) or _USED.search(text):
        return "run"
    return None


def _output(piece: Piece, verb: str, rest: str) -> SparkrunOutput:
    text = piece.text
    denied, used = _DENIED.search(text), _USED.search(text)
    version = _VERSION.search(text)
    stopped = _NOT_STOPPED.search(text) or _STOPPED.search(text)
    placement = "solo" if _SOLO.search(text) else "cluster" if _SPREAD.search(text) else None
    telling = stopped or denied or used
    number = text.count("\n", 0, telling.start()) if telling else 0
    lines = text.split("\n")
    return SparkrunOutput(
        verb=verb,
        version=version["version"] if version else None,
        cluster=_option(rest, r"--cluster"),
        hosts=_option(rest, r"(?:--hosts|-H)"),
        all_jobs=re.search(r"(?:\s|\A)(?:--all|-a)(?=\s|\Z)", rest) is not None,
        claims_stopped=None if stopped is None or verb != "stop" else not _NOT_STOPPED.search(text),
        denied=denied is not None,
        ssh_failed=_SSH.search(text) is not None,
        login=denied["user"] if denied else None,
        unconfirmed=_UNCONFIRMED.search(text) is not None,
        placement=placement,
        nodes_used=int(used["used"]) if used else None,
        nodes_given=int(used["given"]) if used else None,
        output_lines=sum(1 for line in lines if line.strip()),
        where=piece.where,
        order=piece.order + number,
        source=Source(piece.source, piece.first_line + number, text=lines[number].strip()[:300] or f"sparkrun {verb}"),
    )


def _option(rest: str, name: str) -> str | None:
    found = re.search(rf"(?:\s|\A){name}(?:=|\s+)([^\s;|&]+)", rest)
    return found[1] if found else None


def _workloads(piece: Piece, seen_by: str, all_states: bool) -> Iterator[Workload]:
    for number, line in enumerate(piece.text.split("\n")):
        match = _CONTAINER.search(line)
        if match is None:
            continue
        up = not _GONE.search(line) and (not all_states or re.search(r"\bUp\b|\brunning\b", line) is not None)
        yield Workload(
            name=match["name"],
            up=up,
            solo=match["role"] == "solo",
            seen_by=seen_by,
            where=piece.where,
            order=piece.order + number,
            source=Source(piece.source, piece.first_line + number, text=line.strip()[:300]),
        )
