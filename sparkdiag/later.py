"""What is made only for those who look at it: a proxy reads the verdict of most replies, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

__all__ = ["Later"]

_Item = TypeVar("_Item")


class Later(Sequence[_Item]):
    """A tuple that is made when it is first looked at, by a function that gives the same whenever it is called."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Iterable[_Item]]) -> None:
        self._make: Callable[[], Iterable[_Item]] | None = make
        self._made: tuple[_Item, ...] = ()

    def _items(self) -> tuple[_Item, ...]:
        make = self._make
        if make is not None:
            self._made = tuple(make())  # before the function is let go: another thread may be looking, too
            self._make = None
        return self._made

    @overload
    def __getitem__(self, place: int) -> _Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[_Item, ...]: ...
    def __getitem__(self, place: int | slice) -> _Item | tuple[_Item, ...]:
        return self._items()[place]

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._items())

    def __eq__(self, other: object) -> bool:
        return self._items() == (other._items() if isinstance(other, Later) else other)

    def __hash__(self) -> int:
        return hash(self._items())

    def __repr__(self) -> str:
        return repr(self._items())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self._items()),)
