"""Checks of the model that reads in both directions and looks back by additive attention."""

import math
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.own.checks.check import (
    SRC,
    Check,
    cell_of_torch,
    drawn,
    filled,
    linear,
    of_model,
    softmax,
)
from transformer_workbook.own.checks.recurrent import STATES, X, walked
from transformer_workbook.own.checks.seq2seq import dropout, logits, make, sentences
from transformer_workbook.own.checks.soft_lookup import MEMORY, QUERY


def additive(name: str, query: Tensor, memory: Tensor, hidden: int) -> list[float]:
    """Compute the additive score of a query and each row of a memory, number by number."""
    w_s = linear(f"{name}query", query, hidden, bias=False)
    v = drawn(f"{name}v.weight", 1, hidden)[0]
    pairs = [zip(v, w_s, linear(f"{name}key", h, hidden, bias=False), strict=True) for h in memory]
    return [sum(float(a) * math.tanh(float(b + c)) for a, b, c in pair) for pair in pairs]


@torch.no_grad()
def _additive_scores(m: Any) -> Tensor:
    attention = filled(m.AdditiveAttention(5, 5, 3))
    return attention.scores(QUERY, attention.keys(MEMORY))


@torch.no_grad()
def annotations(words: list[Tensor], name: str, cell: str = "gru") -> tuple[Tensor, Tensor]:
    """Compute the states of both directions at every word, and the final state of the second."""
    begun = torch.zeros(STATES[cell])
    right = walked(cell_of_torch(cell, f"{name}forwards.cell.", 4, 5), words, begun)
    walk = cell_of_torch(cell, f"{name}backwards.cell.", 4, 5)
    left = walked(walk, words[::-1], begun)[::-1]
    sides = (torch.stack(side)[:, :5] for side in (right, left))
    return torch.cat([*sides], dim=1), left[0][:5]


@torch.no_grad()
def _bidirectional(m: Any) -> list[Tensor]:
    memory, first = filled(m.BidirectionalEncoder("gru", 4, 5))(X, SRC != 0)
    return [memory[SRC != 0], first]


def _bidirectional_by_hand() -> list[Tensor]:
    rows = [annotations(list(row[:n]), "") for row, n in zip(X, (5, 3, 2), strict=True)]
    return [torch.cat([row[0] for row in rows]), torch.stack([row[1] for row in rows])]


@torch.no_grad()
def bahdanau_by_hand(cell: str = "gru") -> Tensor:
    """Compute the logits of every word by Bahdanau."""
    write, said = cell_of_torch(cell, "decoder.", 14, 5), []
    for source, target in sentences():
        memory, first = annotations(source, "encoder.", cell)
        state = torch.tanh(linear("bridge", first, STATES[cell]))
        for word in target:
            weights = softmax(additive("attention.", state[:5], memory, 5))
            context = torch.tensor(weights) @ memory
            state = write(torch.cat([word, context]), state)
            readout = linear("readout", torch.cat([state[:5], context, word]), 4)
            said.append(linear("output", torch.tanh(readout), 11))
    return torch.stack(said)


CHECKS = (
    Check(
        "AdditiveAttention",
        "the scores of AdditiveAttention(5, 5, 3), compared with a loop",
        _additive_scores,
        lambda: torch.tensor(
            [
                [additive("", s, rows, 3) for s in row]
                for row, rows in zip(QUERY, MEMORY, strict=True)
            ]
        ),
    ),
    Check(
        "BidirectionalEncoder",
        "the annotations of words and the first state of BidirectionalEncoder('gru', 4, 5)",
        _bidirectional,
        _bidirectional_by_hand,
    ),
    *logits("Bahdanau", bahdanau_by_hand),
    *logits("Bahdanau", lambda: bahdanau_by_hand("lstm"), cell="lstm"),
    *of_model("Bahdanau", make("Bahdanau")),
    dropout("Bahdanau"),
)
