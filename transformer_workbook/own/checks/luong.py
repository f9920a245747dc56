"""Checks of the three scores, and of the model that looks back after its recurrence."""

from typing import Any

import torch
from torch import Tensor

from transformer_workbook.own.checks.bahdanau import additive
from transformer_workbook.own.checks.check import (
    Check,
    cell_of_torch,
    filled,
    linear,
    of_model,
    refusal,
    softmax,
)
from transformer_workbook.own.checks.recurrent import STATES, walked
from transformer_workbook.own.checks.seq2seq import dropout, logits, make, sentences
from transformer_workbook.own.checks.soft_lookup import MEMORY, QUERY


def _luong_scores(m: Any, name: str) -> Tensor:
    attention = filled(m.make_score(name, 5))
    return attention.scores(QUERY, attention.keys(MEMORY)).detach()


def luong_score(name: str, s: Tensor, memory: Tensor, prefix: str = "") -> list[float]:
    """Compute a score of Luong's for a query and each row of a memory, number by number."""
    if name == "concat":
        return additive(prefix, s, memory, 5)
    if name == "general":
        memory = linear(f"{prefix}key", memory, 5, bias=False)
    return [sum(float(a * b) for a, b in zip(s, h, strict=True)) for h in memory]


@torch.no_grad()
def luong_by_hand(score: str, cell: str = "gru") -> Tensor:
    """Compute the logits of every word by Luong."""
    read, write = (cell_of_torch(cell, f"{side}.cell.", 4, 5) for side in ("encoder", "decoder"))
    said = []
    for source, target in sentences():
        states = walked(read, source, torch.zeros(STATES[cell]))
        memory, state = torch.stack(states)[:, :5], states[-1]
        for word in target:
            state = write(word, state)
            weights = softmax(luong_score(score, state[:5], memory, "attention."))
            context = torch.tensor(weights) @ memory
            attentional = torch.tanh(linear("readout", torch.cat([context, state[:5]]), 4))
            said.append(linear("output", attentional, 11))
    return torch.stack(said)


CHECKS = (
    *(
        Check(
            subject,
            "the scores of make_score('{name}', 5), compared with a loop",
            lambda m, name=name: _luong_scores(m, name),  # type: ignore[misc]
            lambda name=name: torch.tensor(  # type: ignore[misc]
                [
                    [luong_score(name, s, rows) for s in row]
                    for row, rows in zip(QUERY, MEMORY, strict=True)
                ]
            ),
            {"name": name},
        )
        for name, subject in (
            ("dot", "DotAttention"),
            ("general", "GeneralAttention"),
            ("concat", "make_score"),
        )
    ),
    Check(
        "make_score",
        "the error of make_score('cosine', 5)",
        lambda m: refusal(lambda: m.make_score("cosine", 5)),
        lambda: "InputError",
    ),
    *(
        check
        for score in ("general", "dot", "concat")
        for check in logits(
            "Luong",
            lambda s=score: luong_by_hand(s),  # type: ignore[misc]
            score=score,
        )
    ),
    *logits("Luong", lambda: luong_by_hand("general", "lstm"), cell="lstm"),
    *of_model("Luong", make("Luong")),
    dropout("Luong"),
)
