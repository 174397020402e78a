"""`rules`: list, check, show and compile the rules."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .output import check_output, emit, emit_json, page
from .parsing import near

USAGE = "list|check|show|compile [FOLDER|ID] [options]"
DESCRIPTION = """\
  rules list              every diagnosis with the rules that conclude it
  rules check [FOLDER]    every problem of the rule files, with file and line;
                          exits 0 if there is none, else 1
  rules show ID           one entry (rule, diagnosis, finding, signature or
                          probe) as it is written
  rules compile [FOLDER]  write the compiled rulebook, which is what diagnoses"""

ACTIONS = ("list", "check", "show", "compile")


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def run(options: argparse.Namespace) -> int:
    check_output(options)
    if not options.words:
        raise UsageError(f"rules needs one of {', '.join(ACTIONS)} (see sparkdiag rules --help)")
    action, *rest = options.words
    if action not in ACTIONS:
        raise UsageError(f"rules has no '{action}'{near(action, ACTIONS)} (there are {', '.join(ACTIONS)})")
    if action == "show" and len(rest) != 1:
        raise UsageError("rules show takes one id (sparkdiag rules list shows them all)")
    if len(rest) > (0 if action == "list" else 1):
        raise UsageError(f"rules {action} takes no word '{rest[-1]}'")
    if action == "list":
        return _list(options)
    if action == "show":
        return _show(options, rest[0])
    from .rule_files import check, compile_rules

    return (check if action == "check" else compile_rules)(options, rest[0] if rest else None)


def _list(options: argparse.Namespace) -> int:
    from ..infer import shipped
    from .entries import level_name

    book = shipped()
    if options.format == "json":
        emit_json(
            {
                "format": 1,
                "rulebook": book.hash,
                "rules": [
                    {"id": r.id, "concludes": r.concludes, "level": level_name(r), "at": r.at} for r in book.rules
                ],
                "diagnoses": [
                    {"id": d.id, "kind": d.kind, "title": d.title, "at": d.at} for d in book.diagnoses.values()
                ],
                "findings": [{"id": f.id, "means": f.means, "at": f.at} for f in book.findings.values()],
                "probes": [{"id": p.id, "cost": p.cost, "at": p.at} for p in book.probes.values()],
            },
            options,
        )
        return 0
    lines = []
    for d in book.diagnoses.values():
        lines.append(f"{d.id}  [{d.kind}]  {d.title}")
        lines += [f"    {r.id}  ({level_name(r)})" for r in book.rules if r.concludes == d.id]
    for f in book.findings.values():
        lines.append(f"{f.id}  [finding]  {f.means}")
        lines += [f"    {r.id}" for r in book.rules if r.concludes == f.id]
    lines.append(f"\n{len(book.rules)} rules, {len(book.diagnoses)} diagnoses, {len(book.findings)} findings")
    emit("\n".join(lines) + "\n", options)
    return 0


def _show(options: argparse.Namespace, name: str) -> int:
    from ..infer import shipped
    from .entries import as_data, find, kind_of
    from .explain import tell
    from .rule_files import source_text

    book = shipped()
    found = find(book, name)
    if options.format == "json":
        emit_json([as_data(entry) for entry in found], options)
        return 0
    out = page(options)
    for entry in found:
        at = getattr(entry, "at", None)
        text = source_text(at) if at else None
        out.blank()
        if text is None:
            tell(out, entry, book)
        else:
            out.paragraph(f"# {kind_of(entry)}, {at}", style="dim")
            out.verbatim(text, 0)
    emit(out.text(), options)
    return 0
