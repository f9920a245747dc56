"""Each patient is ill in its own way, and looks healthy otherwise."""

import pytest
import torch

from annotated_transformer.ground.errors import InputError
from small_models import random_examples
from transformer_workbook.chapters.find_the_bug.faulty.models import CHANGES, SMALL, patient
from transformer_workbook.chapters.find_the_bug.naming import (
    LETTERS,
    SIGNS,
    name_the_mistake,
    passes,
)
from transformer_workbook.notebook.experiments import train_briefly

PATIENTS = [number for number in CHANGES if number]
FAILS = {
    0: set(),
    1: {"steps agree"},
    2: {"norms agree"},
    3: {"agrees with PyTorch", "ignores padding", "hides the future", "steps agree"},
    4: {
        "repeats itself",
        "agrees with PyTorch",
        "ignores padding",
        "hides the future",
        "steps agree",
    },
    5: {"layers differ"},
    6: {"ignores padding"},
    7: {"rows sum to 1", "agrees with PyTorch"},
    8: {"hides the future", "steps agree"},
}


@pytest.mark.parametrize("number", CHANGES)
def test_a_patient_fails_the_tests_that_its_mistake_breaks_and_no_other(number):
    assert {sign for sign in SIGNS if not passes(sign, number)} == FAILS[number]


@pytest.mark.parametrize("number", PATIENTS)
def test_a_patient_looks_like_a_healthy_model(number):
    healthy, ill = patient(0), patient(number)
    assert str(ill) == str(healthy)
    assert all(p.dtype == torch.float64 for p in ill.parameters())
    ill.load_state_dict(healthy.state_dict())


@pytest.mark.slow
@pytest.mark.parametrize("number", CHANGES)
def test_a_patient_trains(number):
    torch.manual_seed(0)
    examples = [(words, words) for words, _ in random_examples(10, vocab=12)]
    losses = train_briefly(patient(number), examples, steps=30, rate=2e-2, batch_tokens=64)
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])


@pytest.mark.parametrize("number", [1, 8])
def test_two_patients_train_as_the_healthy_model_does(number):
    """What is wrong with them is not done in training."""
    curves = []
    for which in (0, number):
        torch.manual_seed(0)
        curves.append(train_briefly(patient(which), random_examples(30, vocab=12), steps=5))
    assert curves[0] == curves[1]


def test_the_same_seed_draws_the_same_model_and_leaves_the_generator_alone():
    before = torch.get_rng_state()
    first, second, third = patient(0), patient(1), patient(0, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_default_dtype() == torch.float32
    assert torch.equal(first.output.weight, second.output.weight)
    assert not torch.equal(first.output.weight, third.output.weight)


def test_sizes_can_be_chosen_and_there_are_eight_patients():
    assert patient(3, SMALL.tiny(20, 30)).output.out_features == 30
    with pytest.raises(InputError, match="number is 9, it must be from 0"):
        patient(9)


@pytest.mark.parametrize("number", PATIENTS)
def test_one_letter_is_right_and_every_other_is_refuted_by_a_test(number):
    verdicts = {letter: name_the_mistake(number, letter.lower()) for letter in LETTERS}
    assert [letter for letter, v in verdicts.items() if v.passed] == [
        letter for letter, which in LETTERS.items() if which == number
    ]
    for verdict in verdicts.values():
        assert verdict.passed or f"patient {number}" in verdict.mistake


def test_what_is_no_choice_is_told():
    assert repr(name_the_mistake(1, None)) == "not attempted"
    assert "there is no patient 9" in name_the_mistake(9, "A").mistake
    assert "there is no mistake 'Z'" in name_the_mistake(1, "Z").mistake
