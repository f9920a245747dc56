"""Luong attention: the steps of its decoder."""

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import random_cases


def _attentional_state(
    context: Float[Tensor, "batch t d_h"],
    hidden: Float[Tensor, "batch t d_s"],
    W: Float[Tensor, "d both"],
) -> Float[Tensor, "batch t d"]:
    return torch.tanh(torch.cat([context, hidden], dim=-1) @ W.mT)


def _halves(context: Tensor, hidden: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
    return context @ W[:, : context.size(-1)].mT, hidden @ W[:, context.size(-1) :].mT


attentional_state = Exercise(
    reference=_attentional_state,
    mistakes={
        "the order is swapped: the context stands first, [c; s].": (
            lambda c, s, W: torch.tanh(torch.cat([s, c], -1) @ W.mT)
        ),
        "tanh is missing.": lambda c, s, W: torch.cat([c, s], -1) @ W.mT,
        "tanh comes after W, not before.": lambda c, s, W: torch.tanh(torch.cat([c, s], -1)) @ W.mT,
        "this is a sigmoid; tanh is asked for.": (
            lambda c, s, W: torch.sigmoid(torch.cat([c, s], -1) @ W.mT)
        ),
        "this is a softmax; tanh is asked for, and the logits come later.": (
            lambda c, s, W: torch.softmax(torch.cat([c, s], -1) @ W.mT, -1)
        ),
        "you use the context alone; the state knows what was said.": (
            lambda c, s, W: torch.tanh(_halves(c, s, W)[0])
        ),
        "you use the state alone; without the context the source is not looked at.": (
            lambda c, s, W: torch.tanh(_halves(c, s, W)[1])
        ),
        "you bend the two halves apart; tanh must see their sum.": (
            lambda c, s, W: sum(map(torch.tanh, _halves(c, s, W)))
        ),
    },
    cases=[
        (context, hidden, torch.cat([left, right], dim=1))
        for context, hidden, left, right in random_cases(
            "batch t d_h", "batch t d_s", "d d_h", "d d_s"
        )
    ],
)


def _luong_context(
    states: Float[Tensor, "steps d"], memory: Float[Tensor, "src d"]
) -> Float[Tensor, "tgt d"]:
    return (states[1:] @ memory.mT).softmax(dim=-1) @ memory


luong_context = Exercise(
    reference=_luong_context,
    mistakes={
        "you ask with s_{t−1}: that is Bahdanau's order; Luong asks with s_t.": (
            lambda s, h: (s[:-1] @ h.mT).softmax(-1) @ h
        ),
        "s_0 asks too: it stands before the first word and needs no context.": (
            lambda s, h: (s @ h.mT).softmax(-1) @ h
        ),
        "the softmax goes over the target; each step shares out 1 among the source words.": (
            lambda s, h: (s[1:] @ h.mT).softmax(0) @ h
        ),
        "the softmax is missing: these weights do not sum to 1.": lambda s, h: s[1:] @ h.mT @ h,
        "you take the plain mean of the memory; the scores are not used.": (
            lambda s, h: h.mean(0).expand_as(s[1:])
        ),
        "you take the one best source word; a soft lookup mixes all of them.": (
            lambda s, h: h[(s[1:] @ h.mT).argmax(-1)]
        ),
        "these are the weights; the context is their sum of the memory.": (
            lambda s, h: (s[1:] @ h.mT).softmax(-1)
        ),
        "you divide the scores by √d; the dot score does not (the Transformer will).": (
            lambda s, h: (s[1:] @ h.mT / h.size(-1) ** 0.5).softmax(-1) @ h
        ),
        "you add the state to the context; the two meet only in the next layer.": (
            lambda s, h: (s[1:] @ h.mT).softmax(-1) @ h + s[1:]
        ),
    },
    cases=random_cases("steps d", "src d"),
)
