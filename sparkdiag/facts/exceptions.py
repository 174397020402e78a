"""Facts about exceptions that a log shows."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionSeen(Fact):
    """One exception in one process, by its last line: `Type: message`. The same one again counts up."""

    kind: ClassVar[str] = "exception"
    type: str
    """The class as printed, with its module: torch.OutOfMemoryError, ValueError ..."""
    message: str = ""
    frames: tuple[str, ...] = ()
    """Outermost first, each `file.py:function`, as far as the log shows them right before the exception."""
    raised_in: str | None = None
    """The innermost of them, with its path from the package on: vllm/engine/arg_utils.py:create_engine_config."""
    process: str | None = None
    phase: str | None = None
    level: str | None = None
    count: int = 1
    last_order: int = 0
    cause: bool = False
    """Another exception follows that says it was raised because of this one, or while it was handled."""
    relays: bool = False
    """It only tells that another process or an earlier step failed."""
    first: bool = False
    """The earliest of its run that does not merely relay another's failure."""
