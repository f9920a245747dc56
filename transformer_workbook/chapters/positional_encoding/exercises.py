import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_workbook.judge import derivation, exercise, normal, number

BASE = 10000.0


def read_sentences(answer: Callable[[], Any], x: Float[Tensor, "batch time d"]) -> Any:
    """Build the reader's layer, and let it read some sentences."""
    layer = answer()
    return None if layer is None else layer(x)


@exercise(
    [
        (normal(3, 2, 4, seed=0),),
        (normal(2, 5, 6, seed=1).float(),),
        (normal(4, 7, 2, seed=2),),
        (normal(2, 400, 4, seed=3),),  # where slow hands have turned
    ],
    ask=read_sentences,
    gap=True,
)
def positions() -> nn.Module:
    """Write a layer that adds to every word the hands of its position."""

    class Positions(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            time, d_model = x.shape[1:]
            position = torch.arange(time)[:, None]
            frequency = 10000 ** (-torch.arange(0, d_model, 2) / d_model)
            angle = position * frequency
            tips = torch.stack([angle.sin(), angle.cos()], dim=-1)
            output: Tensor = x + tips.flatten(1)
            return output

    return Positions()


@exercise([(0, 4), (2, 4), (3, 8), (7, 10), (4, 6), (1, 12)])
def wavelength(column: int, d_model: int) -> float:
    """How many positions does a whole turn take in a column?"""
    pair = column // 2
    positions: float = 2 * math.pi * BASE ** (2 * pair / d_model)
    return positions


@exercise(
    [
        (normal(2, 3, 4, seed=0), normal(7, 4, seed=1), 1),
        (normal(4, 2, 6, seed=2).float(), normal(9, 6, seed=3).float(), 5),
        (normal(3, 5, 2, seed=4), normal(8, 2, seed=5), 0),
        (normal(2, 3, 4, seed=6), normal(7, 4, seed=7), 4),  # up to the end of the table
    ]
)
def embed_from(
    x: Float[Tensor, "batch time d"], table: Float[Tensor, "positions d"], start: int
) -> Float[Tensor, "batch time d"]:
    """Words times √d, plus the encodings of their positions from start on."""
    _, time, d = x.shape
    positions = table[start : start + time]
    return x * math.sqrt(d) + positions


@exercise([(1, 4), (3, 6), (-2, 8), (100, 2), (400, 4)])
def rotation(k: int, d_model: int) -> Float[Tensor, "d_model d_model"]:
    """Write the matrix that leads from every position to the one k further on."""
    angle = k * 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    turns = torch.stack([angle.sin(), angle.cos()]).T
    blocks = [torch.tensor([[cos, -sin], [sin, cos]]) for sin, cos in turns]
    matrix: Tensor = torch.block_diag(*blocks)  # type: ignore[no-untyped-call]
    return matrix


@exercise([(1, 2), (3, 10), (6, 10), (4, 8), (-5, 6), (3000, 40), (500, 4), (800, 6)])
def offset_distance(offset: int, d_model: int) -> float:
    """How far apart are two encodings with that offset?"""
    frequencies = [BASE ** (-2 * i / d_model) for i in range(d_model // 2)]
    squares = [2 - 2 * math.cos(offset * frequency) for frequency in frequencies]
    return math.sqrt(sum(squares))


BASES = 10, 100, 1000, 10000


def farthest_apart(length: int = 1000, d_model: int = 8) -> int:
    """The base whose two closest of so many positions are farthest apart."""
    offset = torch.arange(1, length, dtype=torch.float64)[:, None]

    def closest(base: int) -> float:
        frequency = base ** (-torch.arange(0, d_model, 2) / d_model)
        return float((2 - 2 * (offset * frequency).cos()).sum(dim=1).min())

    return max(BASES, key=closest)


@number(among=BASES)
def best_base() -> int:
    """Which base keeps the two closest of 1,000 positions farthest apart?"""
    return farthest_apart()


Pair = Float[Tensor, " pair"]


def turned(x: Pair, angle: float) -> Pair:
    """A pair of columns, turned as the hands of the chapter are."""
    sine, cosine = math.sin(angle), math.cos(angle)
    return torch.tensor([[cosine, sine], [-sine, cosine]]).to(x) @ x


def in_default_precision(
    answer: Callable[..., Any], q: Pair, k: Pair, *numbers: int | float
) -> Any:
    """Call an answer with vectors of the precision of the new tensors that it makes of angles."""
    precision = torch.get_default_dtype()
    return answer(q.to(precision), k.to(precision), *numbers)


@derivation(
    [
        (normal(2, seed=0), normal(2, seed=1), 3, 1, 0.5),
        (normal(2, seed=2).float(), normal(2, seed=3).float(), 2, 7, 0.1),
        (normal(2, seed=4), normal(2, seed=5), 0, 4, 1.0),
    ],
    ask=in_default_precision,
)
def turned_score(
    q: Pair, k: Pair, p: int, m: int, omega: float
) -> tuple[Pair, Pair, Tensor, Tensor, Tensor]:
    """Why the score of two rotated vectors depends on their offset only."""
    (a, b), (c, d) = q, k
    query = turned(q, p * omega)
    key = turned(k, m * omega)
    A = a * c + b * d
    B = a * d - b * c
    angle = (m - p) * omega
    score = A * math.cos(angle) + B * math.sin(angle)
    return query, key, A, B, score


@exercise([(3, 2), (5, 8), (2, 4), (6, 3)])
def alibi_biases(length: int, heads: int) -> Float[Tensor, "heads query key"]:
    """The biases of ALiBi: what each head adds to the score of every query and key."""
    place = torch.arange(length)
    distance = (place[:, None] - place).abs()
    head = torch.arange(1, heads + 1)
    factor = 2 ** (-8 * head / heads)
    return -factor[:, None, None] * distance


@exercise(
    [
        (normal(3, 4, seed=0), normal(3, 4, seed=1), 0),
        (normal(3, 4, 6, seed=2).float(), normal(3, 4, 6, seed=3).float(), 5),
        (normal(2, 3, 5, 8, seed=4), normal(2, 3, 5, 8, seed=5), 1),
    ]
)
def llama_rotary(
    query: Float[Tensor, "*batch time d_k"], key: Float[Tensor, "*batch time d_k"], start: int
) -> tuple[Float[Tensor, "*batch time d_k"], Float[Tensor, "*batch time d_k"]]:
    """RoPE as in Hugging Face's Llama: queries and keys, each rotated by its position."""
    time, d_k = query.shape[-2:]
    position = torch.arange(start, start + time)
    frequency = BASE ** (-torch.arange(0, d_k, 2) / d_k)
    angle = position[:, None] * frequency
    sine, cosine = angle.sin(), angle.cos()

    def turn(x: Tensor) -> Tensor:
        a, b = x.chunk(2, dim=-1)
        first = a * cosine - b * sine
        second = a * sine + b * cosine
        return torch.cat([first, second], dim=-1)

    return turn(query), turn(key)
