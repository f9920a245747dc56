"""Tables: the numbers, their names, and what is refused."""

from typing import Any

import pytest
import torch
from bs4 import BeautifulSoup

from annotated_transformer.ground.errors import InputError
from transformer_workbook.notebook import table


def texts(shown: Any) -> list[list[str]]:
    """All cells of a table, row after row, headers included."""
    rows = BeautifulSoup(shown.data, "lxml").select("tr")
    return [[cell.get_text() for cell in row.select("th, td")] for row in rows]


def test_a_matrix_has_its_names_and_decimals() -> None:
    shown = table(torch.tensor([[0.5, -0.001], [1.0, 2.345]]), ["a", "b"], ["x", "y"], decimals=1)
    assert texts(shown) == [["", "x", "y"], ["a", "0.5", "0.0"], ["b", "1.0", "2.3"]]


def test_whole_numbers_and_words_stay_as_they_are() -> None:
    shown = table([{"word": "I <3", "count": 1200, "share": 1 / 3}])
    assert texts(shown) == [["word", "count", "share"], ["I <3", "1200", "0.33"]]


def test_a_vector_is_one_row_and_what_has_no_names_shows_none() -> None:
    assert texts(table(torch.tensor([1, 2]))) == [["1", "2"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(1, 2, 3),), "the tensor has 3 axes, a table has at most two."),
        ((torch.zeros(2, 3), ["a"]), "index: 1 names are given for 2 entries."),
        ((torch.zeros(2, 3), None, ["a"]), "columns: 1 names are given for 3 entries."),
    ],
)
def test_what_does_not_fit_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}$"):
        table(*arguments)
