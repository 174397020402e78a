"""Evidence into facts. Pure: texts come in, facts go out; no I/O, no clock."""

from __future__ import annotations

from .exchanges import Exchange, observe_exchange
from .pieces import observe_pieces
from .transcript import read_text

__all__ = ["Exchange", "observe_exchange", "observe_pieces", "read_text"]
