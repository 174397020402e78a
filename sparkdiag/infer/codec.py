"""The compiled rulebook: the loaded classes as JSON. The ordinary path parses no YAML and checks nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from ..facts import Signature
from .index import Index
from .rules import (
    AvoidTemplate,
    Condition,
    DiagnosisEntry,
    FieldRef,
    FindingEntry,
    Pattern,
    ProbeEntry,
    Rule,
    Rulebook,
    StepTemplate,
    Test,
    Variant,
)


def _plain(value: Any) -> Any:
    """Dataclass to mapping, leaving out what equals the default."""
    if isinstance(value, FieldRef):
        return {"field": value.field, "alias": value.alias, "times": value.times}
    if isinstance(value, Test):
        return [value.field, value.op, _plain(value.operand)]
    if is_dataclass(value) and not isinstance(value, type):
        out = {}
        for f in fields(value):
            item = getattr(value, f.name)
            if f.init and item != f.default:
                out[f.name] = _plain(item)
        return out
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def to_data(book: Rulebook) -> dict[str, Any]:
    """The whole rulebook as JSON data."""
    return {
        "format": 1,
        "hash": book.hash,
        "index": book.index.data,
        "rules": [_plain(rule) for rule in book.rules],
        "diagnoses": [_plain(entry) for entry in book.diagnoses.values()],
        "findings": [_plain(entry) for entry in book.findings.values()],
        "signatures": [_plain(entry) for entry in book.signatures.values()],
        "probes": [_plain(entry) for entry in book.probes.values()],
    }


_Entry = TypeVar("_Entry")


class Lines(Mapping[str, _Entry]):
    """Entries of one section by id, each read from its line when it is first asked for."""

    def __init__(self, lines: Iterable[bytes], make: Callable[[dict[str, Any]], _Entry]) -> None:
        self._lines = {line[_ID : line.index(b'"', _ID)].decode(): line for line in lines}
        self._make = make
        self._made: dict[str, _Entry] = {}

    def __getitem__(self, name: str) -> _Entry:
        entry = self._made.get(name)
        if entry is None:  # of two threads that get here, the first one's entry is everybody's: it has an identity
            entry = self._made.setdefault(name, self._make(json.loads(self._lines[name])))
        return entry

    def __contains__(self, name: object) -> bool:
        return name in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


_ID = len(b'{"id":"')


def from_compiled(data: bytes) -> Rulebook:
    """The rulebook that rulebook.render wrote, unchecked: it was checked when it was compiled.

    Hundreds of rules would take longer to make than most cases take to judge, and a case touches few of them.
    """
    head: list[bytes] = []
    sections: dict[str, list[bytes]] = {}
    lines: list[bytes] | None = None
    for line in data.split(b"\n"):
        if lines is None and line[-2:] == b":[":
            lines = sections[line[1:-3].decode()] = []
        elif lines is None:
            head.append(line)
        elif line[:1] == b"{":
            lines.append(line.rstrip(b","))
        elif line[:1] == b"]":
            lines = None
    about = json.loads(b"".join(head).rstrip(b",") + b"}")
    return Rulebook(
        by_id=Lines(sections["rules"], _rule),
        diagnoses=Lines(sections["diagnoses"], _diagnosis),
        findings=Lines(sections["findings"], lambda item: FindingEntry(**item)),
        signatures=Lines(sections["signatures"], _signature),
        probes=Lines(sections["probes"], lambda item: ProbeEntry(**{**item, "supplies": tuple(item["supplies"])})),
        index=Index(about["index"]),
        hash=about["hash"],
    )


def _signature(item: dict[str, Any]) -> Signature:
    """By position: every text is looked at for all of them."""
    get = item.get
    captures = tuple((a, b) for a, b in get("captures", ()))
    pieces = tuple(get("pieces", ("log",)))
    return Signature(item["id"], tuple(item["anchors"]), item["regex"], captures, pieces, get("benign", False))


def _test(item: list[Any]) -> Test:
    field, op, operand = item
    if isinstance(operand, dict):
        operand = FieldRef(operand["alias"], operand["field"], operand["times"])
    elif isinstance(operand, list):
        operand = tuple(operand)
    return Test(field, op, operand)


def _pattern(item: dict[str, Any]) -> Pattern:
    """By position: a rulebook has thousands."""
    get = item.get
    return Pattern(
        item["kind"],
        tuple(map(_test, get("tests", ()))),
        item["alias"],
        item["probe"],
        get("named", False),
        tuple(get("across", ())),
        get("before"),
        get("after"),
        tuple(map(_test, get("count", ()))),
        get("distinct"),
    )


def _variant(item: dict[str, Any]) -> Variant:
    get = item.get
    return Variant(
        tuple(map(_pattern, get("positive", ()))),
        tuple(map(_pattern, get("none", ()))),
        tuple(map(_pattern, get("absent", ()))),
    )


def _condition(item: dict[str, Any]) -> Condition:
    return Condition(tuple(map(_variant, item["variants"])))


def _templates(item: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if item.get("fix") is not None:
        out["fix"] = tuple(StepTemplate(**step) for step in item["fix"])
    if item.get("avoid") is not None:
        out["avoid"] = tuple(AvoidTemplate(**entry) for entry in item["avoid"])
    return out


def _rule(item: dict[str, Any]) -> Rule:
    return Rule(
        **{
            **item,
            **_templates(item),
            "when": _condition(item["when"]),
            "supports": tuple(map(_condition, item.get("supports", ()))),
            "weakens": tuple(map(_condition, item.get("weakens", ()))),
            "versions": tuple((a, b) for a, b in item.get("versions", ())),
            "explains": tuple(item.get("explains", ())),
        }
    )


def _diagnosis(item: dict[str, Any]) -> DiagnosisEntry:
    words = ("sources", "explains", "explained_by", "refuted_by")
    return DiagnosisEntry(**{**item, **_templates(item), **{k: tuple(item.get(k, ())) for k in words}})
