"""What belongs together in a transcript though it stands apart: a request and its reply, a file and its content."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ..facts.piece import Piece

__all__ = ["joined_requests"]

_ENDPOINTS = {"messages": "/v1/chat/completions", "prompt": "/v1/completions"}


def joined_requests(pieces: list[Piece]) -> list[Piece]:
    """Replies get the request that stands before them, and requests sent from a file what the text shows of it."""
    files = _files(pieces)
    out: list[Piece] = []
    for number, piece in enumerate(pieces):
        meta = piece.meta
        if piece.kind == "exchange" and meta.get("request") is None and meta.get("request_file"):
            known = files.get(_base(str(meta["request_file"])))
            if known is not None:
                piece = replace(piece, meta={**meta, "request": known})
        elif piece.kind == "json" and _is_recording(meta.get("doc")):
            piece = _recorded(piece, meta["doc"])
        elif piece.kind == "json" and piece.command is None and _is_reply(meta.get("doc")):
            request = _request_before(pieces, number)
            if request is not None:
                piece = _exchange(piece, request)
        out.append(piece)
    return out


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _files(pieces: list[Piece]) -> dict[str, dict[str, Any]]:
    """Documents by the name of the file that they were shown from, sizes that stand for lists filled in."""
    out: dict[str, dict[str, Any]] = {}
    for piece in pieces:
        name, document = piece.meta.get("file"), piece.meta.get("doc")
        if isinstance(name, str) and isinstance(document, dict):
            shown = out.setdefault(_base(name), {})
            shown.update(document)
            tools = piece.meta.get("measures", {}).get("tools")
            if isinstance(tools, int) and 0 < tools < 1000:
                shown["tools"] = [{"type": "function"}] * tools
    return out


def _is_reply(document: Any) -> bool:
    return isinstance(document, dict) and ("choices" in document or "error" in document) and "messages" not in document


def _is_recording(document: Any) -> bool:
    """One object with `request`, `status` and `body` or `body_text`."""
    if not isinstance(document, dict) or not isinstance(document.get("status"), int):
        return False
    return isinstance(document.get("request"), dict) and ("body" in document or "body_text" in document)


def _recorded(piece: Piece, document: dict[str, Any]) -> Piece:
    request = document["request"]
    asked = request if request.keys() & {"body", "method", "path"} else {"body": request}
    body = asked.get("body")
    told = document.get("body_text")
    text = told if isinstance(told, str) else json.dumps(document.get("body"), ensure_ascii=False)
    path = next((path for key, path in _ENDPOINTS.items() if isinstance(body, dict) and key in body), None)
    headers = document.get("headers")
    meta = {
        **piece.meta,
        "method": asked.get("method"),
        "path": asked.get("path", path),
        "url": None,
        "request": body if isinstance(body, dict) else None,
        "status": document["status"],
        "headers": {str(k).lower(): str(v) for k, v in headers.items()} if isinstance(headers, dict) else {},
        "response_text": text,
    }
    return replace(piece, kind="exchange", meta=meta)


def _request_before(pieces: list[Piece], number: int) -> dict[str, Any] | None:
    """The JSON document right before a reply, if it is a request."""
    for before in reversed(pieces[max(0, number - 2) : number]):
        if before.kind == "comment" or (before.kind == "text" and before.text.count("\n") < 3):
            continue
        document = before.meta.get("doc")
        if before.kind == "json" and isinstance(document, dict) and "choices" not in document:
            return document if any(key in document for key in _ENDPOINTS) else None
        return None
    return None


def _exchange(piece: Piece, request: dict[str, Any]) -> Piece:
    path = next(path for key, path in _ENDPOINTS.items() if key in request)
    meta = {
        **piece.meta, "method": "POST", "path": path, "url": None, "request": request, "status": None,
        "response_text": piece.text,
    }  # fmt: skip
    return replace(piece, kind="exchange", meta=meta)
