"""From a rule file's data to the rulebook's classes: shape and words are checked here, one entry at a time.

What concerns several entries together (ids, findings, circles, strata) is check.py's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..diagnosis import LEVELS
from ..facts import Signature
from ..facts.signature import CAPTURE_TYPES
from .entries import EntryError, flag, identifier, keys, nearest, text, words
from .parse_conditions import condition, conditions
from .rules import (
    AvoidTemplate,
    Condition,
    DiagnosisEntry,
    FindingEntry,
    Pattern,
    ProbeEntry,
    Rule,
    StepTemplate,
    Test,
    Variant,
)
from .versions import bounds
from .yaml_source import Located

SERVING_ENGINES = ("vllm", "sglang", "transformers", "llamacpp", "ollama", "tensorrt-llm")
LEVEL_NAMES = tuple(LEVELS)

_TAKEN = {"signature", "count", "order", "time", "clock", "where", "source", "last_order", "last_time", "captures"}
"""Fields of log facts on which order and counting rest: no capture may stand in front of them."""


def signature(data: Any, line: int) -> Signature:
    allowed = {"id", "anchor", "anchors", "regex", "captures", "in", "benign"}
    entry = keys(data, allowed, {"id", "regex"}, "a signature", line)
    name = identifier(entry, "signature")
    what = f"signature '{name}'"
    anchors = words(entry, "anchor", what) + words(entry, "anchors", what)
    if not anchors:
        raise EntryError(entry.line, f"{what} needs an anchor: a literal that every hit holds")
    for anchor in anchors:
        if len(anchor.encode()) < 4:
            raise EntryError(entry.line, f"{what}: the anchor {anchor!r} is shorter than four bytes")
    text(entry, "regex", what)
    try:
        groups = re.compile(entry["regex"]).groupindex
    except re.error as error:
        raise EntryError(entry.lines["regex"], f"{what}: the regular expression does not compile: {error}") from None
    return Signature(
        id=name,
        anchors=anchors,
        regex=entry["regex"],
        captures=_captures(entry, set(groups), what),
        pieces=words(entry, "in", what) or ("log",),
        benign=flag(entry, "benign", what),
    )


def _captures(entry: Located, groups: set[str], what: str) -> tuple[tuple[str, str], ...]:
    captures = entry.get("captures")
    if captures is None:
        captures = Located()
    if not isinstance(captures, Located):
        raise EntryError(entry.lines["captures"], f"'captures' of {what} must be a mapping of group to type")
    for group, kind in captures.items():
        line = captures.lines[group]
        if group not in groups:
            raise EntryError(line, f"{what} captures '{group}', which is no named group of its regex")
        if group in _TAKEN:
            raise EntryError(line, f"{what} captures '{group}', which every log fact has already; use another name")
        if kind not in CAPTURE_TYPES:
            raise EntryError(line, f"{what}: '{kind}' is no type of capture ({', '.join(CAPTURE_TYPES)})")
    for group in sorted(groups - set(captures)):
        raise EntryError(entry.lines["regex"], f"{what}: the named group '{group}' needs a type in 'captures'")
    return tuple(captures.items())


def _steps(data: Located, key: str, what: str) -> tuple[StepTemplate, ...]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise EntryError(data.lines[key], f"'{key}' of {what} must be a list of steps")
    steps = []
    for item in value:
        step = keys(item, {"do", "on", "risk", "command", "undo"}, {"do"}, f"a step of {what}", data.lines[key])
        on, risk = step.get("on", "node"), step.get("risk", "none")
        if on not in ("node", "control", "client"):
            raise EntryError(step.line, f"a step of {what}: 'on' is node, control or client, not {on!r}")
        if risk not in ("none", "restarts", "needs-root", "may-hang"):
            known = "none, restarts, needs-root or may-hang"
            raise EntryError(step.line, f"a step of {what}: 'risk' is {known}, not {risk!r}")
        texts = {k: text(step, k, f"a step of {what}") for k in ("do", "command", "undo") if k in step}
        steps.append(StepTemplate(on=on, risk=risk, **texts))
    return tuple(steps)


def _avoid(data: Located, what: str) -> tuple[AvoidTemplate, ...]:
    value = data.get("avoid", [])
    if not isinstance(value, list):
        raise EntryError(data.lines["avoid"], f"'avoid' of {what} must be a list")
    out = []
    for item in value:
        entry = keys(item, {"do", "because", "unless"}, {"do", "because"}, f"'avoid' of {what}", data.lines["avoid"])
        unless = entry.get("unless")
        if isinstance(unless, dict):
            unless = unless.get("finding")
        if unless is not None and not isinstance(unless, str):
            raise EntryError(entry.line, f"'unless' of {what} names a finding")
        out.append(AvoidTemplate(text(entry, "do", what), text(entry, "because", what), unless))
    return tuple(out)


def diagnosis(data: Any, line: int, at: Callable[[int], str]) -> DiagnosisEntry:
    allowed = {
        "id", "title", "kind", "cause", "fix", "avoid", "confirm", "sources", "known", "explains", "explained_by",
        "refuted_by",
    }  # fmt: skip
    entry = keys(data, allowed, {"id", "title", "kind", "cause", "fix", "sources"}, "a diagnosis", line)
    name = identifier(entry, "diagnosis")
    what = f"diagnosis '{name}'"
    if entry["kind"] not in ("fault", "limit", "advice"):
        raise EntryError(entry.lines["kind"], f"{what}: 'kind' is fault, limit or advice, not {entry['kind']!r}")
    return DiagnosisEntry(
        id=name,
        title=text(entry, "title", what),
        kind=entry["kind"],
        cause=text(entry, "cause", what),
        fix=_steps(entry, "fix", what),
        at=at(entry.line),
        avoid=_avoid(entry, what),
        confirm=text(entry, "confirm", what) if "confirm" in entry else None,
        sources=words(entry, "sources", what),
        known=text(entry, "known", what) if "known" in entry else None,
        explains=words(entry, "explains", what),
        explained_by=words(entry, "explained_by", what),
        refuted_by=words(entry, "refuted_by", what),
    )


def finding(data: Any, line: int, at: Callable[[int], str]) -> FindingEntry:
    entry = keys(data, {"id", "means", "sign"}, {"id", "means"}, "a finding", line)
    name = identifier(entry, "finding")
    what = f"finding '{name}'"
    return FindingEntry(name, text(entry, "means", what), at(entry.line), flag(entry, "sign", what))


def probe(data: Any, line: int, at: Callable[[int], str]) -> ProbeEntry:
    allowed = {"id", "supplies", "cost", "weight", "command", "do", "tier"}
    entry = keys(data, allowed, {"id", "supplies", "cost", "weight"}, "a probe", line)
    name = identifier(entry, "probe")
    what = f"probe '{name}'"
    if not isinstance(entry["weight"], int):
        raise EntryError(entry.lines["weight"], f"{what}: 'weight' is a whole number, the cheaper the smaller")
    if entry.get("tier", "manual") not in ("passive", "active", "manual"):
        raise EntryError(entry.lines["tier"], f"{what}: 'tier' is passive, active or manual")
    return ProbeEntry(
        id=name,
        supplies=words(entry, "supplies", what),
        cost=text(entry, "cost", what),
        weight=entry["weight"],
        at=at(entry.line),
        command=text(entry, "command", what) if "command" in entry else None,
        do=text(entry, "do", what) if "do" in entry else None,
        tier=entry.get("tier", "manual"),
    )


def rule(data: Any, line: int, at: Callable[[int], str]) -> Rule:
    allowed = {
        "id", "concludes", "when", "confidence", "supports", "weakens", "versions", "explains", "cause", "fix", "avoid",
    }  # fmt: skip
    entry = keys(data, allowed, {"id", "concludes", "when"}, "a rule", line)
    name = identifier(entry, "rule")
    what = f"rule '{name}'"
    concludes = text(entry, "concludes", what)
    is_finding = "." not in concludes
    if is_finding and "confidence" in entry:
        raise EntryError(entry.lines["confidence"], f"{what} concludes a finding: findings carry no confidence")
    if not is_finding and "confidence" not in entry:
        raise EntryError(entry.line, f"{what} needs 'confidence': one of {', '.join(LEVEL_NAMES)}")
    level = entry.get("confidence", LEVEL_NAMES[-1])
    if level not in LEVEL_NAMES:
        raise EntryError(entry.lines["confidence"], f"{what}: {level!r} is no level ({', '.join(LEVEL_NAMES)})")
    versions = _versions(entry, what)
    return Rule(
        id=name,
        concludes=concludes,
        when=_bind_versions(condition(entry["when"], entry.lines["when"], what), versions),
        level=LEVEL_NAMES.index(level),
        at=at(entry.line),
        supports=conditions(entry, "supports", what),
        weakens=conditions(entry, "weakens", what),
        versions=versions,
        explains=words(entry, "explains", what),
        cause=text(entry, "cause", what) if "cause" in entry else None,
        fix=_steps(entry, "fix", what) if "fix" in entry else None,
        avoid=_avoid(entry, what) if "avoid" in entry else None,
    )


def _versions(entry: Located, what: str) -> tuple[tuple[str, str], ...]:
    value = entry.get("versions")
    if value is None:
        return ()
    if not isinstance(value, Located):
        raise EntryError(entry.lines["versions"], f"'versions' of {what} is a mapping of engine to range")
    for engine, spec in value.items():
        if engine not in (*SERVING_ENGINES, "sparkrun"):
            raise EntryError(value.lines[engine], f"{what}: '{engine}' is no engine{nearest(engine, SERVING_ENGINES)}")
        try:
            bounds(str(spec))
        except ValueError as error:
            raise EntryError(value.lines[engine], f"{what}: {error}") from None
    return tuple((engine, str(spec)) for engine, spec in value.items())


def _bind_versions(when: Condition, versions: tuple[tuple[str, str], ...]) -> Condition:
    """A rule bound to versions does not fire where another engine, or a version outside the range, was seen."""
    if not versions:
        return when
    engines = tuple(engine for engine, _ in versions)
    blocks = [
        Pattern("engine", (Test("name", "eq", engine), Test("version", "not_version", spec)), f"_v{n}", "")
        for n, (engine, spec) in enumerate(versions)
        if spec.strip() != "*"
    ]
    others = tuple(name for name in SERVING_ENGINES if name not in engines)
    if set(engines) & set(SERVING_ENGINES):
        blocks.append(Pattern("engine", (Test("name", "in", others),), "_vo", ""))
    return Condition(tuple(Variant(v.positive, (*v.none, *blocks), v.absent) for v in when.variants))
