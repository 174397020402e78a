"""What concerns several entries of a rulebook: names that must exist, findings that must be used, circles, strata."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping

from ..facts import KINDS, Signature, kind_class
from .parse import nearest
from .rules import Condition, DiagnosisEntry, FieldRef, FindingEntry, Pattern, ProbeEntry, Rule, Test

PLACE = re.compile(r"\{([a-z_][a-z0-9_-]*)\.([A-Za-z_][\w.-]*)(?::(\w+))?\}")
"""{alias.field} or {alias.field:format} in a text of a rule."""

FORMATS = ("GiB", "pct", "int", "quoted")

_OPEN_FIELDS = {"launch": ("flag.", "env.", "docker.")}
"""Kinds whose facts carry fields beyond those of their class, by prefix."""

_OPEN_KINDS = {"config"}


def conditions_of(rule: Rule) -> list[Condition]:
    return [rule.when, *rule.supports, *rule.weakens]


def patterns_of(condition: Condition) -> Iterable[tuple[Pattern, bool]]:
    """Each pattern with whether it is negated or counted, that is, needs complete knowledge."""
    for variant in condition.variants:
        for p in variant.positive:
            yield p, bool(p.count)
        for p in (*variant.none, *variant.absent):
            yield p, True


def asked_finding(p: Pattern) -> str | None:
    if p.kind != "finding":
        return None
    for test in p.tests:
        if test.field == "id" and test.op == "eq":
            return str(test.operand)
    return None


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
    ) -> None:
        self.rules, self.diagnoses, self.findings = rules, diagnoses, findings
        self.signatures, self.probes = signatures, probes
        self.problems: list[str] = []

    def run(self) -> list[str]:
        self._names()
        self._fields()
        self._findings()
        self._explains()
        self._texts()
        return self.problems

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
                for variant in condition.variants:
                    aliases = {p.alias: p for p in variant.positive}
                    base = {p.alias: p for v in rule.when.variants for p in v.positive}
                    for p in (*variant.positive, *variant.none, *variant.absent):
                        self._pattern(rule, p, {**base, **aliases}, supplied)

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
        wanted = asked_finding(p)
        known = set(self.findings) | set(self.diagnoses)
        if p.kind == "finding" and wanted is not None and wanted not in known:
            self._say(rule.at, f"rule '{rule.id}' asks for '{wanted}', which is no finding{nearest(wanted, known)}")
        if p.kind == "log":
            for test in p.tests:
                names = test.operand if isinstance(test.operand, tuple) else (test.operand,)
                if test.field == "signature" and test.op in ("eq", "in"):
                    for name in names:
                        if str(name) not in self.signatures:
                            hint = nearest(str(name), set(self.signatures))
                            self._say(
                                rule.at, f"rule '{rule.id}' looks for the signature '{name}', which is none{hint}"
                            )

    def _field(self, rule: Rule, p: Pattern, name: str) -> None:
        known = field_names(p.kind)
        if p.kind == "log":
            known = known | self._captures(p)
        if name in known or p.kind in _OPEN_KINDS or name.startswith(_OPEN_FIELDS.get(p.kind, ("\0",))):
            return
        self._say(rule.at, f"rule '{rule.id}': '{p.kind}' has no field '{name}'{nearest(name, known)}")

    def _captures(self, p: Pattern) -> set[str]:
        for test in p.tests:
            if test.field == "signature" and test.op in ("eq", "in"):
                names = test.operand if isinstance(test.operand, tuple) else (test.operand,)
                found = [self.signatures[str(n)] for n in names if str(n) in self.signatures]
                return {group for s in found for group, _ in s.captures}
        return {group for s in self.signatures.values() for group, _ in s.captures}

    def _findings(self) -> None:
        asked: set[str] = set()
        for rule in self.rules:
            for condition in conditions_of(rule):
                asked |= {str(f) for p, _ in patterns_of(condition) if (f := asked_finding(p)) is not None}
            asked |= {a.unless for a in rule.avoid or () if a.unless}
        for entry in self.diagnoses.values():
            asked |= {a.unless for a in entry.avoid if a.unless} | set(entry.refuted_by)
            for name in [*(a.unless for a in entry.avoid if a.unless), *entry.refuted_by]:
                if name not in self.findings:
                    self._say(entry.at, f"diagnosis '{entry.id}' names the finding '{name}', which does not exist")
        concluded = {rule.concludes for rule in self.rules}
        for name, found in self.findings.items():
            if name not in concluded:
                self._say(found.at, f"finding '{name}' is concluded by no rule")
            elif name not in asked and not found.sign:
                self._say(found.at, f"finding '{name}' is used by no rule")
        used = {
            str(name)
            for rule in self.rules
            for condition in conditions_of(rule)
            for p, _ in patterns_of(condition)
            if p.kind == "log"
            for test in p.tests
            if test.field == "signature"
            for name in (test.operand if isinstance(test.operand, tuple) else (test.operand,))
        }
        for name, signature in self.signatures.items():
            if name not in used and not signature.benign:
                self._say(f"signature {name}", "is looked for by no rule")

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
            self._say(at[circle[0]], f"'explains' runs in a circle: {' -> '.join([*circle, circle[0]])}")

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
        """Places in texts must name a pattern of every rule that shows the text, and a field that it has."""
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


def find_circle(edges: Mapping[str, set[str]]) -> list[str] | None:
    """One circle of a directed graph, or None."""
    state: dict[str, int] = {}

    def visit(node: str, path: list[str]) -> list[str] | None:
        state[node] = 1
        for target in sorted(edges.get(node, ())):
            if state.get(target) == 1:
                return path[path.index(target) :] if target in path else [target]
            if state.get(target) is None:
                found = visit(target, [*path, target])
                if found:
                    return found
        state[node] = 2
        return None

    for node in sorted(edges):
        if state.get(node) is None:
            found = visit(node, [node])
            if found:
                return found
    return None


def strata(rules: list[Rule]) -> tuple[dict[str, int], list[str] | None]:
    """The stratum of every conclusion: what a rule negates or counts lies in a lower one.

    Returns the strata by conclusion, or a circle through negation, by the names of its conclusions.
    """
    names = {rule.concludes for rule in rules}
    level = dict.fromkeys(names, 0)
    needs: list[tuple[str, str, int]] = []
    for rule in rules:
        for p, complete in patterns_of(rule.when):
            if p.kind != "finding":
                continue
            wanted = asked_finding(p)
            for name in names if wanted is None else {wanted} & names:
                needs.append((rule.concludes, name, 1 if complete else 0))
    for _ in range(len(names) + 1):
        changed = False
        for owner, name, step in needs:
            if level[owner] < level[name] + step:
                level[owner] = level[name] + step
                changed = True
        if not changed:
            return level, None
    edges: dict[str, set[str]] = {}
    for owner, name, _ in needs:
        edges.setdefault(owner, set()).add(name)
    negative = {(owner, name) for owner, name, step in needs if step}
    for owner, name in sorted(negative):
        path = _path(edges, name, owner)
        if path:
            return level, [owner, *path]
    return level, sorted(names)


def _path(edges: Mapping[str, set[str]], start: str, goal: str) -> list[str] | None:
    queue, seen = [[start]], {start}
    while queue:
        path = queue.pop(0)
        if path[-1] == goal:
            return path
        for target in sorted(edges.get(path[-1], ())):
            if target not in seen:
                seen.add(target)
                queue.append([*path, target])
    return None
