"""Checks of recurrent cells, and of the layer that applies them along a sentence."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.own.checks.check import (
    SRC,
    Check,
    cell_of_torch,
    drawn,
    filled,
    refusal,
)

CELLS = {"rnn": "RNNCell", "gru": "GRUCell", "lstm": "LSTMCell"}
STATES = {"rnn": 5, "gru": 5, "lstm": 10}
X = drawn("x", 3, 5, 4)
Walk = Callable[[Tensor, Tensor], Tensor]


def _cell(m: Any, kind: str) -> Tensor:
    cell, state = filled(getattr(m, CELLS[kind])(4, 5)), drawn("state", 3, STATES[kind])
    return cell(cell.read(X[:, 0]), state)


def walked(walk: Walk, words: Iterator[Tensor] | list[Tensor], state: Tensor) -> list[Tensor]:
    """Compute the states after each word of one sentence."""
    states = []
    for word in words:
        state = walk(word, state)
        states.append(state)
    return states


def _layer(m: Any, backward: bool) -> list[Tensor]:
    layer = filled(m.RecurrentLayer("lstm", 4, 5, backward=backward))
    hidden, last = layer(X, SRC != 0)
    return [hidden[SRC != 0], last]


@torch.no_grad()
def _layer_by_hand(backward: bool) -> list[Tensor]:
    walk, hidden, last = cell_of_torch("lstm", "cell.", 4, 5), [], []
    for row, length in zip(X, (5, 3, 2), strict=True):
        words = list(row[:length])
        states = walked(walk, words[::-1] if backward else words, torch.zeros(10))
        hidden += [state[:5] for state in (states[::-1] if backward else states)]
        last.append(states[-1])
    return [torch.stack(hidden), torch.stack(last)]


CHECKS = (
    *(
        Check(
            name,
            "the next state of {name}(4, 5), compared with torch.nn.{name}",
            lambda m, kind=kind: _cell(m, kind),  # type: ignore[misc]
            lambda kind=kind: cell_of_torch(kind, "", 4, 5)(  # type: ignore[misc]
                X[:, 0], drawn("state", 3, STATES[kind])
            ),
            {"name": name},
        )
        for kind, name in CELLS.items()
    ),
    Check(
        "RNNCell",
        "the hidden part of a state of LSTMCell(4, 5)",
        lambda m: m.LSTMCell(4, 5).hidden(drawn("state", 3, 10)),
        lambda: drawn("state", 3, 10)[:, :5],
    ),
    Check(
        "make_cell",
        "the numbers of gates of the cells that make_cell makes: 'rnn', 'gru', 'lstm'",
        lambda m: [m.make_cell(kind, 4, 5).gates for kind in CELLS],
        lambda: [1, 3, 4],
    ),
    Check(
        "make_cell",
        "the error of make_cell('elman', 4, 5)",
        lambda m: refusal(lambda: m.make_cell("elman", 4, 5)),
        lambda: "InputError",
    ),
    *(
        Check(
            "RecurrentLayer",
            "hidden states at words, and the last state, of RecurrentLayer('lstm', 4, 5{more})",
            lambda m, b=backward: _layer(m, b),  # type: ignore[misc]
            lambda b=backward: _layer_by_hand(b),  # type: ignore[misc]
            {"more": more},
        )
        for backward, more in ((False, ""), (True, ", backward=True"))
    ),
    Check(
        "RecurrentLayer",
        "the last state of RecurrentLayer('gru', 4, 5) that begins with a state, after one word",
        lambda m: filled(m.RecurrentLayer("gru", 4, 5))(
            X[:, :1], torch.ones(3, 1, dtype=torch.bool), drawn("state", 3, 5)
        )[1],
        lambda: cell_of_torch("gru", "cell.", 4, 5)(X[:, 0], drawn("state", 3, 5)),
    ),
)
