"""The questions of the book: the right value passes, every other is told why not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.ground.errors import InputError
from transformer_workbook import exercises
from transformer_workbook.chapters.find_the_bug.exercises import (
    INVARIANTS,
    PROBES,
    TESTS,
    TRAINERS,
    holds,
)
from transformer_workbook.chapters.find_the_bug.exercises import tested as case_of
from transformer_workbook.chapters.find_the_bug.faulty.trainers import train
from transformer_workbook.judge.questions import Question

QUESTIONS: dict[str, Question] = {
    name: task for name, task in exercises.TASKS.items() if isinstance(task, Question)
}
FUNCTIONS = {"red_team", "unseen_leak"}  # they ask for a function


@pytest.mark.parametrize("name", QUESTIONS)
def test_whatever_is_answered_becomes_a_verdict(name: str) -> None:
    for strange in (object(), "?", [], float("nan"), 10**400, torch.ones(2, 2), lambda: None):
        verdict = QUESTIONS[name].check(strange)
        assert verdict.state in ("wrong", "not attempted")
        if name not in FUNCTIONS:
            assert verdict.state == "wrong"
            assert verdict.mistake.endswith("."), verdict.mistake


VALUES: dict[str, list[float]] = {
    "best_base": [1000, 10000, 10, 100],
    "best_sharpness": [0.3, 10.0, 0.01, 1.0],
    "doubling_reach": [31, 81, 15, 16],
    "enough_sentences": [100, 30, 300, 1],
    "far_reach": [12, 15, 13, 4],
    "first_loss_limit": [12, 9, 2, 10],
    "five_wrong_words": [72.86, 75, 0, 0.73],
    "greedy_misses": [0.37, 0.11, 0.63, 0.18],
    "highest_rate": [0.03, 0.3, 0.003],
    "keeps_words_apart": [100, 0.1, 1, 2],
    "largest_score": [8, 64, 1, 3],
    "narrowest_window": [8, 7, 9, 17],
    "nearly_one_key": [256, 16, 1024, 0.9],
    "pre_norm_growth": [2, 4, 16, 1],
    "refuting_beta": [0.0, 0.99, 0.8, 1.0],
    "remembering_bias": [4, 3, 1, 5],
    "smallest_pool": [256, 128, 16, 0.05],
    "too_wide_to_see": [64, 512, 128, 32],
}
"""What readers answered who saw only the statement: one is right, three are wrong."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "highest_rate")) for n in VALUES]
)
def test_the_value_of_a_reader_is_right_or_told_why_not(name: str) -> None:
    right, *wrong = VALUES[name]
    assert QUESTIONS[name].check(right).passed
    for value in wrong:
        told = QUESTIONS[name].check(value).mistake
        assert told
        assert not told.endswith(("is too large.", "is too small."))


LETTERS = {
    "mixing_cuts": "AD",
    "record_of_times": "AC",
    "said_by_the_record": "ACF",
    "same_weights": "ACEF",
    "unchanged_by": "ADF",
    "unmoved_by_shuffling": "DG",
    "with_a_prefix_mask": "C",
}


@pytest.mark.parametrize("name", LETTERS)
def test_every_letter_that_is_too_much_or_missing_is_told(name: str) -> None:
    choices = {frozenset(x for i, x in enumerate("ABCDEFG") if n >> i & 1) for n in range(128)}
    right = set(LETTERS[name])
    assert [x for x in choices if QUESTIONS[name].check("".join(x)).passed] == [right]
    for letter in "ABCDEFG":
        told = QUESTIONS[name].check("".join(right ^ {letter})).mistake
        assert told.startswith((f"{letter} ", f"there is no {letter};"))


# --- trainers ------------------------------------------------------------------------------------


def test_no_two_trainers_agree_on_every_sign() -> None:
    told = {number: [holds(name, number) for name in INVARIANTS] for number in range(5)}
    assert told[0] == [True] * len(INVARIANTS)
    assert len({tuple(row) for row in told.values()}) == 5


def test_every_wrong_name_of_a_trainer_is_refuted_by_what_it_does() -> None:
    right = {number: letter for letter, number in TRAINERS.items()}
    assert exercises.name_the_trainers.check(right).passed
    for number, letter in right.items():
        for other in set("ABCD") - {letter}:
            told = exercises.name_the_trainers.check({number: other}).mistake
            assert told.startswith(f"{number} is not {other}: a trainer with that mistake ")
    assert exercises.name_the_trainers.check({1: right[1]}).mistake.endswith("has no letter yet.")


def test_the_healthy_trainer_is_gradient_descent_on_all_examples() -> None:
    x, y = torch.randn(6, 3).double(), torch.randn(6).double()
    weights = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    for rate in (0.1, 0.2, 0.2 * (2 / 3) ** 0.5):
        [gradient] = torch.autograd.grad(F.mse_loss(x @ weights, y), weights)
        weights = (weights - rate * gradient).detach().requires_grad_()
    found = train(0, [[(x[:4], y[:4]), (x[4:], y[4:])]] * 3, (x, y))
    torch.testing.assert_close(found.weights, weights.detach())
    assert found.val_loss == pytest.approx(F.mse_loss(x @ weights, y).item())


def test_there_is_no_sixth_trainer() -> None:
    with pytest.raises(InputError, match="number is 5, it must be from 0"):
        train(5, [], (torch.zeros(1, 1), torch.zeros(1)))


# --- red team ------------------------------------------------------------------------------------


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, mask)


def filled_with(fill: float) -> Callable[..., Tensor]:
    """The attention of many a textbook, in which what is hidden gets a number for a score."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        scores = query @ key.mT / query.size(-1) ** 0.5
        return scores.masked_fill(~mask, fill).softmax(-1) @ value

    return attend


def causal(attend: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same, where each word sees itself and those before it."""
    return lambda q, k, v: attend(q, k, v, torch.ones(q.size(-2), q.size(-2)).tril().bool())


def test_a_number_in_place_of_minus_infinity_is_a_bug_and_minus_infinity_is_none() -> None:
    for fill in (-1e2, -1e4, -1e9):
        assert exercises.red_team.check(filled_with(fill)).passed
        assert exercises.unseen_leak.check(causal(filled_with(fill))).passed
    for fill in (-torch.inf, -1e30):
        assert "no bug" in exercises.red_team.check(filled_with(fill)).mistake
        assert "no bug" in exercises.unseen_leak.check(causal(filled_with(fill))).mistake


WHERE: dict[str, Callable[[Tensor, Tensor], bool]] = {
    "heads": lambda q, v: q.dim() > 3,
    "one sentence in a batch": lambda q, v: q.dim() == 3 and len(q) == 1,
    "many words": lambda q, v: q.size(-2) > 50,
    "wide values": lambda q, v: v.size(-1) > q.size(-1),
    "narrow values": lambda q, v: v.size(-1) < q.size(-1),
    "single precision": lambda q, v: q.dtype == torch.float32,
}
OF_ANY: dict[str, Callable[[Tensor, Tensor], bool]] = {
    "one query": lambda q, v: q.size(-2) == 1,
    "no axis of sentences": lambda q, v: q.dim() == 2,
    "three sentences": lambda q, v: q.dim() == 3 and len(q) == 3,
    "more queries than keys": lambda q, v: q.size(-2) > v.size(-2),
    "wide vectors": lambda q, v: q.size(-1) > 8,
}


@pytest.mark.parametrize("where", WHERE | OF_ANY)
def test_a_bug_in_some_cases_alone_is_found(where: str) -> None:
    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        return attention(query, key, value, mask) + (WHERE | OF_ANY)[where](query, value)

    if where in WHERE:
        assert exercises.unseen_leak.check(causal(attend)).passed
    else:
        assert exercises.red_team.check(attend).passed


@pytest.mark.parametrize("test", TESTS)
def test_each_of_the_five_tests_catches_something(test: str) -> None:
    draws = iter(range(100))

    faults = {
        "repeats itself": lambda *a: attention(*a) + next(draws),
        "hides the future": lambda q, k, v, m: attention(q, k, v, torch.ones_like(m)),
        "takes keys in any order": lambda q, k, v, m: (
            attention(q, k, v, m) + 1e-2 * k[:, :1].mean(-1, keepdim=True)
        ),
        "one at a time": lambda q, k, v, m: attention(q, k, v, m) + (len(q) - 1) * 1e-2,
        "agrees with PyTorch": lambda q, k, v, m: 2 * attention(q, k, v, m),
    }
    assert not TESTS[test](faults[test], case_of(0))


def test_each_secret_probe_is_a_case_that_attention_can_do() -> None:
    assert all(attention(*case).isfinite().all() for case in PROBES.values())


@pytest.mark.parametrize("answer", [3, {"A": True, "B": False}])
def test_what_holds_no_letters_is_refused(answer: Any) -> None:
    told = exercises.unchanged_by.check(answer).mistake
    assert told.startswith("letters are asked for, as in 'AC', not ")


def test_a_number_beyond_all_floats_is_too_large() -> None:
    assert exercises.far_reach.check(10**400).mistake == "the number is too large."
