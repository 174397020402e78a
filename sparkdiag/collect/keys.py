"""The API key: from the caller, or from a netrc entry for exactly this host."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..redact import redact
from .address import Address
from .settings import Settings

__all__ = ["api_key", "without_key"]


def api_key(settings: Settings, address: Address) -> str | None:
    """UsageError for a key that no header can carry; its words never hold the key."""
    key = settings.api_key
    if key is None and settings.netrc is not None:
        key = _from_netrc(os.path.expanduser(settings.netrc), address.host)
    if not key:
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("the API key holds blanks or characters that no HTTP header can carry")
    return key


def _from_netrc(path: str, host: str) -> str | None:
    """The password of the host's entry. A `default` entry is for anybody, so it is for nobody here."""
    import netrc

    try:
        entries = netrc.netrc(path).hosts
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
        return None
    entry = entries.get(host) if host != "default" else None
    return entry[2] if entry else None


def without_key(text: str, key: str | None) -> str:
    """The text without secrets, and without this key, whatever its shape. Very short keys are words like any other."""
    if key is not None and len(key) >= 6 and key != "EMPTY":
        text = text.replace(key, "[secret: API key]")
    return redact(text)
