"""Containers out of docker ps and docker inspect: in their default forms, as JSON, or through a --format template."""

from __future__ import annotations

import json
import re
from typing import Any

from ...facts import Fact
from ...facts.container import Container
from ...facts.piece import Piece
from .containers_documents import MAX_CONTAINERS, documents, of_lines
from .containers_words import of_words, templated
from .lines import looked, place, stages

__all__ = ["observe_containers"]

_PROGRAMS = frozenset({"docker", "podman", "nerdctl"})


def observe_containers(piece: Piece) -> list[Fact]:
    """The containers that one piece of output shows."""
    words = next((w for w in stages(piece) if w), ())
    verb = _verb(words)
    found: list[Container] = []
    probe = None
    if verb == "inspect":
        found, probe = _inspected(piece, words), "docker-inspect"
    elif verb == "ps":
        template = _template(words)
        if template is None:
            found = _table(piece)
        elif template in ("json", "{{json .}}"):
            found = _json_rows(piece)
        else:
            found = templated(piece, template, _PS_FIELDS, "ps")
        probe = "docker-ps"
    elif not words and "CONTAINER ID" in piece.text:
        found, probe = _table(piece), "docker-ps"
    elif not words and piece.kind == "json" and '"HostConfig"' in piece.text and '"State"' in piece.text:
        found, probe = documents(piece, piece.meta.get("doc")), "docker-inspect"
    if probe is None:
        return []
    if verb == "inspect" and not found:
        return []
    return [*found[:MAX_CONTAINERS], *looked(piece, "container", probe)]


def _verb(words: tuple[str, ...]) -> str | None:
    if len(words) < 2 or words[0].rsplit("/", 1)[-1] not in _PROGRAMS:
        return None
    rest = [word for word in words[1:] if not word.startswith("-")]
    if rest[:1] == ["container"]:
        rest = rest[1:]
    if rest[:1] == ["compose"]:
        return "ps" if "ps" in rest else None
    if rest[:1] in (["ps"], ["ls"], ["list"]):
        return "ps"
    return "inspect" if rest[:1] == ["inspect"] and "image" not in words[1:3] else None


def _template(words: tuple[str, ...]) -> str | None:
    for at, word in enumerate(words):
        if word in ("--format", "-f") and at + 1 < len(words) and ("{{" in words[at + 1] or words[at + 1] == "json"):
            return words[at + 1]
        if word.startswith(("--format=", "-f=")):
            return word.partition("=")[2]
    return None


_PS_FIELDS = {
    "names": "name", "image": "image", "status": "status", "state": "state", "command": "command",
    "createdat": "created",
    "runningfor": "created",
}  # fmt: skip
_INSPECT_FIELDS = {
    "name": "name", "config.image": "image", "state.status": "state", "state.exitcode": "exit_code",
    "state.oomkilled": "oom_killed",
    "state.error": "error", "restartcount": "restarts", "state.restartcount": "restarts", "config.user": "user",
    "hostconfig.ipcmode": "ipc", "hostconfig.shmsize": "shm", "hostconfig.networkmode": "network",
    "hostconfig.privileged": "privileged",
    "hostconfig.runtime": "runtime", "hostconfig.restartpolicy.name": "restart_policy", "hostconfig.memory": "memory",
    "config.workingdir": "working_dir", "config.entrypoint": "entrypoint", "config.cmd": "command", "args": "command",
    "path": "path",
    "created": "created", "state.health.status": "health", "state.running": "running",
}  # fmt: skip


_HEADING = re.compile(r"(?:CONTAINER ID|NAME)\s+IMAGE\s+COMMAND\s")
_COLUMN_FIELDS = {
    "IMAGE": "image", "COMMAND": "command", "STATUS": "status", "NAMES": "name", "NAME": "name", "CREATED": "created",
}  # fmt: skip


def _table(piece: Piece) -> list[Container]:
    """The default table of docker ps or docker compose ps: cells stand under their headings."""
    out: list[Container] = []
    columns: list[tuple[str, int, int]] = []
    for at, line in enumerate(piece.text.split("\n")):
        if _HEADING.match(line.lstrip()):
            starts = [(m[0].strip(), m.start()) for m in re.finditer(r"[A-Z]+(?: [A-Z]+)*", line)]
            ends = [start for _, start in starts[1:]] + [10_000]
            columns = [(name, start, end) for (name, start), end in zip(starts, ends, strict=True)]
            continue
        by_name = bool(columns) and columns[0][0] == "NAME"
        if not columns or not re.match(r"[\w.-]+\s" if by_name else r"\s*[0-9a-f]{12}\s", line):
            continue
        values = {
            _COLUMN_FIELDS[name]: line[start:end].strip() for name, start, end in columns if name in _COLUMN_FIELDS
        }
        known = of_words(values)
        known.pop("created", None)
        out.append(Container(by="ps", **known, **place(piece, at, line)))
    return out


def _json_rows(piece: Piece) -> list[Container]:
    """One JSON object a line, as `docker ps --format json` prints them."""
    out = []
    for at, line in enumerate(piece.text.split("\n")):
        try:
            row = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            values = {_PS_FIELDS[key.lower()]: str(value) for key, value in row.items() if key.lower() in _PS_FIELDS}
            out.append(Container(by="ps", **of_words(values), **place(piece, at, line[:300])))
    return out


def _inspected(piece: Piece, words: tuple[str, ...]) -> list[Container]:
    """docker inspect: the whole document, a part of it as JSON, or a template."""
    after = words[words.index("inspect") + 1 :]
    name = next(
        (
            w
            for at, w in enumerate(after)
            if not w.startswith("-") and "{{" not in w and after[at - 1 : at] not in (("-f",), ("--format",))
        ),
        None,
    )
    template = _template(words)
    if template is None:
        return documents(piece, piece.meta.get("doc")) or of_lines(piece, name)
    part = re.fullmatch(r"\s*\{\{\s*json \.(?P<path>[\w.]*)\s*\}\}\s*", template)
    if part is not None:
        return _json_part(piece, part["path"].lower(), name)
    if any(stage[:1] not in (("head",), ("tail",), ("cat",), ("sort",)) for stage in stages(piece)[1:]):
        return []  # what grep, tr or sed left of the line is no longer what the template says
    return templated(piece, template, _INSPECT_FIELDS, "inspect", name)


def _json_part(piece: Piece, path: str, name: str | None) -> list[Container]:
    document = piece.meta.get("doc")
    if document is None:
        try:
            document = json.loads(piece.text)
        except (ValueError, RecursionError):
            return []
    if path == "":
        return documents(piece, document)
    if path in ("state", "hostconfig", "config") and isinstance(document, dict):
        shaped: dict[str, Any] = {"State": {}, "HostConfig": {}, "Config": {}}
        shaped[{"state": "State", "hostconfig": "HostConfig", "config": "Config"}[path]] = document
        return documents(piece, [shaped], name)
    field = _INSPECT_FIELDS.get(path)
    if field is None:
        return []
    known = of_words({field: json.dumps(document), **({"name": name} if name else {})})
    return [Container(by="inspect", **known, **place(piece, 0, piece.text.split("\n", 1)[0]))]
