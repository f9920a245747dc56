"""Find the bug: a test that padding does not matter."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.tokens import BOS
from annotated_transformer.transformer import Transformer
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.find_the_bug.diagnosis import (
    ANY,
    COPIES,
    FUTURE,
    HEADS,
    HEALTHY,
    LONG,
    NORMS,
    PADDING,
    POSITIONS,
    ROUNDED,
    SHORT,
    SRC,
    TGT_IN,
    TRAINING,
    Change,
    Model,
    Pair,
    Test,
    _of_length,
    coarse_answers,
    only_sums,
    put_to_test,
    read_at_once,
    to_the_last_digit,
    turn_last,
    turned_round,
    very_tolerant,
)
from transformer_workbook.old_exercises.find_the_bug.healthy import (
    DEAF,
    STEADY,
    UNORDERED,
    is_deaf,
)

LONGER = F.pad(SRC, (0, 3))


def _ignores_padding(model: Transformer) -> bool:
    """Does more padding after the source change nothing?"""
    model.eval()
    return torch.allclose(model(LONGER, TGT_IN), model(SRC, TGT_IN))


def _longer_and_not(model: Transformer) -> Pair:
    return model(LONGER, TGT_IN), model(SRC, TGT_IN)


def _with_source(src: Tensor) -> Test:
    """The test that takes another source for the longer one."""
    return lambda model: torch.allclose(model.eval()(src, TGT_IN), model(SRC, TGT_IN))


def _memory_ignores_padding(model: Transformer) -> bool:
    memory = model.eval().encode(SRC)
    return torch.allclose(model.encode(LONGER)[:, : SRC.size(1)], memory)


def _target_is_padded(model: Transformer) -> bool:
    before, after = model.eval()(SRC, TGT_IN), model(SRC, F.pad(TGT_IN, (0, 3)))
    return torch.allclose(after[:, : TGT_IN.size(1)], before)


def _one_place(model: Transformer) -> bool:
    after, before = _longer_and_not(model.eval())
    return torch.allclose(after[0, 0], before[0, 0])


def _read_padding_in_the_encoder(model: Transformer) -> None:
    """Let the encoder look at padding."""

    def open_mask(layer: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        x, mask = arguments
        return x, torch.ones_like(mask)

    for layer in model.encoder:
        layer.register_forward_pre_hook(open_mask)


def _read_padding_at(position: int, lengths: range = ANY) -> Change:
    """Let one target position look at the padding of the source, in the last layer."""

    def change(model: Transformer) -> None:
        def open_mask(
            attention: nn.Module, arguments: tuple[Tensor, ...], named: dict[str, Any]
        ) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
            mask, targets = named["mask"], arguments[0].size(1)
            opened = mask.repeat(1, 1, targets, 1)
            if targets > 1:  # one position alone is a step of a search
                opened[_of_length(mask, lengths), :, position] = True
            return arguments, named | {"mask": opened}

        last: Any = model.decoder[-1]
        last.cross_attention.register_forward_pre_hook(open_mask, with_kwargs=True)

    return change


def _see_everything(model: Transformer) -> None:
    """Let every target position see every other, and padding too, when all are read at once."""

    def open_mask(layer: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        *others, mask, memory_mask = arguments
        return *others, torch.ones_like(mask), memory_mask

    for layer in model.decoder:
        layer.register_forward_pre_hook(open_mask)


def _if_longer(then: Any) -> Change:
    """Change the logits where the source is longer than the one above."""
    return read_at_once(lambda src, x: then(x) if src.size(1) > SRC.size(1) else x)


FAULTY: dict[str, Change] = {
    "a model whose encoder reads padding": _read_padding_in_the_encoder,
    "a model that reads the padding of long sentences": _read_padding_at(2, LONG),
    "a model that reads the padding of short sentences": _read_padding_at(0, SHORT),
    "a model that reads padding at its first word": _read_padding_at(0),
    "a model that reads padding at its last word": _read_padding_at(4),
    "a model that sees every word of the target": _see_everything,
    "a model whose logits are a little larger beside padding": _if_longer(lambda x: 1.01 * x),
    "a model whose logits change places beside padding": _if_longer(lambda x: x.flip(-1)),
    "a model whose last logit changes beside padding": _if_longer(turn_last(-1, torch.neg)),
    "a model whose logits move by 0.005 beside padding": _if_longer(lambda x: x + 0.005),
}

ignores_padding = Exercise(
    ask=put_to_test,
    reference=_ignores_padding,
    given={
        **coarse_answers(_longer_and_not),
        **very_tolerant(_longer_and_not),
        **only_sums(_longer_and_not),
        **to_the_last_digit(_ignores_padding, exact=is_deaf),
        "the tolerance is so large that some thousandths are within it.": (
            lambda model: torch.allclose(*_longer_and_not(model.eval()), atol=0.01)
        ),
        "only the encoder's output is compared; the decoder may read the padding.": (
            _memory_ignores_padding
        ),
        "the target is padded; it is the source whose padding must not matter here.": (
            _target_is_padded
        ),
        "PAD stands in front, where it moves the words; it comes after them.": (
            _with_source(F.pad(SRC, (3, 0)))
        ),
        "the source gets other tokens than PAD, or other words; a healthy model reads them.": (
            _with_source(F.pad(SRC, (0, 3), value=BOS))
        ),
        "only one position of one sentence decides.": _one_place,
        **turned_round(_ignores_padding),
    },
    cases=[
        *((model,) for model in (HEALTHY, TRAINING, PADDING, HEADS, DEAF, UNORDERED, STEADY)),
        *((Model(what, change=change),) for what, change in FAULTY.items()),
        *((model,) for model in (ROUNDED, FUTURE, POSITIONS, NORMS, COPIES)),
    ],
)
