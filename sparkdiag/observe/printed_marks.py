"""Whether a piece may hold anything that a client printed: asked of all text, so it looks for words only."""

from __future__ import annotations

from ..facts.piece import Piece

__all__ = ["MAX_TEXT", "may_tell"]

MAX_TEXT = 500_000
"""Characters of one piece in which printed replies are looked for."""

_TEXT = (
    "content", "Content", "CONTENT", "finish", "Finish", "FINISH",
    "enable_thinking", "include_reasoning", "choices", "rror", "tatus", "create(", "completion(", "HTTP",
    "max_tokens", "messages", "tokens", "Ġ",
)  # fmt: skip
_LOG = (
    "finish_reason", '"choices"', "'choices'", "ChatCompletion", "Error code: ", "tatus code", "tatus_code", "status=",
    "BadRequestError", "NotFoundError", "AuthenticationError", "PermissionDeniedError", "ContextWindowExceeded",
    "InternalServerError", "ServiceUnavailableError", " Client Error", " Server Error", "Client error '",
    "Server error '", "HTTP 4", "HTTP 5", "HTTP error", "create(", '"messages"',
)  # fmt: skip
"""Logs of servers are full of errors and of HTTP: only a client's or a proxy's words count there."""
_PIPED = frozenset({"reshaped", "cut", "jq"})
"""What an exchange's piece says of a reply that another program printed."""


def may_tell(piece: Piece) -> bool:
    """A rough yes: the readers of printed replies decide."""
    if piece.kind in ("text", "output", "comment", "launch"):
        return (piece.command or "").startswith(">>> ") or _holds(piece.text, _TEXT)
    if piece.kind == "log":
        return _holds(piece.text, _LOG)
    if piece.kind == "exchange":
        return bool(_PIPED & piece.meta.keys())
    return piece.kind == "json"


def _holds(text: str, marks: tuple[str, ...]) -> bool:
    return any(text.find(mark, 0, MAX_TEXT) >= 0 for mark in marks)
