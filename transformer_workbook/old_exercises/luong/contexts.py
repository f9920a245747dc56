"""Luong attention: the contexts, from all states of the decoder."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import random_cases
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.luong.lookups import ROW_LOOKUPS, Lookup


def _luong_context(
    states: Float[Tensor, "steps d"], memory: Float[Tensor, "src d"]
) -> Float[Tensor, "tgt d"]:
    """The contexts of Luong's model, from all states of the decoder."""
    return (states[1:] @ memory.mT).softmax(dim=-1) @ memory


def _looked_up(look: Lookup) -> Callable[[Tensor, Tensor], Any]:
    return lambda s, h: look(s[1:] @ h.mT, h)


luong_context = Exercise(
    reference=_luong_context,
    given={
        "these are asked for with s_{t−1}: that is Bahdanau's order; Luong asks with s_t.": (
            lambda s, h: _luong_context(s[[0, *range(len(s) - 1)]], h)
        ),
        "s_0 asks too: it stands before the first word and needs no context.": (
            lambda s, h: (s @ h.mT).softmax(-1) @ h
        ),
        "the weights of a source word sum to 1 over all states; those of a step should.": (
            lambda s, h: (s @ h.mT).softmax(0)[1:] @ h
        ),
        **{sentence: _looked_up(look) for sentence, look in ROW_LOOKUPS.items()},
        "the scores are divided by √d; the dot score does not (the Transformer will).": (
            lambda s, h: _luong_context(s / h.size(-1) ** 0.5, h)
        ),
        "the state is added to the context; the two meet only in the next layer.": (
            lambda s, h: _luong_context(s, h) + s[1:]
        ),
        "the scores are divided by d; the dot score is not divided.": (
            lambda s, h: _luong_context(s / h.size(-1), h)
        ),
        "the states look at themselves; they should look at the memory.": (
            lambda s, h: (s[1:] @ s[1:].mT).softmax(-1) @ s[1:]
        ),
        "the first source word is left out; it is the first state that does not ask.": (
            lambda s, h: (s[1:] @ h[1:].mT).softmax(-1) @ h[1:]
        ),
        "the state stands beside the context; only the context is asked for.": (
            lambda s, h: torch.cat([_luong_context(s, h), s[1:]], -1)
        ),
        "the state stands before the context; only the context is asked for.": (
            lambda s, h: torch.cat([s[1:], _luong_context(s, h)], -1)
        ),
        "these went through tanh: it comes when the contexts have met the states, after W_c.": (
            lambda s, h: _luong_context(s, h).tanh()
        ),
        "the state and the context change places: the weights mix the states.": (
            lambda s, h: (h @ s[1:].mT).softmax(-1) @ s[1:]
        ),
        "the scores are cosines; the dot score does not divide by the lengths.": (
            lambda s, h: torch.cosine_similarity(s[1:, None], h, dim=-1).softmax(-1) @ h
        ),
        "the last state does not ask here; every state after s_0 has a context.": (
            lambda s, h: _luong_context(s[:-1], h)
        ),
    },
    cases=random_cases("steps d", "src d"),
)
