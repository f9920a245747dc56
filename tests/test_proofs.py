"""A proof of a lesson can fail: each is handed something wrong, and names what differs."""

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import torch

from transformer_workbook import chapters
from transformer_workbook.notebook import drawn_in_float64
from transformer_workbook.notebook.proofs import ProofError, agree, holds, proof

CHAPTERS = [path.parent.name for path in Path(chapters.__path__[0]).glob("*/proofs.py")]
REFUTED = [
    pytest.param(wrong, told, id=f"{name}-{wrong.__name__}")
    for name in CHAPTERS
    for wrong, told in import_module(f"chapters.{name}.refuted").REFUTED.items()
]


@pytest.mark.parametrize(("wrong", "told"), REFUTED)
def test_a_proof_refuses_what_is_wrong(wrong: Callable[[], None], told: str) -> None:
    torch.manual_seed(0)
    with drawn_in_float64(), pytest.raises(ProofError, match=f"^{re.escape(told)}"):
        wrong()


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_proof_that_is_given_something_is_given_something_wrong(name: str) -> None:
    module = import_module(f"{chapters.__name__}.{name}.proofs")
    given = {
        function
        for function, proved in inspect.getmembers(module, inspect.isfunction)
        if proved.__module__ == module.__name__ and not function.startswith("_")
        if inspect.signature(proved).parameters
    }
    assert given == {wrong.__name__ for wrong in import_module(f"chapters.{name}.refuted").REFUTED}


def test_a_proof_says_what_it_has_shown_and_draws_no_number_of_the_lesson(capsys) -> None:
    @proof
    def mine() -> None:
        x = torch.rand(3)
        agree(1e-12, {"one": x, "two": x + 1e-13, "three": x})
        holds("it is in float64", x.dtype == torch.float64)

    state = torch.get_rng_state()
    mine()
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_default_dtype() == torch.float32
    assert capsys.readouterr().out == "✓ one, two and three agree to 1e-12\n✓ it is in float64\n"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (torch.ones(2), "two has the shape (2,), one (3,)."),
        (torch.ones(3) + 0.5, "two differs from one by 0.5, more than 1e-12."),
        (torch.full((3,), torch.nan), "two differs from one by nan, more than 1e-12."),
    ],
)
def test_what_does_not_agree_is_named(wrong: torch.Tensor, told: str) -> None:
    with pytest.raises(ProofError, match=f"^{re.escape(told)}$"):
        agree(1e-12, {"one": torch.ones(3), "two": wrong})
