"""Lists of words as they are best read: in a row."""

from __future__ import annotations

__all__ = ["words_of"]


def words_of(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())
