"""The exercises tell right from wrong, and one mistake from another."""

import csv
import inspect
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from annotated_transformer import exercises
from annotated_transformer.checking import Exercise, Failure, equal
from annotated_transformer.exercises.cases import normal, random_cases
from mutate_exercises import mutants
from other_answers import OTHERS, decode_with_lists

ALL: dict[str, Exercise] = {name: getattr(exercises, name) for name in exercises.__all__}
MISTAKES = [(name, sentence) for name, e in ALL.items() for sentence in e.mistakes]


def converted(function: Callable[..., Any], dtype: torch.dtype) -> Callable[..., Any]:
    """The same function, computed in one type of floating point."""

    def answer(*arguments: Any) -> Any:
        return function(
            *(
                a.to(dtype) if isinstance(a, Tensor) and a.is_floating_point() else a
                for a in arguments
            )
        )

    return answer


@pytest.mark.parametrize("name", ALL)
def test_right_answers_are_right_however_they_are_written(name: str) -> None:
    reference = ALL[name].reference
    dtypes = [converted(reference, dtype) for dtype in (torch.float32, torch.float64)]
    for answer in [reference, *dtypes, *OTHERS[name]]:
        verdict = ALL[name](answer)
        assert verdict.passed, verdict


@pytest.mark.parametrize(("name", "sentence"), MISTAKES)
def test_every_mistake_is_told_by_its_own_name(name: str, sentence: str) -> None:
    exercise = ALL[name]
    verdict = exercise(exercise.mistakes[sentence])
    assert not verdict.passed
    assert verdict.mistake == sentence


@pytest.mark.parametrize("name", ALL)
def test_no_two_mistakes_give_the_same(name: str) -> None:
    results = [ALL[name].results(mistaken) for mistaken in ALL[name].mistakes.values()]
    assert not any(equal(a, b) for a, b in itertools.combinations(results, 2))


@pytest.mark.parametrize("name", ALL)
def test_a_mistake_gives_something_in_one_case_at_least(name: str) -> None:
    """Otherwise every function that raises would be told by its name."""
    for mistaken in ALL[name].mistakes.values():
        assert not all(isinstance(result, Failure) for result in ALL[name].results(mistaken))


@pytest.mark.parametrize("name", ALL)
def test_every_exercise_knows_five_mistakes(name: str) -> None:
    assert len(ALL[name].mistakes) >= 5
    assert all(sentence.endswith(".") for sentence in ALL[name].mistakes)


@pytest.mark.parametrize("name", ALL)
def test_an_empty_answer_is_not_attempted(name: str) -> None:
    assert repr(ALL[name](lambda *_: None)) == "not attempted"


def test_every_exercise_of_a_chapter_is_listed() -> None:
    assert {name for name, e in vars(exercises).items() if isinstance(e, Exercise)} == set(ALL)


# --- the cases -----------------------------------------------------------------------------------


def axes(name: str) -> list[dict[str, set[int]]]:
    """The sizes that each axis of the signature has, in every case.

    Axes that stand under ``*batch`` are called ``*0``, ``*1``, …
    """
    parameters = inspect.signature(ALL[name].reference).parameters.values()
    found = []
    for case in ALL[name].cases:
        sizes: dict[str, set[int]] = {}
        for parameter, argument in zip(parameters, case, strict=True):
            if isinstance(argument, Tensor):
                names = parameter.annotation.dim_str.split()
                if names[0].startswith("*"):
                    more = argument.dim() - len(names) + 1
                    names[:1] = [f"*{i}" for i in range(more)]
                for axis, size in zip(names, argument.shape, strict=True):
                    sizes.setdefault(axis, set()).add(size)
        found.append(sizes)
    return found


@pytest.mark.parametrize("name", ALL)
def test_every_axis_has_a_size_of_its_own(name: str) -> None:
    """A result along a wrong axis then has a wrong shape, or cannot be computed."""
    for sizes in axes(name):
        sizes.pop("1", None)  # the mask has an axis of size 1, the same for every query
        assert all(len(found) == 1 for found in sizes.values())
        different = [size for [size] in sizes.values()]
        assert len(set(different)) == len(different)
        assert 1 not in different


ANY_BATCH = [
    name for name, exercise in ALL.items() if "*" in str(inspect.signature(exercise.reference))
]


@pytest.mark.parametrize("name", ANY_BATCH)
def test_where_any_batch_is_promised_there_is_none_one_and_two(name: str) -> None:
    assert [sum(axis[0] == "*" for axis in sizes) for sizes in axes(name)] == [0, 1, 2]


@pytest.mark.parametrize("name", ALL)
def test_floating_point_comes_in_both_precisions(name: str) -> None:
    found = {
        argument.dtype
        for case in ALL[name].cases
        for argument in case
        if isinstance(argument, Tensor) and argument.is_floating_point()
    }
    assert found in ({torch.float32, torch.float64}, set())


@pytest.mark.parametrize("name", ALL)
def test_right_results_are_finite_numbers(name: str) -> None:
    for result in ALL[name].results(ALL[name].reference):
        assert not isinstance(result, Failure)
        if isinstance(result, Tensor):
            assert result.isfinite().all()


def test_every_mask_hides_something_and_leaves_something() -> None:
    for _, mask in exercises.attention_weights.cases:
        assert mask.any(-1).all()
        assert (~mask).any(-1).all()


def test_random_cases_repeat_and_differ_from_each_other() -> None:
    first, second = random_cases("... q d", "q"), random_cases("... q d", "q")
    assert equal(first, second)
    assert not equal(normal(2, 3, seed=0), normal(2, 3, seed=1))
    assert [x.dtype for x, _ in first] == [torch.float64, torch.float32, torch.float64]


def test_the_generator_of_the_reader_is_left_as_it_is() -> None:
    before = torch.get_rng_state()
    for exercise in ALL.values():
        exercise(exercise.reference)
        exercise(next(iter(exercise.mistakes.values())))
    assert torch.equal(torch.get_rng_state(), before)
    program = (
        "import torch; before = torch.get_rng_state(); import annotated_transformer.exercises; "
        "assert torch.equal(torch.get_rng_state(), before)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# --- what readers write --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        lambda s, h: torch.bmm(s, h.transpose(1, 2)),
        lambda s, h: torch.einsum("bqd,bkd->bqk", s, h),
        lambda s, h: s @ h.permute(0, 2, 1),
    ],
)
def test_a_score_for_one_batch_axis_only_is_told(answer: Callable[..., Any]) -> None:
    assert "count the axes from the end" in exercises.dot_scores(answer).mistake


def test_a_score_for_one_sentence_only_is_told() -> None:
    assert (
        "one sentence only"
        in exercises.dot_scores(lambda s, h: torch.einsum("qd,kd->qk", s, h)).mistake
    )


def test_an_endless_loop_over_a_model_ends_in_a_verdict() -> None:
    def forgets_everything(next_logits: Any, bos: int, eos: int, limit: int) -> None:
        tokens = [bos]
        while True:
            tokens.append(int(next_logits(tokens).argmin()))

    assert exercises.greedy_decode(forgets_everything).mistake == (
        "it raises RuntimeError: the sentence has 21 tokens and does not end."
    )


def test_ids_written_into_the_answer_are_told() -> None:
    def always_two(next_logits: Any, bos: int, eos: int, limit: int) -> list[int]:
        return decode_with_lists(next_logits, 1, 2, limit)

    assert "bos=6" in exercises.greedy_decode(always_two).mistake


# --- mutants -------------------------------------------------------------------------------------


EQUIVALENT = Path(__file__).parent / "equivalent_mutants.csv"
ROWS = list(csv.DictReader(EQUIVALENT.read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("name", ALL)
def test_a_broken_reference_is_judged_wrong_unless_it_is_equivalent(name: str) -> None:
    judged = list(mutants(name))
    assert judged
    right = [mutant.change for mutant in judged if mutant.told == "judged right"]
    assert sorted(right) == sorted(row["change"] for row in ROWS if row["exercise"] == name)


def test_every_equivalent_mutant_has_a_reason_and_an_exercise() -> None:
    assert {row["exercise"] for row in ROWS} <= set(ALL)
    assert all(row["reason"] for row in ROWS)
