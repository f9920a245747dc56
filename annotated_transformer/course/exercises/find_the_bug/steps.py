"""Find the bug: a test that word by word gives what is given all at once."""

import torch

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.find_the_bug.diagnosis import (
    EARLY_LEAK,
    FUTURE,
    HEADS,
    HEALTHY,
    LEAK,
    LONG_LEAK,
    NORMS,
    PADDING,
    POSITIONS,
    ROUNDED,
    SHORT_LEAK,
    SRC,
    TGT_IN,
    TRAINING,
    Model,
    Pair,
    coarse_answers,
    only_sums,
    put_to_test,
    to_the_last_digit,
    turn_third,
    wrong_answers,
)
from annotated_transformer.transformer import Transformer


def _steps_agree(model: Transformer) -> bool:
    """Are the logits word by word those of all words at once?"""
    model.eval()
    state, steps = model.start(SRC), []
    for token in TGT_IN.T:
        logits, state = model.step(state, token)
        steps.append(logits)
    return torch.allclose(torch.stack(steps, dim=1), model(SRC, TGT_IN))


def _both_ways(model: Transformer) -> Pair:
    state, steps = model.start(SRC), []
    for token in TGT_IN.T:
        logits, state = model.step(state, token)
        steps.append(logits)
    return torch.stack(steps, dim=1), model(SRC, TGT_IN)


def _first_two(model: Transformer) -> bool:
    one_by_one, at_once = _both_ways(model.eval())
    return torch.allclose(one_by_one[:, :2], at_once[:, :2])


steps_agree = Exercise(
    ask=put_to_test,
    reference=_steps_agree,
    mistakes={
        **coarse_answers(_both_ways),
        "only the first two steps decide; go on to the end.": _first_two,
        **only_sums(_both_ways),
        **to_the_last_digit(_steps_agree),
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
        (EARLY_LEAK,),
        (LEAK,),
        (LONG_LEAK,),
        (SHORT_LEAK,),
        (Model("a model whose third logits are turned round", change=turn_third(torch.neg)),),
        (
            Model(
                "a model whose third logits are in reverse order",
                change=turn_third(lambda logits: logits.flip(-1)),
            ),
        ),
        (
            Model(
                "a model whose third logits are a little larger",
                change=turn_third(lambda logits: 1.01 * logits),
            ),
        ),
        (ROUNDED,),
    ],
)
