"""Find the bug: a test that padding does not matter."""

import torch
from torch.nn import functional as F

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.find_the_bug.diagnosis import (
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
    Model,
    put_to_test,
    read_padding_at,
    read_padding_in_the_encoder,
    see_everything,
    wrong_answers,
)
from annotated_transformer.transformer import Transformer

LONGER = F.pad(SRC, (0, 3))


def _ignores_padding(model: Transformer) -> bool:
    model.eval()
    return torch.allclose(model(LONGER, TGT_IN), model(SRC, TGT_IN))


def _at(model: Transformer, sentence: int | slice, position: int | slice) -> bool:
    before, after = model.eval()(SRC, TGT_IN), model(LONGER, TGT_IN)
    return torch.allclose(after[sentence, position], before[sentence, position])


def _exactly(model: Transformer) -> bool:
    """What torch.equal finds on a processor that rounds differently in longer sums."""
    return bool(model.output._forward_hooks) and _ignores_padding(model)


def _memory_ignores_padding(model: Transformer) -> bool:
    memory = model.eval().encode(SRC)
    return torch.allclose(model.encode(LONGER)[:, : SRC.size(1)], memory)


ignores_padding = Exercise(
    ask=put_to_test,
    reference=_ignores_padding,
    mistakes={
        "you pass every model: one of the two sources needs more padding than the other.": (
            lambda model: True
        ),
        "you call every model ill: add nothing but PAD, and add it after the source.": (
            lambda model: False
        ),
        "you take the model in the mode in which it comes; say model.eval() first.": (
            lambda model: torch.allclose(model(LONGER, TGT_IN), model(SRC, TGT_IN))
        ),
        "you look at the encoder's output alone; the decoder may read the padding.": (
            _memory_ignores_padding
        ),
        "you pad the target; it is the source whose padding must not matter here.": (
            lambda model: torch.allclose(
                model.eval()(SRC, F.pad(TGT_IN, (0, 3)))[:, :5], model(SRC, TGT_IN)
            )
        ),
        "with == and torch.equal the last digit decides; allclose allows for rounding.": _exactly,
        "your tolerance is so large that a difference which matters is within it.": (
            lambda model: torch.allclose(model.eval()(LONGER, TGT_IN), model(SRC, TGT_IN), atol=1.0)
        ),
        "you look at the first sentence only; the mistake may show in another.": (
            lambda model: _at(model, 0, slice(None))
        ),
        "you look at the second sentence only; the mistake may show in another.": (
            lambda model: _at(model, 1, slice(None))
        ),
        "you compare the logits of the first position only.": (
            lambda model: _at(model, slice(None), 0)
        ),
        "you compare the logits of the last position only.": (
            lambda model: _at(model, slice(None), -1)
        ),
        "you compare one position of one sentence only.": lambda model: _at(model, 0, 0),
        **wrong_answers(_ignores_padding),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (PADDING,),
        (HEADS,),
        (Model("a model whose encoder reads padding", change=read_padding_in_the_encoder),),
        (
            Model(
                "a model that reads the padding of long sentences", change=read_padding_at(2, LONG)
            ),
        ),
        (
            Model(
                "a model that reads the padding of short sentences",
                change=read_padding_at(0, SHORT),
            ),
        ),
        (Model("a model that reads padding at its first word", change=read_padding_at(0)),),
        (Model("a model that reads padding at its last word", change=read_padding_at(4)),),
        (Model("a model that sees every word of the target", change=see_everything),),
        (ROUNDED,),
        (FUTURE,),
        (POSITIONS,),
        (NORMS,),
        (COPIES,),
    ],
)
