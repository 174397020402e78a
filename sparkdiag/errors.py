"""The one exception tree. Every error carries its context and ends in a sentence a person can act on.

SparkdiagError
├── UsageError           the caller asked for something that cannot be (exit status 2)
├── InputError           a file, capture or text cannot be read (exit status 2)
│   ├── CaptureError     a capture or fixture is malformed
│   └── RuleError        a rulebook is malformed; carries file and line
└── EngineError          a rule engine failed; the caller falls back to the Python engine

KeyboardInterrupt
└── Interrupted          a live run was stopped by hand; carries the partial report (exit status 130)
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported for this alone: the library must import at once

if TYPE_CHECKING:
    from .diagnosis import Report

__all__ = ["CaptureError", "EngineError", "InputError", "Interrupted", "RuleError", "SparkdiagError", "UsageError"]


class SparkdiagError(Exception):
    """Base of all errors that sparkdiag raises on purpose."""


class UsageError(SparkdiagError):
    """The call or command line cannot be carried out as given."""


class InputError(SparkdiagError):
    """Something handed in cannot be read; `place` says where (a path, or path:line)."""

    def __init__(self, message: str, *, place: str | None = None) -> None:
        self.place = place
        super().__init__(f"{place}: {message}" if place else message)


class CaptureError(InputError):
    """A capture or fixture does not have the published shape."""


class RuleError(InputError):
    """A rulebook file is wrong; `problems` holds every finding, each a `file:line: sentence`."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problems))


class EngineError(SparkdiagError):
    """A rule engine could not load its rules or finish a run."""


class Interrupted(KeyboardInterrupt):
    """Somebody stopped a live run; `report` is what can be told from what had been collected by then."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__()
