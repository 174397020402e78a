"""Facts about the program that reads the replies."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReads(Fact):
    """Which reasoning key the client takes its thinking text from."""

    kind: ClassVar[str] = "client"
    key: str
    """reasoning or reasoning_content."""
    by: str = "told"
    """told (an option, or the caller), code (pasted code of the client)."""
