"""Containers out of docker ps and docker inspect: in their default forms, as JSON, or through a --format template."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ...facts import Fact
from ...facts.container import Container
from ...facts.piece import Piece
from .engines import engine_of
from .lines import looked, number, place, stages

__all__ = ["observe_containers"]

MAX_CONTAINERS = 200
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
        found = _templated(piece, template, _PS_FIELDS, "ps") if template is not None else _table(piece)
        probe = "docker-ps"
    elif not words and "CONTAINER ID" in piece.text:
        found, probe = _table(piece), "docker-ps"
    elif not words and piece.kind == "json" and '"HostConfig"' in piece.text and '"State"' in piece.text:
        found, probe = _documents(piece, piece.meta.get("doc")), "docker-inspect"
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
        return "ps" if "ps" in rest and "--format" in words else None
    if rest[:1] in (["ps"], ["ls"], ["list"]):
        return "ps"
    return "inspect" if rest[:1] == ["inspect"] and "image" not in words[1:3] else None


def _template(words: tuple[str, ...]) -> str | None:
    for at, word in enumerate(words):
        if word in ("--format", "-f") and at + 1 < len(words) and "{{" in words[at + 1]:
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
_PLACE = re.compile(r"\{\{-?\s*(?P<inner>[^{}]*?)\s*-?\}\}")
_FIELD = re.compile(r"\.(?P<path>[A-Za-z][\w.]*)")


def _templated(
    piece: Piece, template: str, fields: Mapping[str, str], by: str, name: str | None = None
) -> list[Container]:
    """Lines that a Go template printed: the template as a pattern, its places as groups."""
    template = template.removeprefix("table ").replace("\\t", "\t").replace("\\n", "\n").strip()
    if "{{json .}}" in template or template == "json":
        return _json_rows(piece, by)
    if re.search(r"\{\{-?\s*(?:range|if|end|index|with|println)", template):
        return []
    out: list[Container] = []
    pattern, names, at = "", [], 0
    for match in _PLACE.finditer(template):
        pattern += _literal(template[at : match.start()])
        field = _FIELD.search(match["inner"])
        names.append(fields.get(field["path"].lower(), "") if field else "")
        pattern += "(.*?)"
        at = match.end()
    pattern += _literal(template[at:])
    if not any(names):
        return []
    compiled = re.compile(rf"\s*{pattern}\s*\Z")
    step = template.count("\n") + 1
    lines = piece.text.split("\n")
    for number_, line in enumerate(lines):
        if not line.strip() or re.match(r"(?:NAMES|IMAGE|STATUS|CONTAINER ID|STATE)\b", line):
            continue
        text = "\n".join(lines[number_ : number_ + step])
        printed = compiled.match(text[:4000])
        if printed is None:
            continue
        values: dict[str, str] = {}
        for field_name, value in zip(names, printed.groups(), strict=True):
            if field_name:
                values.setdefault(field_name, value.strip())
        if name is not None:
            values.setdefault("name", name)
        known = _of_words(values)
        if known:
            out.append(Container(by=by, **known, **place(piece, number_, line)))
    return out


def _literal(text: str) -> str:
    """Blanks of a template match any blanks: tables are padded."""
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", text)) if text else ""


_STATUS = re.compile(
    r"(?P<word>Up|Exited|Restarting|Created|Dead|Paused|"
    r"Removal)\b(?: (?P<age>[^(]*?))?(?: ?\((?P<told>[^)]*)\))?(?P<after>.*)\Z"
)
_AGES = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0, "month": 2.6e6, "year": 3.2e7}
_STATES = {
    "Up": "running",
    "Exited": "exited",
    "Restarting": "restarting",
    "Created": "created",
    "Dead": "dead",
    "Paused": "paused",
}


def _of_status(status: str) -> dict[str, Any]:
    """`Up 41 seconds (healthy)`, `Exited (137) 3 minutes ago`, `Restarting (1) 5 seconds ago`."""
    match = _STATUS.match(status.strip())
    if match is None:
        return {}
    known: dict[str, Any] = {"state": _STATES.get(match["word"])}
    told = match["told"] or ""
    if told.isdigit():
        known["exit_code"] = int(told)
    elif told in ("healthy", "unhealthy") or "starting" in told:
        known["health"] = "starting" if "starting" in told else told
    if match["word"] == "Up":
        age = re.match(
            r"(?:About )?(?:an?|(\d+)|Less than a) (second|minute|hour|day|week|month|year)", match["age"] or ""
        )
        if age:
            known["up_seconds"] = float(age[1] or 1) * _AGES[age[2]]
    return known


def _of_words(values: Mapping[str, str]) -> dict[str, Any]:
    """A container's fields from printed words."""
    known: dict[str, Any] = {}
    for key, value in values.items():
        if value in ("<no value>", "<nil>"):
            continue
        if key == "status":
            known |= {k: v for k, v in _of_status(value).items() if v is not None}
        elif key == "state":
            known["state"] = value.strip('"').lower()
        elif key in ("exit_code", "restarts"):
            figure = number(value)
            if figure is not None:
                known[key] = int(figure)
        elif key in ("oom_killed", "privileged"):
            if value in ("true", "false"):
                known[key] = value == "true"
        elif key == "running":
            if value in ("true", "false"):
                known.setdefault("state", "running" if value == "true" else "exited")
        elif key in ("shm", "memory"):
            figure = number(value)
            if figure is not None and (key == "shm" or figure > 0):
                known["shm_gib" if key == "shm" else "memory_limit_gib"] = round(figure / 2**30, 4)
        elif key == "entrypoint":
            known["entrypoint"] = _word_list(value)
        elif key in ("command", "path"):
            shown = " ".join(_word_list(value) or ()) if value.startswith("[") else value.strip('"')
            known["command"] = (
                f"{known['command']} {shown}".strip()[:1000]
                if key == "command" and "command" in known
                else shown[:1000]
            )
        elif key == "name":
            known["name"] = value.strip('"').lstrip("/")
        else:
            known[key] = value.strip('"')
    told = [str(known.get(key, "")) for key in ("image", "name", "command")]
    engine = next((engine for text in told if text and (engine := engine_of(text)) is not None), None)
    if engine is not None:
        known["engine"] = engine
    return known


def _word_list(value: str) -> tuple[str, ...] | None:
    """`["vllm","serve"]` and Go's own `[vllm serve]`."""
    if value in ("null", "[]", ""):
        return ()
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return tuple(value.strip("[]").split())
    return tuple(str(item) for item in parsed) if isinstance(parsed, list) else (str(parsed),)


_HEADING = re.compile(r"CONTAINER ID\s+IMAGE\s+COMMAND\s")
_COLUMN_FIELDS = {"IMAGE": "image", "COMMAND": "command", "STATUS": "status", "NAMES": "name", "CREATED": "created"}


def _table(piece: Piece) -> list[Container]:
    """The default table of docker ps: cells stand under their headings."""
    out: list[Container] = []
    columns: list[tuple[str, int, int]] = []
    for at, line in enumerate(piece.text.split("\n")):
        if _HEADING.match(line.lstrip()):
            starts = [(m[0].strip(), m.start()) for m in re.finditer(r"[A-Z]+(?: [A-Z]+)*", line)]
            ends = [start for _, start in starts[1:]] + [10_000]
            columns = [(name, start, end) for (name, start), end in zip(starts, ends, strict=True)]
            continue
        if not columns or not re.match(r"\s*[0-9a-f]{12}\s", line):
            continue
        values = {
            _COLUMN_FIELDS[name]: line[start:end].strip() for name, start, end in columns if name in _COLUMN_FIELDS
        }
        known = _of_words(values)
        known.pop("created", None)
        out.append(Container(by="ps", **known, **place(piece, at, line)))
    return out


def _json_rows(piece: Piece, by: str) -> list[Container]:
    """One JSON object a line, as `docker ps --format json` prints them."""
    out = []
    for at, line in enumerate(piece.text.split("\n")):
        try:
            row = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            values = {_PS_FIELDS[key.lower()]: str(value) for key, value in row.items() if key.lower() in _PS_FIELDS}
            out.append(Container(by=by, **_of_words(values), **place(piece, at, line[:300])))
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
        return _documents(piece, piece.meta.get("doc")) or _of_lines(piece, name)
    part = re.fullmatch(r"\s*\{\{\s*json \.(?P<path>[\w.]*)\s*\}\}\s*", template)
    if part is not None:
        return _json_part(piece, part["path"].lower(), name)
    if any(stage[:1] not in (("head",), ("tail",), ("cat",), ("sort",)) for stage in stages(piece)[1:]):
        return []  # what grep, tr or sed left of the line is no longer what the template says
    return _templated(piece, template, _INSPECT_FIELDS, "inspect", name)


def _json_part(piece: Piece, path: str, name: str | None) -> list[Container]:
    document = piece.meta.get("doc")
    if document is None:
        try:
            document = json.loads(piece.text)
        except (ValueError, RecursionError):
            return []
    if path == "":
        return _documents(piece, document)
    if path in ("state", "hostconfig", "config") and isinstance(document, dict):
        shaped: dict[str, Any] = {"State": {}, "HostConfig": {}, "Config": {}}
        shaped[{"state": "State", "hostconfig": "HostConfig", "config": "Config"}[path]] = document
        return _documents(piece, [shaped], name)
    field = _INSPECT_FIELDS.get(path)
    if field is None:
        return []
    known = _of_words({field: json.dumps(document), **({"name": name} if name else {})})
    return [Container(by="inspect", **known, **place(piece, 0, piece.text.split("\n", 1)[0]))]


_LINE = re.compile(
    r"\s*\"(?P<key>Status|ExitCode|OOMKilled|RestartCount|IpcMode|ShmSize|NetworkMode|Privileged|User|Runtime|"
    r"Memory)\": (?P<value>[^,]*),?\s*\Z"
)
_LINE_FIELDS = {
    "Status": "state", "ExitCode": "exit_code", "OOMKilled": "oom_killed", "RestartCount": "restarts",
    "IpcMode": "ipc", "ShmSize": "shm",
    "NetworkMode": "network", "Privileged": "privileged", "User": "user", "Runtime": "runtime", "Memory": "memory",
}  # fmt: skip


def _of_lines(piece: Piece, name: str | None) -> list[Container]:
    """`docker inspect c | grep -A3 State`: keys on lines of their own."""
    values: dict[str, str] = {}
    first: tuple[int, str] | None = None
    for at, line in enumerate(piece.text.split("\n")):
        match = _LINE.match(line)
        if match is not None:
            values.setdefault(_LINE_FIELDS[match["key"]], match["value"].strip())
            if first is None or match["key"] in ("OOMKilled", "ShmSize"):
                first = (at, line)
    if first is None:
        return []
    if name is not None:
        values["name"] = name
    return [Container(by="inspect", **_of_words(values), **place(piece, *first))]


def _documents(piece: Piece, document: Any, name: str | None = None) -> list[Container]:
    items = document if isinstance(document, list) else [document]
    out = []
    for item in items[:MAX_CONTAINERS]:
        if isinstance(item, dict) and ({"State", "HostConfig", "Config"} & set(item)):
            out.append(_document(piece, item, name))
    return out


def _document(piece: Piece, item: Mapping[str, Any], name: str | None) -> Container:
    from ...redact import redact

    state, host, config = (_table_of(item, key) for key in ("State", "HostConfig", "Config"))

    def text(table: Mapping[str, Any], key: str) -> str | None:
        value = table.get(key)
        return value if isinstance(value, str) and value else None

    def whole(table: Mapping[str, Any], key: str) -> int | None:
        value = table.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def truth(table: Mapping[str, Any], key: str) -> bool | None:
        value = table.get(key)
        return value if isinstance(value, bool) else None

    command = " ".join(str(part) for part in [*_strings(config.get("Entrypoint")), *_strings(config.get("Cmd"))])
    image, called = text(config, "Image"), (text(item, "Name") or name or "").lstrip("/") or None
    health, policy = state.get("Health"), host.get("RestartPolicy")
    shm, limit = whole(host, "ShmSize"), whole(host, "Memory")
    shown = ", ".join(
        f"{key} {state[key]}"
        for key in ("Status", "ExitCode", "OOMKilled", "Error")
        if state.get(key) not in (None, "")
    )
    env = _strings(config.get("Env"))
    line = next(
        (i for i, words in enumerate(piece.text.split("\n")) if '"State"' in words or '"OOMKilled"' in words), 0
    )
    return Container(
        by="inspect",
        name=called,
        image=image,
        state=text(state, "Status"),
        health=text(health, "Status") if isinstance(health, dict) else None,
        exit_code=whole(state, "ExitCode"),
        oom_killed=truth(state, "OOMKilled"),
        restarts=whole(item, "RestartCount"),
        entrypoint=_strings(config["Entrypoint"]) if "Entrypoint" in config else None,
        command=redact(command)[:1000] or None,
        env=tuple(redact(entry)[:500] for entry in env) if "Env" in config else None,
        user=config["User"] if isinstance(config.get("User"), str) else None,
        ipc=text(host, "IpcMode"),
        shm_gib=None if shm is None else round(shm / 2**30, 4),
        network=text(host, "NetworkMode"),
        privileged=truth(host, "Privileged"),
        gpus=_gpus(host, env) if host else None,
        runtime=text(host, "Runtime"),
        restart_policy=text(policy, "Name") if isinstance(policy, dict) else None,
        memory_limit_gib=round(limit / 2**30, 2) if limit else None,
        working_dir=text(config, "WorkingDir"),
        error=text(state, "Error"),
        created=text(item, "Created"),
        engine=next((e for words in (image, called, command) if words and (e := engine_of(words)) is not None), None),
        **place(piece, line, f"container {called or ''}: {shown}".replace(" :", ":")),
    )


def _table_of(item: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(part) for part in value) if isinstance(value, list) else ()


def _gpus(host: Mapping[str, Any], env: tuple[str, ...]) -> bool:
    """A device request for GPUs, a CDI device, or the NVIDIA runtime with its variable."""
    for request in host.get("DeviceRequests") or ():
        if isinstance(request, dict) and (
            request.get("Driver") in ("nvidia", "cdi")
            or "gpu" in json.dumps(request.get("Capabilities") or request.get("DeviceIDs") or "")
        ):
            return True
    visible = any(
        entry.startswith("NVIDIA_VISIBLE_DEVICES=") and not entry.endswith(("=void", "=none", "=")) for entry in env
    )
    return host.get("Runtime") == "nvidia" and visible
