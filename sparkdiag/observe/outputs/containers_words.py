"""Containers as docker prints them in words: Go templates, status phrases, lists of arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ...facts.container import Container
from ...facts.piece import Piece
from .engines import engine_of
from .lines import number, place

__all__ = ["of_words", "templated"]

_PLACE = re.compile(r"\{\{-?\s*(?P<inner>[^{}]*?)\s*-?\}\}")
_FIELD = re.compile(r"\.(?P<path>[A-Za-z][\w.]*)")


def templated(
    piece: Piece, template: str, fields: Mapping[str, str], by: str, name: str | None = None
) -> list[Container]:
    """Lines that a Go template printed: the template as a pattern, its places as groups."""
    template = template.removeprefix("table ").replace("\\t", "\t").replace("\\n", "\n").strip()
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
        known = of_words(values)
        if known:
            out.append(Container(by=by, **known, **place(piece, number_, line)))
    return out


def _literal(text: str) -> str:
    """Blanks of a template match any blanks: tables are padded."""
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", text)) if text else ""


_STATUS = re.compile(
    r"(?P<word>Up|Exited|Restarting|Created|Dead|Paused|Removal)\b ?(?P<age>[^(]*)(?:\((?P<told>[^)]*)\))?"
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


def of_words(values: Mapping[str, str]) -> dict[str, Any]:
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
