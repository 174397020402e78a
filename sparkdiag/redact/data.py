"""Redaction of what is no plain text: JSON-like data, headers, URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .names import API_KEY, HF_TOKEN, TOKEN, secret_kind, stand_in
from .text import redact
from .values import mask

__all__ = ["redact_data", "redact_headers", "redact_url"]

_SECRET_HEADERS = {"x-api-key": API_KEY, "api-key": API_KEY, "x-auth-token": TOKEN, "x-hf-token": HF_TOKEN}
_DEPTH = 200


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers, names in small letters, with the values of those that carry secrets masked."""
    out = {}
    for name, value in headers.items():
        low = name.lower()
        kind = _SECRET_HEADERS.get(low) or secret_kind(low)
        out[low] = stand_in(kind) if kind and value and not value.startswith("[secret: ") else redact(value)
    return out


def redact_url(url: str) -> str:
    """A URL without user name and password, and with secrets in its query masked; still a valid URL."""
    scheme, sep, rest = url.partition("://")
    if sep:
        authority = re.match(r"[^/?#]*", rest)
        host = authority[0] if authority else ""
        url = scheme + sep + host.rpartition("@")[2] + rest[len(host) :]
    return redact(url)


def redact_data(data: Any, _depth: int = 0) -> Any:
    """JSON-like data with all strings redacted, and the values of secret names masked."""
    if _depth > _DEPTH:
        return None
    if isinstance(data, str):
        return _redact_entry(data)
    if isinstance(data, Mapping):
        return {redact(str(key)): _redact_value(str(key), value, _depth) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        out: list[Any] = []
        for before, item in zip([None, *data], data, strict=False):
            option = before if isinstance(before, str) and before.startswith("-") and "=" not in before else None
            out.append(_redact_value(option, item, _depth) if option else redact_data(item, _depth + 1))
        return out
    return data


def _redact_entry(text: str) -> str:
    """One string: `NAME=value` of an environment is masked without the quotes that a shell's text needs."""
    name, sep, value = text.partition("=")
    masked = mask(value, name, secret_kind(name), quoted=True) if sep and _NAME.fullmatch(name) else None
    return redact(text) if masked is None else f"{name}={masked}"


_NAME = re.compile(r"[\w.-]{1,64}")


def _redact_value(name: str, value: Any, depth: int) -> Any:
    kind = secret_kind(name)
    if isinstance(value, str):
        return mask(value, name, kind, quoted=True) or _redact_entry(value)
    if kind and isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return [mask(item, name, kind, quoted=True) or redact(item) for item in value]
    return redact_data(value, depth + 1)
