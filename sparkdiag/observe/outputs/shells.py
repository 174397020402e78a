"""What a shell tells of itself: exit statuses, groups, home, and whether docker's socket lets its user in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts import Fact
from ...facts.piece import Piece
from ...facts.units import DockerAccess, ExitStatus, Groups, Home
from .lines import looked, place

__all__ = ["observe_shells"]

MAX_TEXT = 1_000_000

REFUSED = re.compile(
    r"permission denied while trying to connect to the (?:Docker|docker)|"
    r"(?:dial unix|unix://)\S*docker\.sock\S*:? (?:connect: )?permission denied|docker\.sock.{0,200}permission denied",
    re.IGNORECASE,
)
_EXIT = re.compile(r"echo\b.*\$\?")
_ID = re.compile(r"uid=(?P<uid>\d+)\((?P<user>[^)]*)\).*groups=(?P<groups>\S.*)")
_DATABASE = re.compile(r"docker:x?:\d+:(?P<users>\S*)\s*\Z")
_UNIT_LOG = re.compile(r"\bjournalctl\b|\bsystemctl\b.*\bstatus\b")
_JOURNALED = re.compile(r"[A-Z][a-z]{2} +\d+ [\d:]+ \S+ [\w.@-]+\[\d+\]: ")
_DOCKER = re.compile(r"(?:docker|podman) (?:container )?(?P<verb>[a-z]+)\b")
_OF_PROGRAMS = frozenset({"run", "exec", "logs", "start", "restart"})
"""Verbs of docker whose output is that of the program in the container: only the first line can be docker's."""
_ERROR = re.compile(
    r"\Adocker: |ERROR: |Error response|Cannot connect to the Docker daemon|command not found", re.IGNORECASE
)


def observe_shells(piece: Piece) -> list[Fact]:
    """Exit status, group, home and docker access facts of one piece."""
    out: list[Fact] = []
    command = piece.command or ""
    if command and len(piece.text) < 4096:
        lines = piece.text.split("\n")
        out += [*_exit(piece, command, lines), *_groups(piece, command, lines), *_home(piece, command, lines)]
    if len(piece.text) < MAX_TEXT:
        out += _docker(piece, command)
    probes = dict.fromkeys(fact.kind for fact in out)
    return [*out, *looked(piece, *probes)]


def _exit(piece: Piece, command: str, lines: list[str]) -> Iterator[Fact]:
    if not _EXIT.match(command):
        return
    for number, line in enumerate(lines):
        found = re.fullmatch(r"\D{0,30}?(\d{1,3})\D{0,5}", line.strip())
        if found is not None:
            yield ExitStatus(code=int(found[1]), **place(piece, number, line))
            return


def _groups(piece: Piece, command: str, lines: list[str]) -> Iterator[Fact]:
    of = "manager" if re.search(r"systemd-run --user|systemctl --user|/proc/\S+/status", command) else "shell"
    for number, line in enumerate(lines):
        text = line.strip()
        names: list[str] = []
        user = uid = None
        if (told := _ID.match(text)) is not None:
            names = re.findall(r"\(([^)]+)\)", told["groups"]) or told["groups"].split(",")
            user, uid = told["user"], int(told["uid"])
        elif (listed := _DATABASE.match(text)) is not None and re.search(r"getent group|/etc/group", command):
            of, names, user = "database", ["docker"], listed["users"] or None
            if not listed["users"]:
                continue
        elif re.search(r"\bid -\w*G|(?:\A|[;&|] ?)groups\b", command) and re.fullmatch(
            r"(?:[\w.-]+ : )?[a-z_][\w.-]*(?: [\w.-]+)*", text
        ):
            names = text.rpartition(" : ")[2].split()
        elif of == "manager" and "getent group" in command and re.fullmatch(r"[a-z_][\w.-]*(?: [\w.-]+)*", text):
            names = text.split()
        if names:
            yield Groups(
                names=tuple(names), user=user, uid=uid, of=of, docker="docker" in names, **place(piece, number, line)
            )


def _home(piece: Piece, command: str, lines: list[str]) -> Iterator[Fact]:
    if not re.search(r"whoami|\bid -un\b|echo\b.*(?:\$\{?HOME|\$\{?USER|~)", command) or "curl" in command:
        return
    path = user = None
    at = 0
    for number, line in enumerate(lines):
        for word in line.split():
            if re.fullmatch(r"/(?:home|root|Users|var|srv|mnt|opt|data)\b[\w./-]*", word):
                path, at = word, number
            elif re.fullmatch(r"[a-z_][\w.-]{0,31}", word):
                user = user or word
    if path or user:
        yield Home(path=path, user=user, **place(piece, at, lines[at]))


def _docker(piece: Piece, command: str) -> Iterator[Fact]:
    """Docker's socket refused, in a shell or in what a unit printed; or a docker command that worked."""
    refused = REFUSED.search(piece.text) if "docker" in piece.text else None
    asked = _DOCKER.match(command)
    verb = asked["verb"] if asked else None
    if refused is not None:
        number = piece.text.count("\n", 0, refused.start())
        line = piece.text.split("\n")[number]
        in_unit = _UNIT_LOG.search(command) or _JOURNALED.match(line.strip())
        yield DockerAccess(allowed=False, by="unit" if in_unit else "shell", verb=verb, **place(piece, number, line))
    elif (
        verb is not None
        and (line := _first(piece.text))
        and not _ERROR.search(line if verb in _OF_PROGRAMS else piece.text)
    ):
        root = str(piece.meta.get("typed", "")).startswith("sudo")
        yield DockerAccess(allowed=True, by="root" if root else "shell", verb=verb, **place(piece, 0, line))


def _first(text: str) -> str:
    """The first line that is not blank."""
    return text.lstrip().partition("\n")[0]
