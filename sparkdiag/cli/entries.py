"""Entries of the rulebook by their id, as data and in words."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..diagnosis import LEVELS
from ..errors import UsageError
from ..facts import Signature
from ..infer import Rulebook
from ..infer.conditions import describe
from ..infer.rules import Condition, DiagnosisEntry, FindingEntry, Pattern, ProbeEntry, Rule, Variant
from ..report.layout import Page
from .parsing import near

Entry = Rule | DiagnosisEntry | FindingEntry | Signature | ProbeEntry

_KINDS: dict[type, str] = {
    Rule: "rule",
    DiagnosisEntry: "diagnosis",
    FindingEntry: "finding",
    Signature: "signature",
    ProbeEntry: "probe",
}


def level_name(rule: Rule) -> str:
    return tuple(LEVELS)[rule.level]


def find(book: Rulebook, name: str, *, concluded: bool = False) -> list[Entry]:
    """The entries of that id. `concluded` leaves out what no rule can conclude: signatures and probes."""
    tables: list[Any] = [book.diagnoses, book.by_id, book.findings]
    if not concluded:
        tables += [book.signatures, book.probes]
    found: list[Entry] = [table[name] for table in tables if name in table]
    if not found:
        known = [key for table in tables for key in table]
        tail = [key for key in known if key.partition(".")[2] == name]
        hint = f"; did you mean {tail[0]}?" if tail else near(name, known)
        raise UsageError(f"there is no rule or diagnosis '{name}'{hint} (sparkdiag rules list shows them all)")
    return found


def rules_for(book: Rulebook, name: str) -> list[Rule]:
    """The rule of that id, or all rules that conclude that diagnosis or finding."""
    find(book, name, concluded=True)
    own = [book.by_id[name]] if name in book.by_id else []
    return own or [rule for rule in book.rules if rule.concludes == name]


def kind_of(entry: Entry) -> str:
    return _KINDS[type(entry)]


def as_data(entry: Entry) -> dict[str, Any]:
    """The entry for JSON, with what kind of entry it is; a rule's level by its name."""
    data = {"entry": kind_of(entry), **dataclasses.asdict(entry)}
    if isinstance(entry, Rule):
        data["level"] = level_name(entry)
    return data


def tell_condition(page: Page, condition: Condition, indent: int) -> None:
    """A condition in words; what all of its variants share is said once."""
    told = [_variant_words(variant) for variant in condition.variants]
    shared = [part for part in told[0] if all(part in parts for parts in told)]
    for part in shared:
        page.paragraph(part, indent, lead="- ")
    if len(told) == 1:
        return
    page.paragraph("and one of" if shared else "one of", indent, lead="- ")
    for number, parts in enumerate(told, 1):
        own = [part for part in parts if part not in shared] or ["nothing more"]
        for at, part in enumerate(own):
            page.paragraph(part, indent + 2, lead=("   " if at else f"{number}. ") + "- ")


def _variant_words(variant: Variant) -> list[str]:
    """Each part in words, without the patterns that stand for the rule's version ranges: those are told apart."""
    return [
        *(_words(p) for p in variant.positive),
        *(f"nothing seen with {_words(p)}" for p in variant.none if not p.alias.startswith("_v")),
        *(f"looked for and not there: {_words(p)}" for p in variant.absent),
    ]


def _words(p: Pattern) -> str:
    more = [f"called {p.alias}"] if p.named else []
    more += [f"before {p.before}"] if p.before else []
    more += [f"after {p.after}"] if p.after else []
    more += ["on any node"] if "node" in p.across else []
    more += ["in any run"] if "run" in p.across else []
    return describe(p) + (f" ({', '.join(more)})" if more else "")
