"""Captures on disk: `save` writes a folder, `load` reads a folder, an archive of one, or a single evidence file."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .capture import Capture, Item, Target
from .errors import CaptureError, UsageError
from .files import decode
from .redact import Anonymizer, redact, redact_data

__all__ = ["anonymized", "load", "save"]

INDEX = "capture.json"
_ASIDE = ("expected.yaml", "index.yaml")
"""Files about a capture, and no evidence."""
_INDEX_LIMIT = 16 * 2**20

Problems = list[tuple[str, str]]
"""(what, why) of everything that could not be read."""


# --- writing


def save(capture: Capture, folder: str | os.PathLike[str]) -> Capture:
    """Write a capture; what is returned is what a replay will see. UsageError if the folder cannot be used.

    The folder is made if need be. One that holds a capture is written over, its expected.yaml left alone; one that
    holds anything else is refused. capture.json comes last, so a half-written folder is no capture.
    """
    path = os.fspath(folder)
    old = _prepare(path)
    saved = _named(capture)
    index = json.dumps(saved.to_dict(), indent=1, ensure_ascii=False) + "\n"
    try:
        for item in saved.items:
            if item.file is not None:
                _write(path, item.file, item.text)
        _write(path, INDEX, index)
        for name in old - {item.file for item in saved.items}:
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(path, name))
    except OSError as error:
        raise UsageError(f"the capture cannot be written to {path}: {error.strerror}") from None
    return saved


def _prepare(path: str) -> set[str]:
    """Make the folder, or see that it may be used; the evidence files of the capture that it holds."""
    try:
        os.makedirs(path, exist_ok=True)
        present = os.listdir(path)
    except FileExistsError:
        raise UsageError(f"{path} is a file; a capture is saved to a folder") from None
    except OSError as error:
        raise UsageError(f"the capture cannot be written to {path}: {error.strerror}") from None
    if present and INDEX not in present:
        raise UsageError(f"{path} holds other files and no capture; name a new or an empty folder")
    if not present:
        return set()
    try:
        with open(os.path.join(path, INDEX), "rb") as file:
            items = json.loads(file.read(_INDEX_LIMIT))["items"]
        named = {item["file"] for item in items if isinstance(item.get("file"), str)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path} holds a {INDEX} that is no capture's; name a new or an empty folder") from None
    return {name for name in named if name in present and name not in (INDEX, *_ASIDE)}


def _write(folder: str, name: str, text: str) -> None:
    path = os.path.join(folder, name)
    with open(f"{path}.part", "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    os.replace(f"{path}.part", path)


def _named(capture: Capture) -> Capture:
    """Secrets removed; every item with an id, and with a file name if it holds text."""
    used: set[str] = {INDEX, *_ASIDE}
    items = []
    for number, item in enumerate(capture.items, 1):
        file = None
        if item.text:
            file = _free(_safe(item.file) if item.file else f"{_safe(item.probe)}{_extension(item)}", used)
        items.append(
            replace(
                item,
                id=item.id or str(number),
                file=file,
                text=redact(item.text),
                why=None if item.why is None else redact(item.why),
                asked=redact_data(item.asked),
            )
        )
    return replace(capture, items=tuple(items), answers=redact_data(capture.answers))


def _safe(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name, flags=re.ASCII).strip(".-")[-120:] or "evidence"


def _free(name: str, used: set[str]) -> str:
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    number = 1
    while name.lower() in used:
        number += 1
        name = f"{stem}-{number}{dot}{ending}"
    used.add(name.lower())
    return name


_EXTENSIONS = {"json": ".json", "event-stream": ".sse", "html": ".html"}


def _extension(item: Item) -> str:
    media = (item.media or "").partition(";")[0].strip().lower()
    if item.probe.startswith("metrics"):
        return ".prom"
    return next((ending for word, ending in _EXTENSIONS.items() if media.endswith(word)), ".txt")


def anonymized(capture: Capture) -> Capture:
    """The capture with its hosts and addresses numbered, the same in all texts."""
    hosts = [re.sub(r"^[a-z]+://|[:/].*$", "", target.address) for target in capture.targets]
    hosts += dict.fromkeys(on for item in capture.items if isinstance(on := item.asked.get("on"), str))
    names = Anonymizer(host for host in hosts if host)
    for target in capture.targets:
        names.learn(target.address)
    for item in capture.items:
        names.learn(item.text)

    def numbered(data: Any) -> Any:
        if isinstance(data, str):
            return names.apply(data)
        if isinstance(data, Mapping):
            return {key: numbered(value) for key, value in data.items()}
        return [numbered(value) for value in data] if isinstance(data, (list, tuple)) else data

    return replace(
        capture,
        targets=tuple(replace(target, address=names.apply(target.address)) for target in capture.targets),
        items=tuple(
            replace(
                item,
                text=names.apply(item.text),
                why=None if item.why is None else names.apply(item.why),
                asked=numbered(item.asked),
                headers=numbered(item.headers),
            )
            for item in capture.items
        ),
    )


# --- reading


def load(path: str | os.PathLike[str]) -> tuple[Capture, Problems]:
    """A capture and what of it could not be read. CaptureError if it is none, or its capture.json is malformed.

    A folder without capture.json is one as well: its files are the evidence.
    """
    from .capture_sources import read_archive, read_folder, read_single

    name = os.fspath(path)
    if os.path.isdir(name):
        files, left = read_folder(name)
    elif not os.path.exists(name):
        raise CaptureError("no such file or folder", place=name)
    elif name.lower().endswith((".tar.gz", ".tgz", ".tar", ".zip")):
        files, left = read_archive(name)
    else:
        files, left = read_single(name)
    if INDEX in files:
        return _indexed(files, left, os.path.join(name, INDEX) if os.path.isdir(name) else f"{name}:{INDEX}")
    return _unindexed(files, left, name)


def _indexed(files: Mapping[str, bytes], left: Problems, place: str) -> tuple[Capture, Problems]:
    from .schema import check

    data = _parsed(files[INDEX], place)
    check(data, "capture", place)
    unread = dict(left)
    texts: dict[str, str] = {}
    problems: Problems = []
    for item in data["items"]:
        name = item.get("file")
        if name is None:
            continue
        if name in files:
            texts[name] = files[name].decode("utf-8", "replace")
        elif name in unread:  # it is there, and cannot be told from here: no reply, not an empty one
            problems.append((name, unread[name]))
            item |= {"status": "skipped", "why": f"{name} {unread[name]}", "file": None}
    named = {*texts, *(what for what, _ in problems), INDEX, *_ASIDE}
    problems += [(what, "is not named in capture.json, so it was not read") for what in files if what not in named]
    return Capture.from_dict(data, texts, place), problems


def _parsed(raw: bytes, place: str) -> dict[str, Any]:
    if len(raw) > _INDEX_LIMIT:
        raise CaptureError(f"is larger than {_INDEX_LIMIT // 2**20} MiB", place=place)
    try:
        data = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise CaptureError("is not UTF-8 text", place=place) from None
    except json.JSONDecodeError as error:
        raise CaptureError(f"is no JSON: {error.msg}", place=f"{place}:{error.lineno}") from None
    except (RecursionError, ValueError):
        raise CaptureError("is nested too deep, or holds too long a number, for a capture", place=place) from None
    if not isinstance(data, dict):
        raise CaptureError("is no mapping with 'format: 1'", place=place)
    return data


def _unindexed(files: Mapping[str, bytes], left: Problems, place: str) -> tuple[Capture, Problems]:
    from .recorded import file_item, with_turns

    problems = list(left)
    target = Target("t1", "file", redact(os.path.basename(os.path.normpath(place))))
    items = []
    for name, data in files.items():
        if name.rpartition("/")[2] in _ASIDE:
            continue
        text, found = decode(data, name)
        problems += [(problem.what, problem.why) for problem in found]
        if text:
            items.append(file_item(name, text, target.id))
        elif not found:
            problems.append((name, "is empty"))
    if not items and not problems:
        raise CaptureError("holds no evidence", place=place)
    return Capture(targets=(target,), items=tuple(with_turns(items))), problems
