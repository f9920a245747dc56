"""Diagnosing: what is said of wrong answers without a catalogue, and that it is true of them."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_workbook import exercises
from transformer_workbook.judge import normal
from transformer_workbook.judge.comparing import Failure, equal
from transformer_workbook.judge.diagnosis.arguments import other_cases
from transformer_workbook.judge.diagnosis.dependence import circumstance
from transformer_workbook.judge.diagnosis.exceptions import explained
from transformer_workbook.judge.diagnosis.places import partly_right
from transformer_workbook.judge.diagnosis.relations import OF, by_a_quantity
from transformer_workbook.judge.exercises import Derivation, Exercise
from transformer_workbook.judge.sentences import Way
from transformer_workbook.judge.trials import attempt

RIGHT = [normal(3, 4, 5, seed=1) + 5, normal(2, 5, 4, seed=2) + 5]


def exercise(
    reference: Callable[..., Any], *cases: Any, kind: type[Exercise] = Exercise, **more: Any
) -> Exercise:
    return kind(reference=reference, given=[], cases=cases, **more)


# --- what is no tensor ----------------------------------------------------------------------------


def doubled(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """What is asked for."""
    return 2 * x.abs()


@pytest.mark.parametrize("change", [Tensor.tolist, Tensor.numpy, list])
def test_a_list_or_an_array_may_stand_for_a_tensor_and_is_told_like_one(change: Any) -> None:
    asked = exercise(doubled, (normal(3, 4, seed=1),), (normal(5, 2, seed=2),))
    assert asked.check(lambda x: change(doubled(x))).passed
    told = "the sign is wrong: this is the negative of what is asked for."
    assert asked.check(lambda x: change(-doubled(x))).mistake == told


def test_a_number_in_an_axis_is_no_list() -> None:
    asked = exercise(lambda n: 2.5 * n, (1.0,), (3.0,))
    told = "these are the right numbers with one axis too many, in front."
    assert asked.check(lambda n: torch.tensor([2.5 * n])).mistake == told


def test_what_an_answer_makes_itself_has_the_precision_of_what_it_is_given() -> None:
    asked = exercise(doubled, (normal(3, 4, seed=1),), (normal(5, 2, seed=2).float(),))
    assert asked.check(lambda x: x.abs() @ (2 * torch.eye(x.size(1)))).passed


def test_floats_in_the_lists_are_told_where_ids_are_asked_for() -> None:
    asked = exercise(lambda n: [[n, 1], [2], [3]], (4,), (5,), whole=True)
    told = asked.check(lambda n: [[float(n), 1.0], [2], [3]]).mistake
    assert told.endswith("it gives a float at [0][0]; an integer is asked for.")


# --- where numbers are wrong ----------------------------------------------------------------------


def at(x: Tensor, axis: int, end: int) -> Tensor:
    there = torch.zeros_like(x, dtype=torch.bool)
    there.select(axis, end).fill_(True)
    return there


@pytest.mark.parametrize("axis", [-1, -2, 0])
@pytest.mark.parametrize(("end", "index"), [("first", 0), ("last", -1)])
def test_the_end_of_an_axis_is_told(axis: int, end: str, index: int) -> None:
    names = ["batch", "words", "d"]
    there = [at(x, axis, index) for x in RIGHT]
    for change, state in (
        (lambda place, x: torch.where(place, x + 9, x), "wrong"),
        (lambda place, x: torch.where(place, x, x + normal(*x.shape, seed=7).abs() + 1), "right"),
    ):
        answers = [change(place, x) for place, x in zip(there, RIGHT, strict=True)]
        said = f"only the {end} position of `{names[axis]}` is {state}."
        assert partly_right(answers, RIGHT, names) == said


def holes(x: Tensor) -> Tensor:
    """With 0 in some places."""
    return x * (normal(*x.shape, seed=3) > 0)


TRUTHS = [normal(3, 4, seed=3) > 0, normal(2, 5, seed=4) > 0]


@pytest.mark.parametrize(
    ("right", "change", "told"),
    [
        (RIGHT, lambda x: x + 9 * torch.eye(*x.shape[-2:]), "only numbers on the diagonal"),
        (RIGHT, lambda x: x + torch.ones(x.shape[-2:]).triu(1), "only numbers above the"),
        (RIGHT, lambda x: x + torch.ones(x.shape[-2:]).tril(-1), "only numbers below the"),
        (RIGHT, lambda x: torch.where(x > 5, torch.nan, x), "some numbers are nan; the others"),
        (RIGHT, lambda x: torch.where(x > 5, torch.inf, x), "some numbers are infinite; the"),
        (RIGHT, holes, "there is 0 where something else is asked for; all other numbers"),
        (
            list(map(holes, RIGHT)),
            lambda x: torch.where(x == 0, 3, x),
            "where 0 is asked for there is something else",
        ),
        (TRUTHS, lambda x: x | (normal(*x.shape, seed=8) > 0), "no True is missing, but some are"),
        (TRUTHS, lambda x: x & (normal(*x.shape, seed=8) > 0), "no True is too many, but some"),
        (RIGHT, lambda x: x[torch.arange(len(x)).roll(1)][:, [1, 2, 0, 3]], "the rows are right"),
        (RIGHT, lambda x: x.flatten().roll(1).view(x.shape), "the numbers are right, but in"),
        (RIGHT, lambda x: x * (2 + torch.arange(len(x)))[:, None, None], "along the last axis the"),
        (RIGHT, lambda x: x + x.mean(-1, keepdim=True), "along the last axis the numbers are"),
    ],
)
def test_what_wrong_numbers_have_in_common_is_told(
    right: list[Tensor], change: Callable[[Tensor], Tensor], told: str
) -> None:
    cut = [x[..., :4, :4] for x in right]  # square, so that no shape tells
    assert partly_right(list(map(change, cut)), cut).startswith(told)


def test_a_right_case_is_no_objection_but_a_wrong_number_elsewhere_is_one() -> None:
    wrong = [RIGHT[0] + torch.eye(4, 5), RIGHT[1]]
    assert partly_right(wrong, RIGHT) == "only numbers on the diagonal are wrong."
    assert partly_right([wrong[0], RIGHT[1] ** 2], RIGHT) == ""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda x: x.permute(1, 2, 0), "the axes are in another order"),
        (lambda x: x.flatten(1), "these are the right numbers in their order, in another shape"),
        (lambda x: x.flip(0).flatten(), "these are the right numbers in another order and"),
        (lambda x: x.expand(6, *x.shape), "the right result is repeated along an axis that"),
        (lambda x: torch.cat([x, x + 1], -1), "the right numbers come first along the last axis"),
        (lambda x: torch.cat([x + 1, x], -1), "the right numbers come last along the last axis"),
        (lambda x: torch.cat([x, x + 1]), "the right ones come first along the first axis"),
        (lambda x: torch.cat([x + 1, x]), "the right ones come last along the first axis"),
        (lambda x: x[..., :2], "this is right as far as it goes along the last axis"),
        (lambda x: x[..., 2:], "the first numbers along the last axis are missing"),
        (lambda x: x[:1], "this is right as far as it goes along the first axis"),
        (lambda x: x[1:], "the first along the first axis are missing"),
    ],
)
def test_what_a_wrong_shape_has_in_common_is_told(
    change: Callable[[Tensor], Tensor], told: str
) -> None:
    assert partly_right(list(map(change, RIGHT)), RIGHT).startswith(told)


def test_a_result_that_combines_each_with_every_other_is_told() -> None:
    wrong = [x[:, None, 0] + x[None, :, 1] for x in RIGHT]
    said = partly_right(wrong, [x[:, 0] + x[:, 1] for x in RIGHT])
    assert said.startswith("each is combined with every other")


def test_an_axis_that_is_missing_is_told() -> None:
    right = [x[:1].expand(x.shape) for x in RIGHT]
    said = "an axis is missing along which all should be repeated."
    assert partly_right([x[0] for x in right], right) == said


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ([[3, 1], [5, 4]], "this is right as far as it goes, but ends too early."),
        ([[1, 2], [4, 6]], "the beginning is missing; from there on it is right."),
        ([[3, 1, 2, 9], [5, 4, 6, 6]], "this begins right, but more follows than is asked for."),
        ([[9, 3, 1, 2], [9, 5, 4, 6]], "this ends right, but more comes before than is asked for."),
        ([[1, 2, 3], [4, 6, 5]], "these are the right entries in another order."),
        ([[2, 3], [6, 5]], "some of the right entries are missing; those that are here are right."),
        (
            [[9, 1, 2, 3], [4, 6, 8, 5]],
            "all that is asked for is here, and something else besides.",
        ),
        ([[9, 1, 2], [7, 4, 6]], "the first is wrong, all others are right."),
        ([[3, 1, 9], [5, 4, 9]], "the last is wrong, all others are right."),
        ([[3, 7, 2], [4, 4, 6]], ""),
    ],
)
def test_what_is_right_in_a_list_is_told(wrong: list[list[int]], told: str) -> None:
    assert partly_right(wrong, [[3, 1, 2], [5, 4, 6]]) == told


def test_lists_in_a_list_may_have_another_order_within() -> None:
    said = "the right lists are here, but within each the order is another."
    assert partly_right([[[2, 1], [3]], [[5, 4]]], [[[1, 2], [3]], [[4, 5]]]) == said


# --- by how much ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", OF)
def test_a_size_that_is_a_factor_or_is_added_is_told(way: Way) -> None:
    right, known = [normal(3, seed=1), normal(4, seed=2)], [{"d": 3.0}, {"d": 7.0}]
    values = [way.how(sizes["d"]) for sizes in known]
    for change, told in (
        (lambda x, q: x * q, "this is what is asked for, times {}."),
        (lambda x, q: x / q, "this is what is asked for, divided by {}."),
        (lambda x, q: x + q, "this is too large by {}."),
        (lambda x, q: x - q, "this is too small by {}."),
    )[: 2 if way.says == "(1 − {size})" else 4]:
        answers = [change(x, q) for x, q in zip(right, values, strict=True)]
        assert by_a_quantity(answers, right, known) == told.format(way.says.format(size="d"))
    assert by_a_quantity([2 * x for x in right], right, known) == ""


# --- for other arguments --------------------------------------------------------------------------


def _mixed(
    x: Float[Tensor, "n d"],
    mask: Bool[Tensor, "n d"],
    ids: Int[Tensor, " n"],
    count: int,
    rate: float,
    left: bool,
    words: list[int],
) -> Tensor:
    """Mix all arguments in a way that no other arguments give the same."""
    place = torch.arange(1.0, 1 + x.numel()).view(x.shape).sqrt().to(x)
    own = (x.sin() * place + (2 + mask) * place.cos()).cumsum(0).cumsum(1)
    whole = (ids * place[:, 0]).sum() + count**3 + 7 * rate**3 + 0.3 * left
    return own * whole + sum(word * 0.7**i for i, word in enumerate(words))


MIXED = [
    (normal(3, 3, seed=1), normal(3, 3, seed=2) > 0, torch.tensor([4, 2, 7]), 5, 0.4, True, [3, 1]),
    (normal(4, 4, seed=3), normal(4, 4, seed=4) > 0, torch.arange(4), 3, 1.7, False, [2, 9, 2]),
]
ASKED = exercise(_mixed, *MIXED)
GIVEN = [*MIXED, *ASKED._diagnosis._further]
FOR_OTHERS = {said: list(cases()) for said, cases in other_cases(ASKED._diagnosis.known, GIVEN)}


@pytest.mark.parametrize("said", FOR_OTHERS)
def test_the_right_result_for_other_arguments_is_told(said: str) -> None:
    try:
        wrong = [_mixed(*case) for case in FOR_OTHERS[said]]
    except (TypeError, RuntimeError, IndexError):
        return  # the other arguments make no sense here

    def answer(*case: Any) -> Tensor:
        return next(x for x, given in zip(wrong, GIVEN, strict=True) if equal(case, given))

    told = ASKED._diagnosis._for_others(answer, wrong[: len(MIXED)], lambda x: x)
    assert not ASKED._diagnosis._for_others(lambda *_: 0, wrong[: len(MIXED)], lambda x: x)
    named = told.removeprefix("this is the right result for other arguments: ")
    assert equal([_mixed(*case) for case in FOR_OTHERS[named]], wrong)


def test_other_arguments_or_one_that_is_given_back_are_told() -> None:
    said = "this is the right result for other arguments: `x` is reversed along `d`."
    assert ASKED(lambda *case: _mixed(case[0].flip(1), *case[1:])).mistake == said
    assert ASKED(lambda *case: case[0]).mistake == "this is `x`, as it was given."
    assert len(FOR_OTHERS) > 60


# --- what counts ----------------------------------------------------------------------------------


def _weighted(x: Float[Tensor, "n d"], w: Float[Tensor, " d"]) -> Float[Tensor, " n"]:
    """The second row is not read."""
    x = x.clone()
    x[1] = 0.0
    return (x.sin() @ w.exp()).cumsum(0)


WEIGHTED = exercise(
    _weighted, (normal(3, 4, seed=1), normal(4, seed=2)), (normal(5, 2, seed=3), normal(2, seed=4))
)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda x, w: x[:, 0].cos().cumsum(0), "the result does not depend on `w`."),
        (
            lambda x, w: (x.cos() @ w).cumsum(0),
            "for exercises.weighted.cases[1] `x[1, 0]` changes the result, and must not.",
        ),
        (
            lambda x, w: (x[[0, 2]].cos() @ w).sum() + torch.zeros(len(x), dtype=w.dtype),
            "for exercises.weighted.cases[1] `x[3, 0]` must change the result, and does not.",
        ),
    ],
)
def test_what_counts_and_must_not_or_does_not_and_has_to_is_told(answer: Any, told: str) -> None:
    assert WEIGHTED(answer).mistake == told


# --- where it is right ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "is_right", "told"),
    [
        (["dot", "dot", "sum", "max"], [True, True, True, False], "`x` is 'dot' or 'sum'"),
        ([True, False, True], [False, True, False], "`x` is False"),
        ([0, 3, 7], [True, False, False], "`x` is 0"),
        ([1, 3, 7], [True, False, False], "`x` is 1"),
        ([-1.5, 3.5, 2.5], [True, False, False], "`x` is negative"),
        ([-1.5, 3.5, 2.5], [False, True, True], "`x` is positive"),
        ([TRUTHS[0], TRUTHS[0] | True], [False, True], "`x` is True everywhere"),
        ([TRUTHS[0], TRUTHS[0] & False], [True, False], "`x` is True somewhere"),
        ([torch.tensor([3, 0]), torch.tensor([3, 4])], [False, True], "there is no 0 in `x`"),
        ([torch.tensor([3, 0]), torch.tensor([3, 4])], [True, False], "there is a 0 in `x`"),
        ([[], [2, 3]], [True, False], "`x` is empty"),
        ([[], [3, 2, 3]], [False, True], "`x` is not empty"),
        ([[1], [3, 2]], [True, False], "`x` has one entry"),
        ([[1], [3, 2]], [False, True], "`x` has more than one entry"),
        ([[5, 5, 3], [3, 4, 2]], [False, True], "no entry of `x` is repeated"),
        ([[5, 5, 3], [3, 4, 2]], [True, False], "an entry of `x` is repeated"),
        ([[5, 5, 5], [3, 4, 4]], [True, False], "all entries of `x` are equal"),
        ([[5, 6, 7], [5, 4, 3]], [True, False], "`x` is in order"),
        ([[5, 6, 7], [5, 4, 3]], [False, True], "`x` is not in order"),
        ([5, 7], [False, True], ""),
        ([0, 0], [False, True], ""),
        ([0, 1], [True, True], ""),
    ],
)
def test_where_an_answer_is_right_is_told(
    arguments: list[Any], is_right: list[bool], told: str
) -> None:
    said = circumstance({"x": Any}, [(x,) for x in arguments] * 2, is_right * 2)
    assert not circumstance({"x": Any}, [(x,) for x in arguments[:2]], [True, False])  # by chance?
    assert said == (told and f"it is right where {told}, and wrong in all other cases.")


def test_where_two_numbers_are_equal_is_told() -> None:
    asked = exercise(share_of, (5.0, 5.0), (5.0, 7.0), (9.0, 4.0))
    told = asked(lambda part, whole: 1.0 if part == whole else part**3 + whole**2).mistake
    assert told == "it is right where `part` is `whole`, and wrong in all other cases."


def test_what_the_right_cases_share_by_chance_is_not_told() -> None:
    """Where it is right, the offset is 1 and the width 2; the width alone is why."""

    def answer(offset: int, width: int) -> int:
        return offset * 7 if width == 2 else offset + width**3

    asked = exercise(times_seven, (1, 2), (3, 10), (6, 10), (4, 8))
    told = asked(answer).mistake
    assert told == "it is right only where `width` is 2; for 4, 8 it gives 516; right is 28."


def times_seven(offset: int, width: int) -> int:
    """The width does not count."""
    return offset * 7


def share_of(part: float, whole: float) -> float:
    """Which share?"""
    return part / whole


# --- two at once, one entry, other axes -----------------------------------------------------------


def without_gain(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / ((x**2).sum(-1, keepdim=True) + eps).sqrt()


def queries_for_keys(d_model: int, d_k: int, d_v: int) -> nn.Module:
    layer = exercises.self_attention_layer.reference(d_model, d_k, d_v)
    layer.forward = lambda x: F.scaled_dot_product_attention(
        layer.query(x), layer.query(x), layer.value(x)
    )
    return layer


@pytest.mark.parametrize(
    ("name", "answer", "told"),
    [
        (
            "rms_norm",
            without_gain,
            "two mistakes at once: these are divided by the root of the sum of the squares; "
            "take their mean. Besides, the gain is missing.",
        ),
        (
            "attention_weights",
            lambda scores, mask: scores.masked_fill(~mask, torch.inf).softmax(-1),
            "some numbers are nan: a softmax gives it for +∞, or for −∞ alone; so do 0/0 and "
            "0 · ∞.",
        ),
        (
            "count_tokens",
            lambda ids: (ids != 2).sum(1),
            "this is the right result for other arguments: "
            "`ids` is compared with 2 where 0 is meant.",
        ),
        (
            "self_attention_layer",
            queries_for_keys,
            "the scores compare the queries with each other; the second factor is the keys.",
        ),
        (
            "stack_derivatives",
            lambda derivative, layers: (derivative**layers, layers + derivative**layers),
            "entry 2 of 2: this is `layers` + result 1.",
        ),
    ],
)
def test_what_readers_of_a_statement_wrote_is_told(name: str, answer: Any, told: str) -> None:
    assert getattr(exercises, name).check(answer).mistake == told


def _pair(x: Float[Tensor, "n d"]) -> tuple[Float[Tensor, " n"], Float[Tensor, "n d"]]:
    """The sums and the squares."""
    return x.sum(1), x * x


PAIR = exercise(_pair, (normal(3, 4, seed=1),), (normal(4, 2, seed=2),))


def test_the_one_entry_that_is_wrong_and_other_axes_are_told_by_name() -> None:
    told = PAIR(lambda x: (x.sum(1), x * x + torch.eye(*x.shape))).mistake
    assert told == "entry 2 of 2: only numbers on the diagonal are wrong."
    told = PAIR(lambda x: (x.cos().sum(0), x * x)).mistake
    assert told == "entry 1 of 2: the axes of the result are (d); (n) is asked for."


def test_a_step_that_is_another_one_is_told() -> None:
    def steps(x: float) -> tuple[float, float, float]:
        """Three steps."""
        return x, x * x, x * x + 1.5

    asked = exercise(steps, (1.5,), (3.0,), (4.0,), kind=Derivation)
    said = "step 2: this is what is asked for in step 3."
    assert asked(lambda x: (x, x * x + 1.5, 7.0)).mistake == said


def test_an_exception_is_not_taken_for_that_of_two_mistakes() -> None:
    asked = exercises.multi_head_layer
    says = "the merge makes one row of a whole sentence; every word keeps its own: flatten(2)."
    number = [mistake.says for mistake in asked.mistakes].index(says)
    answers = list(asked.subject.of_mistake(number))
    assert all(isinstance(got, Failure) for got in answers)
    assert asked._mended(answers) == ""
    assert asked._paired(answers)  # whose shapes are as wrong, and for another reason


# --- exceptions -----------------------------------------------------------------------------------


def raised(call: Callable[[], Any]) -> Failure:
    result = attempt(call, ()).result
    assert isinstance(result, Failure)
    return Failure(result.error)


def a(*shape: int) -> Tensor:
    return torch.ones(*shape)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: a(3, 2) - a(2, 3), "two tensors meet with 2 (batch) and 3 (d) on one axis."),
        (lambda: a(3, 2) @ a(3, 5), "a matrix with 2 (batch) columns is multiplied by one"),
        (lambda: a(3, 2) @ a(5), "a matrix with 2 (batch) columns is multiplied by a vect"),
        (lambda: torch.bmm(a(7, 4, 2), a(7, 3, 5)), "matrices with 2 (batch) columns are"),
        (lambda: a(3) @ a(2), "a vector of 3 (d) numbers is multiplied by one of 2 (batch)."),
        (
            lambda: torch.cat([a(2, 4), a(3, 4)], 1),
            "tensors are concatenated that differ (2 (batch)",
        ),
        (lambda: torch.nn.GRUCell(3, 4)(a(5, 2)), "a cell with input size 3 (d) is given"),
        (lambda: a(2, 3)[a(2, 2) > 0], "the mask in the brackets has another shape"),
        (lambda: a(2)[2], "index 2 is out of range on an axis of size 2 (b"),
        (lambda: a(6).view(7, 7), "6 numbers are put into the shape (7, 7), which"),
        (lambda: a(2).view(7, 7), "2 (batch) numbers are put into the shape (7, 7)"),
        (lambda: a(9, 8) - a(8, 9), "two tensors meet with 8 and 9 on one axis."),
        (lambda: a(3).sum(2), "there is no axis 2"),
        (lambda: a(3)[0, 0], "there are more indices in the brackets than the"),
        (lambda: not a(3), "a whole tensor stands where one True or False is needed"),
        (lambda: a(3)[::-1], "a tensor cannot be read backwards by `[::-1]`; flip it."),
        (lambda: int(a(3)), "a tensor of several numbers stands where one number is needed."),
        (lambda: a(3, 4).mT.view(-1), "`view` finds the numbers in another order in memory; "),
        (lambda: (a(3) > 0) & a(3), "`&`, `|` and `~` are for booleans, and a mask here has"),
        (lambda: ~a(3), "`&`, `|` and `~` are for booleans, and a mask here has"),
        (lambda: torch.nn.GRU(3, 4)(torch.ones(5, 3).long()), "a network that reads vectors is"),
        (lambda: (lambda x, y: 0)(*a(3)), "3 arguments are given to what"),
        (lambda: (lambda x, y: 0)(1), "nothing is given for 'y'."),
        (lambda: missing, "`missing` has never been given a value."),  # type: ignore[name-defined]
        (lambda: a(3).length(), "a tensor has no `length`."),
        (lambda: [].add(3), "a value of type list has no `add`."),  # type: ignore[attr-defined]
        (lambda: None + 1, "None stands where a value is needed"),  # type: ignore[operator]
        (lambda: a(3)[a(3)], "an index is not an integer."),
        (lambda: a(2, 2) @ a(2, 2).float(), "numbers of two types meet"),
        (lambda: torch.arange(3).mean(), "a mean is taken of integers or booleans"),
        (lambda: 1 - (a(3) > 0), "booleans are subtracted; invert a mask with ~."),
        (lambda: 1 / 0, "something is divided by 0."),
        (lambda: max([]), "the largest number of an empty sequence is asked for."),
        (lambda: torch.einsum("ij->i", a(3)), "einsum is given 2 letters for a tensor with 1"),
        (lambda: [1][2], "an index of a list is beyond its end."),
        (lambda: [1].index(2), "the index of something is asked for that does not occur."),
        (lambda: {}[7], "a dictionary is asked for the key 7, which it does not have."),
        (
            lambda: torch.nn.functional.cross_entropy(a(2, 3, 8), torch.ones(2, 3).long()),
            "cross_entropy takes the classes from axis 1",
        ),
        (lambda: [1] - [2], "`-` stands between values of type list and list."),  # type: ignore[operator]
        (lambda: a(3)(2), "a value of type Tensor is not callable, and is used"),
        (lambda: range(4 / 2), "a float is given where an integer is needed"),  # type: ignore[arg-type]
        (lambda: math.log(-1), "a root or a logarithm is taken of a number that has none."),
        (lambda: torch.bmm(a(2), a(2)), "a product is taken of tensors with too many"),
        (lambda: torch.stack([a(2), a(3)]), "tensors of different shapes are stacked."),
        (
            lambda: a(2).sum().backward(),
            "a gradient is taken of a tensor that was computed without one.",
        ),
        (lambda: {[1]: 2}, "a list is used as a key, which must be immutable"),
        (
            lambda: torch.nn.Embedding(2, 3)(torch.tensor(5)),
            "an index is beyond the end of a tensor",
        ),
        (lambda: int("seven"), ""),
    ],
)
def test_an_exception_is_told_by_what_it_means(call: Callable[[], Any], told: str) -> None:
    said = explained(raised(call), {"batch": 2.0, "d": 3.0})
    assert said.startswith(told) if told else not said
