"""From a rule file's data to the rulebook's classes: shape and words are checked here, one entry at a time.

What concerns several entries together (ids, findings, circles, strata) is check.py's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from ..diagnosis import LEVELS
from ..facts import KINDS, Signature
from ..facts.signature import CAPTURE_TYPES
from .conditions import KEYS, OPERATORS
from .rules import (
    AvoidTemplate,
    Condition,
    DiagnosisEntry,
    FieldRef,
    FindingEntry,
    Operand,
    Pattern,
    ProbeEntry,
    Rule,
    StepTemplate,
    Test,
    Variant,
)
from .versions import bounds
from .yaml_source import Located

MAX_VARIANTS = 32
SERVING_ENGINES = ("vllm", "sglang", "transformers", "llamacpp", "ollama", "tensorrt-llm")
LEVEL_NAMES = tuple(LEVELS)

_GROUPS = ("all", "any", "none", "absent")
_PATTERN_KEYS = {"as", "count", "distinct", "before", "after", "probe", "across"}
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_DIAGNOSIS_ID = re.compile(r"[a-z0-9]+\.[a-z0-9]+(?:-[a-z0-9]+)*\Z")


class Wrong(Exception):
    """One entry is wrong; `line` says where."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


def _keys(data: Any, allowed: set[str], required: set[str], what: str, line: int) -> Located:
    if not isinstance(data, Located):
        raise Wrong(line, f"{what} must be a mapping")
    for key in data:
        if key not in allowed:
            raise Wrong(data.lines[key], f"{what} has no key '{key}'{nearest(key, allowed)}")
    for key in sorted(required - set(data)):
        raise Wrong(data.line, f"{what} needs '{key}'")
    return data


def nearest(word: str, words: set[str] | tuple[str, ...]) -> str:
    """`; did you mean 'x'?` or nothing."""
    import difflib

    close = difflib.get_close_matches(word, sorted(words), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def _text(data: Located, key: str, what: str) -> str:
    value = data[key]
    if not isinstance(value, str) or not value.strip():
        raise Wrong(data.lines[key], f"'{key}' of {what} must be text")
    return " ".join(value.split()) if key != "command" else value.strip()


def _words(data: Located, key: str, what: str) -> tuple[str, ...]:
    value = data.get(key, [])
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise Wrong(data.lines[key], f"'{key}' of {what} must be a list of words")
    return tuple(items)


def signature(data: Any, line: int) -> Signature:
    what = "a signature"
    allowed = {"id", "anchor", "anchors", "regex", "captures", "in", "benign"}
    entry = _keys(data, allowed, {"id", "regex"}, what, line)
    what = f"signature '{entry['id']}'"
    if not _ID.match(str(entry["id"])):
        raise Wrong(entry.line, f"{what}: ids are lower-case words joined by dashes")
    anchors = _words(entry, "anchor", what) + _words(entry, "anchors", what)
    if not anchors:
        raise Wrong(entry.line, f"{what} needs an anchor: a literal that every hit holds")
    for anchor in anchors:
        if len(anchor.encode()) < 4:
            raise Wrong(entry.line, f"{what}: the anchor {anchor!r} is shorter than four bytes")
    regex = _text(entry, "regex", what)
    try:
        compiled = re.compile(entry["regex"])
    except re.error as error:
        raise Wrong(entry.lines["regex"], f"{what}: the regular expression does not compile: {error}") from None
    regex = entry["regex"]
    captures = entry.get("captures") or Located()
    if not isinstance(captures, dict):
        raise Wrong(entry.lines["captures"], f"'captures' of {what} must be a mapping of group to type")
    for group, kind in captures.items():
        if group not in compiled.groupindex:
            raise Wrong(captures.lines[group], f"{what} captures '{group}', which is no named group of its regex")
        if kind not in CAPTURE_TYPES:
            raise Wrong(captures.lines[group], f"{what}: '{kind}' is no type of capture ({', '.join(CAPTURE_TYPES)})")
    for group in compiled.groupindex:
        if group not in captures:
            raise Wrong(entry.lines["regex"], f"{what}: the named group '{group}' needs a type in 'captures'")
    return Signature(
        id=entry["id"],
        anchors=anchors,
        regex=regex,
        captures=tuple(captures.items()),
        pieces=_words(entry, "in", what) or ("log",),
        benign=entry.get("benign") is True,
    )


def _steps(data: Located, key: str, what: str) -> tuple[StepTemplate, ...]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise Wrong(data.lines[key], f"'{key}' of {what} must be a list of steps")
    steps = []
    for item in value:
        step = _keys(item, {"do", "on", "risk", "command", "undo"}, {"do"}, f"a step of {what}", data.lines[key])
        on, risk = step.get("on", "node"), step.get("risk", "none")
        if on not in ("node", "control", "client"):
            raise Wrong(step.line, f"a step of {what}: 'on' is node, control or client, not {on!r}")
        if risk not in ("none", "restarts", "needs-root", "may-hang"):
            raise Wrong(step.line, f"a step of {what}: 'risk' is none, restarts, needs-root or may-hang, not {risk!r}")
        texts = {k: _text(step, k, f"a step of {what}") for k in ("do", "command", "undo") if k in step}
        steps.append(StepTemplate(on=on, risk=risk, **texts))
    return tuple(steps)


def _avoid(data: Located, what: str) -> tuple[AvoidTemplate, ...]:
    value = data.get("avoid", [])
    if not isinstance(value, list):
        raise Wrong(data.lines["avoid"], f"'avoid' of {what} must be a list")
    out = []
    for item in value:
        entry = _keys(item, {"do", "because", "unless"}, {"do", "because"}, f"'avoid' of {what}", data.lines["avoid"])
        unless = entry.get("unless")
        if isinstance(unless, dict):
            unless = unless.get("finding")
        if unless is not None and not isinstance(unless, str):
            raise Wrong(entry.line, f"'unless' of {what} names a finding")
        out.append(AvoidTemplate(_text(entry, "do", what), _text(entry, "because", what), unless))
    return tuple(out)


def diagnosis(data: Any, line: int, at: Callable[[int], str]) -> DiagnosisEntry:
    allowed = {
        "id", "title", "kind", "cause", "fix", "avoid", "confirm", "sources", "known", "explains", "explained_by",
        "refuted_by",
    }  # fmt: skip
    entry = _keys(data, allowed, {"id", "title", "kind", "cause", "fix", "sources"}, "a diagnosis", line)
    what = f"diagnosis '{entry['id']}'"
    if not _DIAGNOSIS_ID.match(str(entry["id"])):
        raise Wrong(entry.line, f"{what}: ids look like chapter.problem-in-words")
    if entry["kind"] not in ("fault", "limit", "advice"):
        raise Wrong(entry.lines["kind"], f"{what}: 'kind' is fault, limit or advice, not {entry['kind']!r}")
    return DiagnosisEntry(
        id=entry["id"],
        title=_text(entry, "title", what),
        kind=entry["kind"],
        cause=_text(entry, "cause", what),
        fix=_steps(entry, "fix", what),
        at=at(entry.line),
        avoid=_avoid(entry, what),
        confirm=_text(entry, "confirm", what) if "confirm" in entry else None,
        sources=_words(entry, "sources", what),
        known=_text(entry, "known", what) if "known" in entry else None,
        explains=_words(entry, "explains", what),
        explained_by=_words(entry, "explained_by", what),
        refuted_by=_words(entry, "refuted_by", what),
    )


def finding(data: Any, line: int, at: Callable[[int], str]) -> FindingEntry:
    entry = _keys(data, {"id", "means", "sign"}, {"id", "means"}, "a finding", line)
    what = f"finding '{entry['id']}'"
    if not _ID.match(str(entry["id"])):
        raise Wrong(entry.line, f"{what}: ids are lower-case words joined by dashes")
    return FindingEntry(entry["id"], _text(entry, "means", what), at(entry.line), entry.get("sign") is True)


def probe(data: Any, line: int, at: Callable[[int], str]) -> ProbeEntry:
    allowed = {"id", "supplies", "cost", "weight", "command", "do", "tier"}
    entry = _keys(data, allowed, {"id", "supplies", "cost", "weight"}, "a probe", line)
    what = f"probe '{entry['id']}'"
    if not isinstance(entry["weight"], int):
        raise Wrong(entry.lines["weight"], f"{what}: 'weight' is a whole number, the cheaper the smaller")
    if entry.get("tier", "manual") not in ("passive", "active", "manual"):
        raise Wrong(entry.lines["tier"], f"{what}: 'tier' is passive, active or manual")
    return ProbeEntry(
        id=entry["id"],
        supplies=_words(entry, "supplies", what),
        cost=_text(entry, "cost", what),
        weight=entry["weight"],
        at=at(entry.line),
        command=_text(entry, "command", what) if "command" in entry else None,
        do=_text(entry, "do", what) if "do" in entry else None,
        tier=entry.get("tier", "manual"),
    )


def rule(data: Any, line: int, at: Callable[[int], str]) -> Rule:
    allowed = {
        "id", "concludes", "when", "confidence", "supports", "weakens", "versions", "explains", "cause", "fix", "avoid",
    }  # fmt: skip
    entry = _keys(data, allowed, {"id", "concludes", "when"}, "a rule", line)
    what = f"rule '{entry['id']}'"
    if not _ID.match(str(entry["id"])):
        raise Wrong(entry.line, f"{what}: ids are lower-case words joined by dashes")
    concludes = _text(entry, "concludes", what)
    is_finding = "." not in concludes
    if is_finding and "confidence" in entry:
        raise Wrong(entry.lines["confidence"], f"{what} concludes a finding: findings carry no confidence")
    if not is_finding and "confidence" not in entry:
        raise Wrong(entry.line, f"{what} needs 'confidence': one of {', '.join(LEVEL_NAMES)}")
    level = entry.get("confidence", LEVEL_NAMES[-1])
    if level not in LEVELS:
        raise Wrong(entry.lines["confidence"], f"{what}: {level!r} is no level ({', '.join(LEVEL_NAMES)})")
    versions = _versions(entry, what)
    return Rule(
        id=entry["id"],
        concludes=concludes,
        when=_bind_versions(condition(entry["when"], entry.lines["when"], what), versions),
        level=LEVEL_NAMES.index(level),
        at=at(entry.line),
        supports=_conditions(entry, "supports", what),
        weakens=_conditions(entry, "weakens", what),
        versions=versions,
        explains=_words(entry, "explains", what),
        cause=_text(entry, "cause", what) if "cause" in entry else None,
        fix=_steps(entry, "fix", what) if "fix" in entry else None,
        avoid=_avoid(entry, what) if "avoid" in entry else None,
    )


def _versions(entry: Located, what: str) -> tuple[tuple[str, str], ...]:
    value = entry.get("versions")
    if value is None:
        return ()
    if not isinstance(value, Located):
        raise Wrong(entry.lines["versions"], f"'versions' of {what} is a mapping of engine to range")
    for engine, spec in value.items():
        if engine not in (*SERVING_ENGINES, "sparkrun"):
            raise Wrong(value.lines[engine], f"{what}: '{engine}' is no engine{nearest(engine, SERVING_ENGINES)}")
        try:
            bounds(str(spec))
        except ValueError as error:
            raise Wrong(value.lines[engine], f"{what}: {error}") from None
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


def _conditions(entry: Located, key: str, what: str) -> tuple[Condition, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise Wrong(entry.lines[key], f"'{key}' of {what} must be a list of conditions")
    out = []
    for item in value:
        grouped = isinstance(item, Located) and any(group in item for group in _GROUPS)
        if grouped:
            out.append(condition(item, entry.lines[key], what))
        else:
            out.append(Condition((Variant((pattern(item, entry.lines[key], what),)),)))
    return tuple(out)


def condition(data: Any, line: int, what: str) -> Condition:
    """`all`, `any`, `none`, `absent`, nested as one likes; expanded into variants."""
    entry = _keys(data, set(_GROUPS), set(), f"'when' of {what}", line)
    if not entry:
        raise Wrong(line, f"'when' of {what} asks for nothing")
    variants = [Variant()]
    for group, items in entry.items():
        if not isinstance(items, list) or not items:
            raise Wrong(entry.lines[group], f"'{group}' of {what} must be a list of conditions")
        at = entry.lines[group]
        if group in ("none", "absent"):
            patterns = tuple(pattern(item, at, what) for item in items)
            extra = [Variant(none=patterns) if group == "none" else Variant(absent=patterns)]
            variants = _product(variants, extra, at, what)
        elif group == "all":
            for item in items:
                variants = _product(variants, _branch(item, at, what), at, what)
        else:
            branches = [variant for item in items for variant in _branch(item, at, what)]
            variants = _product(variants, branches, at, what)
    return Condition(tuple(_unique_aliases(variant, line, what) for variant in variants))


def _branch(item: Any, line: int, what: str) -> list[Variant]:
    if isinstance(item, Located) and any(group in item for group in _GROUPS):
        return list(condition(item, line, what).variants)
    return [Variant((pattern(item, line, what),))]


def _product(left: list[Variant], right: list[Variant], line: int, what: str) -> list[Variant]:
    out = [
        Variant(a.positive + b.positive, a.none + b.none, a.absent + b.absent)
        for a, b in itertools.product(left, right)
    ]
    if len(out) > MAX_VARIANTS:
        raise Wrong(line, f"{what}: 'any' expands to more than {MAX_VARIANTS} variants; split it with a finding")
    return out


def _unique_aliases(variant: Variant, line: int, what: str) -> Variant:
    """Named aliases must differ; unnamed ones that repeat get a number."""
    seen: set[str] = set()
    positive = []
    for p in variant.positive:
        alias = p.alias
        if alias in seen:
            if p.named:
                raise Wrong(line, f"{what} uses the name '{alias}' twice")
            alias = next(f"{p.alias}{n}" for n in itertools.count(2) if f"{p.alias}{n}" not in seen)
        seen.add(alias)
        positive.append(p if alias == p.alias else Pattern(**{**_fields(p), "alias": alias}))
    return Variant(tuple(positive), variant.none, variant.absent)


def _fields(p: Pattern) -> dict[str, Any]:
    return {name: getattr(p, name) for name in Pattern.__slots__}


def pattern(data: Any, line: int, what: str) -> Pattern:
    """`{chat: {finish_reason: length}, as: c}`"""
    if not isinstance(data, Located):
        raise Wrong(line, f"a condition of {what} must be a mapping like 'chat: {{finish_reason: length}}'")
    kinds = [key for key in data if key not in _PATTERN_KEYS]
    if len(kinds) != 1:
        raise Wrong(data.line, f"a condition of {what} must name one kind of fact, not {len(kinds)}")
    kind = kinds[0]
    if kind not in KINDS:
        raise Wrong(data.lines[kind], f"{what}: '{kind}' is no kind of fact{nearest(kind, set(KINDS))}")
    body = data[kind]
    if isinstance(body, str):
        if kind not in KEYS:
            raise Wrong(data.lines[kind], f"{what}: '{kind}: {body}' is short for nothing; write its fields")
        tests: list[Test] = [Test(KEYS[kind], "eq", body)]
    elif body is None or isinstance(body, Located):
        tests = [t for name, value in (body or {}).items() for t in _tests(name, value, body.lines[name], what)]
    else:
        raise Wrong(data.lines[kind], f"{what}: '{kind}' takes a mapping of fields")
    alias = data.get("as", kind)
    for key in ("as", "before", "after", "probe", "distinct"):
        if key in data and not isinstance(data[key], str):
            raise Wrong(data.lines[key], f"{what}: '{key}' must be a word")
    across = data.get("across")
    if across not in (None, "node"):
        raise Wrong(data.lines["across"], f"{what}: 'across' can only be 'node'")
    count = tuple(_tests("count", data["count"], data.lines["count"], what)) if "count" in data else ()
    if "distinct" in data and not count:
        raise Wrong(data.lines["distinct"], f"{what}: 'distinct' needs 'count'")
    return Pattern(
        kind=kind,
        tests=tuple(tests),
        alias=alias,
        probe=data.get("probe", kind),
        named="as" in data,
        across=across is not None,
        before=data.get("before"),
        after=data.get("after"),
        count=count,
        distinct=data.get("distinct"),
    )


def _tests(name: str, value: Any, line: int, what: str) -> list[Test]:
    if value in ("present", "missing") and isinstance(value, str):
        return [Test(name, "present", value == "present")]
    if isinstance(value, list):
        return [Test(name, "in", _scalars(value, line, what))]
    if isinstance(value, Located):
        if set(value) <= {"field", "times"}:
            return [Test(name, "eq", _ref(value, line, what))]
        out = []
        for op, operand in value.items():
            if op == "between":
                low, high = _scalars(operand, line, what, size=2)
                out += [Test(name, "ge", low), Test(name, "le", high)]
            elif op not in OPERATORS:
                raise Wrong(value.lines[op], f"{what}: '{op}' is no comparison{nearest(op, set(OPERATORS))}")
            else:
                out.append(Test(name, op, _operand(op, operand, value.lines[op], what)))
        return out
    if not isinstance(value, (str, int, float, bool)):
        raise Wrong(
            line, f"{what}: '{name}' is compared with {value!r}, which is no value; write 'missing' for unknown"
        )
    return [Test(name, "eq", value)]


def _operand(op: str, value: Any, line: int, what: str) -> Operand:
    if isinstance(value, Located):
        return _ref(value, line, what)
    if op in ("in", "not_in"):
        return _scalars(value, line, what)
    if op in ("matches", "not_matches"):
        try:
            re.compile(str(value))
        except re.error as error:
            raise Wrong(line, f"{what}: the regular expression does not compile: {error}") from None
        return str(value)
    if op in ("version", "not_version"):
        try:
            bounds(str(value))
        except ValueError as error:
            raise Wrong(line, f"{what}: {error}") from None
        return str(value)
    if op == "present":
        if not isinstance(value, bool):
            raise Wrong(line, f"{what}: 'present' is true or false")
        return value
    if not isinstance(value, (str, int, float, bool)):
        raise Wrong(line, f"{what}: '{op}' takes one value, not {value!r}")
    return value


def _scalars(value: Any, line: int, what: str, size: int | None = None) -> tuple[Any, ...]:
    if not isinstance(value, list) or not all(isinstance(item, (str, int, float, bool)) for item in value):
        raise Wrong(line, f"{what}: a list of plain values is needed, not {value!r}")
    if size is not None and len(value) != size:
        raise Wrong(line, f"{what}: {size} values are needed, not {len(value)}")
    return tuple(value)


def _ref(value: Located, line: int, what: str) -> FieldRef:
    name, times = value.get("field"), value.get("times", 1.0)
    if not isinstance(name, str) or not isinstance(times, (int, float)) or not set(value) <= {"field", "times"}:
        raise Wrong(line, f"{what}: another field is written {{field: name.of_field}} or with 'times: number'")
    alias, dot, rest = name.partition(".")
    if dot and alias in ("flag", "env", "docker"):
        alias, rest, dot = "", name, ""
    return FieldRef(alias if dot else None, rest if dot else name, float(times))
