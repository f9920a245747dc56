"""Probes: additional cases, whose right results are computed once for all answers."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Probe:
    """A case for an answer, and the result of the reference in it."""

    reference: Callable[[tuple[Any, ...]], Any]
    case: tuple[Any, ...]

    @cached_property
    def right(self) -> Any:
        """Return the right result, or a Failure; it is computed when first asked for."""
        return self.reference(self.case)


class Remembered(Iterable[T], Generic[T]):
    """An iterable that stores the items of an iterator, and takes no more than are asked for.

    >>> squares = Remembered(lambda: (n * n for n in range(3)))
    >>> list(squares), list(squares)
    ([0, 1, 4], [0, 1, 4])
    """

    def __init__(self, source: Callable[[], Iterator[T]]) -> None:
        self._source = source
        self._begin()

    def _begin(self) -> None:
        self._rest, self._known = self._source(), list[T]()

    def __iter__(self) -> Iterator[T]:
        for place in itertools.count():
            if place == len(self._known):
                try:
                    self._known += itertools.islice(self._rest, 1)
                except BaseException:  # an interrupted iterator would give nothing more
                    self._begin()
                    raise
            if place == len(self._known):
                return
            yield self._known[place]
