"""Decoding: how a beam goes on, and how often greedy search misses."""

import functools
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.old_question import Question, by_number


@functools.cache
def _misses(vocab: int, beam: int = 1, models: int = 10_000) -> float:
    """The share of random models of two words whose likeliest sentence a beam misses."""
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(models, vocab, generator=generator).softmax(-1)
    second = torch.randn(models, vocab, vocab, generator=generator).softmax(-1)
    kept, row = first.topk(beam)
    best = second.amax(-1)
    found = (kept * best.gather(1, row)).amax(-1)
    return (found < (first * best).amax(-1)).float().mean().item()


@Question
def greedy_misses(answer: Any) -> str:
    """In what share of random models does greedy search miss the likeliest sentence?"""
    missed = _misses(30)
    return by_number(
        answer,
        missed,
        {
            1 - missed: "this is the share in which it finds the likeliest.",
            100 * missed: "these are percent; give a share, a number from 0 to 1.",
            _misses(3): "this is the share for 3 words; take 30.",
            _misses(30, beam=2): "this is the share that a beam of 2 misses.",
            1 - _misses(30, beam=2): "this is the share in which a beam of 2 finds the likeliest.",
            1
            - _misses(3): "this is the share in which greedy search finds it, of 3 words; take 30.",
            10_000 * missed: "this is the number of models; divide it by all 10,000.",
            _misses(3, beam=2): "this is the share that a beam of 2 misses, of 3 words; take 30.",
            1 / 30: "this is one word of 30; count the models in which greedy search misses.",
            29 / 30: "this would be guessing; the likeliest first word is right much oftener.",
            1 / 3: "this is one of three; try all 10,000 models with 30 words.",
            0: "greedy search does miss some; compare with the largest of all products.",
            1: "greedy search does find some; compare with the largest of all products.",
        },
        within=0.06,
    )


def _extend_beam(
    log_prob: Float[Tensor, " beam"], following: Float[Tensor, "beam vocab"], size: int
) -> list[tuple[int, int]]:
    """The best continuations of all hypotheses, as pairs of row and token."""
    totals = log_prob[:, None] + following
    best = totals.flatten().topk(size).indices.tolist()
    return [divmod(index, following.size(1)) for index in best]


def _best(totals: Tensor, size: int, width: int | None = None) -> list[tuple[int, int]]:
    best = totals.flatten().topk(size).indices.tolist()
    return [divmod(i, width or totals.size(1)) for i in best]


def _best_of_each(log_prob: Tensor, following: Tensor, size: int) -> list[tuple[int, int]]:
    return [(b, int(v)) for b, row in enumerate(following) for v in row.topk(size).indices]


def _some_of_each(
    log_prob: Tensor, following: Tensor, size: int, most: int
) -> list[tuple[int, int]]:
    totals = log_prob[:, None] + following
    left = totals >= totals.topk(most, dim=1).values[:, -1:]
    return _best(totals.masked_fill(~left, -torch.inf), min(size, most * len(totals)))


def _one_of_each(log_prob: Tensor, following: Tensor, size: int) -> list[tuple[int, int]]:
    rows = (log_prob + following.amax(1)).argsort(descending=True)[:size]
    return [(int(b), int(following[b].argmax())) for b in rows]


def _in_one_row(log_prob: Tensor, following: Tensor, size: int) -> list[tuple[int, int]]:
    totals = log_prob[:, None] + following
    row = int(totals.amax(1).argmax())
    best = totals.flatten().topk(size).values
    return [(row, int((totals[row] - value).abs().argmin())) for value in best]


extend_beam = Exercise(
    reference=_extend_beam,
    given={
        "how likely the hypotheses are is not counted: add their log-probabilities.": (
            lambda p, q, size: _best(q, size)
        ),
        "log-probabilities are multiplied here; logarithms are added.": (
            lambda p, q, size: _best(p[:, None] * q, size)
        ),
        "the log-probability of the hypothesis is subtracted; add it.": (
            lambda p, q, size: _best(q - p[:, None], size)
        ),
        "these are the best `size` of every hypothesis; all continuations compete together.": (
            _best_of_each
        ),
        "every hypothesis goes on once; one may go on twice, and another not at all.": (
            _one_of_each
        ),
        "only the likeliest hypothesis goes on; the continuations of all compete.": (
            lambda p, q, size: [
                (int(p.argmax()), v) for _, v in _best(q[p.argmax()][None], min(size, q.size(1)))
            ]
        ),
        "these are the least likely continuations.": (
            lambda p, q, size: _best(-(p[:, None] + q), size)
        ),
        "a place in the flat list is row · vocab + token: divide by the size of the vocabulary.": (
            lambda p, q, size: _best(p[:, None] + q, size, len(p))
        ),
        "row and token are swapped: first the hypothesis, then the token.": (
            lambda p, q, size: [(v, b) for b, v in _extend_beam(p, q, size)]
        ),
        "these are places in the flat list; pairs of row and token are asked for.": (
            lambda p, q, size: (p[:, None] + q).flatten().topk(size).indices.tolist()
        ),
        "there are as many as hypotheses; `size` says how many.": (
            lambda p, q, size: _best(p[:, None] + q, len(p))
        ),
        "only the best is given; `size` are asked for.": (
            lambda p, q, size: _best(p[:, None] + q, 1)
        ),
        "all have the row of the best one; each continuation has its own.": (
            lambda p, q, size: [
                (_extend_beam(p, q, size)[0][0], v) for _, v in _extend_beam(p, q, size)
            ]
        ),
        "all continue the best row; these are its tokens nearest to the best values.": _in_one_row,
        "a place is divided by the number of hypotheses; divide by the vocabulary's size.": (
            lambda p, q, size: [(v, b) for b, v in _best(p[:, None] + q, size, len(p))]
        ),
        "the order is reversed: the best comes first.": (
            lambda p, q, size: _extend_beam(p, q, size)[::-1]
        ),
        "the pairs are right, but not their order: the best comes first.": (
            lambda p, q, size: sorted(_extend_beam(p, q, size))
        ),
        "the table is transposed: a row is a hypothesis, a column a token.": (
            lambda p, q, size: _best((p[:, None] + q).mT, size, q.size(1))
        ),
        "the hypotheses' probabilities are added to log-probabilities: take logarithms of both.": (
            lambda p, q, size: _best(p[:, None].exp() + q, size)
        ),
        "probabilities are added; they are multiplied, and their logarithms added.": (
            lambda p, q, size: _best(p[:, None].exp() + q.exp(), size)
        ),
        "at most two of a row compete; all continuations do.": (
            lambda p, q, size: _some_of_each(p, q, size, 2)
        ),
        "these are the two best of every hypothesis, whatever `size` is.": (
            lambda p, q, size: _best_of_each(p, q, 2)
        ),
        "one too few is given.": lambda p, q, size: _extend_beam(p, q, size)[:-1],
        "one too many is given.": lambda p, q, size: _extend_beam(p, q, size + 1),
        "these are the tokens alone; give pairs of row and token.": (
            lambda p, q, size: [v for _, v in _extend_beam(p, q, size)]
        ),
        "the best is left out.": lambda p, q, size: _extend_beam(p, q, size + 1)[1:],
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
    whole=True,
)
