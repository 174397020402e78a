"""`replay`: the pure path over a saved capture, compared with its expected.yaml if it has one."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..errors import InputError, UsageError
from . import print_aside
from .options import add_engine, add_format
from .output import check_output, emit_report

if TYPE_CHECKING:
    from ..diagnosis import Report
    from ..expected import Difference, Expected

USAGE = "CAPTURE [--strict] [options]"
DESCRIPTION = """\
Diagnoses a saved capture: a folder, or a .tar.gz or .zip of it. With an
expected.yaml in the folder (beside an archive: NAME.expected.yaml) it exits 0
if the report is as expected, and 1 if it is not, with what differs. Without
one the exit status is that of the verdict."""

EXPECTED = "expected.yaml"
MAX_EXPECTED = 1_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--strict", action="store_true", help="compare all claimed ids and their levels with those pinned as well"
    )
    add_engine(parser)
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    check_output(options)
    if len(options.words) != 1:
        raise UsageError("replay takes one capture (see sparkdiag replay --help)")
    capture = options.words[0]
    expected = read_expected(capture)
    if options.strict and expected is None:
        raise UsageError(f"--strict compares with {EXPECTED}, and {capture} has none")
    from .. import diagnose_capture

    given = {"rule_engine": options.rule_engine} if options.rule_engine else {}
    report = diagnose_capture(capture, **given)
    return tell(report, expected, options, strict=options.strict)


def tell(report: Report, expected: Expected | None, options: argparse.Namespace, *, strict: bool = False) -> int:
    """Print the report and how it compares; the exit status says whether it is as expected."""
    if expected is None:
        emit_report(report, options)
        return report.exit_status
    from ..expected import differences

    found = differences(expected, report, strict=strict)
    as_data = [{"key": d.key, "expected": list(d.expected), "got": list(d.got)} for d in found]
    blocks = _blocks(found)
    if options.format == "text":
        emit_report(report, options, tail=blocks)
    else:
        emit_report(report, options, more={"as_expected": not found, "differences": as_data})
        if options.format != "json":
            print_aside(blocks.rstrip("\n"))
    return 1 if found else 0


def _blocks(found: list[Difference]) -> str:
    """`exp` and `got`, a block for each point that differs."""
    from ..report.harmless import harmless

    if not found:
        return "as expected\n"
    lines = ["different from what is expected"]
    for difference in found:
        lines.append(f"  {difference.key}")
        lines += [f"    exp: {text}" for text in difference.expected]
        lines += [f"    got: {text}" for text in difference.got]
    return harmless("\n".join(lines)) + "\n"


def read_expected(capture: str) -> Expected | None:
    """The expectation in a capture's folder, or beside its archive as NAME.expected.yaml; None if there is none."""
    for name in (os.path.join(capture, EXPECTED),) if os.path.isdir(capture) else _beside(capture):
        try:
            with open(name, encoding="utf-8") as file:
                text = file.read(MAX_EXPECTED + 1)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", place=name) from None
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", place=name) from None
        if len(text) > MAX_EXPECTED:
            raise InputError("is too large to be an expectation", place=name)
        from ..expected import parse_expected

        return parse_expected(text, name)
    return None


def _beside(archive: str) -> tuple[str, ...]:
    for ending in (".tar.gz", ".tgz", ".zip", ".json"):
        if archive.endswith(ending):
            return (f"{archive[: -len(ending)]}.{EXPECTED}",)
    return ()
