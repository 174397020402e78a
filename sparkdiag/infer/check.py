"""What concerns several entries of a rulebook: names that must exist, findings that must be used, circles, strata."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping

from ..facts import KINDS, Signature, kind_class
from .entries import nearest
from .rules import (
    AvoidTemplate,
    Condition,
    DiagnosisEntry,
    FieldRef,
    FindingEntry,
    Pattern,
    ProbeEntry,
    Rule,
    Test,
)
from .strata import asked_values, find_circle, patterns_of
from .texts import FORMATS, PLACE

_OPEN_FIELDS = {"launch": ("flag.", "env.", "docker.")}
"""Kinds whose facts carry fields beyond those of their class, by prefix."""

_OPEN_KINDS = {"config"}


def conditions_of(rule: Rule) -> list[Condition]:
    return [rule.when, *rule.supports, *rule.weakens]


def _asked_findings(p: Pattern) -> tuple[str, ...]:
    return (asked_values(p, "id") or ()) if p.kind == "finding" else ()


def _asked_signatures(p: Pattern) -> tuple[str, ...]:
    return (asked_values(p, "signature") or ()) if p.kind == "log" else ()


def _lifting(avoid: Iterable[AvoidTemplate]) -> tuple[str, ...]:
    """The findings that lift contraindications."""
    return tuple(a.unless for a in avoid if a.unless)


def _bound(*patterns: Pattern) -> dict[str, Pattern]:
    """Patterns by the names that others may refer to: one that counts binds nothing."""
    return {p.alias: p for p in patterns if not p.count}


def field_names(kind: str) -> set[str]:
    return {f.name for f in dataclasses.fields(kind_class(kind))} - {"where", "source", "captures"}


class Checker:
    """Collects every problem instead of stopping at the first: a rule author sees them all at once."""

    def __init__(
        self,
        rules: list[Rule],
        diagnoses: Mapping[str, DiagnosisEntry],
        findings: Mapping[str, FindingEntry],
        signatures: Mapping[str, Signature],
        probes: Mapping[str, ProbeEntry],
        places: Mapping[str, str],
    ) -> None:
        """`places`: where each signature stands, by its id; the other entries know it themselves."""
        self.rules, self.diagnoses, self.findings = rules, diagnoses, findings
        self.signatures, self.probes, self.places = signatures, probes, places
        self.problems: list[str] = []

    def run(self) -> list[str]:
        self._names()
        self._fields()
        self._findings()
        self._explains()
        self._texts()
        return list(dict.fromkeys(self.problems))  # the variants of one rule repeat what they share

    def _say(self, at: str, message: str) -> None:
        self.problems.append(f"{at}: {message}")

    def _names(self) -> None:
        known = set(self.diagnoses) | set(self.findings)
        for rule in self.rules:
            if rule.concludes not in known:
                what = "diagnosis" if "." in rule.concludes else "finding"
                hint = nearest(rule.concludes, known)
                self._say(rule.at, f"rule '{rule.id}' concludes '{rule.concludes}', which is no {what}{hint}")
        concluded = {rule.concludes for rule in self.rules}
        for name, entry in self.diagnoses.items():
            if name not in concluded:
                self._say(entry.at, f"diagnosis '{name}' is concluded by no rule")

    def _fields(self) -> None:
        supplied = {name for probe in self.probes.values() for name in probe.supplies} | set(self.probes)
        for rule in self.rules:
            for condition in conditions_of(rule):
                # What supports or weakens may speak of the facts that the rule itself rests on.
                base = {} if condition is rule.when else _bound(*(p for v in rule.when.variants for p in v.positive))
                for variant in condition.variants:
                    aliases = base | _bound(*variant.positive)
                    for p in (*variant.positive, *variant.none, *variant.absent):
                        self._pattern(rule, p, aliases, supplied)

    def _pattern(self, rule: Rule, p: Pattern, aliases: Mapping[str, Pattern], supplied: set[str]) -> None:
        for test in (*p.tests, *((Test(p.distinct, "present", True),) if p.distinct else ())):
            self._field(rule, p, test.field)
            if isinstance(test.operand, FieldRef):
                owner = p if test.operand.alias is None else aliases.get(test.operand.alias)
                if owner is None:
                    self._say(rule.at, f"rule '{rule.id}' refers to '{test.operand.alias}', which no pattern is named")
                else:
                    self._field(rule, owner, test.operand.field)
        for name in (p.before, p.after):
            if name is not None and name not in aliases:
                self._say(rule.at, f"rule '{rule.id}' orders by '{name}', which no pattern is named")
        if p.probe and p.probe not in supplied and p.kind != "finding":
            hint = nearest(p.probe, supplied)
            self._say(rule.at, f"rule '{rule.id}' names the probe '{p.probe}', which nothing supplies{hint}")
        known = set(self.findings) | set(self.diagnoses)
        for name in _asked_findings(p):
            if name not in known:
                self._say(rule.at, f"rule '{rule.id}' asks for '{name}', which is no finding{nearest(name, known)}")
        for name in _asked_signatures(p):
            if name not in self.signatures:
                hint = nearest(name, set(self.signatures))
                self._say(rule.at, f"rule '{rule.id}' looks for the signature '{name}', which is none{hint}")

    def _field(self, rule: Rule, p: Pattern, name: str) -> None:
        known = field_names(p.kind)
        if p.kind == "log":
            known = known | self._captures(p)
        if name in known or p.kind in _OPEN_KINDS or name.startswith(_OPEN_FIELDS.get(p.kind, ("\0",))):
            return
        self._say(rule.at, f"rule '{rule.id}': '{p.kind}' has no field '{name}'{nearest(name, known)}")

    def _captures(self, p: Pattern) -> set[str]:
        names = _asked_signatures(p) or self.signatures
        return {group for name in names if name in self.signatures for group, _ in self.signatures[name].captures}

    def _findings(self) -> None:
        patterns = [p for rule in self.rules for c in conditions_of(rule) for p, _ in patterns_of(c)]
        asked = {name for p in patterns for name in _asked_findings(p)}
        named = [(e.at, f"diagnosis '{e.id}'", (*_lifting(e.avoid), *e.refuted_by)) for e in self.diagnoses.values()]
        named += [(r.at, f"rule '{r.id}'", _lifting(r.avoid or ())) for r in self.rules]
        for at, owner, names in named:
            asked.update(names)
            for name in names:
                if name not in self.findings:
                    hint = nearest(name, set(self.findings))
                    self._say(at, f"{owner} names the finding '{name}', which does not exist{hint}")
        concluded = {rule.concludes for rule in self.rules}
        for name, found in self.findings.items():
            if name not in concluded:
                self._say(found.at, f"finding '{name}' is concluded by no rule")
            elif name not in asked and not found.sign:
                self._say(found.at, f"finding '{name}' is used by no rule")
        used = {name for p in patterns for name in _asked_signatures(p)}
        for name, signature in self.signatures.items():
            if name not in used and not signature.benign:
                self._say(self.places[name], f"signature '{name}' is looked for by no rule")

    def _explains(self) -> None:
        edges: dict[str, set[str]] = {name: set() for name in self.diagnoses}
        at = {name: entry.at for name, entry in self.diagnoses.items()}
        for entry in self.diagnoses.values():
            for target in entry.explains:
                edges[entry.id] |= self._targets(entry.at, entry.id, target)
            for cause in entry.explained_by:
                for name in self._targets(entry.at, entry.id, cause):
                    if cause == name:
                        edges[name].add(entry.id)
        for rule in self.rules:
            if rule.explains and rule.concludes in edges:
                for target in rule.explains:
                    edges[rule.concludes] |= self._targets(rule.at, rule.id, target)
        circle = find_circle(edges)
        if circle:
            self._say(at[circle[0]], f"'explains' runs in a circle: {' -> '.join(circle)}")

    def _targets(self, at: str, owner: str, target: str) -> set[str]:
        if target == "*":
            return set()
        if target.endswith(".*"):
            return {name for name in self.diagnoses if name.startswith(target[:-1]) and name != owner}
        if target not in self.diagnoses:
            self._say(at, f"'{owner}' explains '{target}', which is no diagnosis{nearest(target, set(self.diagnoses))}")
            return set()
        return {target}

    def _texts(self) -> None:
        """Places in texts must name a pattern of every rule that shows the text, and a field that it has.

        What is printed as it stands has none.
        """
        for told in self.diagnoses.values():
            for word, text in (("title", told.title), ("known", told.known or "")):
                if (match := PLACE.search(text)) is not None:
                    self._say(told.at, f"'{word}' of '{told.id}' is printed as it stands, and holds '{match[0]}'")
        for rule in self.rules:
            entry = self.diagnoses.get(rule.concludes)
            if entry is None:
                continue
            texts = [rule.cause or entry.cause]
            for step in entry.fix if rule.fix is None else rule.fix:
                texts += [step.do, step.command or "", step.undo or ""]
            for avoid in entry.avoid if rule.avoid is None else rule.avoid:
                texts += [avoid.do, avoid.because]
            texts.append(entry.confirm or "")
            for text in texts:
                for match in PLACE.finditer(text):
                    self._place(rule, match)

    def _place(self, rule: Rule, match: re.Match[str]) -> None:
        alias, name, style = match[1], match[2], match[3]
        if style is not None and style not in FORMATS:
            self._say(rule.at, f"rule '{rule.id}': '{match[0]}' asks for an unknown format ({', '.join(FORMATS)})")
        owners = [p for v in rule.when.variants for p in v.positive if p.alias == alias and not p.count]
        if owners:
            for p in owners:
                self._field(rule, p, name)
            return
        if alias not in KINDS:
            self._say(rule.at, f"rule '{rule.id}': its text says '{match[0]}', but no pattern is named '{alias}'")
        elif alias != "log":
            self._field(rule, Pattern(alias, (), alias, alias), name)
        elif name not in {g for s in self.signatures.values() for g, _ in s.captures} | field_names("log"):
            self._say(rule.at, f"rule '{rule.id}': its text says '{match[0]}', which no signature captures")
