"""Sequence to sequence: how far a change of the state reaches."""

from functools import cache
from typing import Any

import torch
from torch import nn

from annotated_transformer.course.checking import Derivation
from annotated_transformer.course.questions import Question, by_number
from annotated_transformer.course.trials import generators_put_back

Steps = tuple[float, float, float, float]


def _gru_derivative(
    h: float, z: float, r: float, n: float, u_z: float, u_r: float, u_n: float
) -> Steps:
    """From the gates of a GRU to the derivative of the new state by the old."""
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * (r + h * dr) * u_n
    return dz, dr, dn, z + (1 - z) * dn + (h - n) * dz


def _constant_reset(
    h: float, z: float, r: float, n: float, u_z: float, u_r: float, u_n: float
) -> Steps:
    dz, dr, _, _ = _gru_derivative(h, z, r, n, u_z, u_r, u_n)
    dn = (1 - n**2) * r * u_n
    return dz, dr, dn, z + (1 - z) * dn + (h - n) * dz


def _constant_update(
    h: float, z: float, r: float, n: float, u_z: float, u_r: float, u_n: float
) -> Steps:
    dz, dr, dn, _ = _gru_derivative(h, z, r, n, u_z, u_r, u_n)
    return dz, dr, dn, z + (1 - z) * dn


gru_derivative = Derivation(
    reference=_gru_derivative,
    mistakes={
        "from step 3 on, a term is missing: r depends on h as well.": _constant_reset,
        "in step 4 a term is missing: z depends on h as well.": _constant_update,
    },
    cases=[
        (0.5, 0.9, 0.2, -0.4, 1.5, -0.5, 2.0),
        (-0.8, 0.99, 0.6, 0.7, -1.0, 2.0, 0.5),
        (0.3, 0.25, 0.75, 0.1, 0.4, 1.2, -1.6),
    ],
)


WORDS, INPUT, HIDDEN = 20, 8, 32


@cache
def _share_left(bias: int) -> float:
    """The mean derivative of the last state by the first, in a new GRU with this bias of z."""
    with generators_put_back():
        torch.manual_seed(0)
        cell = nn.GRUCell(INPUT, HIDDEN, dtype=torch.float64)
        with torch.no_grad():
            cell.bias_ih[HIDDEN : 2 * HIDDEN] = bias
        first = torch.zeros(1, HIDDEN, dtype=torch.float64, requires_grad=True)
        h = first
        for x in torch.randn(WORDS, 1, INPUT, dtype=torch.float64):
            h = cell(x, h)
        [gradient] = torch.autograd.grad(h.sum(), first)
    return gradient.mean().item()


@Question
def remembering_bias(answer: Any) -> str:
    """At which bias of z does more than half of a change last for 20 words?"""
    biases = range(8)
    right = next(bias for bias in biases if _share_left(bias) > 0.5)
    replies: dict[int | float, str] = {
        bias: f"at {bias}, {_share_left(bias):.0%} is left; more than half is asked for."
        for bias in range(right)
    }
    replies |= dict.fromkeys(biases[right + 1 :], "that is enough, but a smaller bias is, too.")
    return by_number(answer, right, replies)
