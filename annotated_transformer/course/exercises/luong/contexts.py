"""Luong attention: the contexts, from all states of the decoder."""

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases


def _luong_context(
    states: Float[Tensor, "steps d"], memory: Float[Tensor, "src d"]
) -> Float[Tensor, "tgt d"]:
    """The contexts of Luong's model, from all states of the decoder."""
    return (states[1:] @ memory.mT).softmax(dim=-1) @ memory


luong_context = Exercise(
    reference=_luong_context,
    mistakes={
        "these are asked for with s_{t−1}: that is Bahdanau's order; Luong asks with s_t.": (
            lambda s, h: _luong_context(s[[0, *range(len(s) - 1)]], h)
        ),
        "s_0 asks too: it stands before the first word and needs no context.": (
            lambda s, h: (s @ h.mT).softmax(-1) @ h
        ),
        "the softmax goes over the target; each step shares out 1 among the source words.": (
            lambda s, h: (s[1:] @ h.mT).softmax(0) @ h
        ),
        "the weights of a source word sum to 1 over all states; those of a step should.": (
            lambda s, h: (s @ h.mT).softmax(0)[1:] @ h
        ),
        "the softmax is missing: these weights do not sum to 1.": lambda s, h: s[1:] @ h.mT @ h,
        "this is the plain mean of the memory; the scores are not used.": (
            lambda s, h: h.mean(0).expand_as(s[1:])
        ),
        "this is the one best source word; a soft lookup mixes all of them.": (
            lambda s, h: h[(s[1:] @ h.mT).argmax(-1)]
        ),
        "these are the weights; the context is their sum of the memory.": (
            lambda s, h: (s[1:] @ h.mT).softmax(-1)
        ),
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
        "these weights do not sum to 1: divide the exponentials by their sum.": (
            lambda s, h: (s[1:] @ h.mT).exp() @ h
        ),
    },
    cases=random_cases("steps d", "src d"),
)
