"""The engine of the exercises: whatever a reader's function does becomes a verdict."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from annotated_transformer.course.checking import (
    Exercise,
    difference,
    equal,
    show,
)

SUM = Exercise(
    reference=lambda x: x.sum(-1),
    mistakes={
        "you take the mean.": lambda x: x.mean(-1),
        "this works for matrices only.": lambda x: torch.mv(x, torch.ones(x.size(1))),
    },
    cases=[(torch.tensor([[1.0, 2.0, 4.0], [0.5, 0.0, 1.0]]),), (torch.rand(4, 2, 3),)],
)
"""A tensor is asked for."""

WORDS = Exercise(
    reference=sorted,
    mistakes={"you turn the words round.": lambda words: words[::-1]},
    cases=[(["b", "a"],), (["b", "c", "a"],)],
)
"""A list is asked for."""

TOTAL = Exercise(
    reference=sum,
    mistakes={"you count.": len},
    cases=[([0.5, 1.0],), ([2.0, 4.0, 8.0],)],
)
"""A number is asked for."""


# --- right ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x.double().sum(-1),
        lambda x: x.float().sum(-1),
        lambda x: torch.einsum("...d->...", x),
        lambda x: x.clone().requires_grad_().sum(-1),
        lambda x: torch.nn.Parameter(x.sum(-1)),
        lambda x: x.sum(-1) * (1 + 1e-6),
    ],
)
def test_a_right_tensor_is_right(answer: Callable[[Tensor], Tensor]) -> None:
    verdict = SUM(answer)
    assert verdict.passed
    assert repr(verdict) == "right"


@pytest.mark.parametrize(
    "answer",
    [tuple, np.array, torch.tensor, sum, np.sum, math.fsum, lambda x: torch.tensor(sum(x))],
)
def test_a_number_may_be_of_any_kind_but_a_list_is_none(answer: Callable[[Any], Any]) -> None:
    assert TOTAL(answer).passed == (answer not in (tuple, np.array, torch.tensor))


def test_a_tuple_may_stand_for_a_list() -> None:
    assert WORDS(lambda words: tuple(sorted(words))).passed


# --- not attempted, or wrong ----------------------------------------------------------------------


def test_an_empty_answer_is_not_attempted() -> None:
    verdict = SUM(lambda x: None)
    assert repr(verdict) == "not attempted"
    assert not verdict.passed
    assert verdict.mistake == ""


def test_a_missing_return_is_told() -> None:
    verdict = WORDS(lambda words: sorted(words) if len(words) == 2 else None)
    assert verdict.mistake == "for ['b', 'c', 'a'] it gives None; does every branch return?"


def test_a_result_in_place_of_the_function_is_told() -> None:
    assert SUM(torch.ones(3)).mistake == (
        "the check wants the function itself, not what it returns."
    )


class Bad(Exception):
    def __str__(self) -> str:
        raise ValueError


class Stubborn:
    """Raises at whatever one does with it."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("==")

    def __repr__(self) -> str:
        raise ValueError("repr")

    __hash__ = None  # type: ignore[assignment]


def raises(error: BaseException) -> Callable[[Any], None]:
    def answer(_: Any) -> None:
        raise error

    return answer


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no"), "it raises ValueError: no"),
        (ValueError("no\nat all"), "it raises ValueError: no"),
        (SystemExit(), "it raises SystemExit"),
        (GeneratorExit(), "it raises GeneratorExit"),
        (Bad(), "it raises Bad"),
    ],
)
def test_an_exception_becomes_a_verdict(error: BaseException, told: str) -> None:
    assert SUM(raises(error)).mistake == told


def test_an_exception_in_one_case_only_is_told_with_the_case() -> None:
    verdict = WORDS(lambda words: sorted(words) if len(words) == 2 else words[9])
    assert verdict.mistake == ("for ['b', 'c', 'a'] it raises IndexError: list index out of range")


def test_an_interruption_from_the_keyboard_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        SUM(raises(KeyboardInterrupt()))


def add_in_place(x: Tensor) -> Tensor:
    x += 1
    return (x - 1).sum(-1)


def sort_in_place(words: list[str]) -> list[str]:
    words.sort()
    return words


def sort_and_return_nothing(words: list[str]) -> None:
    words.sort()


def hide_a_stubborn_object(words: list[Any]) -> list[str]:
    result = sorted(words)
    words[0] = Stubborn()
    return result


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        (SUM, add_in_place),
        (WORDS, sort_in_place),
        (WORDS, sort_and_return_nothing),
        (WORDS, hide_a_stubborn_object),
    ],
)
def test_a_changed_argument_becomes_a_verdict(exercise: Exercise, answer: Any) -> None:
    before = show(exercise.cases)
    verdict = exercise(answer)
    assert verdict.mistake == "it changes its arguments in place; return a new result."
    assert show(exercise.cases) == before


def generate(_: Any) -> Iterator[int]:
    yield 1


def nested() -> list[Any]:
    result: list[Any] = []
    result.append(result)
    return result


STRANGE = {
    "a number": 7.25,
    "a bool": True,
    "text": "right",
    "nothing in it": [],
    "complex": 1j,
    "a scalar": torch.tensor(7.25),
    "a scalar that is complex": torch.tensor(1j),
    "bools": torch.ones(2, dtype=torch.bool),
    "complex numbers": torch.ones(2, dtype=torch.complex64),
    "integers": torch.tensor([1, 2]),
    "nan": torch.full((2,), torch.nan),
    "another shape": torch.ones(5, 1),
    "nothing in the tensor": torch.ones(0),
    "without data": torch.ones(2, device="meta"),
    "sparse": torch.ones(2).to_sparse(),
    "numpy": np.ones(2),
    "a type": int,
    "a function": len,
    "a generator": generate(0),
    "a set": {1, 2},
    "a dictionary": {"a": 1},
    "stubborn": Stubborn(),
    "a list of stubborn": [Stubborn(), Stubborn()],
    "endless": nested(),
    "not implemented": NotImplemented,
}


@pytest.mark.parametrize("exercise", [SUM, WORDS, TOTAL])
@pytest.mark.parametrize("strange", STRANGE)
def test_a_strange_result_becomes_a_verdict(exercise: Exercise, strange: str) -> None:
    verdict = exercise(lambda _: STRANGE[strange])
    assert verdict.state == "wrong"
    assert verdict.mistake
    assert len(verdict.mistake) < 400
    assert verdict.mistake not in exercise.mistakes


# --- which mistake it is -------------------------------------------------------------------------


def test_a_mistake_is_named_if_it_gives_the_answer_in_every_case() -> None:
    assert SUM(lambda x: x.double().mean(-1)).mistake == "you take the mean."
    assert SUM(lambda x: x.mean(-1) if x.dim() == 2 else x.sum(-1)).mistake.startswith("for ")


def test_a_mistake_that_raises_is_named_if_the_answer_raises_in_the_same_cases() -> None:
    assert SUM(lambda x: torch.einsum("ij->i", x)).mistake == "this works for matrices only."
    by_exit = SUM(lambda x: x.sum(-1) if x.dim() == 2 else raises(SystemExit())(x))
    assert by_exit.mistake == "this works for matrices only."
    assert SUM(lambda x: torch.einsum("ijk->ij", x)).mistake.startswith("for [[1, 2, 4], [0.5")


def test_changing_the_arguments_is_not_the_mistake_that_raises() -> None:
    verdict = SUM(lambda x: x.sum(-1) if x.dim() == 2 else add_in_place(x))
    assert "changes its arguments in place" in verdict.mistake


def test_the_smallest_case_that_fails_is_shown() -> None:
    verdict = WORDS(lambda words: ["z"])
    assert verdict.mistake == "for ['b', 'a'] it gives ['z']; right is ['a', 'b']."
    verdict = WORDS(lambda words: sorted(words)[: 2 + (len(words) > 3)])
    assert verdict.mistake == "for ['b', 'c', 'a'] it gives ['a', 'b']; right is ['a', 'b', 'c']."


# --- how a difference is told --------------------------------------------------------------------

LONG = torch.arange(60.0).view(3, 4, 5)


def changed(tensor: Tensor, place: tuple[int, ...], value: float) -> Tensor:
    tensor = tensor.clone()
    tensor[place] = value
    return tensor


ASKED = "a tensor of shape (2,) is asked for."


@pytest.mark.parametrize(
    ("got", "want", "told"),
    [
        (0.123456, 1 / 3, "0.1235; right is 0.3333."),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]), "[1, 2]; right is [1, 2.5]."),
        (0.123412, 0.123445, "0.123412; right is 0.123445."),
        (changed(LONG, (1, 2, 3), 0), LONG, "0 at [1, 2, 3]; right is 33."),
        ([LONG, changed(LONG, (0, 1, 0), -1)], [LONG] * 2, "-1 at [1][0, 1, 0]; right is 5."),
        (torch.ones(3, 4), torch.ones(2), f"a tensor of shape (3, 4); {ASKED}"),
        (torch.ones(2) > 0, torch.ones(2), f"a tensor of shape (2,) of True and False; {ASKED}"),
        (np.ones(2), torch.ones(2), f"something of type ndarray; {ASKED}"),
        ([1, 2], torch.ones(2), f"a list of length 2; {ASKED}"),
        ([[1, 1]], [torch.ones(2)], f"a list of length 2 at [0]; {ASKED}"),
        (torch.ones(2), 1.0, "a tensor of shape (2,); a number is asked for."),
        (True, 1.0, "something of type bool; a number is asked for."),
        ([1, 2], [1], "[1, 2]; right is [1]."),
        ([8] * 99, [8] * 98, "a list of length 99; a list of length 98 is asked for."),
        (torch.tensor([math.nan]), torch.ones(1), "[nan]; right is [1]."),
        (Stubborn(), "a", "something of type Stubborn, which cannot be compared."),
    ],
)
def test_a_difference_is_told_in_one_short_sentence(got: Any, want: Any, told: str) -> None:
    assert not equal(got, want)
    assert difference(got, want) == f"it gives {told}"


def test_long_arguments_are_told_by_their_shapes() -> None:
    exercise = Exercise(lambda x, n: x * n, {}, [(LONG, 2)])
    verdict = exercise(lambda x, n: changed(x * n, (0, 0, 1), 7))
    assert (
        verdict.mistake == "for a tensor of shape (3, 4, 5), 2 it gives 7 at [0, 0, 1]; right is 2."
    )


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (1, torch.tensor(True), False),
        (10**6, 10**6 + 1, False),
        (torch.tensor([10**6]), torch.tensor([10**6 + 1]), False),
        (torch.tensor([10**6]), torch.tensor([1e6]), True),
        (1.0, 1.00001, True),
        (1.0, 1.001, False),
        ([1, (2, 3)], (1, [2, 3]), True),
        (torch.tensor([math.nan]), torch.tensor([math.nan]), True),
        ({1}, {1}, True),
        ("1", 1, False),
    ],
)
def test_equal_means_up_to_rounding(a: Any, b: Any, same: bool) -> None:
    assert equal(a, b) == same
    assert equal(b, a) == same


# --- showing -------------------------------------------------------------------------------------


def test_a_verdict_shows_itself_in_html_without_trusting_the_answer() -> None:
    shown = SUM(raises(ValueError("<script>")))._repr_html_()
    assert shown == "<p>✗ <strong>wrong</strong> it raises ValueError: &lt;script&gt;</p>"
    assert SUM(lambda x: None)._repr_html_() == "<p>○ <strong>not attempted</strong> </p>"
    assert SUM(lambda x: x.sum(-1))._repr_html_() == "<p>✓ <strong>right</strong> </p>"
