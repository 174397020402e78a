"""Regular expressions that are compiled when they are first used: most texts need few of them, and a start is short."""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["lazy"]


class _Lazy:
    """Stands in for a compiled expression; each method is looked up once and then kept."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(self._pattern, self._flags), name)
        self.__dict__[name] = method
        return method


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """An expression to be compiled at its first use; `re` keeps what it compiled, for all its methods."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
