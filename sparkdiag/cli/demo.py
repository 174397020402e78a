"""`demo`: a recorded server on a loopback port, diagnosed live."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .options import add_engine, add_format
from .output import check_output

USAGE = "[CASE] [options]"
DESCRIPTION = """\
Puts a recording of a real server on a loopback port and diagnoses it live, as
one would diagnose a server of one's own. Without CASE the first one is taken;
a CASE that does not exist lists those that do.
Exits 0 if the answer is the expected one, 1 if it is not."""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_engine(parser)
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    check_output(options)
    if len(options.words) > 1:
        raise UsageError(f"demo takes one case, not {len(options.words)} (see sparkdiag demo --help)")
    from ..apps.demo import run_demo
    from .replay import read_expected, tell

    shown = run_demo(options.words[0] if options.words else None, options.rule_engine)
    return tell(shown.report, read_expected(shown.folder), options)
