"""A folder of recorded exchanges with one real server: what was asked, what came back, and how it was launched."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import CaptureError, InputError

__all__ = ["RecordedServer", "Recording", "load_server"]

MAX_FILE = 16 * 2**20
"""Bytes of one recording."""

_OWN_KEYS = {"date", "content-length", "transfer-encoding", "connection", "keep-alive"}
"""Headers that belong to the connection on which the recording was made."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One request and its answer."""

    name: str
    """The file's name without its ending."""
    method: str
    path: str
    """With its query, if it had one."""
    request: Any
    """The request's body: parsed JSON, text, or None."""
    status: int
    headers: Mapping[str, str]
    """In lower case, without those of the connection."""
    text: str
    """The answer's body as sent."""
    reply: Any = None
    """The same body, parsed, where it is one JSON document."""

    @property
    def streamed(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")


@dataclass(frozen=True, slots=True)
class RecordedServer:
    """All recordings of a folder, and what the launch command tells."""

    folder: str
    recordings: tuple[Recording, ...]
    command: tuple[str, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    """The launch command's options without their dashes; "" for a switch."""

    @property
    def engine(self) -> str | None:
        """vllm, sglang or transformers, as the replies show it."""
        for recording in self.recordings:
            reply = recording.reply if isinstance(recording.reply, dict) else {}
            if str(reply.get("system_fingerprint", "")).startswith("vllm-"):
                return "vllm"
            choices = reply.get("choices") or [{}]
            if isinstance(choices[0], dict) and "matched_stop" in choices[0]:
                return "sglang"
        return "transformers" if "transformers" in " ".join(self.command) else None

    @property
    def model(self) -> str | None:
        """The name under which the model was asked for in most recordings."""
        names = [r.request["model"] for r in self.recordings if isinstance(r.request, dict) and "model" in r.request]
        return max(names, key=names.count) if names else None

    @property
    def model_path(self) -> str | None:
        return self.flags.get("model-path") or next((w for w in self.command if w.startswith("/models/")), self.model)

    @property
    def api_key(self) -> str | None:
        """The key that the server was launched with: a recording's stand-in, no secret."""
        return self.flags.get("api-key")


def load_server(folder: str | os.PathLike[str]) -> RecordedServer:
    """Read a folder. InputError if it cannot be read, CaptureError if there is no recording in it."""
    place = os.fspath(folder)
    try:
        names = sorted(name for name in os.listdir(place) if name.endswith(".json"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=place) from None
    found = []
    command: tuple[str, ...] = ()
    for name in names:
        data = _read(os.path.join(place, name))
        if name == "_server.json":
            command = tuple(str(word) for word in data.get("cmd", ()))
        elif isinstance(data.get("request"), dict) and "status" in data:
            found.append(_recording(name.removesuffix(".json"), data))
    if not found:
        raise CaptureError("holds no recording: a JSON file with request, status and body or body_text", place=place)
    return RecordedServer(place, tuple(found), command, _flags(command))


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MAX_FILE + 1)
        data = json.loads(text) if len(text) <= MAX_FILE else None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=path) from None
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"is no JSON: {error}", place=path) from None
    if not isinstance(data, dict):
        raise CaptureError("is not one JSON object of a bearable size", place=path)
    return data


def _recording(name: str, data: Mapping[str, Any]) -> Recording:
    request = data["request"]
    reply = data.get("body")
    text = json.dumps(reply, separators=(",", ":")) if "body" in data else str(data.get("body_text", ""))
    headers = data.get("headers")
    return Recording(
        name=name,
        method=str(request.get("method", "GET")),
        path=str(request.get("path", "/")),
        request=request.get("body"),
        status=int(data["status"]),
        headers={k.lower(): str(v) for k, v in dict(headers or {}).items() if k.lower() not in _OWN_KEYS},
        text=text,
        reply=reply,
    )


def _flags(command: tuple[str, ...]) -> dict[str, str]:
    flags: dict[str, str] = {}
    for index, word in enumerate(command):
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            following = command[index + 1] if index + 1 < len(command) else "--"
            flags[name] = value or ("" if following.startswith("--") else following)
    return flags
