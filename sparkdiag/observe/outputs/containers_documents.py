"""Containers out of docker inspect's JSON, whole or in lines that grep left of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ...facts.container import Container
from ...facts.piece import Piece
from .containers_words import of_words
from .engines import engine_of
from .lines import place

__all__ = ["MAX_CONTAINERS", "documents", "of_lines"]

MAX_CONTAINERS = 200

_LINE = re.compile(
    r"\s*\"(?P<key>Status|ExitCode|OOMKilled|RestartCount|IpcMode|ShmSize|NetworkMode|Privileged|User|Runtime|"
    r"Memory)\": (?P<value>[^,]*),?\s*\Z"
)
_LINE_FIELDS = {
    "Status": "state", "ExitCode": "exit_code", "OOMKilled": "oom_killed", "RestartCount": "restarts",
    "IpcMode": "ipc", "ShmSize": "shm",
    "NetworkMode": "network", "Privileged": "privileged", "User": "user", "Runtime": "runtime", "Memory": "memory",
}  # fmt: skip


def of_lines(piece: Piece, name: str | None) -> list[Container]:
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
    return [Container(by="inspect", **of_words(values), **place(piece, *first))]


def documents(piece: Piece, document: Any, name: str | None = None) -> list[Container]:
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
