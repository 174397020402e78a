"""The compiled rulebook: the loaded classes as JSON. The ordinary path parses no YAML and checks nothing twice."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from ..facts import Signature
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
            if item != f.default:
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
        "rules": [_plain(rule) for rule in book.rules],
        "diagnoses": [_plain(entry) for entry in book.diagnoses.values()],
        "findings": [_plain(entry) for entry in book.findings.values()],
        "signatures": [_plain(entry) for entry in book.signatures.values()],
        "probes": [_plain(entry) for entry in book.probes.values()],
    }


def from_data(data: dict[str, Any]) -> Rulebook:
    """The inverse of to_data, unchecked: the data was checked when it was compiled."""
    rules = tuple(_rule(item) for item in data["rules"])
    return Rulebook(
        rules=rules,
        diagnoses={item["id"]: _diagnosis(item) for item in data["diagnoses"]},
        findings={item["id"]: FindingEntry(**item) for item in data["findings"]},
        signatures={item["id"]: _signature(item) for item in data["signatures"]},
        probes={item["id"]: ProbeEntry(**{**item, "supplies": tuple(item["supplies"])}) for item in data["probes"]},
        hash=data["hash"],
        by_id={rule.id: rule for rule in rules},
    )


def _signature(item: dict[str, Any]) -> Signature:
    tuples: dict[str, Any] = {k: tuple(item[k]) for k in ("anchors", "pieces") if k in item}
    tuples["captures"] = tuple((a, b) for a, b in item.get("captures", ()))
    return Signature(**{**item, **tuples})


def _test(item: list[Any]) -> Test:
    field, op, operand = item
    if isinstance(operand, dict):
        operand = FieldRef(operand["alias"], operand["field"], operand["times"])
    elif isinstance(operand, list):
        operand = tuple(operand)
    return Test(field, op, operand)


def _pattern(item: dict[str, Any]) -> Pattern:
    """By position: a rulebook has thousands, and each start reads them all."""
    get = item.get
    return Pattern(
        item["kind"],
        tuple(map(_test, get("tests", ()))),
        item["alias"],
        item["probe"],
        get("named", False),
        get("across", False),
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
