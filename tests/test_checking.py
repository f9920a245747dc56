"""The exercises tell right from wrong, and one mistake from another."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from annotated_transformer import exercises
from annotated_transformer.checking import Exercise

ALL = {name: e for name, e in vars(exercises).items() if isinstance(e, Exercise)}
MISTAKES = [(name, sentence) for name, e in ALL.items() for sentence in e.mistakes]

# Right answers that are written differently from the reference.
OTHERS: dict[str, list[Callable[..., Any]]] = {
    "count_tokens": [
        lambda ids: torch.tensor([sum(i != 0 for i in row) for row in ids.tolist()]),
        lambda ids: ids.size(1) - (ids == 0).float().sum(-1),
    ],
    "shift": [
        lambda y: [[1, *y], [*y, 2]],
        lambda y: ((1, *y), (*y, 2)),
    ],
    "perplexity_of_two": [
        lambda a, b: torch.tensor([*a, *b]).mean().exp().item(),
        lambda a, b: torch.tensor([*a, *b]).mean().exp(),
        lambda a, b: math.prod(math.exp(x) for x in [*a, *b]) ** (1 / len([*a, *b])),
    ],
    "mean_surprise": [
        lambda z, y: F.cross_entropy(z.flatten(0, 1), y.flatten(), ignore_index=0),
        lambda z, y: F.cross_entropy(z.double().transpose(1, 2), y, ignore_index=0),
    ],
}


@pytest.mark.parametrize("name", ALL)
def test_right_answers_are_right_however_they_are_written(name: str) -> None:
    for answer in [ALL[name].reference, *OTHERS[name]]:
        verdict = ALL[name](answer)
        assert verdict.passed, verdict


@pytest.mark.parametrize(("name", "sentence"), MISTAKES)
def test_every_mistake_is_told_by_its_own_name(name: str, sentence: str) -> None:
    exercise = ALL[name]
    verdict = exercise(exercise.mistakes[sentence])
    assert not verdict.passed
    assert verdict.mistake == sentence


@pytest.mark.parametrize("name", ALL)
def test_every_exercise_knows_five_mistakes(name: str) -> None:
    assert len(ALL[name].mistakes) >= 5


@pytest.mark.parametrize("name", ALL)
def test_an_empty_answer_is_not_attempted(name: str) -> None:
    verdict = ALL[name](lambda *_: None)
    assert repr(verdict) == "not attempted"
    assert not verdict.passed


def test_an_exception_becomes_a_verdict() -> None:
    verdict = exercises.shift(lambda y: y.shape)
    assert verdict.mistake == "it raises AttributeError: 'list' object has no attribute 'shape'"


def test_a_changed_argument_becomes_a_verdict() -> None:
    def append(y: list[int]) -> tuple[list[int], list[int]]:
        before = [1, *y]
        y.append(2)
        return before, y

    assert "in place" in exercises.shift(append).mistake


def test_an_unknown_mistake_is_shown_by_its_first_failing_case() -> None:
    verdict = exercises.shift(lambda y: ([1, *y], [*y, 3]))
    assert (
        verdict.mistake
        == "for [5, 6] it gives ([1, 5, 6], [5, 6, 3]); right is ([1, 5, 6], [5, 6, 2])."
    )


@pytest.mark.parametrize(
    "wrong", [1.0, "right", [], torch.tensor(1.0), torch.ones(2, dtype=torch.bool)]
)
def test_a_wrong_type_becomes_a_verdict(wrong: Any) -> None:
    for exercise in ALL.values():
        assert exercise(lambda *_: wrong).state == "wrong"


def test_a_verdict_shows_itself_in_html_without_trusting_the_answer() -> None:
    def raises(y: list[int]) -> None:
        raise ValueError("<script>")

    shown = exercises.shift(raises)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_a_list_in_place_of_a_tensor_is_told() -> None:
    verdict = exercises.count_tokens(lambda ids: (ids != 0).sum(1).tolist())
    assert verdict.mistake == "it gives a list; a Tensor is asked for."
