"""Positional encoding: queries and keys that are turned."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.positional_encoding.positions import (
    BASE,
    NO_TWO,
)


def _llama_rotary(
    query: Float[Tensor, "*batch time d_k"], key: Float[Tensor, "*batch time d_k"], start: int
) -> tuple[Float[Tensor, "*batch time d_k"], Float[Tensor, "*batch time d_k"]]:
    """Rotary embeddings as in Llama: queries and keys, each turned by its position."""
    d = query.size(-1)
    frequency = BASE ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.outer(torch.arange(start, start + query.size(-2)), frequency)

    def turn(x: Tensor) -> Tensor:
        """One complex number for each pair, times another of length 1."""
        first, second = x.chunk(2, dim=-1)
        turned = torch.complex(first, second) * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([turned.real, turned.imag], dim=-1)

    return turn(query), turn(key)


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    a, b = x.chunk(2, dim=-1)
    return a, b


def _neighbours(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[..., ::2], x[..., 1::2]


def _beside(a: Tensor, b: Tensor) -> Tensor:
    return torch.cat([a, b], dim=-1)


def _interleaved(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([a, b], dim=-1).flatten(-2)


def _wrong(
    exponent: Callable[[int, int], float] = lambda i, d: 2 * i / d,
    place: Callable[[int, int], int] = lambda start, t: start + t,
    split: Callable[[Tensor], tuple[Tensor, Tensor]] = _halves,
    join: Callable[[Tensor, Tensor], Tensor] = _beside,
    turn: Callable[..., tuple[Tensor, Tensor]] = lambda a, b, c, s: (a * c - b * s, a * s + b * c),
    ways: tuple[int, int] = (1, 1),
    time: Callable[[Tensor], int] = lambda x: x.size(-2),
) -> Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]:
    """Rotary embeddings in which one of the steps is another."""

    def rotary(query: Tensor, key: Tensor, start: int) -> tuple[Tensor, Tensor]:
        d, places = query.size(-1), range(time(query))
        angle = torch.tensor(
            [[place(start, t) / BASE ** exponent(i, d) for i in range(d // 2)] for t in places]
        ).to(query)
        first, second = (
            join(*turn(*split(x), (way * angle).cos(), (way * angle).sin()))
            for x, way in zip((query, key), ways, strict=True)
        )
        return first, second

    return rotary


def _angles_side_by_side(query: Tensor, key: Tensor, start: int) -> tuple[Tensor, Tensor]:
    """Pairs as in Llama, but each angle in two neighbouring columns."""
    time, d = query.shape[-2:]
    frequency = BASE ** (-torch.arange(0, d, 2) / d).to(query)
    angle = torch.outer(torch.arange(start, start + time).to(query), frequency)
    both = angle.repeat_interleave(2, dim=-1)

    def turn(x: Tensor) -> Tensor:
        a, b = _halves(x)
        return x * both.cos() + _beside(-b, a) * both.sin()

    return turn(query), turn(key)


llama_rotary = Exercise(
    reference=_llama_rotary,
    given={
        "the pairs are neighbours here; Llama pairs column i with column i + d/2.": (
            _wrong(split=_neighbours, join=_interleaved)
        ),
        "this is the rotation of the chapter; Llama's has other pairs and turns the other way.": (
            _wrong(split=_neighbours, join=_interleaved, ways=(-1, -1))
        ),
        "the columns are in another order: all first members of the pairs come first.": (
            _wrong(join=_interleaved)
        ),
        "the pairs turn the other way round.": _wrong(ways=(-1, -1)),
        "the keys are not turned; the scores depend on where the words stand.": _wrong(ways=(1, 0)),
        "the queries are not turned; the scores depend on where the words stand.": (
            _wrong(ways=(0, 1))
        ),
        "queries and keys turn in opposite ways; the scores do not depend on the offset alone.": (
            _wrong(ways=(1, -1))
        ),
        "the second of each pair is made from the new first; keep the old one.": _wrong(
            turn=lambda a, b, c, s: (a * c - b * s, (a * c - b * s) * s + b * c)
        ),
        "both sines are positive; this is no rotation and changes the lengths.": _wrong(
            turn=lambda a, b, c, s: (a * c + b * s, a * s + b * c)
        ),
        "sine and cosine are swapped: at position 0 nothing may turn.": _wrong(
            turn=lambda a, b, c, s: (a * s - b * c, a * c + b * s)
        ),
        "the positions begin at 0 whatever start is.": _wrong(place=lambda start, t: t),
        "the positions begin at start + 1.": _wrong(place=lambda start, t: start + t + 1),
        "the positions of the keys begin at 0; only those of the queries begin at start.": (
            lambda query, key, start: (
                _llama_rotary(query, key, start)[0],
                _llama_rotary(query, key, 0)[1],
            )
        ),
        "the positions of the queries begin at 0; only those of the keys begin at start.": (
            lambda query, key, start: (
                _llama_rotary(query, key, 0)[0],
                _llama_rotary(query, key, start)[1],
            )
        ),
        "start is subtracted; the word at place t has the position start + t.": (
            _wrong(place=lambda start, t: t - start)
        ),
        "the positions are multiplied by start; the word at t has the position start + t.": (
            _wrong(place=lambda start, t: start * t)
        ),
        "the exponent is 4i/d_k here; it is 2i/d_k.": _wrong(lambda i, d: 4 * i / d),
        "the frequencies rise; the minus in the exponent is missing.": (
            _wrong(lambda i, d: -2 * i / d)
        ),
        "the pairs are counted from 1; the first one has the frequency 1.": (
            _wrong(lambda i, d: 2 * (i + 1) / d)
        ),
        "the two halves of the result are swapped.": _wrong(join=lambda a, b: _beside(b, a)),
        "both sines are negative; this is no rotation and changes the lengths.": _wrong(
            turn=lambda a, b, c, s: (a * c - b * s, b * c - a * s)
        ),
        "the sign of the whole second half is wrong.": _wrong(
            turn=lambda a, b, c, s: (a * c - b * s, -a * s - b * c)
        ),
        "b cos is missing: the second half is a sin + b cos.": _wrong(
            turn=lambda a, b, c, s: (a * c - b * s, a * s)
        ),
        "the second half is not turned.": _wrong(turn=lambda a, b, c, s: (a * c - b * s, b)),
        "only the cosines are used: this shrinks the vectors in place of turning them.": _wrong(
            turn=lambda a, b, c, s: (a * c, b * c)
        ),
        "the pairs are neighbours, and what they become stands in two halves.": (
            _wrong(split=_neighbours)
        ),
        "every word is turned as the first one is; its own position is start + t.": (
            _wrong(place=lambda start, t: start)
        ),
        NO_TWO: _wrong(lambda i, d: i / d),
        "the angle of pair i belongs into columns i and i + d/2, not into two neighbours.": (
            _angles_side_by_side
        ),
        "the words are counted along axis 1; whatever stands in front, theirs is axis −2.": (
            _wrong(time=lambda x: x.size(1))
        ),
        "all pairs turn by the same angle; each has a frequency of its own.": (
            _wrong(lambda i, d: 0)
        ),
    },
    cases=[
        (normal(3, 4, seed=0), normal(3, 4, seed=1), 0),
        (normal(3, 4, 6, seed=2).float(), normal(3, 4, 6, seed=3).float(), 5),
        (normal(2, 3, 5, 8, seed=4), normal(2, 3, 5, 8, seed=5), 1),
    ],
)
