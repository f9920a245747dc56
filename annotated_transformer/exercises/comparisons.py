"""Chapter 17, find the bug: a test that computes the same thing in two ways."""

import torch
from torch import Tensor

from annotated_transformer.exercises.diagnosis import (
    FUTURE,
    HEADS,
    HEALTHY,
    NORMS,
    PADDING,
    POSITIONS,
    SRC,
    TGT_IN,
    TRAINING,
    Diagnosis,
    Model,
    leak,
)
from annotated_transformer.transformer import Transformer


def _steps_agree(model: Transformer) -> bool:
    model.eval()
    state, steps = model.start(SRC), []
    for token in TGT_IN.T:
        logits, state = model.step(state, token)
        steps.append(logits)
    return torch.allclose(torch.stack(steps, dim=1), model(SRC, TGT_IN))


def _one_by_one(model: Transformer) -> Tensor:
    state, steps = model.start(SRC), []
    for token in TGT_IN.T:
        logits, state = model.step(state, token)
        steps.append(logits)
    return torch.stack(steps, dim=1)


steps_agree = Diagnosis(
    reference=_steps_agree,
    mistakes={
        "you pass every model: one of the two has to be written step by step.": lambda model: True,
        "you call every model ill: hand the state on, and the words in their order.": (
            lambda model: False
        ),
        "you take the model in the mode in which it comes; say model.eval() first.": (
            lambda model: torch.allclose(_one_by_one(model), model(SRC, TGT_IN))
        ),
        "you compare only the first step; there even a wrong position is right.": (
            lambda model: torch.allclose(_one_by_one(model.eval())[:, 0], model(SRC, TGT_IN)[:, 0])
        ),
        "you compare only the likeliest words; they may agree where the logits do not.": (
            lambda model: torch.equal(
                _one_by_one(model.eval()).argmax(-1), model(SRC, TGT_IN).argmax(-1)
            )
        ),
        "it is the other way round: True means that the model is healthy.": (
            lambda model: not _steps_agree(model)
        ),
        "right, but as a tensor; bool(…) makes it True or False.": (
            lambda model: torch.tensor(_steps_agree(model))
        ),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (POSITIONS,),
        (FUTURE,),
        (HEADS,),
        (PADDING,),
        (NORMS,),
        (Model("a model whose third position sees the fourth", change=leak(2, 3)),),
    ],
)
