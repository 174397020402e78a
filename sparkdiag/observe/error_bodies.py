"""Error bodies in the shapes of all engines and of what stands in front of them."""

from __future__ import annotations

import re
from typing import Any

from ..records import dataclass
from .bodies import Body
from .patterns import lazy

MAX_MESSAGE = 2000


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error's own words."""

    message: str
    type: str | None = None
    param: str | None = None
    code: int | None = None
    path: str = "$"
    """JSON path of the message."""
    shape: str = "text"
    """openai (nested), flat (SGLang), detail (FastAPI), string, text."""


def read_error(body: Body, status: int | None) -> ErrorBody | None:
    """The error in a body; None if it holds none. A plain text is an error only under an error status."""
    data = body.data
    if isinstance(data, dict):
        found = _from_object(data)
        if found is not None:
            return found
    if isinstance(data, list) and data and isinstance(data[0], dict):
        inner = _from_object(data[0])
        if inner is not None:
            return inner
    if (status is not None and status >= 400) and body.media in ("text", "json") and body.text.strip():
        text = data if isinstance(data, str) else body.text
        return ErrorBody(_cut(text.strip()))
    if status is None and body.media == "text" and _REFUSES.match(body.text.strip()[:400]):
        return ErrorBody(_cut(body.text.strip()))
    return None


_REFUSES = lazy(
    r"(?:Client sent an HTTP request to an HTTPS server|404 page not found|404: Not Found|Not Found\W*\Z"
    r"|Unauthorized\W*\Z|Forbidden\W*\Z|Internal Server Error\W*\Z|Bad Gateway\W*\Z"
    r"|Service Unavailable\W*\Z|upstream connect error"
    r"|no healthy upstream|Invalid HTTP request received|default backend - 404)",
    re.IGNORECASE,
)
"""What servers and gateways say in plain words, where the status was not shown."""


def _from_object(data: dict[str, Any]) -> ErrorBody | None:
    error = data.get("error")
    if isinstance(error, dict):
        message = error.get("message", error.get("detail", error.get("msg")))
        if message is not None:
            return ErrorBody(
                _cut(message),
                _word(error.get("type")),
                _word(error.get("param")),
                _code(error),
                "$.error.message",
                "openai",
            )
    if isinstance(error, str):
        return ErrorBody(_cut(error), path="$.error", shape="string")
    if data.get("object") == "error" or (
        "message" in data and "type" in data and "choices" not in data and "role" not in data
    ):
        message = data.get("message")
        if isinstance(message, str):
            return ErrorBody(
                _cut(message), _word(data.get("type")), _word(data.get("param")), _code(data), "$.message", "flat"
            )
    detail = data.get("detail")
    if isinstance(detail, str):
        return ErrorBody(_cut(detail), path="$.detail", shape="detail")
    if isinstance(detail, list) and detail and isinstance(detail[0], dict) and "msg" in detail[0]:
        place = detail[0].get("loc")
        where = ".".join(str(part) for part in place) if isinstance(place, list) else ""
        return ErrorBody(
            _cut(f"{detail[0]['msg']} ({where})"), _word(detail[0].get("type")), None, None, "$.detail", "detail"
        )
    return None


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return " ".join(text[: MAX_MESSAGE * 2].split())[:MAX_MESSAGE]


def _word(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) else None


def _code(data: dict[str, Any]) -> int | None:
    code = data.get("code")
    if isinstance(code, bool):
        return None
    if isinstance(code, int):
        return code
    return int(code) if isinstance(code, str) and code.isdigit() and len(code) < 5 else None
