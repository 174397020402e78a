"""Next probes: which evidence would separate the hypotheses that are still alive, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterable

from ..diagnosis import Diagnosis, NextProbe
from .memory import Memory
from .ranking import may_explain
from .rules import ProbeEntry, Rule, Rulebook
from .why import RuleState, rule_state

MAX_PROBES = 5


def live(
    book: Rulebook, memory: Memory, diagnoses: Iterable[Diagnosis], *, signs: bool = False
) -> list[tuple[str, tuple[str, ...]]]:
    """(diagnosis id, missing probes) of every hypothesis that evidence neither shows nor rules out.

    Beside a fault that is claimed, only what the report speaks of anyway, and while the fault is not shown clearly what
    could be its cause; where all is well (`signs`), only faults. The rest would send the reader astray.
    """
    diagnoses = list(diagnoses)
    sure = {d.id for d in diagnoses if d.level in ("strong", "certain")}
    told = {d.id for top in diagnoses for d in (top, *top.symptoms)}
    faults = [book.diagnoses[d.id] for d in diagnoses if d.kind == "fault" and d.claimed and d.id in book.diagnoses]
    clear = any(entry.id in sure for entry in faults)
    known: dict[tuple[str, int], RuleState] = {}
    out = []
    for rule in _touched(book, memory):
        if rule.concludes in sure:
            continue
        if rule.concludes not in told:
            entry = book.diagnoses[rule.concludes]
            if clear or (faults and not any(may_explain(entry, rule, fault) for fault in faults)):
                continue
            if signs and entry.kind != "fault":
                continue
        state = rule_state(rule, book, memory, known=known)
        if state.state != "false" and state.missing and state.partly:
            out.append((rule.concludes, state.missing))
    return out


def next_probes(
    book: Rulebook,
    memory: Memory,
    diagnoses: Iterable[Diagnosis],
    not_run: dict[str, str] | None = None,
    *,
    signs: bool = False,
) -> list[NextProbe]:
    """At most five probes; one that separates more hypotheses, or costs less, comes first."""
    wanted: dict[str, set[str]] = {}
    for diagnosis, missing in live(book, memory, diagnoses, signs=signs):
        for name in missing:
            probe = supplier(book, name)
            if probe is not None and probe.id not in memory.looked:
                wanted.setdefault(probe.id, set()).add(diagnosis)
    order = sorted(wanted, key=lambda name: (book.probes[name].weight, -len(wanted[name]), name))
    out = []
    for name in order[:MAX_PROBES]:
        probe = book.probes[name]
        out.append(
            NextProbe(
                probe=name,
                separates=tuple(sorted(wanted[name])),
                cost=probe.cost,
                command=probe.command,
                do=probe.do,
                why_not_run=(not_run or {}).get(name),
            )
        )
    return out


def supplier(book: Rulebook, name: str) -> ProbeEntry | None:
    """The cheapest probe that supplies a kind of evidence."""
    if name in book.probes:
        return book.probes[name]
    found = [probe for probe in book.probes.values() if name in probe.supplies]
    return min(found, key=lambda probe: (probe.weight, probe.id), default=None)


def _touched(book: Rulebook, memory: Memory) -> list[Rule]:
    """Rules of diagnoses with a positive part that may be true: a cheap way to pass over most."""
    rules = (book.by_id[name] for name in book.index.touched(memory.slots()))
    return [rule for rule in rules if _may_be_partly_true(rule, memory)]


def _may_be_partly_true(rule: Rule, memory: Memory) -> bool:
    return any(p.count or memory.alpha(p).facts for variant in rule.when.variants for p in variant.positive)
