"""The rounds: collect, observe, infer, and again with the probes that the rules ask for, within what is allowed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from .capture import Capture, Item, Target
from .case import Case
from .diagnosis import Problem
from .errors import Interrupted, UsageError
from .evidence import AS_ASKED, Evidence
from .records import dataclass
from .targets import Recognised, recognise

if TYPE_CHECKING:
    from .collect import Node, Settings
    from .files import Progress

__all__ = ["Options", "case_from_targets", "replay", "run"]

MAX_ROUNDS = 3
"""The passive tier is the first."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that may be asked of a run; see `sparkdiag.diagnose`."""

    model: str | None = None
    api_key: str | None = None
    ssh: tuple[str, ...] = ()
    local: bool = False
    container: str | None = None
    logs: tuple[str, ...] = ()
    client_reads: str | None = None
    tools: bool = False
    passive: bool = False
    max_generated: int = 1500
    timeout: float = 60.0
    save: str | None = None
    rule_engine: str = "auto"
    anonymize: bool = False
    """Number hosts and addresses, in the report and in the saved capture."""
    metrics_gap: float = 1.0
    """Seconds between the two samples of the passive tier."""
    later_gap: float = 12.0
    """Seconds before the later sample that tells a frozen engine from a long prefill."""
    progress: Progress | None = None
    """Called while files are read."""


async def run(targets: Sequence[str], options: Options, evidence: Evidence | None = None) -> Case:
    """One case out of all targets: files are read, endpoints looked at in rounds."""
    known = [recognise(target) for target in targets]
    nodes = _nodes(options)
    if not known and not options.logs and not nodes:
        raise UsageError("nothing to look at: name an endpoint, a file, a capture, or a node")
    evidence = evidence or Evidence()
    evidence.engine = options.rule_engine
    _begin(evidence, known, [node.address for node in nodes], options)
    evidence.read(known, options.logs, options.progress)
    endpoints = [item for item in known if item.kind == "endpoint"]
    case = await _rounds(endpoints, nodes, options, evidence) if endpoints or nodes else evidence.judged()
    if options.anonymize:
        evidence.anonymize()
        case = evidence.judged()
    if options.save is not None:
        from .capture_io import save

        save(evidence.capture, options.save)
    return case


def _nodes(options: Options) -> list[Node]:
    """The nodes to look at. UsageError for a name that cannot be one, or that is given twice."""
    if not options.ssh and not options.local:
        if options.container is not None:
            raise UsageError("--container names a container on a node: --ssh [USER@]HOST or --local says on which")
        return []
    from .collect import nodes_of

    return nodes_of(options.ssh, options.local, options.container)


def _begin(evidence: Evidence, known: Sequence[Recognised], nodes: Sequence[str], options: Options) -> None:
    endpoints = [item.name for item in known if item.kind == "endpoint"]
    targets = (
        *(Target(f"t{n}", "endpoint", _without_secrets(name)) for n, name in enumerate(endpoints, 1)),
        *(Target(f"n{n}", "node", address) for n, address in enumerate(nodes, 1)),
    )
    answers: dict[str, Any] = {}
    if options.client_reads is not None:
        answers["client_reads"] = options.client_reads
    if options.tools:
        answers["tools"] = True
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) if targets else ""
    evidence.capture = Capture(started=started, targets=targets, answers=answers)


def _without_secrets(address: str) -> str:
    from .redact import redact_url

    return redact_url(address)


async def _rounds(endpoints: Sequence[Recognised], nodes: Sequence[Node], options: Options, evidence: Evidence) -> Case:
    import asyncio

    from .collect import Settings, collect_active, collect_endpoint, collect_node, collect_passive, collect_probe
    from .collect.node import NodeSettings, starved

    begin = time.monotonic()
    deadline = begin + options.timeout

    def clock() -> float:
        return time.monotonic() - begin

    settings = [
        Settings(
            target=target.id,
            address=endpoint.name,
            api_key=options.api_key,
            model=options.model,
            tools=options.tools,
            max_generated=options.max_generated,
            seconds=options.timeout,
            metrics_gap=options.metrics_gap,
            later_gap=options.later_gap,
            clock=clock,
        )
        for target, endpoint in zip(evidence.capture.targets[: len(endpoints)], endpoints, strict=True)
    ]
    node_settings = [
        NodeSettings(target.id, node, clock, options.timeout)
        for target, node in zip(evidence.capture.targets[len(endpoints) :], nodes, strict=True)
    ]
    # not a TaskGroup: a UsageError for an address or a key has to come out as itself
    on_nodes, per_target = await asyncio.gather(
        asyncio.gather(*(collect_node(one) for one in node_settings)),
        asyncio.gather(*((collect_passive if _looked_at(one, nodes) else collect_endpoint)(one) for one in settings)),
    )
    # a node's logs tell what was, an endpoint's answers what is
    evidence.add([item for items in (*on_nodes, *per_target) for item in items])
    hold = next((why for items in on_nodes if (why := starved(items)) is not None), None)
    settings = [replace(one, hold=hold) for one in settings]
    case = evidence.judged()
    for number in range(2, MAX_ROUNDS + 1 if endpoints else 0):
        if time.monotonic() >= deadline:
            evidence.problems.append(Problem("time", f"the deadline of {options.timeout:g} s was reached"))
            break
        fresh: list[Item] = []
        for one, items in zip(settings, per_target, strict=True):
            new: list[Item] = []
            if number == 2 and not options.passive:
                new += await collect_active(one, items)
            for probe in _wanted(case, options, {item.probe for item in (*items, *new)}):
                new += await collect_probe(probe, one, [*items, *new])
            items += new
            fresh += new
        if options.passive and number == 2:
            fresh.append(Item("", "generation", "skipped", asked={"probes": list(_ACTIVE)}, why=AS_ASKED))
        if not fresh and number > 2:
            break
        evidence.add(fresh)
        case = evidence.judged()
    return case


def _looked_at(settings: Settings, nodes: Sequence[Node]) -> bool:
    """The endpoint's host is one of the nodes: how far one gets with it is seen there."""
    from .collect import parse_address

    host = parse_address(settings.address).host
    return any(node.destination is not None and node.destination.host == host for node in nodes)


_PASSIVE_LATER = ("metrics-later",)
_ACTIVE = ("chat", "completion", "chat-larger-budget", "chat-again", "chat-thinking-off", "tools", "logit")
_ON_DEMAND = (*_PASSIVE_LATER, "chat-larger-budget", "chat-again", "chat-thinking-off", "tools")


def _wanted(case: Case, options: Options, done: set[str]) -> list[str]:
    """The probes that the rules ask for, that can be run here, are allowed, and have not been run.

    Clients that call tools often switch thinking off: where tools are meant, and all is well with thinking on, that is
    tried as well.
    """
    allowed = _PASSIVE_LATER if options.passive else _ON_DEMAND
    wanted = [p.probe for p in case.inference.next_probes if p.probe in allowed]
    if options.tools and not options.passive and case.report.verdict == "healthy" and "chat" in done:
        wanted.append("chat-thinking-off")
    return [probe for probe in dict.fromkeys(wanted) if probe not in done]


def replay(path: str, *, rule_engine: str = "auto") -> Case:
    """The pure path over a saved capture: the same report as the live run that saved it."""
    evidence = Evidence(engine=rule_engine)
    evidence.add_capture(path)
    return evidence.judged()


def case_from_targets(targets: Sequence[str], arguments: Mapping[str, Any]) -> Case:
    """A whole case, for `why` and `explain`: the targets and keyword arguments of `sparkdiag.diagnose`."""
    return run_sync(targets, options_from(arguments))


def options_from(arguments: Mapping[str, Any]) -> Options:
    """Options from the keyword arguments of `sparkdiag.diagnose`. UsageError for one that does not exist."""
    given = dict(arguments)
    for name, words in (("log", "logs"), ("ssh", "ssh")):
        if name in given:
            value = given.pop(name)
            given[words] = (value,) if isinstance(value, str) else tuple(value)
    known = {f.name for f in fields(Options)}
    for name in given:
        if name not in known:
            raise UsageError(f"diagnose takes no argument '{name}'")
    return Options(**given)


def run_sync(targets: Sequence[str], options: Options) -> Case:
    """`run` without a loop of the caller's. Interrupted, with the report on what was collected, after Control-C."""
    evidence = Evidence()
    try:
        live = options.ssh or options.local or any(recognise(target).kind == "endpoint" for target in targets)
        if not live:
            return _without_loop(targets, options, evidence)
        import asyncio

        return asyncio.run(run(targets, options, evidence))
    except KeyboardInterrupt:
        if options.anonymize:
            evidence.anonymize()
        evidence.problems.append(Problem("interrupt", "stopped by the user; judged by what was collected so far"))
        raise Interrupted(evidence.judged().report) from None


def _without_loop(targets: Sequence[str], options: Options, evidence: Evidence) -> Case:
    """Files alone need no event loop: importing asyncio costs as much as judging a small log."""
    steps = run(targets, options, evidence)
    try:
        steps.send(None)
    except StopIteration as done:
        case: Case = done.value
        return case
    raise AssertionError("a run over files waited for something")
