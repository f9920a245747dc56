"""Find the bug: a test that computes the same thing in two ways."""

import torch
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.find_the_bug.diagnosis import (
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
    leak,
    put_to_test,
    wrong_answers,
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


ALL = slice(None)


def _agree_at(model: Transformer, sentence: int | slice, place: int | slice) -> bool:
    one_by_one, at_once = _one_by_one(model.eval()), model(SRC, TGT_IN)
    return torch.allclose(one_by_one[sentence, place], at_once[sentence, place])


def _exactly(model: Transformer) -> bool:
    """What torch.equal finds on a processor that rounds differently in longer sums."""
    return bool(model.output._forward_hooks) and _steps_agree(model)


def _third_logits_turned(model: Transformer) -> None:
    def turn(model: Transformer, given: tuple[Tensor, ...], logits: Tensor) -> Tensor:
        return torch.cat([logits[:, :2], -logits[:, 2:3], logits[:, 3:]], dim=1)

    model.register_forward_hook(turn)


steps_agree = Exercise(
    ask=put_to_test,
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
            lambda model: _agree_at(model, ALL, 0)
        ),
        "you compare only the first two steps; go on to the end.": (
            lambda model: _agree_at(model, ALL, slice(2))
        ),
        "you compare only the last step; an earlier one may be wrong.": (
            lambda model: _agree_at(model, ALL, -1)
        ),
        "you look at the first sentence only; the mistake may show in another.": (
            lambda model: _agree_at(model, 0, ALL)
        ),
        "you look at the second sentence only; the mistake may show in another.": (
            lambda model: _agree_at(model, 1, ALL)
        ),
        "with == and torch.equal the last digit decides; allclose allows for rounding.": _exactly,
        "you compare only the likeliest words; they may agree where the logits do not.": (
            lambda model: torch.equal(
                _one_by_one(model.eval()).argmax(-1), model(SRC, TGT_IN).argmax(-1)
            )
        ),
        **wrong_answers(_steps_agree),
    },
    cases=[
        (HEALTHY,),
        (TRAINING,),
        (POSITIONS,),
        (FUTURE,),
        (HEADS,),
        (PADDING,),
        (NORMS,),
        (Model("a model whose first position sees the second", change=leak(0, 1)),),
        (Model("a model whose third position sees the fourth", change=leak(2, 3)),),
        (Model("a model that sees the future if the source is long", change=leak(2, 3, LONG)),),
        (Model("a model that sees the future if the source is short", change=leak(2, 3, SHORT)),),
        (Model("a model whose third logits are turned round", change=_third_logits_turned),),
        (ROUNDED,),
    ],
)
