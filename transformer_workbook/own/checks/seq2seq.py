"""Checks of the model with one context vector, and of every recurrent model."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.own.checks.check import (
    SRC,
    TGT,
    Check,
    cell_of_torch,
    embedded,
    filled,
    linear,
    of_model,
    of_words,
    parts,
)
from transformer_workbook.own.checks.recurrent import STATES, walked


def small(name: str, m: Any, **changes: Any) -> Any:
    """Make a small model of the module; its cells are GRUs by default."""
    config = getattr(m, "LuongConfig" if name == "Luong" else "RecurrentConfig")
    return filled(getattr(m, name)(config(11, 11, d_model=4, hidden_dim=5, **changes)))


def make(name: str, **changes: Any) -> Callable[[Any], Any]:
    """Return a function that makes such a model."""
    return partial(small, name, **changes)


Sentences = Iterator[tuple[list[Tensor], list[Tensor]]]


def sentences() -> Sentences:
    """Return the embedded words of each source, and of its target."""
    for src, tgt in zip(SRC, TGT, strict=True):
        sides = ((src, "src_embedding"), (tgt, "tgt_embedding"))
        yield tuple(list(embedded(name, ids[ids != 0], 4)) for ids, name in sides)  # type: ignore[misc]


@torch.no_grad()
def seq2seq_by_hand(cell: str = "gru") -> Tensor:
    """Compute the logits of every word by Seq2Seq."""
    read = cell_of_torch(cell, "encoder.cell.", 4, 5)
    write, said = cell_of_torch(cell, "decoder.cell.", 9, 5), []
    for source, target in sentences():
        context = walked(read, source, torch.zeros(STATES[cell]))[-1][:5]
        state = torch.tanh(linear("bridge", context, STATES[cell]))
        for word in target:
            state = write(torch.cat([word, context]), state)
            readout = linear("readout", torch.cat([state[:5], context, word]), 4)
            said.append(linear("output", torch.tanh(readout), 11))
    return torch.stack(said)


def logits(name: str, want: Callable[[], Tensor], **changes: Any) -> tuple[Check, ...]:
    """Make the checks of a recurrent model's logits, with these changes of its settings."""
    settings = ", ".join(f"{key}={value!r}" for key, value in changes.items())
    model = make(name, **changes)
    return (
        Check(
            name,
            "the logits of {model}, compared with a loop over every sentence alone",
            lambda m: of_words(model(m)(SRC, TGT)),
            want,
            {"model": f"{name}({settings})" if settings else name},
        ),
    )


@torch.no_grad()
def _dropped(model: Any) -> list[bool]:
    start = model.start(SRC)
    model.output.weight.zero_().fill_diagonal_(1.0)  # logits are what comes before, then zeros
    model.output.bias.zero_()
    model.train()
    sources = [model.start(SRC).decoder for _ in range(2)]
    targets = [model.extend(start, TGT)[1].decoder for _ in range(2)]
    shown = model(SRC, TGT)[..., : model.output.in_features]
    return [not torch.equal(*sources), not torch.equal(*targets), bool((shown == 0).any())]


def dropout(name: str) -> Check:
    """Make the check of where a recurrent model applies dropout."""
    return Check(
        name,
        "whether {name}, with dropout=0.5 in training, drops parts of source words, of target "
        "words, and of what the output layer reads",
        lambda m: _dropped(make(name, dropout=0.5)(m)),
        lambda: [True, True, True],
        {"name": name},
    )


CHECKS = (
    Check(
        "RecurrentTranslator",
        "the names and shapes of the weights of RecurrentTranslator(RecurrentConfig(9, 7))",
        lambda m: parts(m.RecurrentTranslator(m.RecurrentConfig(9, 7, d_model=4))),
        lambda: {
            "output.bias": (7,),
            "output.weight": (7, 4),
            "src_embedding.weight": (9, 4),
            "tgt_embedding.weight": (7, 4),
        },
    ),
    *logits("Seq2Seq", seq2seq_by_hand),
    *logits("Seq2Seq", lambda: seq2seq_by_hand("lstm"), cell="lstm"),
    *of_model("Seq2Seq", make("Seq2Seq")),
    dropout("Seq2Seq"),
    Check(
        "Seq2Seq",
        "whether Seq2Seq's logits vary with dropout=0.5 in training, and in evaluation",
        lambda m: _varies(make("Seq2Seq", dropout=0.5)(m)),
        lambda: (True, False),
    ),
)


def _varies(model: Any) -> tuple[bool, bool]:
    def differ() -> bool:
        return not torch.equal(model(SRC, TGT), model(SRC, TGT))

    return (model.train() and differ()), (model.eval() and differ())
