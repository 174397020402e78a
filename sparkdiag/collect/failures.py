"""What went wrong below HTTP, told apart: refused, timeout, reset, dns, tls, unreachable."""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from collections.abc import Iterator

from ..capture import Status

__all__ = ["classify"]

_UNREACHABLE = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL)
_NO_TLS = ("wrong version number", "record layer failure", "http request", "unknown protocol")
_RESET = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED)


_RANK = ("tls", "dns", "refused", "denied", "reset", "timeout")
"""Of several addresses of one host the most telling failure counts: one that refuses, not one that is not routed."""


def classify(error: BaseException) -> tuple[Status, str]:
    """Status and words of a connection that could not be made, or broke. `unreachable: ...` has the status timeout."""
    causes = list(_causes(error))
    found = [told for cause in causes if (told := _one(cause)) is not None]
    if found:
        return min(found, key=lambda told: (_RANK.index(told[0]), told[1].startswith("unreachable")))
    words = next((str(cause) for cause in causes if str(cause)), type(error).__name__)
    return "reset", words[:200]


def _one(error: BaseException) -> tuple[Status, str] | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        return "tls", f"the certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or str(error)).replace("_", " ").lower()
        if any(words in reason for words in _NO_TLS):
            return "tls", f"the port does not speak TLS ({reason}); is it http:// there?"
        return "tls", reason[:200]
    if isinstance(error, socket.gaierror):
        if error.errno == socket.EAI_AGAIN:
            return "dns", "the name could not be looked up: the name server gave no answer"
        return "dns", "the name does not resolve"
    if isinstance(error, UnicodeError):
        return "dns", "the name is none that can be looked up"
    if isinstance(error, OSError) and error.errno is None and "Errno" in str(error):  # asyncio joins several into words
        numbers = [int(number) for number in re.findall(r"\[Errno (\d{1,4})\]", str(error))]
        told = [one for number in numbers if (one := _one(OSError(number, os.strerror(number)))) is not None]
        return min(told, key=lambda one: _RANK.index(one[0]), default=None)
    if isinstance(error, ConnectionRefusedError):
        return "refused", "nothing listens on this port"
    if isinstance(error, TimeoutError) or (isinstance(error, OSError) and error.errno == errno.ETIMEDOUT):
        return "timeout", "no answer to the connection request"
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return "timeout", f"unreachable: {(error.strerror or 'no route to the host').lower()}"
    if isinstance(error, ConnectionError) or (isinstance(error, OSError) and error.errno in _RESET):
        return "reset", "the connection was reset"
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
        return "denied", "this machine does not allow the connection"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, its parts and what caused it, the deepest first: libraries wrap what the system said."""
    seen: set[int] = set()
    stack = [error]
    found: list[BaseException] = []
    while stack and len(found) < 50:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        found.append(current)
        if isinstance(current, BaseExceptionGroup):
            stack.extend(current.exceptions)
        stack.extend(cause for cause in (current.__cause__, current.__context__) if cause is not None)
    return reversed(found)
