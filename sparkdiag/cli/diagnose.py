"""The default: diagnose targets and print the report."""

from __future__ import annotations

import argparse

from ..errors import Interrupted, UsageError
from .options import add_collecting, add_engine, add_format, library_arguments
from .output import check_output, emit_report


def add_options(parser: argparse.ArgumentParser) -> None:
    add_collecting(parser)
    add_engine(parser)
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    check_output(options)
    targets = tuple(options.words)
    if not targets and not (options.log or options.ssh or options.local or options.container):
        raise UsageError("no target: give an endpoint, a log, a capture or - for standard input (see sparkdiag --help)")
    arguments = library_arguments(options)
    from .. import diagnose_sync

    try:
        report = diagnose_sync(*targets, **arguments)
    except Interrupted as stop:
        emit_report(stop.report, options)
        raise
    emit_report(report, options)
    return report.exit_status
