"""Chapter 17, find the bug: a test that padding does not matter."""

import torch
from torch.nn import functional as F

from annotated_transformer.exercises.diagnosis import (
    COPIES,
    FUTURE,
    HEADS,
    HEALTHY,
    NORMS,
    PADDING,
    POSITIONS,
    SCALE,
    SRC,
    TGT_IN,
    TRAINING,
    Diagnosis,
    Model,
    read_padding_in_the_encoder,
)
from annotated_transformer.transformer import Transformer

LONGER = F.pad(SRC, (0, 3))


def _ignores_padding(model: Transformer) -> bool:
    model.eval()
    return torch.allclose(model(LONGER, TGT_IN), model(SRC, TGT_IN))


def _memory_ignores_padding(model: Transformer) -> bool:
    memory = model.eval().encode(SRC)
    return torch.allclose(model.encode(LONGER)[:, : SRC.size(1)], memory)


ignores_padding = Diagnosis(
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
        "it is the other way round: True means that the model is healthy.": (
            lambda model: not _ignores_padding(model)
        ),
        "right, but as a tensor; bool(…) makes it True or False.": (
            lambda model: torch.tensor(_ignores_padding(model))
        ),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (PADDING,),
        (HEADS,),
        (Model("a model whose encoder reads padding", change=read_padding_in_the_encoder),),
        (FUTURE,),
        (POSITIONS,),
        (SCALE,),
        (NORMS,),
        (COPIES,),
    ],
)
