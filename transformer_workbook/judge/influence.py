"""Influence: what a result depends on, found by changing one number after the other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.changes import is_sequence
from transformer_workbook.judge.comparing import Failure, equal, is_number
from transformer_workbook.judge.copying import copied
from transformer_workbook.judge.probes import Probe

MOST = 8
"""How many changes of an argument are tried at most."""

Case = tuple[Any, ...]
Give = Callable[[Probe], Any]


@dataclass(frozen=True)
class Influence:
    """What right results depend on, found once and compared with all the answers.

    >>> of_both = Influence(lambda case: sum(case), {"a": 0, "b": 0}, [(1.0, 2.0)])
    >>> of_both.missing(lambda probe: probe.case[0])
    'the result does not depend on `b`.'
    """

    right: Callable[..., Any]
    """What the reference gives in a case, or a Failure."""
    known: Mapping[str, Any]
    """The names of the arguments."""
    cases: Sequence[Case]
    _found: dict[tuple[int, int], list[tuple[str, list[Probe]]]] = field(
        default_factory=dict, init=False
    )

    @cached_property
    def _as_they_are(self) -> list[Probe]:
        return [Probe(self.right, case) for case in self.cases]

    def _changed(self, number: int, place: int) -> list[tuple[str, list[Probe]]]:
        """Where a number of an argument stands, and the cases in which it is another."""
        if (number, place) not in self._found:
            self._found[number, place] = [
                (where, [Probe(self.right, other) for other in others])
                for where, others in _changed(self.cases[number], place)
            ]
        return self._found[number, place]

    def missing(self, answer: Give) -> str:
        """Which argument no answer depends on, though right results do; or nothing."""
        for place, name in enumerate(self.known):
            needed = 0
            for number in range(len(self.cases)):
                missed = self._missed(answer, number, place)
                if missed is None:
                    break
                needed += missed
            else:
                if needed > 1:
                    return f"the result does not depend on `{name}`."
        return ""

    def _missed(self, answer: Give, number: int, place: int) -> int | None:
        """How many changes of an argument must change the answer, if none of them does."""
        case, needed = self._as_they_are[number], 0
        got = answer(case)
        if isinstance(got, Failure):
            return None
        for probe in (probe for _, probes in self._changed(number, place) for probe in probes):
            result = answer(probe)
            if isinstance(result, Failure) or not equal(result, got):
                return None
            if isinstance(probe.right, Failure):
                return None
            needed += not equal(probe.right, case.right)
        return needed

    def wrong(self, answer: Give, number: int) -> str:
        """Which number counts in one case and must not, or has to and does not; or nothing.

        It is told of floats only: where a result jumps, a change may be too small to be seen.
        """
        case, too_little = self._as_they_are[number], ""
        got, want = answer(case), case.right
        if isinstance(got, Failure) or got is None or not _is_smooth(want):
            return ""
        if not equal(got, got):  # such as an array: with everything it would seem another
            return ""
        for place, name in enumerate(self.known):
            for where, probes in self._changed(number, place):
                counts = must = False
                for probe in probes:
                    if isinstance(answer(probe), Failure) or isinstance(probe.right, Failure):
                        return ""
                    counts = counts or not equal(answer(probe), got)
                    must = must or not equal(probe.right, want)
                if counts and not must:
                    return f"`{name}{where}` changes the result, and must not."
                if must and not counts:
                    too_little = (
                        too_little or f"`{name}{where}` must change the result, and does not."
                    )
        return too_little


def _is_smooth(result: Any) -> bool:
    if is_sequence(result):
        return bool(result) and all(map(_is_smooth, result))
    if isinstance(result, Tensor):
        return result.is_floating_point()
    return isinstance(result, float)


def _changed(case: Case, place: int) -> Iterator[tuple[str, list[Case]]]:
    """Where a number of an argument stands, and the cases in which it is another."""
    places = list(_places(case[place]))
    for index in islice(places, 0, None, 1 + len(places) // MOST):
        changed = [_replaced(case, place, index, change) for change in (0.73, -31.9)]
        yield str(list(index)) * bool(index), [other for other in changed if not equal(other, case)]


def _places(argument: Any) -> Iterator[tuple[int, ...]]:
    """The places of the numbers in an argument."""
    if isinstance(argument, Tensor):
        yield from (tuple(index) for index in torch.ones(argument.shape).nonzero().tolist())
    elif isinstance(argument, list):
        yield from ((i,) for i, entry in enumerate(argument) if is_number(entry))
    elif is_number(argument) or isinstance(argument, bool):
        yield ()


def _replaced(case: Case, place: int, index: tuple[int, ...], change: float) -> Case:
    given = list(copied(case))
    if not index:
        given[place] = _other(given[place], change)
    elif isinstance(given[place], Tensor):
        given[place][index] = _other(given[place][index].item(), change)
    else:
        given[place][index[0]] = _other(given[place][index[0]], change)
    return tuple(given)


def _other(number: Any, change: float) -> Any:
    """Another number of the same kind: whole ones go one or two up."""
    if isinstance(number, bool):
        return not number
    return number + change if isinstance(number, float) else number + (1 if change > 0 else 2)
