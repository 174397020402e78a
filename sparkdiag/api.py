"""The library's functions. Each is a thin door to the pure path (case.py) or to the live rounds (run.py)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .case import judge
from .diagnosis import Report
from .errors import UsageError

__all__ = ["diagnose", "diagnose_capture", "diagnose_exchange", "diagnose_sync", "diagnose_text", "suspicious"]


async def diagnose(
    *targets: str,
    model: str | None = None,
    api_key: str | None = None,
    ssh: str | Sequence[str] = (),
    local: bool = False,
    container: str | None = None,
    log: str | Sequence[str] = (),
    client_reads: str | None = None,
    tools: bool = False,
    passive: bool = False,
    max_generated: int = 1500,
    timeout: float = 60.0,
    save: str | os.PathLike[str] | None = None,
    rule_engine: str = "auto",
) -> Report:
    """Collect evidence on targets (endpoint URLs, files, captures), and name the cause.

    `ssh` (one or several [USER@]HOST[:PORT]) and `local` have the nodes themselves looked at, read-only, over the
    OpenSSH client and here; `container` names the one to look into. `max_generated` is in tokens, `timeout` in seconds,
    both for the whole run. `tools` says that tool calls are meant to work; `passive` generates nothing. `client_reads`
    is the reasoning key that the client reads. `save` names a folder for the capture. Raises UsageError for what cannot
    be asked, InputError for files that cannot be read; whatever an endpoint or a node does is a report, never an
    exception.
    """
    from .run import Options, run

    options = Options(
        model=model,
        api_key=api_key,
        ssh=(ssh,) if isinstance(ssh, str) else tuple(ssh),
        local=local,
        container=container,
        logs=(log,) if isinstance(log, str) else tuple(log),
        client_reads=client_reads,
        tools=tools,
        passive=passive,
        max_generated=max_generated,
        timeout=timeout,
        save=None if save is None else os.fspath(save),
        rule_engine=rule_engine,
    )
    return (await run(targets, options)).report


def diagnose_sync(*targets: str, **options: Any) -> Report:
    """`diagnose` for programs without an event loop; the same arguments. UsageError inside a running loop."""
    from .run import options_from, run_sync

    if _loop_is_running():
        raise UsageError("diagnose_sync was called inside a running event loop; await sparkdiag.diagnose(...) there")
    return run_sync(targets, options_from(options)).report


def _loop_is_running() -> bool:
    """Asked without importing asyncio: where nobody has imported it, no loop runs."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def diagnose_text(text: str, *more: str) -> Report:
    """Judge what one would paste into a bug report: logs, transcripts, JSON replies; several texts are one case."""
    return judge(lambda book: _observe_texts((text, *more), tuple(book.signatures.values()))).report


def _observe_texts(texts: Sequence[str], signatures: Sequence[Any]) -> list[Any]:
    from .observe.pieces import observe_pieces
    from .observe.transcript import read_texts
    from .redact import redact

    named = []
    for index, one in enumerate(texts):
        if not isinstance(one, str):
            raise UsageError(f"text {index + 1} is {type(one).__name__}, not str")
        named.append(("input" if len(texts) == 1 else f"input {index + 1}", redact(one)))
    return observe_pieces(read_texts(named), signatures)


def diagnose_exchange(
    *,
    request: Mapping[str, Any] | str | None,
    response: Mapping[str, Any] | Sequence[Any] | str | None,
    status: int = 200,
    context: Mapping[str, Any] | None = None,
) -> Report:
    """Judge one proxied request and its answer. No I/O; safe from any thread or event loop.

    Bodies are parsed JSON, text (JSON, SSE or other) or None. `context` may tell `engine`, `version`, `launch` (the
    launch command), `client_reads` (the reasoning key that the client reads) and `node`.
    """
    from .observe.context import context_facts
    from .observe.exchanges import Exchange, observe_exchange

    exchange = Exchange(
        request=dict(request) if isinstance(request, Mapping) else request,
        response=dict(response) if isinstance(response, Mapping) else response,
        status=status,
    )
    known = context or {}
    return judge(
        lambda book: [*context_facts(known), *observe_exchange(exchange)],
        rule_engine="python",
    ).report


def diagnose_capture(path: str | os.PathLike[str], *, rule_engine: str = "auto") -> Report:
    """Replay a capture: a folder, an archive of one, or a single recorded exchange."""
    from .run import replay

    return replay(os.fspath(path), rule_engine=rule_engine).report


def suspicious(response: Any) -> bool:
    """A cheap look at a parsed reply: is it worth `diagnose_exchange`?

    True for errors, empty content, cut-off replies, think tags or tool-call markup in the content of a chat,
    byte-level letters, and text without variety. It does not know the request, so an answer that was meant to be short
    may be called suspicious. Never raises.
    """
    from .suspicion import looks_odd

    return looks_odd(response)
