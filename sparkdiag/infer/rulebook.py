"""Loading rulebooks: the shipped one, compiled, or a folder of YAML files, checked whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import RuleError
from ..facts import Signature
from .codec import from_compiled
from .index import Index
from .rules import Condition, DiagnosisEntry, FindingEntry, Pattern, ProbeEntry, Rule, Rulebook, Variant

if TYPE_CHECKING:
    from pathlib import Path

    COMPILED: Path

_FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "rulebook.json")

_Entry = TypeVar("_Entry")


def __getattr__(name: str) -> Path:
    """COMPILED, the compiled rulebook's path: pathlib is imported for those who write it, not for those who read."""
    if name != "COMPILED":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pathlib import Path

    return Path(_FILE)


@lru_cache(maxsize=1)
def shipped() -> Rulebook:
    """The rulebook that comes with this version, read from its compiled form."""
    try:
        with open(_FILE, "rb") as file:
            return from_compiled(file.read())
    except OSError as error:
        raise RuleError([f"rulebook.json: the compiled rulebook cannot be read: {error.strerror}"]) from None


def load_folder(folder: Path) -> Rulebook:
    """All *.yaml files of a folder as one rulebook. RuleError with every problem, each with file and line."""
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise RuleError([f"{folder}: no rule files (*.yaml) here"])
    return load_texts({f"{folder.name}/{file.name}": file.read_text(encoding="utf-8") for file in files})


def load_texts(texts: Mapping[str, str]) -> Rulebook:
    """Rule files by name as one rulebook."""
    from . import check, entries, parse, strata
    from .yaml_source import Located, YamlError, load

    problems: list[str] = []
    rules: list[Rule] = []
    diagnoses: dict[str, DiagnosisEntry] = {}
    findings: dict[str, FindingEntry] = {}
    signatures: dict[str, Signature] = {}
    probes: dict[str, ProbeEntry] = {}
    by_id: dict[str, Rule] = {}
    places: dict[tuple[str, str], str] = {}

    def keep(table: dict[str, _Entry], name: str, entry: _Entry, at: str, what: str) -> None:
        if name in table:
            problems.append(f"{at}: {what} '{name}' exists already ({places[what, name]})")
        else:
            table[name] = entry
            places[what, name] = at

    for file, text in texts.items():

        def at(line: int, file: str = file) -> str:
            return f"{file}:{line}"

        try:
            data = load(text)
            if not isinstance(data, Located):
                raise YamlError(1, "a rule file is a mapping with 'format: 1'")
            if data.get("format") != 1:
                raise YamlError(data.lines.get("format", 1), "a rule file begins with 'format: 1'")
        except YamlError as error:
            problems.append(f"{at(error.line)}: {error}")
            continue
        sections = {"format", "chapter", "signatures", "diagnoses", "findings", "probes", "rules"}
        for key, items in data.items():
            if key not in sections:
                problems.append(
                    f"{at(data.lines[key])}: a rule file has no section '{key}'{entries.nearest(key, sections)}"
                )
            if key in ("format", "chapter") or key not in sections:
                continue
            if not isinstance(items, list):
                problems.append(f"{at(data.lines[key])}: '{key}' must be a list")
                continue
            for item in items:
                line = item.line if isinstance(item, Located) else data.lines[key]
                try:
                    if key == "signatures":
                        found = parse.signature(item, line)
                        keep(signatures, found.id, found, at(line), "signature")
                    elif key == "diagnoses":
                        entry = parse.diagnosis(item, line, at)
                        keep(diagnoses, entry.id, entry, at(line), "diagnosis")
                    elif key == "findings":
                        named = parse.finding(item, line, at)
                        keep(findings, named.id, named, at(line), "finding")
                    elif key == "probes":
                        probe = parse.probe(item, line, at)
                        keep(probes, probe.id, probe, at(line), "probe")
                    else:
                        rule = parse.rule(item, line, at)
                        keep(by_id, rule.id, rule, at(line), "rule")
                        rules.append(rule)
                except entries.EntryError as error:
                    problems.append(f"{at(error.line)}: {error}")
    rules = _with_finding_probes(rules)
    if not problems:
        signature_places = {name: at for (what, name), at in places.items() if what == "signature"}
        problems += check.Checker(rules, diagnoses, findings, signatures, probes, signature_places).run()
    if not problems:
        levels, circle = strata.strata(rules)
        if circle is not None:
            first = next(rule for rule in rules if rule.concludes == circle[0])
            names = " -> ".join(circle)
            problems.append(f"{first.at}: a circle runs through negation: {names}")
        rules = [replace(rule, stratum=levels[rule.concludes]) for rule in rules]
    if problems:
        raise RuleError(problems)
    rules.sort(key=lambda rule: rule.id)
    return Rulebook(
        by_id={rule.id: rule for rule in rules},
        diagnoses=dict(sorted(diagnoses.items())),
        findings=dict(sorted(findings.items())),
        signatures=dict(sorted(signatures.items())),
        probes=dict(sorted(probes.items())),
        index=Index.of(rules),
        hash=_hash(texts),
    )


def _hash(texts: Mapping[str, str]) -> str:
    import hashlib

    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name}\0{texts[name]}\0".encode())
    return digest.hexdigest()[:16]


def _with_finding_probes(rules: Iterable[Rule]) -> list[Rule]:
    """A finding counts as looked for when the evidence of the rules that conclude it was looked for."""
    rules = list(rules)
    by_conclusion: dict[str, list[Rule]] = {}
    for rule in rules:
        by_conclusion.setdefault(rule.concludes, []).append(rule)

    def probe_of(name: str, seen: frozenset[str]) -> str | None:
        for rule in by_conclusion.get(name, ()):
            for variant in rule.when.variants:
                for p in variant.positive:
                    if p.kind != "finding":
                        return p.probe
                    inner = _asked(p)
                    if inner and inner not in seen:
                        found = probe_of(inner, seen | {inner})
                        if found:
                            return found
        return None

    def fix(p: Pattern) -> Pattern:
        name = _asked(p)
        if name is None or p.probe != "finding":
            return p
        return replace(p, probe=probe_of(name, frozenset({name})) or "finding")

    def fix_condition(condition: Condition) -> Condition:
        return Condition(
            tuple(
                Variant(*(tuple(fix(p) for p in part) for part in (v.positive, v.none, v.absent)))
                for v in condition.variants
            )
        )

    return [
        replace(
            rule,
            when=fix_condition(rule.when),
            supports=tuple(fix_condition(c) for c in rule.supports),
            weakens=tuple(fix_condition(c) for c in rule.weakens),
        )
        for rule in rules
    ]


def _asked(p: Pattern) -> str | None:
    if p.kind != "finding":
        return None
    return next((str(t.operand) for t in p.tests if t.field == "id" and t.op == "eq"), None)


def compile_to(folder: Path, out: Path) -> Rulebook:
    """Check a folder of rules and write its compiled form."""
    from .codec import to_data

    book = load_folder(folder)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(render(to_data(book)), encoding="utf-8")
    return book


def render(data: dict[str, Any]) -> str:
    """One entry a line, its id first: compact, readable in a diff, and read entry by entry (codec.from_compiled)."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in value)
            parts.append(f'"{key}":[\n{lines}\n]')
        else:
            parts.append(f'"{key}":{json.dumps(value, separators=(",", ":"))}')
    return "{" + ",\n".join(parts) + "}\n"
