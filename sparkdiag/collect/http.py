"""One bounded HTTP request and its item: limited in time and size, never retried, its failures told apart."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import socket
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import httpx

from ..capture import Item, Status
from ..redact import redact_data, redact_headers
from .address import Address, parse_address
from .failures import classify
from .keys import api_key, without_key
from .settings import Settings

__all__ = ["Ask", "Session"]

CUT = "cut by the probe's own deadline"
_DEMO = "x-demo-recording"
"""Header of sparkdiag's own demo server: what it did not record says nothing of the server that was recorded."""
_MAX_CHUNKS = 4096
_MAX_HEADERS = 64
_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 2


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: which probe sends what, and how long its whole answer may take."""

    probe: str
    route: str
    """The path without the address's prefix."""
    body: Mapping[str, Any] | None = None
    seconds: float | None = None
    """None: what Settings gives for an answer that generates nothing."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of `asked`: turn, rendered ..."""


@dataclass(slots=True)
class _Reply:
    """What has come back so far; still there when a deadline cuts the rest."""

    status: int | None = None
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    body: bytearray = field(default_factory=bytearray)
    chunks: list[tuple[int, float]] = field(default_factory=list)
    truncated: bool = False
    why: str | None = None
    redirects: list[str] = field(default_factory=list)


class Session:
    """An endpoint's connections, as an async context manager. `send` never raises for what the endpoint does."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.address: Address = parse_address(settings.address)
        self.without_v1 = False
        """The routes stand under the prefix without `/v1`."""
        self._key = api_key(settings, self.address)
        self._began = time.monotonic()
        self._client = httpx.AsyncClient(
            verify=_tls(),
            trust_env=False,  # no proxies of the environment
            follow_redirects=False,
            timeout=None,  # one deadline over all, below
            limits=httpx.Limits(max_connections=8, max_keepalive_connections=0),
            headers={"user-agent": "sparkdiag", "accept-encoding": "identity"},
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    def now(self) -> float:
        """Seconds since the run began."""
        clock: Callable[[], float] | None = self.settings.clock
        return time.monotonic() - self._began if clock is None else clock()

    def left(self) -> float:
        """Seconds until the run ends."""
        return self.settings.seconds - self.now()

    def item(self, probe: str, status: Status, **more: Any) -> Item:
        """An item of this endpoint's, its words without secrets."""
        why = more.pop("why", None)
        why = None if why is None else without_key(str(why), self._key)
        return Item(target=self.settings.target, probe=probe, status=status, why=why, **more)

    def skipped(self, probe: str, why: str) -> Item:
        return self.item(probe, "skipped", why=why, at=round(self.now(), 4))

    async def connect(self) -> Item:
        """The TCP connection alone, so that what fails below HTTP is known once and for all."""
        asked = {"host": self.address.host, "port": self.address.port}
        at = self.now()
        allowed = min(self.settings.connect_seconds, self.left())
        looked_up = False
        status: Status = "ok"
        why = None
        try:
            async with asyncio.timeout(allowed):
                await _look_up(self.address)
                looked_up = True
                _, writer = await asyncio.open_connection(
                    self.address.host, self.address.port, happy_eyeballs_delay=0.25
                )
                took = self.now() - at
                writer.transport.abort()
        except (OSError, UnicodeError) as error:
            took = self.now() - at
            status, why = classify(error)
            if status == "timeout" and not why.startswith("unreachable"):
                if looked_up:
                    why = f"no connection within {allowed:.3g} s"
                else:
                    status, why = "dns", f"the name server gave no answer within {allowed:.3g} s"
        return self.item("tcp-api", status, asked=asked, why=why, at=round(at, 4), took=round(took, 4))

    async def send(self, ask: Ask) -> Item:
        """Send once; the item of whatever came of it."""
        at = self.now()
        allowed = min(self.settings.answer_seconds if ask.seconds is None else ask.seconds, self.left())
        if allowed <= 0:
            return self.skipped(ask.probe, "the time for this run was used up")
        reply = _Reply()
        error: BaseException | None = None
        try:
            async with asyncio.timeout(allowed):
                await self._exchange(ask, reply, at)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError) as caught:
            error = caught
        return self._finished(ask, reply, error, at, allowed)

    async def _exchange(self, ask: Ask, reply: _Reply, at: float) -> None:
        route = ask.route.removeprefix("/v1") if self.without_v1 else ask.route
        url, with_key = self.address.url(route), True
        while True:
            headers = {"authorization": f"Bearer {self._key}"} if self._key and with_key else {}
            request = self._client.build_request(
                "GET" if ask.body is None else "POST", url, json=ask.body, headers=headers
            )
            response = await self._client.send(request, stream=True)
            try:
                reply.status, reply.headers = response.status_code, response.headers
                target = self._next(url, response, ask, reply)
                if target is None:
                    await self._read(response, reply, at)
                    return
            finally:
                await response.aclose()
            with_key = with_key and _same_service(url, target)
            url = target

    def _next(self, url: str, response: httpx.Response, ask: Ask, reply: _Reply) -> str | None:
        """Where a redirect leads, if it may be followed: the same host, twice at most, and a POST stays one."""
        location = response.headers.get("location")
        if response.status_code not in _REDIRECTS or location is None:
            return None
        try:
            target: str = urljoin(url, location)
            there, here = urlsplit(target), urlsplit(url)
            same = there.hostname == here.hostname and there.scheme in ("http", "https") and there.port != 0
        except ValueError:
            reply.why = "redirects to what is no URL"
            return None
        if not same:
            reply.why = f"redirects to another host, {there.hostname or location[:80]}; not followed"
        elif here.scheme == "https" and there.scheme == "http":
            reply.why = "redirects from https to http; not followed"
        elif ask.body is not None and response.status_code not in (307, 308):
            reply.why = "redirects a POST so that it would become a GET; not followed"
        elif len(reply.redirects) >= _MAX_REDIRECTS:
            reply.why = "redirects in a circle or too often"
        else:
            reply.redirects.append(there.path or "/")
            return target
        return None

    async def _read(self, response: httpx.Response, reply: _Reply, at: float) -> None:
        limit = self.settings.body_limit
        async for piece in response.aiter_raw():
            if len(reply.chunks) < _MAX_CHUNKS:
                reply.chunks.append((len(reply.body), round(self.now() - at, 4)))
            reply.body += piece[: limit - len(reply.body)]
            if len(reply.body) >= limit:
                reply.truncated = True
                reply.why = f"the answer is longer than {limit / 2**20:.3g} MiB; the rest was not read"
                return

    def _finished(self, ask: Ask, reply: _Reply, error: BaseException | None, at: float, allowed: float) -> Item:
        asked: dict[str, Any] = {
            "method": "GET" if ask.body is None else "POST",
            "path": ask.route,
            "key_sent": self._key is not None,
            **ask.notes,
        }
        if self.address.prefix:
            asked["prefix"] = self.address.prefix
        if ask.body is not None:
            asked["body"] = redact_data(dict(ask.body))
            if ask.body.get("stream") is True:
                asked["stream"] = True
        if reply.redirects:
            asked["redirected"] = reply.redirects
        status, why, truncated = self._judged(reply, error, allowed, asked)
        text = _text(bytes(reply.body), reply.headers.get("content-encoding", ""), truncated, self.settings.body_limit)
        headers = {k: v[:1000] for k, v in list(reply.headers.items())[:_MAX_HEADERS]}
        streamed = "event-stream" in headers.get("content-type", "")
        return self.item(
            ask.probe,
            status,
            asked=asked,
            why=why,
            code=reply.status,
            headers={k: without_key(v, self._key) for k, v in redact_headers(headers).items()},
            chunks=tuple(reply.chunks) if streamed else (),
            at=round(at, 4),
            took=round(self.now() - at, 4),
            media=headers.get("content-type"),
            truncated=truncated,
            text=without_key(text, self._key),
        )

    def _judged(
        self, reply: _Reply, error: BaseException | None, allowed: float, asked: dict[str, Any]
    ) -> tuple[Status, str | None, bool]:
        """Status, words, and whether the body lacks its end."""
        if reply.status == 404 and reply.headers.get(_DEMO) == "none":
            return "skipped", "the demo server has no recording of this", False
        if reply.status is not None and (error is None or reply.body):
            answered: Status = "ok" if 200 <= reply.status < 300 else "http-error"
            if error is None:
                return answered, reply.why, reply.truncated
            if isinstance(error, TimeoutError):
                asked["cut_by"] = "probe"
                return answered, f"{CUT} after {allowed:.3g} s", True
            return answered, f"the connection broke off in the middle of the answer ({_words(error)})", True
        if isinstance(error, TimeoutError):
            if reply.status is not None:
                asked["cut_by"] = "probe"
            what = "headers, but no body" if reply.status is not None else "no answer"
            return "timeout", f"{what} within {allowed:.3g} s", False
        if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
            return "reset", f"what came back is no HTTP: {_words(error)}", False
        if isinstance(error, httpx.RemoteProtocolError):
            return "reset", "the server closed the connection without an answer", False
        if error is not None:
            status, why = classify(error)
            return status, why, False
        return "reset", "no answer", False


async def _look_up(address: Address) -> None:
    """Resolve the name in a thread that nothing waits for: a name server that is silent must not hold up the exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell(error: Exception | None) -> None:
        if not done.done():
            done.set_result(None) if error is None else done.set_exception(error)

    def resolve() -> None:
        error: Exception | None = None
        try:
            socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as caught:
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, error)

    threading.Thread(target=resolve, name="sparkdiag-dns", daemon=True).start()
    await done


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return "no complete message" if "peer closed" in text else text[:120] or type(error).__name__


def _same_service(url: str, target: str) -> bool:
    """The key goes to the same scheme, host and port only."""
    here, there = httpx.URL(url), httpx.URL(target)
    return (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)


def _text(body: bytes, encoding: str, truncated: bool, limit: int) -> str:
    """UTF-8, with stand-ins for what is none; what a server compressed unasked is unpacked within the same limit."""
    if encoding.lower() in ("gzip", "deflate", "x-gzip"):
        with contextlib.suppress(zlib.error):  # then it is shown as what came
            body = zlib.decompressobj(47).decompress(body, limit)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(body, final=not truncated)


def _tls() -> Any:
    """The system's own certificates, which may know a company's."""
    import ssl

    return ssl.create_default_context()
