"""One HTTP exchange into facts: what HTTP says, which engine answered, and the reply itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..facts import NOWHERE, Fact, Looked, Source, Where
from ..facts.http import HttpAnswer
from ..records import dataclass
from .bodies import Body, mapping, read_body
from .engine_signs import engine_facts
from .error_bodies import ErrorBody, read_error
from .metrics import observe_metrics
from .replies import chat_fact, completion_fact
from .reply_shapes import as_openai
from .requests import Asked, read_request


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer, as far as they are known."""

    request: Any = None
    """Body of the request: an object, text, or None."""
    response: Any = None
    status: int | None = None
    path: str | None = None
    method: str | None = None
    headers: Mapping[str, str] | None = None
    probe: str | None = None
    source: str = "reply"
    where: Where = NOWHERE
    order: int = 0
    time: float | None = None
    clock: str | None = "capture"
    seconds: float | None = None
    truncated: bool = False
    cut_by: str | None = None
    key_sent: bool | None = None


def observe_exchange(exchange: Exchange) -> list[Fact]:
    """All facts of one exchange, with what was looked at."""
    headers = {k.lower(): v for k, v in (exchange.headers or {}).items()}
    body = read_body(exchange.response, headers.get("content-type", ""))
    request = _request_object(exchange.request)
    asked = read_request(request, exchange.path)
    error = read_error(body, exchange.status)
    if exchange.status is None and error is not None and error.code is not None:
        exchange = replace(exchange, status=error.code)
    common = {"source": exchange.source, "where": exchange.where, "order": exchange.order}
    facts: list[Fact] = [_http_fact(exchange, body, asked, error, headers)]
    looked = ["http"]
    facts += engine_facts(exchange.path, body, **common)  # type: ignore[arg-type]
    looked += ["engine"] if len(facts) > 1 else []
    looked += ["served"] if any(f.kind == "served" for f in facts) else []
    looked += ["launch"] if any(f.kind == "launch" for f in facts) else []
    if body.media == "metrics":
        found = observe_metrics(body.text, time=exchange.time, clock=exchange.clock, **common)  # type: ignore[arg-type]
        facts += found
        looked += ["metrics"] if found else []
    reply = as_openai(mapping(body.data))
    if (reply and error is None) or "choices" in reply:
        shared: dict[str, Any] = {
            "request_known": request is not None and any(key in request for key in _ASKS),
            "status": exchange.status,
            "probe": exchange.probe,
            "cut_by": exchange.cut_by or ("connection" if reply.get("streamed") and not _ended(reply) else None),
            **common,
        }
        for one in _single(reply):
            fact = chat_fact(one, asked, **shared) or completion_fact(one, asked, **shared)
            if fact is not None:
                facts.append(fact)
                looked.append(fact.kind)
    if exchange.probe:
        looked.append(exchange.probe)
    place = Source(exchange.source)
    facts += [
        Looked(probe=name, where=exchange.where, order=exchange.order, source=place) for name in dict.fromkeys(looked)
    ]
    return facts


def _single(reply: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The reply, or one for each choice where there are several; their token counts are told in one sum only."""
    choices = reply.get("choices")
    if not isinstance(choices, list) or len(choices) < 2:
        return [reply]
    rest = {key: value for key, value in reply.items() if key != "usage"}
    return [{**rest, "choices": [choice]} for choice in choices[:MAX_CHOICES]]


MAX_CHOICES = 8

_ASKS = ("messages", "prompt", "input", "tools", "text", "inputs")
"""Keys of which a request has one. A few settings that a text tells are not the whole of it."""


def _ended(reply: Mapping[str, Any]) -> bool:
    choices = reply.get("choices")
    first = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    return bool(reply.get("done")) or first.get("finish_reason") is not None


def _request_object(request: Any) -> Mapping[str, Any] | None:
    if isinstance(request, dict):
        return request
    if isinstance(request, (str, bytes)):
        found = read_body(request).data
        return found if isinstance(found, dict) else None
    return None


def _http_fact(
    exchange: Exchange, body: Body, asked: Asked, error: ErrorBody | None, headers: Mapping[str, str]
) -> HttpAnswer:
    status = f"status {exchange.status}" if exchange.status is not None else "answer"
    if error is not None:
        text = f"{status}: {error.message}"
    elif body.malformed:
        text = f"{status}: {body.malformed}"
    else:
        text = f"{status}, {body.media}"
    location = headers.get("location")
    return HttpAnswer(
        probe=exchange.probe,
        route=_route(exchange.path, asked),
        method=exchange.method,
        status=exchange.status,
        media=body.media,
        server=headers.get("server"),
        error_message=None if error is None else error.message,
        error_type=None if error is None else error.type,
        error_param=None if error is None else error.param,
        openai_shape=_openai_shape(body, error, exchange.status),
        model_asked=asked.model,
        max_tokens=asked.max_tokens,
        tool_choice=asked.tool_choice or ("auto" if asked.tools else None),
        response_format=asked.response_format,
        key_sent=exchange.key_sent,
        seconds=exchange.seconds,
        truncated=exchange.truncated,
        malformed=body.malformed,
        redirect_to=location,
        where=exchange.where,
        order=exchange.order,
        time=exchange.time,
        clock=exchange.clock if exchange.time is not None else None,
        source=Source(exchange.source, path=error.path if error else "$", text=text[:400]),
    )


_ROUTES = {"chat": "/v1/chat/completions", "completion": "/v1/completions", "responses": "/v1/responses"}


def _route(path: str | None, asked: Asked) -> str | None:
    if path is None:
        return _ROUTES.get(asked.route or "")
    plain = "/" + path.split("?", 1)[0].strip("/")
    start = plain.find("/v1/")
    return plain[start:] if start > 0 else plain


def _openai_shape(body: Body, error: ErrorBody | None, status: int | None) -> bool | None:
    """True for what OpenAI-compatible servers send; False for a page or another kind of document; None: no telling."""
    data = body.data
    if error is not None and error.shape != "text":
        return True
    if isinstance(data, dict) and ("choices" in data or data.get("object") == "list" or "usage" in data):
        return True
    if body.media == "html":
        return False
    return None
