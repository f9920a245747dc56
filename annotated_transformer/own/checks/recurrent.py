"""Checks of recurrent cells, and of the model with one context vector."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.own.checks.check import (
    SRC,
    TGT,
    Check,
    cell_of_torch,
    drawn,
    embedded,
    filled,
    linear,
    of_model,
    of_words,
    parts,
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
    """The states after each word of one sentence."""
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


RECURRENT = (
    *(
        Check(
            name,
            f"the next state of {name}(4, 5), beside torch.nn.{name}",
            lambda m, kind=kind: _cell(m, kind),  # type: ignore[misc]
            lambda kind=kind: cell_of_torch(kind, "", 4, 5)(  # type: ignore[misc]
                X[:, 0], drawn("state", 3, STATES[kind])
            ),
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
        "the kinds that make_cell makes",
        lambda m: [type(m.make_cell(kind, 4, 5)).__name__ for kind in CELLS],
        lambda: list(CELLS.values()),
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
            f"hidden states at words, and the last state, of RecurrentLayer('lstm', 4, 5{said})",
            lambda m, b=backward: _layer(m, b),  # type: ignore[misc]
            lambda b=backward: _layer_by_hand(b),  # type: ignore[misc]
        )
        for backward, said in ((False, ""), (True, ", backward=True"))
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


# --- models: a loop over each sentence alone ------------------------------------------


def make(name: str, **changes: Any) -> Callable[[Any], Any]:
    """How a small model of the module is made; the encoder and the decoder are GRUs."""

    def made(m: Any) -> Any:
        config = getattr(m, "LuongConfig" if name == "Luong" else "RecurrentConfig")
        return filled(getattr(m, name)(config(11, 11, d_model=4, hidden_dim=5, **changes)))

    return made


Sentences = Iterator[tuple[list[Tensor], list[Tensor]]]


def sentences() -> Sentences:
    """The embedded words of each source, and of its target."""
    for src, tgt in zip(SRC, TGT, strict=True):
        sides = ((src, "src_embedding"), (tgt, "tgt_embedding"))
        yield tuple(list(embedded(name, ids[ids != 0], 4)) for ids, name in sides)  # type: ignore[misc]


@torch.no_grad()
def seq2seq_by_hand() -> Tensor:
    """The logits of every word by Seq2Seq."""
    read = cell_of_torch("gru", "encoder.cell.", 4, 5)
    write, said = cell_of_torch("gru", "decoder.cell.", 9, 5), []
    for source, target in sentences():
        context = walked(read, source, torch.zeros(5))[-1]
        state = torch.tanh(linear("bridge", context, 5))
        for word in target:
            state = write(torch.cat([word, context]), state)
            readout = linear("readout", torch.cat([state, context, word]), 4)
            said.append(linear("output", torch.tanh(readout), 11))
    return torch.stack(said)


def logits(name: str, said: str, want: Callable[[], Tensor], **changes: Any) -> tuple[Check, ...]:
    """What every recurrent model says, with these changes of its settings."""
    model = make(name, **changes)
    return (
        Check(
            name,
            f"the logits of {name}{said}, beside a loop over every sentence alone",
            lambda m: of_words(model(m)(SRC, TGT)),
            want,
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
    """Where a recurrent model drops numbers."""
    return Check(
        name,
        f"whether {name}, with dropout=0.5 in training, drops parts of source words, of target "
        "words, and of what the output layer reads",
        lambda m: _dropped(make(name, dropout=0.5)(m)),
        lambda: [True, True, True],
    )


SEQ2SEQ = (
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
    *logits("Seq2Seq", "", seq2seq_by_hand),
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
