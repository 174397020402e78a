"""The command line: `main` finds the verb, runs it, and turns every outcome into an exit status.

Add a verb: a module here with `options(parser)` and `run(options) -> int`, and its line in `verbs.VERBS`.
Nothing heavy is imported before it is known what to do: `--help` must be as quick as Python allows.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from ..errors import SparkdiagError

__all__ = ["main"]

GARBAGE_THRESHOLD = 200_000
"""Objects between collections: a rulebook is loaded in one go, and nothing of it is garbage."""

USAGE, DEFECT, INTERRUPTED = 2, 4, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status and never raises for bad input."""
    words = list(sys.argv[1:] if argv is None else argv)
    gc.set_threshold(GARBAGE_THRESHOLD)
    try:
        from .dispatch import dispatch

        return dispatch(words)
    except SparkdiagError as error:
        complain(str(error))
        return USAGE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except Exception as error:
        from .defect import describe_defect

        complain(describe_defect(error, show="--debug" in words))
        return DEFECT


def complain(message: str) -> None:
    """A sentence on standard error."""
    from ..report.harmless import harmless

    print_aside(f"sparkdiag: {harmless(message)}")


def print_aside(text: str) -> None:
    """Print to standard error; where that is closed as well, nobody is there to read it."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        return
