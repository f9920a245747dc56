"""Positional encoding: the score of a query and a key that are turned, derived."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Derivation

Pair = Float[Tensor, " pair"]


def _turned(x: Tensor, angle: int | float) -> Tensor:
    """A pair of columns, turned as the hands of the chapter are."""
    sine, cosine = math.sin(angle), math.cos(angle)
    return torch.tensor([[cosine, sine], [-sine, cosine]]).to(x) @ x


def _turned_score(
    q: Pair, k: Pair, p: int, m: int, omega: float
) -> tuple[Pair, Pair, Tensor, Tensor, Tensor]:
    """Why the score of two turned vectors depends on their offset only."""
    query, key = _turned(q, p * omega), _turned(k, m * omega)
    return query, key, q @ k, q[0] * k[1] - q[1] * k[0], query @ key


def _A(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    return a * c + b * d


def _B(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    return a * d - b * c


def _score(one: Tensor, other: Tensor, angle: int | float) -> Tensor:
    return one * math.cos(angle) + other * math.sin(angle)


def _steps(
    turn: Callable[[Tensor, int | float], Tensor] = _turned,
    angles: Callable[..., tuple[int | float, int | float]] = lambda p, m, omega: (
        p * omega,
        m * omega,
    ),
    one: Callable[..., Tensor] = _A,
    other: Callable[..., Tensor] = _B,
    offset: Callable[..., int | float] = lambda p, m, omega: (m - p) * omega,
    score: Callable[..., Tensor] = _score,
) -> Callable[..., tuple[Tensor, ...]]:
    """The steps with another turn, angle, A, B, offset or score, made of what stands before."""

    def steps(q: Tensor, k: Tensor, p: int, m: int, omega: float) -> tuple[Tensor, ...]:
        A, B = one(*q, *k), other(*q, *k)
        turned = (turn(x, at) for x, at in zip((q, k), angles(p, m, omega), strict=True))
        return *turned, A, B, score(A, B, offset(p, m, omega))

    return steps


def _no_turn(x: Tensor, angle: int | float) -> Tensor:
    """Both sines with the same sign, and so no rotation."""
    sine, cosine = math.sin(angle), math.cos(angle)
    return torch.tensor([[cosine, sine], [sine, cosine]]).to(x) @ x


def _quarter(x: Tensor, angle: int | float) -> Tensor:
    """Sine and cosine swapped."""
    sine, cosine = math.sin(angle), math.cos(angle)
    return torch.tensor([[sine, cosine], [-cosine, sine]]).to(x) @ x


def _ask(answer: Callable[..., Any], q: Tensor, k: Tensor, *numbers: int | float) -> Any:
    """In the precision that PyTorch makes new tensors in, such as the matrix of a turn."""
    return answer(*(x.to(torch.get_default_dtype()) for x in (q, k)), *numbers)


turned_score = Derivation(
    ask=_ask,
    reference=_turned_score,
    given={
        "step 1 has two sines of the same sign; this is no rotation.": _steps(_no_turn),
        "step 1 has sine and cosine swapped: at position 0 nothing may turn.": _steps(_quarter),
        "step 1 is turned by p; the angle is p ω.": _steps(angles=lambda p, m, omega: (p, m)),
        "step 2 is turned by the query's angle; the key's own is m ω.": (
            _steps(angles=lambda p, m, omega: (p * omega, p * omega))
        ),
        "step 1 turns the query by m ω; its own angle is p ω.": (
            _steps(angles=lambda p, m, omega: (m * omega, m * omega))
        ),
        "step 2 turns the key backwards; both turn the same way.": (
            _steps(angles=lambda p, m, omega: (p * omega, -m * omega))
        ),
        "step 1 turns backwards: the minus belongs to the sine of the second row.": (
            _steps(angles=lambda p, m, omega: (-p * omega, m * omega))
        ),
        "step 1 is the key, turned; the query comes first.": (
            lambda q, k, p, m, omega: _turned_score(k, q, m, p, omega)
        ),
        "step 3 has A = ac − bd; it is ac + bd.": _steps(one=lambda a, b, c, d: a * c - b * d),
        "step 3 has A = ad + bc; that mixes the two columns.": (
            _steps(one=lambda a, b, c, d: a * d + b * c)
        ),
        "step 4 has B = ad + bc; it is ad − bc.": _steps(other=lambda a, b, c, d: a * d + b * c),
        "step 4 has B = bc − ad; with sin((m − p) ω) it is ad − bc.": (
            _steps(other=lambda a, b, c, d: b * c - a * d)
        ),
        "step 4 has B = ac − bd; B mixes the two columns.": (
            _steps(other=lambda a, b, c, d: a * c - b * d)
        ),
        "step 3 is B; A comes first.": _steps(one=_B, other=_A),
        "step 5 has the offset p − m; back by p and on by m is a turn by m − p.": (
            _steps(offset=lambda p, m, omega: (p - m) * omega)
        ),
        "step 5 has the angle (m + p) ω; back by p and on by m is a turn by m − p.": (
            _steps(offset=lambda p, m, omega: (m + p) * omega)
        ),
        "step 5 has the angle m − p; ω is missing.": _steps(offset=lambda p, m, omega: m - p),
        "step 5 has A sin + B cos; it is A cos + B sin.": (
            _steps(score=lambda A, B, angle: _score(B, A, angle))
        ),
        "step 5 has A cos alone; B sin is missing.": (
            _steps(score=lambda A, B, angle: A * math.cos(angle))
        ),
        "step 5 is the score of q and k themselves; they are turned.": (
            _steps(score=lambda A, B, angle: A)
        ),
    },
    cases=[
        (normal(2, seed=0), normal(2, seed=1), 3, 1, 0.5),
        (normal(2, seed=2).float(), normal(2, seed=3).float(), 2, 7, 0.1),
        (normal(2, seed=4), normal(2, seed=5), 0, 4, 1.0),
    ],
)
