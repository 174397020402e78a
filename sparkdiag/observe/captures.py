"""What a signature's named group says, as a typed value."""

from __future__ import annotations

from collections.abc import Callable

from ..facts import Value
from .patterns import lazy

__all__ = ["read_bytes", "read_capture", "read_seconds"]

_UNITS = {
    "": 1, "b": 1, "byte": 1, "bytes": 1,
    "k": 1024, "kb": 1024, "kib": 1024,
    "m": 1024**2, "mib": 1024**2, "mb": 10**6,
    "g": 1024**3, "gi": 1024**3, "gib": 1024**3, "gb": 10**9,
    "mi": 1024**2, "ki": 1024,
    "t": 1024**4, "ti": 1024**4, "tib": 1024**4, "tb": 10**12,
}  # fmt: skip
"""The kernel's kB is 1,024 bytes; MB, GB and TB are powers of ten, as binary units are written MiB, GiB or M, G."""

_NUMBER = r"[-+]?(?:\d[\d,_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_QUANTITY = lazy(rf"\s*({_NUMBER})\s*([A-Za-z]*)\s*")
_CLOCK = lazy(r"\s*(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)\s*")
_SPAN = lazy(r"(\d+(?:\.\d+)?)\s*(ms|us|µs|ns|[smhd]|sec|secs|seconds?|min|mins|minutes?|hours?|days?)\b")
_SPANS = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "s": 1, "m": 60, "h": 3600, "d": 86400}
_VERSION = lazy(r"\d+(?:\.\d+)*[\w.+-]*")


def read_capture(kind: str, text: str) -> Value:
    """The value of a captured text; None where it cannot be read as what it was declared."""
    try:
        return _READERS[kind](text)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("_", ""))


def _int(text: str) -> int:
    return int(_number(text.strip()))


def _float(text: str) -> float:
    return _number(text.strip().rstrip("%"))


def _version(text: str) -> str | None:
    found = _VERSION.search(text)
    return found.group() if found else None


def read_bytes(text: str) -> int | None:
    """Bytes of `121.63 GiB`, `33,030,532`, `1.5G`, `12 kB`."""
    match = _QUANTITY.fullmatch(text)
    if not match or match[2].lower() not in _UNITS:
        return None
    return round(_number(match[1]) * _UNITS[match[2].lower()])


def read_seconds(text: str) -> float | None:
    """Seconds of `60`, `600000ms`, `1h 2m`, `01:02:44`, `1-02:03:04`."""
    stripped = text.strip()
    clock = _CLOCK.fullmatch(stripped)
    if clock:
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    spans = _SPAN.findall(stripped)
    if spans:
        return sum(float(n) * _SPANS.get(u, _SPANS[u[0]]) for n, u in spans)
    return _number(stripped)


def _tokens(text: str) -> int:
    match = _QUANTITY.fullmatch(text)
    if not match:
        raise ValueError(text)
    scale = {"k": 1000, "m": 1_000_000}.get(match[2].lower(), 1)
    return round(_number(match[1]) * scale)


_READERS: dict[str, Callable[[str], Value]] = {
    "text": lambda text: " ".join(text.split()),
    "int": _int,
    "float": _float,
    "version": _version,
    "bytes": read_bytes,
    "seconds": read_seconds,
    "tokens": _tokens,
}
