"""Answers that a recording lacks and its server surely gave: made from the other recordings and the launch command."""

from __future__ import annotations

import json
import re
from typing import Any

from .recordings import RecordedServer, Recording

__all__ = ["detokenized", "stand_in"]

_FINGERPRINT = re.compile(r"vllm-(\d+(?:\.\d+)+)")
_NO_SUCH_ROUTE = {
    "vllm": ("/server_info", "/get_server_info", "/model_info", "/get_model_info"),
    "sglang": ("/version",),
}
"""Routes of the other engine, which this one is known not to have."""


def stand_in(server: RecordedServer, path: str) -> Recording | None:
    """The answer to a GET that was not recorded; None where only the real server could tell."""
    plain = path.split("?", 1)[0]
    engine = server.engine
    if plain in _NO_SUCH_ROUTE.get(engine or "", ()):
        return _answer("an engine without this route", plain, {"detail": "Not Found"}, status=404)
    if engine not in ("vllm", "sglang"):
        return None
    if plain in ("/health", "/ping"):
        return _answer("a server that answers", plain, None)
    if plain == "/v1/models":
        return _answer("the launch command", plain, _models(server, engine))
    if plain == "/version" and (version := _vllm_version(server)) is not None:
        return _answer("system_fingerprint", plain, {"version": version})
    return None


def detokenized(server: RecordedServer, tokens: Any) -> Recording | None:
    """The text of tokens that the same server gave for a chat, where it told their strings; None for others."""
    for recording in server.recordings:
        reply = recording.reply if isinstance(recording.reply, dict) else {}
        strings = reply.get("token_strs")
        if recording.path == "/tokenize" and strings and reply.get("tokens") == tokens:
            text = "".join(strings).replace("Ċ", "\n").replace("Ġ", " ")
            return _answer(recording.name, "/detokenize", {"prompt": text})
    return None


def _answer(source: str, path: str, reply: Any, status: int = 200) -> Recording:
    return Recording(
        name=f"stand-in: {source}",
        method="GET",
        path=path,
        request=None,
        status=status,
        headers={"server": "uvicorn"} | ({"content-type": "application/json"} if reply is not None else {}),
        text="" if reply is None else json.dumps(reply, separators=(",", ":")),
        reply=reply,
    )


def _models(server: RecordedServer, engine: str) -> dict[str, Any]:
    length = server.flags.get("max-model-len") or server.flags.get("context-length") or ""
    entry = {
        "id": server.model,
        "object": "model",
        "owned_by": engine,
        "root": server.model_path if engine == "vllm" else server.model,
        "parent": None,
        "max_model_len": int(length) if length.isdecimal() else None,
    }
    return {"object": "list", "data": [entry]}


def _vllm_version(server: RecordedServer) -> str | None:
    for recording in server.recordings:
        found = _FINGERPRINT.search(recording.text)
        if found:
            return found[1]
    return None
