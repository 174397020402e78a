"""Facts about an endpoint: which route answered how, and whether the address can be reached at all."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer(Fact):
    """One HTTP exchange as HTTP sees it."""

    kind: ClassVar[str] = "http"
    probe: str | None = None
    route: str | None = None
    """The path without a base prefix: /health, /v1/models, /v1/chat/completions ..."""
    method: str | None = None
    status: int | None = None
    """HTTP status; None if no answer came (see Reachability)."""
    media: str | None = None
    """json, sse, html, text, metrics, empty, binary."""
    server: str | None = None
    """The Server header."""
    error_message: str | None = None
    """The error's own sentence, from any engine's shape of error body."""
    error_type: str | None = None
    error_param: str | None = None
    openai_shape: bool | None = None
    """The body has the shape that this route has on an OpenAI-compatible server, or an error of a known engine."""
    model_asked: str | None = None
    max_tokens: int | None = None
    tool_choice: str | None = None
    response_format: str | None = None
    key_sent: bool | None = None
    seconds: float | None = None
    truncated: bool = False
    malformed: str | None = None
    """Why the body cannot be read as what it says it is: truncated JSON, too deep, not UTF-8 ..."""
    redirect_to: str | None = None
    """Host that a redirect points to, when it is another host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachability(Fact):
    """How a port or a host answered below HTTP."""

    kind: ClassVar[str] = "reach"
    probe: str
    """tcp-api, ping, tcp-ssh, ssh-banner, ssh-login; http for a request that got no answer, or the route's own probe
    (health, models, metrics)."""
    result: str
    """ok, refused, timeout, reset, dns, tls, unreachable, silent (accepted, no byte came), closed, denied,
    other (something answers that is not what was asked for), failed (no answer, and the evidence does not say why)."""
    address: str | None = None
    port: int | None = None
    seconds: float | None = None
    detail: str | None = None
