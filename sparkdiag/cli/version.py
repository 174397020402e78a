"""`--version`: the version, the number of rules and the rule engine in use."""

from __future__ import annotations

import argparse

from .._version import __version__
from .output import emit, emit_json


def print_version(options: argparse.Namespace) -> int:
    from ..infer import make_engine, shipped

    book = shipped()
    engine, note = make_engine(getattr(options, "rule_engine", None) or "auto", book)
    engine.close()
    if options.format == "json":
        emit_json(
            {
                "sparkdiag": __version__,
                "rules": len(book.rules),
                "diagnoses": len(book.diagnoses),
                "rulebook": book.hash,
                "rule_engine": engine.name,
            },
            options,
        )
    else:
        emit(f"sparkdiag {__version__}, {len(book.rules)} rules, rule engine {engine.name}\n", options)
    if note:
        from . import complain

        complain(note)
    return 0
