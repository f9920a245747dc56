"""Luong attention: local attention, which predicts where to look."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.luong.local_steps import (
    AROUND,
    BELLS,
    CENTRES,
    ONE_FURTHER,
    WEIGHTS,
    Bell,
    Centre,
    Place,
    Weigh,
    softmax_inside,
)


def _local_attention(
    states: Float[Tensor, "tgt d"],
    memory: Float[Tensor, "src d"],
    W_p: Float[Tensor, "d_p d"],
    v_p: Float[Tensor, " d_p"],
    D: int,
) -> tuple[Float[Tensor, " tgt"], Float[Tensor, "tgt src"]]:
    """Local attention: where each step looks, and its weights."""
    centre = len(memory) * torch.sigmoid(torch.tanh(states @ W_p.mT) @ v_p)
    distance = torch.arange(1, len(memory) + 1) - centre.unsqueeze(1)
    scores = (states @ memory.mT).masked_fill(distance.abs() > D, -torch.inf)
    return centre, scores.softmax(dim=1) * torch.exp(-2 * distance**2 / D**2)


def _wrong(
    centre: Centre = lambda x, v, src: src * torch.sigmoid(torch.tanh(x) @ v),
    bell: Bell = lambda x, D: torch.exp(-2 * x**2 / D**2),
    weigh: Weigh = lambda e, outside, bell: softmax_inside(e, outside) * bell,
    window_at: Place = lambda p: p,
    bell_at: Place = lambda p: p,
    first: int = 1,
    reach: float = 1.0,
) -> Callable[..., tuple[Tensor, Tensor]]:
    """Local attention in which one of the steps is another."""

    def attend(
        states: Tensor, memory: Tensor, W_p: Tensor, v_p: Tensor, D: int
    ) -> tuple[Tensor, Tensor]:
        p, words = centre(states @ W_p.mT, v_p, len(memory)), torch.arange(len(memory)) + first
        outside = (words - window_at(p)[:, None]).abs() > reach * D
        gaussian = bell(words - bell_at(p)[:, None], D)
        return p, weigh(states @ memory.mT, outside, gaussian)

    return attend


local_attention = Exercise(
    reference=_local_attention,
    given={
        "the words are counted from 0; here the first one has number 1.": _wrong(first=0),
        **{sentence: _wrong(centre) for sentence, centre in CENTRES.items()},
        **{sentence: _wrong(bell=bell) for sentence, bell in BELLS.items()},
        **{sentence: _wrong(weigh=weigh) for sentence, weigh in WEIGHTS.items()},
        **{
            f"the window lies around {name}, not around p_t.": _wrong(window_at=place)
            for name, place in {**AROUND, **ONE_FURTHER}.items()
        },
        **{
            f"the Gaussian lies around {name}, not around p_t.": _wrong(bell_at=place)
            for name, place in {**AROUND, **ONE_FURTHER}.items()
        },
        **{
            f"window and Gaussian lie around {name}, not around p_t.": (
                _wrong(window_at=place, bell_at=place)
            )
            for name, place in AROUND.items()
        },
        "this window is half as wide: it reaches D words to each side.": _wrong(reach=0.5),
        "this window is twice as wide: it reaches D words to each side.": _wrong(reach=2.0),
        "the scores are divided by √d; the dot score is not (the Transformer's will be).": (
            lambda s, h, *given: _wrong()(s, h / h.size(1) ** 0.5, *given)
        ),
        "these are the contexts in place of the weights.": (
            lambda s, h, *given: (_wrong()(s, h, *given)[0], _wrong()(s, h, *given)[1] @ h)
        ),
    },
    cases=[
        (normal(2, 3, seed=0), normal(5, 3, seed=1), normal(4, 3, seed=2), normal(4, seed=3), 1),
        (*(normal(*n, seed=n[0]).float() for n in ((3, 4), (9, 4), (5, 4), (5,))), 3),
        (normal(4, 2, seed=4), normal(8, 2, seed=5), normal(3, 2, seed=6), normal(3, seed=7), 2),
    ],
)
