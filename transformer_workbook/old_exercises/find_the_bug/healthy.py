"""Find the bug: healthy models to which something does not matter.

A test that compares what need not agree fails every other healthy model; which of these pass it
says what it compares.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from annotated_transformer.tokens import BOS
from annotated_transformer.transformer import Transformer
from transformer_workbook.old_exercises.find_the_bug.diagnosis import Change, Model


def _ignore_the_source(model: Transformer) -> None:
    for layer in model.decoder:
        layer.cross_attention.output.weight.data.zero_()  # type: ignore[union-attr, operator]


def is_deaf(model: Transformer) -> bool:
    """Whether the source changes nothing, not even the last digit."""
    return not any(layer.cross_attention.output.weight.any() for layer in model.decoder)  # type: ignore[union-attr, operator]


def _forget_positions(model: Transformer) -> None:
    model.tgt_embedding.positions.register_forward_hook(lambda part, given, out: given[0])


def _never_drop(model: Transformer) -> None:
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0


def _read(other: Callable[[Tensor], Tensor]) -> Change:
    """Let the decoder read other words than it is given."""

    def change(model: Transformer) -> None:
        extend = model.extend
        model.extend = lambda state, tokens: extend(state, other(tokens))  # type: ignore[method-assign]

    return change


_read_nothing = _read(lambda tokens: torch.full_like(tokens, BOS))


def _say_always_the_same(model: Transformer) -> None:
    _read_nothing(model)
    _forget_positions(model)


def _read_one_word(model: Transformer) -> None:
    _forget_positions(model)
    for layer in model.decoder:
        layer.self_attention.output.weight.data.zero_()  # type: ignore[union-attr, operator]


DEAF = Model("a model that ignores the source", change=_ignore_the_source)
UNORDERED = Model("a healthy model without positions", change=_forget_positions)
STEADY = Model("a healthy model without dropout", change=_never_drop)
MONOTONOUS = Model("a healthy model that says the same everywhere", change=_say_always_the_same)
COUNTING = Model("a healthy model that reads no word of the target", change=_read_nothing)
FORGETFUL = Model("a healthy model that reads the last word alone", change=_read_one_word)
LATE = Model(
    "a healthy model that does not read the last word",
    change=_read(lambda tokens: torch.cat([tokens[:, :1], tokens[:, :-1]], dim=1)),
)
