"""Decoding: the choices of a beam search."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _tempered(
    logits: Float[Tensor, "rows vocab"], temperature: float
) -> Float[Tensor, "rows vocab"]:
    return (logits / temperature).softmax(dim=-1)


tempered = Exercise(
    reference=_tempered,
    mistakes={
        "you multiply by T; with that, a high temperature sharpens instead of flattening.": (
            lambda z, T: (z * T).softmax(-1)
        ),
        "you divide after the softmax; the result no longer sums to 1.": (
            lambda z, T: z.softmax(-1) / T
        ),
        "this power of the probabilities is right up to a factor: divide by their sum.": (
            lambda z, T: z.softmax(-1) ** (1 / T)
        ),
        "you take the softmax twice: its input is the logits, not probabilities.": (
            lambda z, T: (z.softmax(-1) / T).softmax(-1)
        ),
        "your softmax runs down the columns; each row must sum to 1.": (
            lambda z, T: (z / T).softmax(0)
        ),
        "these are logarithms: softmax is asked for, not log_softmax.": (
            lambda z, T: (z / T).log_softmax(-1)
        ),
        "the temperature is not used.": lambda z, T: z.softmax(-1),
        "the softmax is missing: these are still logits.": lambda z, T: z / T,
        "the exponentials are not divided by their sum.": lambda z, T: (z / T).exp(),
    },
    cases=[
        (normal(2, 3, seed=0), 0.5),
        (normal(3, 4, seed=1, dtype=torch.float32), 2.0),
        (normal(4, 2, seed=2), 1.5),
    ],
)


def _penalised(log_prob: float, length: int, alpha: float) -> float:
    penalty: float = ((5 + length) / 6) ** alpha
    return log_prob / penalty


penalised = Exercise(
    reference=_penalised,
    mistakes={
        "you multiply by the penalty; the log-probability is divided by it.": (
            lambda p, n, a: p * ((5 + n) / 6) ** a
        ),
        "you subtract the penalty; the log-probability is divided by it.": (
            lambda p, n, a: p - ((5 + n) / 6) ** a
        ),
        "α is an exponent, not a factor.": lambda p, n, a: p / ((5 + n) / 6 * a),
        "the brackets are missing: 5 and the length are added first, then divided by 6.": (
            lambda p, n, a: p / (5 + n / 6) ** a
        ),
        "you divide by 6 after taking the power; the 6 stands inside it.": (
            lambda p, n, a: p / ((5 + n) ** a / 6)
        ),
        "you divide by the length to the power of α; the 5 and the 6 are missing.": (
            lambda p, n, a: p / n**a
        ),
        "you count one token more; EOS is in the length already.": (
            lambda p, n, a: p / ((6 + n) / 6) ** a
        ),
        "you leave EOS out of the length; it counts.": lambda p, n, a: p / ((4 + n) / 6) ** a,
        "the power goes over the whole fraction; raise only the penalty.": (
            lambda p, n, a: -((-p / ((5 + n) / 6)) ** a)
        ),
        "this is a probability; keep the logarithm.": (
            lambda p, n, a: math.exp(p) / ((5 + n) / 6) ** a
        ),
    },
    cases=[(-4.0, 7, 0.6), (-2.5, 3, 1.0), (-9.0, 13, 0.0), (-1.5, 4, 2.0)],
)


def _extend_beam(
    log_prob: Float[Tensor, " beam"], following: Float[Tensor, "beam vocab"], size: int
) -> list[tuple[int, int]]:
    totals = log_prob[:, None] + following
    best = totals.flatten().topk(size).indices.tolist()
    return [divmod(index, following.size(1)) for index in best]


def _best(totals: Tensor, size: int, width: int | None = None) -> list[tuple[int, int]]:
    best = totals.flatten().topk(size).indices.tolist()
    return [divmod(i, width or totals.size(1)) for i in best]


def _row_by_row(p: Tensor, q: Tensor, size: int) -> list[tuple[int, int]]:
    return [(b, int(v)) for b, row in enumerate(q) for v in row.topk(size).indices]


def _one_each(p: Tensor, q: Tensor, size: int) -> list[tuple[int, int]]:
    rows = (p + q.amax(1)).argsort(descending=True)[:size]
    return [(int(b), int(q[b].argmax())) for b in rows]


extend_beam = Exercise(
    reference=_extend_beam,
    mistakes={
        "you forget how likely the beginnings are: add their log-probabilities.": (
            lambda p, q, size: _best(q, size)
        ),
        "you multiply log-probabilities; logarithms are added.": (
            lambda p, q, size: _best(p[:, None] * q, size)
        ),
        "you subtract the log-probability of the beginning; add it.": (
            lambda p, q, size: _best(q - p[:, None], size)
        ),
        "you take the best `size` of every beginning; all continuations compete together.": (
            _row_by_row
        ),
        "you let every beginning continue once; one may continue twice, and another not at all.": (
            _one_each
        ),
        "you take the least likely continuations.": (
            lambda p, q, size: _best(-(p[:, None] + q), size)
        ),
        "a place in the flat table is row · vocab + token: divide by the size of the vocabulary.": (
            lambda p, q, size: _best(p[:, None] + q, size, len(p))
        ),
        "row and token are swapped: first the beginning, then the token.": (
            lambda p, q, size: [(v, b) for b, v in _extend_beam(p, q, size)]
        ),
        "these are places in the flat table; row and token are asked for.": (
            lambda p, q, size: (p[:, None] + q).flatten().topk(size).indices.tolist()
        ),
        "the order is turned round: the best comes first.": (
            lambda p, q, size: _extend_beam(p, q, size)[::-1]
        ),
        "the pairs are right, but not their order: the best must come first.": (
            lambda p, q, size: sorted(_extend_beam(p, q, size))
        ),
        "you turned the table: a row is a beginning, a column a token.": (
            lambda p, q, size: _best((p[:, None] + q).mT, size, q.size(1))
        ),
    },
    cases=[
        (torch.tensor([-0.5, -2.0]), torch.tensor([[-1.0, -1.5, -2.5], [-0.25, -3.0, -1.75]]), 2),
        (
            torch.tensor([-0.5, -1.0, -4.0]).double(),
            normal(3, 4, seed=3).log_softmax(-1).round(decimals=2),
            4,
        ),
        (
            torch.tensor([-0.25, -3.0, -1.25, -1.5]).double(),
            (2 * normal(4, 5, seed=4)).log_softmax(-1).round(decimals=2),
            3,
        ),
    ],
)
