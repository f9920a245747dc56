"""What does the answer depend on? An argument without influence, cases in which it is right."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.comparing import Failure, equal, is_number, show
from transformer_workbook.judge.copying import copied
from transformer_workbook.judge.diagnosis.relations import is_sequence
from transformer_workbook.judge.probes import Probe
from transformer_workbook.judge.sentences import Way, either, first_said, said, to_say

MOST = 8
"""Maximum number of changes of an argument that are tried."""

Case = tuple[Any, ...]
Give = Callable[[Probe], Any]


@dataclass(frozen=True)
class Influence:
    """What right results depend on, computed once and compared with all answers.

    >>> of_both = Influence(lambda case: sum(case), {"a": 0, "b": 0}, [(1.0, 2.0)])
    >>> of_both.missing(lambda probe: probe.case[0])
    'the result does not depend on `b`.'
    """

    right: Callable[..., Any]
    """The result of the reference in a case, or a Failure."""
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
        """Return the index of a number in an argument, with the cases in which it is changed."""
        if (number, place) not in self._found:
            self._found[number, place] = [
                (where, [Probe(self.right, other) for other in others])
                for where, others in _changed(self.cases[number], place)
            ]
        return self._found[number, place]

    def missing(self, answer: Give) -> str:
        """Say which argument no answer depends on, though right results do; or return ""."""
        for place, name in enumerate(self.known):
            needed = 0
            for number in range(len(self.cases)):
                missed = self._missed(answer, number, place)
                if missed is None:
                    break
                needed += missed
            else:
                if needed > 1:
                    return said("the result does not depend on `{name}`.", name=name)
        return ""

    def _missed(self, answer: Give, number: int, place: int) -> int | None:
        """Count the changes of an argument that must change the answer, if none of them does."""
        case, needed = self._as_they_are[number], 0
        got = answer(case)
        if isinstance(got, Failure):
            return None
        for probe in (probe for _, probes in self._changed(number, place) for probe in probes):
            result = answer(probe)
            if isinstance(result, Failure) or not _is_same(result, got):
                return None
            if isinstance(probe.right, Failure):
                return None
            needed += not equal(probe.right, case.right)
        return needed

    def wrong(self, answer: Give, number: int) -> str:
        """Say which number of a case has an influence and must not, or the reverse; or return "".

        Only floats are reported: where a result jumps, a change may be too small to be seen.
        """
        case, too_little = self._as_they_are[number], ""
        got, want = answer(case), case.right
        if isinstance(got, Failure) or got is None or not _is_smooth(want):
            return ""
        if not equal(got, got):  # such as an array: it would differ from everything
            return ""
        for place, name in enumerate(self.known):
            for where, probes in self._changed(number, place):
                counts = must = may = False
                for probe in probes:
                    if isinstance(answer(probe), Failure) or isinstance(probe.right, Failure):
                        return ""
                    counts = counts or not equal(answer(probe), got)
                    must = must or not equal(probe.right, want)
                    may = may or not _is_same(probe.right, want)
                if counts and not may:
                    return said("`{number}` changes the result, and must not.", number=name + where)
                if must and not counts:
                    too_little = too_little or name + where
        if not too_little:
            return ""
        return said("`{number}` must change the result, and does not.", number=too_little)


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether results agree in ten digits; otherwise there is an influence."""
    try:
        return show(one, 10) == show(other, 10)
    except Exception:  # a reader's object may raise anything
        return False


def _is_smooth(result: Any) -> bool:
    if is_sequence(result):
        return bool(result) and all(map(_is_smooth, result))
    if isinstance(result, Tensor):
        return result.is_floating_point()
    return isinstance(result, float)


def _changed(case: Case, place: int) -> Iterator[tuple[str, list[Case]]]:
    """Iterate over the indices of an argument, with the cases in which that number is changed."""
    places = list(_places(case[place]))
    for index in islice(places, 0, None, 1 + len(places) // MOST):
        changed = [_replaced(case, place, index, change) for change in (0.73, -31.9)]
        yield str(list(index)) * bool(index), [other for other in changed if not equal(other, case)]


def _places(argument: Any) -> Iterator[tuple[int, ...]]:
    """Iterate over the indices of the numbers in an argument."""
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
    """Return another number of the same kind: an integer goes one or two up."""
    if isinstance(number, bool):
        return not number
    return number + change if isinstance(number, float) else number + (1 if change > 0 else 2)


Holds = Callable[[Case], bool]

OF_NUMBERS: tuple[Way, ...] = (
    Way("it is right where `{name}` is 0, and wrong in all other cases.", lambda x: x == 0),
    Way("it is right where `{name}` is 1, and wrong in all other cases.", lambda x: x == 1),
    Way("it is right where `{name}` is negative, and wrong in all other cases.", lambda x: x < 0),
    Way("it is right where `{name}` is positive, and wrong in all other cases.", lambda x: x > 0),
)
OF_TRUTHS: tuple[Way, ...] = (
    Way("it is right where `{name}` is True everywhere, and wrong in all other cases.", torch.all),
    Way("it is right where `{name}` is True somewhere, and wrong in all other cases.", torch.any),
)
OF_IDS: tuple[Way, ...] = (
    Way("it is right where there is no 0 in `{name}`, and wrong in all other cases.", torch.all),
    Way(
        "it is right where there is a 0 in `{name}`, and wrong in all other cases.",
        lambda x: (x == 0).any(),
    ),
)
OF_LISTS: tuple[Way, ...] = (
    Way("it is right where `{name}` is empty, and wrong in all other cases.", lambda x: not x),
    Way("it is right where `{name}` is not empty, and wrong in all other cases.", len),
    Way(
        "it is right where `{name}` has one entry, and wrong in all other cases.",
        lambda x: len(x) == 1,
    ),
    Way(
        "it is right where `{name}` has more than one entry, and wrong in all other cases.",
        lambda x: len(x) > 1,
    ),
    Way(
        "it is right where all entries of `{name}` are equal, and wrong in all other cases.",
        lambda x: len(set(map(str, x))) < 2,
    ),
    Way(
        "it is right where no entry of `{name}` is repeated, and wrong in all other cases.",
        lambda x: len(set(map(str, x))) == len(x),
    ),
    Way(
        "it is right where an entry of `{name}` is repeated, and wrong in all other cases.",
        lambda x: len(set(map(str, x))) < len(x),
    ),
    Way(
        "it is right where `{name}` is in order, and wrong in all other cases.",
        lambda x: list(x) == sorted(x),
    ),
    Way(
        "it is right where `{name}` is not in order, and wrong in all other cases.",
        lambda x: list(x) != sorted(x),
    ),
)
"""Properties that an argument may have in exactly the cases in which an answer is right."""


def circumstance(
    known: Mapping[str, Any],
    cases: Sequence[Case],
    is_right: Sequence[bool],
    elsewhere: Callable[[Case], bool | None] = lambda case: None,
    otherwise: str = "",
) -> str:
    """Say where an answer is right, if it is in some cases and not in others.

    ``elsewhere`` tells for further cases whether the answer is right there, or ``None`` where they
    make no sense: a property that holds by chance is not reported. ``otherwise`` is the sentence of
    one wrong case: it is returned if the cases have nothing in common, and added to a single
    number, which says little by itself.

    >>> cases = [("dot", 2), ("dot", 3), ("general", 3), ("general", 2)]
    >>> circumstance({"score": str, "d": int}, cases, [True, True, False, False])
    "it is right where `score` is 'dot', and wrong in all other cases."
    """
    if len(set(is_right)) < 2:
        return otherwise

    def further(holds: Holds) -> Iterator[bool | None]:
        others = itertools.chain(mixed(cases), _shortened(cases))
        return (elsewhere(case) for case in others if holds(case))

    def always(holds: Holds) -> bool:
        return list(map(holds, cases)) == list(is_right) and False not in further(holds)

    def seen(holds: Holds) -> bool:
        return always(holds) and any(further(holds))

    many = min(map(list(is_right).count, (True, False))) > 1
    return (
        first_said(_circumstances(known, cases, is_right), always if many else seen)
        or first_said(_values(known, cases, is_right, otherwise), seen)
        or otherwise
    )


def mixed(cases: Sequence[Case]) -> Iterator[Case]:
    """Iterate over cases with an argument of another case that is like their own."""
    for case, other in itertools.permutations(cases, 2):
        for place, (own, taken) in enumerate(zip(case, other, strict=True)):
            if type(own) is type(taken) and getattr(own, "shape", 0) == getattr(taken, "shape", 0):
                mixed = (*case[:place], taken, *case[place + 1 :])
                if not equal(mixed, case):
                    yield mixed


def _shortened(cases: Sequence[Case]) -> Iterator[Case]:
    """Iterate over cases with a list that lacks its first or its last entry."""
    for case in cases:
        for place, own in enumerate(case):
            if isinstance(own, list) and len(own) > 1:
                for shorter in (own[1:], own[:-1]):
                    yield (*case[:place], shorter, *case[place + 1 :])


def _circumstances(
    known: Mapping[str, Any], cases: Sequence[Case], is_right: Sequence[bool]
) -> Iterator[Way]:
    """Iterate over properties of the arguments, with the cases in which each holds."""
    where = to_say("it is right where `{name}` is {value}, and wrong in all other cases.")
    for place, name in enumerate(known):
        given = [case[place] for case in cases]
        if all(isinstance(x, bool | str) for x in given):
            good = list(dict.fromkeys(x for x, right in zip(given, is_right, strict=True) if right))
            values = {"name": name, "value": either(map(show, good))}
            yield Way(where, lambda case, i=place, good=good: case[i] in good, values)
        for way in _properties(given[0]):
            yield Way(way.says, lambda case, i=place, of=way.how: bool(of(case[i])), {"name": name})
        for other, second in enumerate(known):
            pairs = [(case[place], case[other]) for case in cases]
            if other > place and all(is_number(x) and is_number(y) for x, y in pairs):
                values = {"name": name, "value": f"`{second}`"}
                yield Way(where, lambda case, i=place, j=other: bool(case[i] == case[j]), values)


def _values(
    known: Mapping[str, Any], cases: Sequence[Case], is_right: Sequence[bool], otherwise: str
) -> Iterator[Way]:
    """Say which single value an argument has in the right cases."""
    only = to_say("it is right only where `{name}` is {value}; {sentence}")
    for place, name in enumerate(known):
        if all(is_number(case[place]) for case in cases):
            value = next(case[place] for case, good in zip(cases, is_right, strict=True) if good)
            values = {"name": name, "value": show(value), "sentence": otherwise}
            yield Way(only, lambda case, i=place, value=value: bool(case[i] == value), values)


def _properties(argument: Any) -> tuple[Way, ...]:
    if isinstance(argument, Tensor):
        if argument.is_floating_point():
            return ()
        return OF_TRUTHS if argument.dtype == torch.bool else OF_IDS
    if isinstance(argument, list | tuple | dict | set):
        return OF_LISTS
    return OF_NUMBERS if is_number(argument) else ()
