"""Find the bug: a test that word by word gives what is given all at once."""

from collections.abc import Sequence

import torch

from annotated_transformer.transformer import Transformer
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.find_the_bug.diagnosis import (
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
    Test,
    coarse_answers,
    only_sums,
    put_to_test,
    read_at_once,
    to_the_last_digit,
    turn_last,
    turn_third,
    turned_round,
)
from transformer_workbook.old_exercises.find_the_bug.healthy import (
    COUNTING,
    FORGETFUL,
    MONOTONOUS,
    STEADY,
)


def _steps_agree(model: Transformer) -> bool:
    """Are the logits word by word those of all words at once?"""
    model.eval()
    state, steps = model.start(SRC), []
    for token in TGT_IN.T:
        logits, state = model.step(state, token)
        steps.append(logits)
    return torch.allclose(torch.stack(steps, dim=1), model(SRC, TGT_IN))


PLACES = range(TGT_IN.size(1))


def _both_ways(model: Transformer, fed: Sequence[int] = PLACES) -> Pair:
    state, steps = model.start(SRC), []
    for place in fed:
        logits, state = model.step(state, TGT_IN[:, place])
        steps.append(logits)
    return torch.stack(steps, dim=1), model(SRC, TGT_IN)


def _other(fed: Sequence[int] = PLACES, compared: Sequence[int] = PLACES) -> Test:
    """The test that feeds the words of other places, or compares with other positions."""

    def test(model: Transformer) -> bool:
        one_by_one, at_once = _both_ways(model.eval(), fed)
        return torch.allclose(one_by_one, at_once[:, compared])

    return test


def _any_step(model: Transformer) -> bool:
    one_by_one, at_once = _both_ways(model.eval())
    return any(torch.allclose(one_by_one[:, t], at_once[:, t]) for t in PLACES)


def _first_two(model: Transformer) -> bool:
    one_by_one, at_once = _both_ways(model.eval())
    return torch.allclose(one_by_one[:, :2], at_once[:, :2])


def _all_but_the_last(model: Transformer) -> bool:
    one_by_one, at_once = _both_ways(model.eval())
    return torch.allclose(one_by_one[:, :-1], at_once[:, :-1])


steps_agree = Exercise(
    ask=put_to_test,
    reference=_steps_agree,
    given={
        **coarse_answers(_both_ways),
        "only the first two steps decide; go on to the end.": _first_two,
        "one step that agrees is enough here; all have to.": _any_step,
        "the last step is left out; it has to agree, too.": _all_but_the_last,
        "the steps do not begin with BOS: feed every column of `tgt_in`, from 0 on.": (
            _other(PLACES[1:], PLACES[1:])
        ),
        "the words that are fed are not those of `tgt_in` in their order; one is fed twice, say.": (
            _other([0] * len(PLACES))
        ),
        "the logits of a step are compared with those of another position.": (
            _other(compared=[t - 1 for t in PLACES])
        ),
        **only_sums(_both_ways),
        **to_the_last_digit(_steps_agree),
        **turned_round(_steps_agree),
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
                "a model whose last logits are turned round",
                change=read_at_once(lambda src, logits: turn_last(1, torch.neg)(logits)),
            ),
        ),
        (
            Model(
                "a model whose third logits differ in the last word",
                change=turn_third(turn_last(-1, torch.neg)),
            ),
        ),
        (
            Model(
                "a model whose third logits are a little larger",
                change=turn_third(lambda logits: 1.01 * logits),
            ),
        ),
        *((model,) for model in (ROUNDED, STEADY, MONOTONOUS, COUNTING, FORGETFUL)),
    ],
)
