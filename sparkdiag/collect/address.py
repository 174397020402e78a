"""An endpoint's address as people write it: host, HOST:PORT, or a URL, with or without a path prefix and `/v1`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import UsageError

__all__ = ["DEFAULT_PORT", "Address", "parse_address"]

DEFAULT_PORT = 8000
"""vLLM's, for an address without a scheme; a URL's own default port counts otherwise."""

_ROUTES = re.compile(
    r"/(?:chat/completions|completions|models|responses|messages|embeddings|health|metrics|version|tokenize)/?\Z"
)
_HOST = re.compile(r"(?=.{1,253}\Z)[\w](?:[\w.-]*[\w])?\.?\Z")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint is. `prefix` begins with a slash or is empty, and holds no `/v1`."""

    scheme: str
    host: str
    """Name or IP address, without brackets."""
    port: int
    prefix: str = ""

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme] == self.port
        return host if usual else f"{host}:{self.port}"

    def url(self, route: str) -> str:
        """The URL of a route, which begins with a slash."""
        return f"{self.scheme}://{self.netloc}{self.prefix}{route}"


def parse_address(text: str) -> Address:
    """UsageError, which never repeats a secret, for what cannot be an endpoint's address."""
    text = text.strip()
    scheme, sep, rest = text.partition("://")
    if not sep:
        scheme, rest = "http", text
    scheme = scheme.lower()
    if scheme not in ("http", "https"):
        raise UsageError(f"'{scheme[:20]}' is no scheme of an LLM server; http and https are")
    if re.search(r"[\s\x00-\x1f\x7f\\]", rest):
        raise UsageError("an endpoint's address holds no blanks, control characters or backslashes")
    authority, slash, path = rest.partition("/")
    authority = re.split(r"[?#]", authority, maxsplit=1)[0]
    if "@" in re.split(r"[?#]", rest, maxsplit=1)[0]:
        raise UsageError(
            "an endpoint's address takes no user name or password; put the API key into an environment variable and "
            "name it with --api-key-env, or into ~/.netrc"
        )
    host, port = _host_and_port(authority)
    default = {"http": 80, "https": 443}[scheme] if sep else DEFAULT_PORT
    return Address(scheme, host, default if port is None else port, _prefix(slash + path))


def _host_and_port(authority: str) -> tuple[str, int | None]:
    bracketed = re.fullmatch(r"\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\](?::(.*))?", authority)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
    elif authority.count(":") > 1:  # an IPv6 address without brackets has no room for a port
        host, port = authority, None
    else:
        host, _, port = authority.partition(":")
        port = port if ":" in authority else None
    if ":" in host:
        _check_ipv6(host)
    elif not _HOST.match(host):
        raise UsageError(f"'{host[:80]}' is no host name" if host else "an endpoint's address needs a host name")
    if port is None or port == "":
        return host, None
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        raise UsageError(f"'{port[:20]}' is no port; a port is a number from 1 to 65535")
    return host, int(port)


def _check_ipv6(host: str) -> None:
    from ipaddress import IPv6Address

    try:
        IPv6Address(host)
    except ValueError:
        raise UsageError(f"'{host[:80]}' is no IPv6 address") from None


def _prefix(path: str) -> str:
    """What stands before `/v1` or before a known route, where one was pasted whole."""
    path = re.split(r"[?#]", path, maxsplit=1)[0].rstrip("/")
    path = _ROUTES.sub("", path)
    path = re.sub(r"/v1\Z", "", path).rstrip("/")
    return re.sub(r"/{2,}", "/", path)
