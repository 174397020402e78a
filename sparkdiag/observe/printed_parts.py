"""Replies put together from what a text tells of them bit by bit: chunks, a message, fields, token counts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ..facts.piece import Piece
from ..records import dataclass
from .bodies import join_chunks, mapping
from .printed_fields import ASKED, Told
from .printed_values import CLASS, known
from .reply_shapes import partial_reply
from .reshaped import shown_of

__all__ = ["Assembly", "Reply"]

NEAR = 40
"""Lines within which single fields belong to one reply."""

_SETTINGS = ("chat_template_kwargs", "include_reasoning", "max_tokens", "enable_thinking", "extra_body", "tool_choice")
"""Keys of a request by which a part of one is known."""

_BREAK = re.compile("\n")
_ALIKE = {"content_len": "content", "reasoning_len": "reasoning"}


@dataclass(slots=True)
class Reply:
    """One reply or error: what was printed of it, the request that it answers, and where it stands."""

    piece: Piece
    line: int
    """In the whole evidence, as orders of pieces count."""
    document: Any
    shown: dict[str, Any] | None = None
    """What is known of a reply that was printed in parts; None for a whole one."""
    status: int | None = None
    request: dict[str, Any] | None = None
    last_line: int = 0
    row: int | None = None


@dataclass(slots=True)
class Assembly:
    """Takes values and fields in the order of the evidence; `replies` holds those that are whole."""

    piece: Piece
    """The piece that is being read."""
    request: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """What the text tells of the request in single fields."""
    replies: list[Reply] = field(default_factory=list)
    _chunks: list[dict[str, Any]] = field(default_factory=list)
    _chunks_from: tuple[Piece, int] | None = None
    _open: Reply | None = None
    _counted: Piece | None = None
    _breaks: list[int] = field(default_factory=list)
    """Where the lines of `_counted` end."""

    def asked(self) -> dict[str, Any] | None:
        """The request that a reply here answers, as far as the text tells it."""
        if not self.settings:
            return self.request
        settings = dict(self.settings)
        if "enable_thinking" in settings:
            settings["chat_template_kwargs"] = {"enable_thinking": settings.pop("enable_thinking")}
        return {**(self.request or {}), **settings}

    def take_request(self, request: dict[str, Any] | None) -> None:
        """What follows answers this request."""
        self.close()
        if request is not None:
            self.request, self.settings = request, {}

    def take_settings(self, told: dict[str, Any]) -> None:
        """Some fields of a request, shown alone."""
        if any(key in told for key in _SETTINGS) and not self._open:
            self.settings |= {key: value for key, value in told.items() if isinstance(key, str)}

    def take_error(self, at: int, status: int, body: Any) -> None:
        self.close()
        told = body if isinstance(body, (dict, list)) else str(body)
        self.replies.append(Reply(self.piece, self._line(at), told, None, status, self.asked()))

    def take_object(self, at: int, value: dict[str, Any]) -> None:
        """A printed object: a request, a reply, a chunk, a part of one, or nothing of the kind."""
        name = value.get(CLASS)
        name = name if isinstance(name, str) else ""
        plain = known(value)
        if "messages" in plain and "choices" not in plain:
            self.take_request(plain)
            return
        if isinstance(plain.get("request"), dict) and isinstance(plain.get("response"), dict):
            self.take_request(plain["request"])
            plain = plain["response"]
        if name == "AIMessageChunk":
            return
        if plain.get("object") == "chat.completion.chunk" or name.endswith(("Chunk", "Stream")):
            self._take_chunk(at, plain)
            return
        if name == "AIMessage":
            plain = _of_langchain(plain)
        if isinstance(plain.get("choices"), list) or {"error", "detail"} & set(plain) or plain.get("object") == "error":
            self._take_whole(at, plain)
            return
        part = partial_reply(plain)
        if part is None and name.endswith("Message") and "content" in plain:
            part = {"choices": [{"message": plain}]}
        if part is not None:
            self.take_part(at, part, shown_of(part))
        elif "completion_tokens" not in plain:
            self.take_settings(plain)
        else:
            self.take_part(at, {"usage": plain}, {"completion_tokens": plain["completion_tokens"]})

    def take_field(self, at: int, told: Told) -> None:
        if told.name in ASKED:
            self.settings[told.name] = told.value
            if self._open is not None and (told.row is None or told.row == self._open.row):
                self._open.request = self.asked()
            return
        document, shown = _of_field(told)
        self.take_part(at, document, shown, told.row)

    def take_part(self, at: int, part: dict[str, Any], shown: dict[str, Any], row: int | None = None) -> None:
        """A part of a reply: of the one being put together, or of a new one if it tells the same field anew."""
        self._close_chunks()
        line = self._line(at)
        now = self._open
        if now is None or line - now.last_line > NEAR or row != now.row or _again(now.shown or {}, shown):
            self.close()
            joined = _joined({}, part)
            self._open = Reply(self.piece, line, joined, dict(shown), None, self.asked(), line, row)
            return
        now.document = _joined(now.document, part)
        now.shown = {**(now.shown or {}), **shown}
        now.last_line = line

    def close(self) -> None:
        """No more is told of the reply being put together. One of which too little is told is dropped."""
        self._close_chunks()
        now, self._open = self._open, None
        if now is None or now.shown is None:
            return
        has = {_ALIKE.get(key, key) for key in now.shown}
        if ("content" in has and has & {"finish_reason", "reasoning"}) or {"finish_reason", "reasoning"} <= has:
            message = now.document.setdefault("choices", [{}])[0].setdefault("message", {})
            message.setdefault("role", "assistant")
            self.replies.append(now)

    def _line(self, at: int) -> int:
        if self._counted is not self.piece:
            self._counted, self._breaks = self.piece, [m.start() for m in _BREAK.finditer(self.piece.text)]
        return self.piece.order + bisect_left(self._breaks, at)

    def _take_whole(self, at: int, plain: dict[str, Any]) -> None:
        line = self._line(at)
        self.close()
        if "choices" in plain and not _shows_message(plain):
            self._open = Reply(self.piece, line, plain, shown_of(plain), None, self.asked(), line)
        else:
            self.replies.append(Reply(self.piece, line, plain, None, None, self.asked()))

    def _take_chunk(self, at: int, plain: dict[str, Any]) -> None:
        if not self._chunks:
            self.close()
            self._chunks_from = self.piece, self._line(at)
        self._chunks.append(plain)

    def _close_chunks(self) -> None:
        chunks, self._chunks = self._chunks, []
        reply = join_chunks(chunks) if chunks else None
        if reply is not None and self._chunks_from is not None:
            piece, line = self._chunks_from
            self.replies.append(Reply(piece, line, reply, None, None, self.asked()))


def _again(has: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """Whether the same field is told anew. Of the two names of the reasoning one is often told empty."""
    new = {_ALIKE.get(key, key) for key in told} - {"reasoning_key"}
    if new == {"reasoning"} and not has.get("reasoning") and not has.get("reasoning_len"):
        return False
    return bool({_ALIKE.get(key, key) for key in has} & new)


def _shows_message(reply: Mapping[str, Any]) -> bool:
    """Whether the first choice shows what was said, or there is none: `[Object]` shows nothing."""
    choices = reply.get("choices")
    first = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    return not choices or isinstance(first.get("message"), dict) or bool({"text", "delta"} & set(first))


def _of_langchain(message: Mapping[str, Any]) -> dict[str, Any]:
    """AIMessage of LangChain as the reply that it was made of."""
    extra, about = mapping(message.get("additional_kwargs")), mapping(message.get("response_metadata"))
    told: dict[str, Any] = {"role": "assistant", "content": message.get("content")}
    told |= {k: extra[k] for k in ("reasoning_content", "reasoning") if k in extra}
    told["tool_calls"] = extra.get("tool_calls", message.get("tool_calls")) or []
    choice: dict[str, Any] = {"message": told}
    if "finish_reason" in about:
        choice["finish_reason"] = about["finish_reason"]
    reply: dict[str, Any] = {"choices": [choice], "model": about.get("model_name")}
    if isinstance(about.get("token_usage"), dict):
        reply["usage"] = about["token_usage"]
    return reply


def _of_field(told: Told) -> tuple[dict[str, Any], dict[str, Any]]:
    """A field as a part of a reply, and what it shows."""
    name, value = told.name, told.value
    if name == "finish":
        return {"choices": [{"finish_reason": value}]}, {"finish_reason": value}
    if name in ("completion_tokens", "prompt_tokens"):
        return {"usage": {name: value}}, {name: value}
    if name == "tool_calls":
        calls = [{"type": "function"}] * min(told.size, 64) if told.size is not None else value
        shown: dict[str, Any] = {"tool_calls": len(calls) if isinstance(calls, list) else 0}
        return {"choices": [{"message": {"tool_calls": calls}}]}, shown
    if told.size is not None:
        plain = "content" if name == "content" else "reasoning"
        shown = {f"{plain}_len": told.size}
        if plain == "reasoning":
            shown["reasoning_key"] = name
        return {"choices": [{"message": {}}]}, shown
    if name == "content":
        return {"choices": [{"message": {"content": value}}]}, {"content": value}
    return {"choices": [{"message": {name: value}}]}, {"reasoning": value, "reasoning_key": name}


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(one)
    for key, value in other.items():
        mine = out.get(key)
        if isinstance(mine, dict) and isinstance(value, dict):
            out[key] = _joined(mine, value)
        elif key == "choices" and isinstance(mine, list) and mine and isinstance(value, list) and value:
            out[key] = [_joined(mine[0], value[0]), *mine[1:]]
        else:
            out[key] = value
    return out
