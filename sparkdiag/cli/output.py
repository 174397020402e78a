"""Where the output goes: standard output or a file; its width and colour; what is said when it cannot be written."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys

from ..errors import UsageError

TYPE_CHECKING = False  # --help is too quick to wait for typing

if TYPE_CHECKING:
    from ..diagnosis import Report
    from ..report.layout import Page

WIDTH = 80
MAX_WIDTH = 100
"""Longer lines are hard to read, however wide the terminal is."""


def check_output(options: argparse.Namespace) -> None:
    """Refuse a format or an output file that cannot be, before anything is collected."""
    if options.format not in (None, "text", "json"):
        from ..report import check_format

        check_format(options.format)
    if options.output is not None:
        folder = os.path.dirname(options.output) or "."
        if os.path.isdir(options.output):
            raise UsageError(f"--output {options.output}: this is a folder")
        if not os.path.isdir(folder):
            raise UsageError(f"--output {options.output}: there is no folder {folder}")


def emit_report(
    report: Report, options: argparse.Namespace, *, more: dict[str, object] | None = None, tail: str = ""
) -> None:
    """The report in the format asked for. `more` are keys for JSON beside the report's own; `tail` ends a text."""
    from ..report import render
    from ..report.as_json import to_json

    format = options.format or "text"
    if format == "json" and more:
        emit(to_json({**report.to_dict(), **more}), options)
    else:
        text = render(report, format, width=width(options), colour=colour(options))
        emit(f"{text}\n{tail}" if tail else text, options)


def emit_json(data: object, options: argparse.Namespace) -> None:
    from ..report.as_json import to_json

    emit(to_json(data), options)


def page(options: argparse.Namespace) -> Page:
    """An empty page of the width and colour of this output."""
    from ..report.layout import Page

    return Page(width(options), colour(options))


def emit(text: str, options: argparse.Namespace) -> None:
    """Write the text to where the options say. UsageError if that cannot be done; quiet if a pipe's reader has left."""
    if options.output is not None:
        try:
            with open(options.output, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"--output {options.output} cannot be written: {error.strerror}") from None
        return
    if sys.stdout is None:
        raise UsageError("standard output is closed")
    with contextlib.suppress(AttributeError, ValueError):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
    except OSError as error:
        _silence_stdout()
        raise UsageError(f"standard output cannot be written: {error.strerror}") from None


def _silence_stdout() -> None:
    """What is left in the buffer would fail once more when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width(options: argparse.Namespace) -> int:
    """Columns: those of the terminal up to a readable number, else 80."""
    if options.output is None and _is_terminal():
        with contextlib.suppress(OSError, ValueError):
            return min(os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH, MAX_WIDTH)
    return WIDTH


def colour(options: argparse.Namespace) -> bool:
    """Colour is for terminals that want it: https://no-color.org."""
    return (
        options.output is None
        and _is_terminal()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
