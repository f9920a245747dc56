"""Multi-head attention: which cuts into heads mix the words."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.old_exercises.old_question import Question, by_letters

CUTS = {
    "A": lambda x, h, d: x.reshape(len(x), h, x.size(1), d),
    "B": lambda x, h, d: x.reshape(len(x), x.size(1), h, d).transpose(1, 2),
    "C": lambda x, h, d: torch.stack(x.chunk(h, dim=-1), dim=1),
    "D": lambda x, h, d: x.transpose(1, 2).reshape(len(x), h, x.size(1), d),
    "E": lambda x, h, d: x.reshape(len(x), x.size(1), d, h).permute(0, 3, 1, 2),
    "F": lambda x, h, d: x.transpose(1, 2).reshape(len(x), h, d, x.size(1)).mT,
}
"""Six ways from (batch, time, heads * d) to (batch, heads, time, d)."""


def _mixes(cut: Callable[[Tensor, int, int], Tensor]) -> bool:
    """Whether row t of a head has a number of another word than word t."""
    words = torch.arange(4)[:, None].expand(2, 4, 6)
    return bool((cut(words, 2, 3) != torch.arange(4)[:, None]).any())


@Question
def mixing_cuts(answer: Any) -> str:
    """Which cuts into heads mix the numbers of different words?"""
    right = {letter for letter, cut in CUTS.items() if _mixes(cut)}
    return by_letters(
        answer,
        right,
        {
            "A": "one reshape gives head 1 the first words only: its row 1 is still word 0.",
            "B": "the last axis alone is cut, and then two axes change places.",
            "C": "every chunk has numbers of each word, and stays a table of words.",
            "D": "after the transpose a row holds one number of all words, and then it is cut.",
            "E": "the numbers of a word are dealt out in turns, but never those of two words.",
            "F": "the cut goes through the numbers of the words, which are the rows by then.",
        },
    )
