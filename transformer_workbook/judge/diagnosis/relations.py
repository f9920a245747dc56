"""How is the answer related to the right one? A factor, a sign, another order, in every case."""

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.judge.comparing import brief, equal, is_number, is_truth, show
from transformer_workbook.judge.sentences import Way, first_said, said

Change = Callable[[Any], Any]

ENOUGH = 3
"""With this many integers, being a sum, product or multiple of others is not by chance."""

MANY = 12
"""With this many integers, being what two mistakes give, or a step, is not by chance."""


def is_sequence(result: Any) -> bool:
    """Tell whether this is a list or a tuple."""
    return isinstance(result, list | tuple)


def _numbers(change: Change) -> Change:
    """Change every number of a result."""

    def changed(result: Any) -> Any:
        if is_sequence(result):
            return type(result)(map(changed, result))
        if isinstance(result, bool) or getattr(result, "dtype", None) == torch.bool:
            raise TypeError("a boolean is not a number")
        return change(result)

    return changed


def _truths(result: Any) -> Any:
    if isinstance(result, bool):
        return not result
    if is_sequence(result):
        return type(result)(map(_truths, result))
    if result.dtype != torch.bool:
        raise TypeError("a number is not a boolean")
    return ~result


def _by_rows(change: Change) -> Change:
    """Change a sequence, or a tensor along its first axis."""
    return lambda result: change(result) if is_sequence(result) or result.dim() else None


def _turned(result: Any) -> Any:
    return result.flip(0) if isinstance(result, Tensor) else result[::-1]


def _sorted(result: Any) -> Any:
    return type(result)(sorted(result)) if is_sequence(result) else None


def _joined(first: Any, second: Any) -> Any:
    return torch.cat([first, second]) if isinstance(first, Tensor) else first + second


def _rounded(n: int) -> Change:
    return _numbers(lambda x: x.round(decimals=n) if isinstance(x, Tensor) else round(x, n))


POWERS: tuple[Way, ...] = (
    Way("this is the reciprocal of what is asked for.", _numbers(lambda x: 1 / x)),
    Way("this is the square of what is asked for.", _numbers(lambda x: x * x)),
    Way("this is the root of what is asked for.", _numbers(lambda x: x**0.5)),
)
RELATIONS: tuple[Way, ...] = (
    Way("True and False are swapped.", _truths),
    Way("the sign is wrong: this is the negative of what is asked for.", _numbers(lambda x: -x)),
    Way("this is 1 too many in every case.", _numbers(lambda x: x + 1)),
    Way("this is 1 too few in every case.", _numbers(lambda x: x - 1)),
    Way("this is 1 minus what is asked for.", _numbers(lambda x: 1 - x)),
    *POWERS,
    Way("this is the logarithm of what is asked for.", lambda x: torch.as_tensor(x).log()),
    Way("what is asked for is the logarithm of this.", lambda x: torch.as_tensor(x).exp()),
    Way(
        "these are bits: the logarithm is the one to base 2, and the natural one is asked for.",
        _numbers(lambda x: x / math.log(2)),
    ),
    Way("this is rounded to integers.", _rounded(0)),
    Way("this is rounded to one decimal.", _rounded(1)),
    Way("this is rounded to two decimals.", _rounded(2)),
    Way("this is rounded down to integers.", _numbers(lambda x: x // 1)),
    Way("this is rounded up to integers.", _numbers(lambda x: -(-x // 1))),
    Way("the negative numbers have become 0.", _numbers(lambda x: x * (x > 0))),
    Way("rows and columns are swapped.", lambda x: x.transpose(-2, -1)),
    Way("the first two axes are swapped.", lambda x: x.transpose(0, 1)),
    Way("these are the right numbers without their shape.", lambda x: x.flatten()),
    Way(
        "these are the right numbers with one axis too many, in front.",
        lambda x: torch.as_tensor(x)[None],
    ),
    Way("these are the right numbers with one axis too many, at the end.", lambda x: x[..., None]),
    Way("these are the right numbers without their first axis.", lambda x: x.squeeze(0)),
    Way("these are the right numbers without their last axis.", lambda x: x.squeeze(-1)),
    Way("the order is reversed: the last comes first.", _turned),
    Way("the first is missing; the rest is right.", _by_rows(lambda x: x[1:])),
    Way("the last is missing; the rest is right.", _by_rows(lambda x: x[:-1])),
    Way("these are the right entries, but sorted.", _sorted),
    Way(
        "this is the sum of what is asked for.", lambda x: x.sum() if hasattr(x, "sum") else sum(x)
    ),
    Way("this is the mean of what is asked for.", lambda x: x.mean()),
    Way(
        "these are numbers; True and False are asked for.",
        lambda x: x.int() if x.dtype == torch.bool else None,
    ),
    Way("this is the right result in a list; it is asked for alone.", lambda x: [x]),
    Way("this is the tanh of what is asked for.", lambda x: x.tanh()),
    Way("this is the sigmoid of what is asked for.", lambda x: x.sigmoid()),
    Way("this is the softmax of what is asked for, along the last axis.", lambda x: x.softmax(-1)),
    Way(
        "the signs are missing: these are the absolute values of what is asked for.", _numbers(abs)
    ),
    Way(
        "these are the running sums of what is asked for, along the last axis.",
        lambda x: x.cumsum(-1),
    ),
    Way("this is the sum of what is asked for, over the last axis.", lambda x: x.sum(-1)),
    Way("this is the sum of what is asked for, over the first axis.", lambda x: x.sum(0)),
    Way("this is the mean of what is asked for, over the last axis.", lambda x: x.mean(-1)),
    Way("this is the mean of what is asked for, over the first axis.", lambda x: x.mean(0)),
    Way("the order is reversed along the last axis.", lambda x: x.flip(-1)),
    Way(
        "each is one position too early, and the first comes last.",
        _by_rows(lambda x: _joined(x[1:], x[:1])),
    ),
    Way(
        "each is one position too late, and the last comes first.",
        _by_rows(lambda x: _joined(x[-1:], x[:-1])),
    ),
    Way("only the first of what is asked for is given.", lambda x: x[0]),
    Way("only the last of what is asked for is given.", lambda x: x[-1]),
)
"""How a wrong result may come from the right one."""

ASKED_FOR: tuple[Way, ...] = (
    Way("some signs are wrong; without them, the numbers are right.", _numbers(abs)),
    Way("what is asked for is the sum of this.", lambda x: x.sum()),
    Way("what is asked for is the sum of this over the last axis.", lambda x: x.sum(-1)),
    Way("what is asked for is the sum of this over the first axis.", lambda x: x.sum(0)),
    Way("what is asked for is the mean of this.", lambda x: x.mean()),
    Way("what is asked for is the mean of this over the last axis.", lambda x: x.mean(-1)),
    Way("what is asked for is the mean of this over the first axis.", lambda x: x.mean(0)),
    Way("what is asked for is the softmax of this, along the last axis.", lambda x: x.softmax(-1)),
    Way("what is asked for is the tanh of this.", lambda x: x.tanh()),
    Way("what is asked for is how many these are.", len),
    Way(
        "every number is in a tensor of its own; `.item()` takes it out.",
        lambda x: [entry.item() for entry in x] if is_sequence(x) else None,
    ),
    Way("some numbers are nan where 0 is asked for; the others are right.", torch.nan_to_num),
    Way(
        "the right result comes first here, with more after it; it is asked for alone.",
        lambda x: x[0] if isinstance(x, tuple) else None,
    ),
    Way(
        "the right result comes last here, with more before it; it is asked for alone.",
        lambda x: x[-1] if isinstance(x, tuple) else None,
    ),
)
"""How the right result may come from a wrong one."""

OF: tuple[Way, ...] = (
    Way("{size}", lambda q: q),
    Way("√{size}", lambda q: q**0.5),
    Way("{size}²", lambda q: q**2),
    Way("({size} − 1)", lambda q: q - 1),
    Way("({size} + 1)", lambda q: q + 1),
    Way("(1 − {size})", lambda q: 1 - q),
    Way("2 {size}", lambda q: 2 * q),
    Way("log {size}", math.log),
)
"""Functions of a size or of an argument."""


def flat(result: Any) -> Tensor:
    """Collect all numbers of a result in one tensor.

    Raises:
        TypeError: if it contains anything else.
    """
    if is_sequence(result):
        return torch.cat([flat(entry) for entry in result])
    if not (result.dtype != torch.bool if isinstance(result, Tensor) else is_number(result)):
        raise TypeError("no numbers")
    return torch.as_tensor(result).detach().double().flatten()


def by_a_quantity(
    answers: Sequence[Any], right: Sequence[Any], known: Sequence[Mapping[str, float]]
) -> str:
    """Say by which size or argument the answers are too large or too small, in every case.

    >>> by_a_quantity([6.0, 20.0], [2.0, 5.0], [{"d": 3.0}, {"d": 4.0}])
    'this is what is asked for, times d.'
    """
    try:
        pairs = [(flat(x), flat(y)) for x, y in zip(answers, right, strict=True)]
        ratios = [_one(got[want != 0] / want[want != 0]) for got, want in pairs]
        offsets = [_one(got - want) for got, want in pairs]
        zeros = all(equal(got[want == 0], want[want == 0]) for got, want in pairs)
    except Exception:  # they are not numbers, or not as many
        return ""
    names = [name for name in known[0] if all(name in sizes for sizes in known)]
    for name in names:
        for formula, change, _ in OF:
            try:
                values = [change(sizes[name]) for sizes in known]
                upside_down = [1 / value for value in values]
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            if len(set(values)) < 2:
                continue
            quantity = said(formula, size=name)
            if zeros and equal(ratios, values):
                return said("this is what is asked for, times {quantity}.", quantity=quantity)
            if zeros and equal(ratios, upside_down):
                return said("this is what is asked for, divided by {quantity}.", quantity=quantity)
            if equal(offsets, values):
                return said("this is too large by {quantity}.", quantity=quantity)
            if equal(offsets, [-value for value in values]):
                return said("this is too small by {quantity}.", quantity=quantity)
    return ""


def _one(numbers: Tensor) -> float | None:
    """Return the number that all of them are, or ``None``."""
    first = float(numbers[0])
    return first if equal(numbers, torch.full_like(numbers, first)) else None


Results = Sequence[Any]


def relation(answers: Results, right: Results, whole: bool = False) -> str:
    """Say how all answers are related to the right ones, or return "".

    >>> relation([-1.0, -4.5], [1.0, 4.5])
    'the sign is wrong: this is the negative of what is asked for.'
    >>> relation([[2, 8], [2, 10]], [[2, 9], [2, 11]])
    'entry 2 of 2: this is 1 too few in every case.'
    >>> relation([0.5, 1.25, 1.5], [1.0, 2.5, 3.0])
    'this is 0.5 times what is asked for, in every case.'
    """
    if len(right) < 2:
        return ""
    if same := always_the_same(answers, right):
        return said("this is {result} in every case.", result=same)
    return (
        _of_the_right(answers, right, whole)
        or first_said(ASKED_FOR, lambda change: _alike(map(change, answers), right, whole))
        or _factor(answers, right)
        or _entries(answers, right, whole)
    )


def _of_the_right(answers: Results, right: Iterable[Any], whole: bool) -> str:
    return first_said(RELATIONS, lambda change: _alike(answers, map(change, right), whole))


def _alike(got: Iterable[Any], want: Iterable[Any], whole: bool) -> bool:
    """Tell whether these are the same, and not empty."""
    pairs = zip(got, want, strict=True)
    return all(x is not None is not y and equal(x, y, whole) for x, y in pairs)


def _factor(answers: Results, right: Results) -> str:
    """Say that all answers are the same multiple of the right ones."""
    try:
        pairs = [(flat(x), flat(y)) for x, y in zip(answers, right, strict=True)]
        got, want = (torch.cat(side) for side in zip(*pairs, strict=True))
    except Exception:  # they are not numbers, or not as many
        return ""
    known = want.abs() > 1e-4
    enough = 2 if all(map(is_continuous, right)) else ENOUGH
    if len(got) != len(want) or len(set(want[known].tolist())) < enough:
        return ""
    if not equal(got[~known], want[~known]):
        return ""
    factors = got[known] / want[known]
    first = float(factors[0])
    plain = equal(first, 1.0) or abs(first) < 1e-4 or not math.isfinite(first)
    if plain or not equal(factors, 0 * factors + first):
        return ""
    return said("this is {factor} times what is asked for, in every case.", factor=show(first))


def _entries(answers: Results, right: Results, whole: bool) -> str:
    """Say which entries of a list of fixed length are wrong, if the others are always right."""
    if places := swapped_entries(answers, right, whole):
        return said("entries {one} and {other} are swapped.", one=places[0], other=places[1])
    pairs = columns(answers, right)
    wrong = wrong_columns(pairs, whole)
    if len(wrong) != 1:
        return ""
    return of_entry(wrong[0], len(pairs), relation(*pairs[wrong[0] - 1], whole))


def of_entry(number: int, count: int, sentence: str) -> str:
    """Say that a sentence holds for one entry, if there is a sentence."""
    values = {"number": number, "count": count, "sentence": sentence}
    return said("entry {number} of {count}: {sentence}", **values) if sentence else ""


def swapped_entries(answers: Results, right: Results, whole: bool = False) -> list[int]:
    """Find two entries that are swapped in every case, if all others are right.

    >>> swapped_entries([(1, 9, 4), (2, 7, 5)], [(9, 1, 4), (7, 2, 5)])
    [1, 2]
    """
    pairs = columns(answers, right)
    wrong = wrong_columns(pairs, whole)
    if len(wrong) != 2:
        return []
    (x, y), (other_x, other_y) = (pairs[i - 1] for i in wrong)
    return wrong if equal([x, other_x], [other_y, y], whole) else []


def columns(answers: Results, right: Results) -> list[tuple[list[Any], list[Any]]]:
    """Pair, for each entry, its values in all the answers with the right ones."""
    if not all(map(is_sequence, [*answers, *right])) or len({*map(len, [*answers, *right])}) > 1:
        return []
    columns = (zip(*results, strict=True) for results in (answers, right))
    return [(list(x), list(y)) for x, y in zip(*columns, strict=True)]


def wrong_columns(pairs: list[tuple[list[Any], list[Any]]], whole: bool) -> list[int]:
    """Return the numbers of the entries that are wrong in some case."""
    return [i for i, (x, y) in enumerate(pairs, start=1) if not equal(x, y, whole)]


def undefined(answers: Results) -> str:
    """Say that there is nan in some results, which needs no other relation.

    >>> undefined([torch.tensor([0.5, torch.nan])])[:22]
    'some numbers are nan: '
    """
    try:
        found = any(flat(result).isnan().any() for result in answers)
    except Exception:  # not numbers, or a reader's objects, which may raise anything
        return ""
    if not found:
        return ""
    return said(
        "some numbers are nan: a softmax gives it for +∞, or for −∞ alone; so do 0/0 and 0 · ∞."
    )


SIGNS: tuple[Way, ...] = (
    Way("this is {one} + {other}.", operator.add),
    Way("this is {one} − {other}.", operator.sub),
    Way("this is {one} · {other}.", operator.mul),
    Way("this is {one} / {other}.", operator.truediv),
)


def combined(answers: Results, quantities: Mapping[str, Results]) -> str:
    """Say from which two quantities the answers are made, in every case.

    >>> combined([7.0, 9.5, 4.0], {"`n`": [5.0, 8.0, 3.0], "`d`": [2.0, 1.5, 1.0]})
    'this is `n` + `d`.'
    """
    try:
        if sum(map(len, map(flat, answers))) < ENOUGH:
            return ""
    except Exception:  # they are not numbers
        return ""
    ways = (
        Way(says, partial(map, how, x, y), {"one": one, "other": other})
        for (one, x), (other, y) in itertools.permutations(quantities.items(), 2)
        for says, how, _ in SIGNS
    )
    return first_said(ways, lambda how: _alike(answers, how(), False))


def two_mistakes(
    answers: Results, mistakes: Iterable[tuple[str, Iterable[Any]]], whole: bool = False
) -> str:
    """Say which mistake is made, judged by its result, and what else is wrong with the result."""
    for one, results in mistakes:
        if other := _of_the_right(answers, results, whole):
            return said("two mistakes at once: {one} Besides, {other}", one=one, other=other)
    return ""


def other_kind(answers: Results, right: Results) -> str:
    """Say which kind of value the answers are, if another kind is asked for in every case.

    >>> other_kind([torch.ones(2, 3)], [(torch.ones(2), torch.ones(3), torch.ones(4))])
    'this is a tensor; a tuple of 3 is asked for.'
    """
    pairs = list(zip(answers, right, strict=True))
    (got, want), *others = {(_kind(x), _kind(y)) for x, y in pairs}
    if others:  # their lengths differ
        (got, want), *others = {(_kind(x, False), _kind(y, False)) for x, y in pairs}
    if others or not got or not want or is_sequence(answers[0]) == is_sequence(right[0]):
        return ""
    plain = any(is_number(x) or is_truth(x) for x in (answers[0], right[0]))
    if not plain and all(len(x) == len(y) for x, y in pairs):
        return ""  # a tensor may stand for a list
    return said("this is {got}; {asked} is asked for.", got=got, asked=want)


def _kind(result: Any, counted: bool = True) -> str:
    if is_sequence(result):
        kind = type(result).__name__
        if counted:
            return said("a {type} of {length}", type=kind, length=len(result))
        return said("a {type}", type=kind)
    if is_truth(result):
        return said("True or False")
    if is_number(result):
        return said("a number")
    return said("a tensor") if isinstance(result, Tensor) and result.dim() else ""


def always_the_same(answers: Results, right: Results) -> str:
    """Say what is given in every case, if it should differ: a value, or one number everywhere.

    Any other relation to the right results, for example to rounded ones, is then by chance.

    >>> always_the_same([[], []], [[3], [4, 5]])
    '[]'
    >>> always_the_same([torch.zeros(2), torch.zeros(3)], [torch.rand(2), torch.rand(3)])
    '0 everywhere'
    """
    first = answers[0]
    if len(answers) == 1 or equal([right[0]] * len(right), right):
        return ""
    plain = isinstance(first, str | list | tuple) or is_number(first) or is_truth(first)
    try:
        if plain and len({show(result, 12) for result in answers}) == 1:
            return brief(first)  # what is equal up to rounding need not be the same
        numbers = torch.cat([flat(result) for result in answers])
        first = float(numbers[0])
        return said("{number} everywhere", number=show(first)) if (numbers == first).all() else ""
    except Exception:  # not numbers, or a reader's objects, which may raise anything
        return ""


def are_telling(results: Results) -> bool:
    """Tell whether results have floats, or more integers than are equal to others by chance."""
    with suppress(Exception):  # they are not numbers
        return all(map(is_continuous, results)) or sum(map(len, map(flat, results))) >= MANY
    return False


def is_continuous(result: Any) -> bool:
    """Tell whether a result has floats of which no two are equal by chance."""
    if isinstance(result, Tensor):
        return result.is_floating_point()
    if isinstance(result, Mapping):
        return any(map(is_continuous, result.values()))
    return type(result) is float or (is_sequence(result) and any(map(is_continuous, result)))
