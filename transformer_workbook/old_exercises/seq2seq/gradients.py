"""Sequence to sequence: how far a change of the state reaches."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import nn

from transformer_workbook.judge.comparing import is_number
from transformer_workbook.judge.exercises import Derivation
from transformer_workbook.judge.trials import settings_put_back
from transformer_workbook.old_exercises.old_question import Question, by_number

Steps = tuple[float, float, float, float]


def _gru_derivative(
    h: float, z: float, r: float, n: float, u_z: float, u_r: float, u_n: float
) -> Steps:
    """From the gates of a GRU to the derivative of the new state with respect to the old."""
    dz = z * (1 - z) * u_z
    dr = r * (1 - r) * u_r
    dn = (1 - n**2) * (r + h * dr) * u_n
    return dz, dr, dn, z + (1 - z) * dn + (h - n) * dz


def _dn(r: float, n: float, u: float, h: float, dr: float) -> float:
    return (1 - n**2) * (r + h * dr) * u


def _dh(h: float, z: float, n: float, dz: float, dn: float) -> float:
    return z + (1 - z) * dn + (h - n) * dz


def _wrong(
    z_gate: Callable[[float, float], float] = lambda z, u: z * (1 - z) * u,
    r_gate: Callable[[float, float], float] = lambda r, u: r * (1 - r) * u,
    proposal: Callable[[float, float, float, float, float], float] = _dn,
    state: Callable[[float, float, float, float, float], float] = _dh,
) -> Callable[..., Steps]:
    """The steps, if one of them is another; those after it build on it."""

    def answer(h: float, z: float, r: float, n: float, u_z: float, u_r: float, u_n: float) -> Steps:
        dz, dr = z_gate(z, u_z), r_gate(r, u_r)
        dn = proposal(r, n, u_n, h, dr)
        return dz, dr, dn, state(h, z, n, dz, dn)

    return answer


def _slope_of(gate: float) -> float:
    opened = 1 / (1 + math.exp(-gate))
    return opened * (1 - opened)


Gate = Callable[[float, float], float]
GATES: dict[str, Gate] = {
    "the inner derivative is missing: u stands before h.": lambda g, u: g * (1 - g),
    "z and r are gates already; σ is applied to them once more.": lambda g, u: _slope_of(g) * u,
    "this is the slope of tanh; z and r come from σ.": lambda g, u: (1 - g**2) * u,
    "the gate itself is missing: σ′ is σ (1 − σ).": lambda g, u: (1 - g) * u,
    "1 − the gate is missing: σ′ is σ (1 − σ).": lambda g, u: g * u,
    "the slope is missing: σ′ is σ (1 − σ).": lambda g, u: u,
}
"""What a derivative of a gate may be instead."""


gru_derivative = Derivation(
    reference=_gru_derivative,
    given={
        "in step 3, a term is missing: h itself changes, not r alone.": (
            _wrong(proposal=lambda r, n, u, h, dr: (1 - n**2) * h * dr * u)
        ),
        "in step 3, a term is missing: r depends on h as well.": (
            _wrong(proposal=lambda r, n, u, h, dr: (1 - n**2) * r * u)
        ),
        "in step 4 a term is missing: z depends on h as well.": (
            _wrong(state=lambda h, z, n, dz, dn: z + (1 - z) * dn)
        ),
        **{f"in step 1, {said}": _wrong(gate) for said, gate in GATES.items()},
        **{f"in step 2, {said}": _wrong(r_gate=gate) for said, gate in GATES.items()},
        "in step 3, the factor h is missing: the product is r · h.": (
            _wrong(proposal=lambda r, n, u, h, dr: (1 - n**2) * (r + dr) * u)
        ),
        "in step 3, h has changed places: r stands alone, and h beside r′.": (
            _wrong(proposal=lambda r, n, u, h, dr: (1 - n**2) * (r * h + dr) * u)
        ),
        "in step 3, u is missing before one of the two terms; it belongs to both.": (
            _wrong(proposal=lambda r, n, u, h, dr: (1 - n**2) * (r * u + h * dr))
        ),
        "in step 3, u is missing before h.": (
            _wrong(proposal=lambda r, n, u, h, dr: (1 - n**2) * (r + h * dr))
        ),
        "in step 3, the slope of tanh is missing.": (
            _wrong(proposal=lambda r, n, u, h, dr: (r + h * dr) * u)
        ),
        "in step 3, this is the slope of σ; n comes from tanh.": (
            _wrong(proposal=lambda r, n, u, h, dr: n * (1 - n) * (r + h * dr) * u)
        ),
        "in step 3, n is not squared: tanh′ is 1 − tanh².": (
            _wrong(proposal=lambda r, n, u, h, dr: (1 - n) * (r + h * dr) * u)
        ),
        "in step 3, n has its tanh already; it is applied once more.": (
            _wrong(proposal=lambda r, n, u, h, dr: (1 - math.tanh(n) ** 2) * (r + h * dr) * u)
        ),
        "in step 4 the sign of z′ is wrong: z stands before h, and −z before n.": (
            _wrong(state=lambda h, z, n, dz, dn: z + (1 - z) * dn + (n - h) * dz)
        ),
        "in step 4, z and 1 − z have changed places.": (
            _wrong(state=lambda h, z, n, dz, dn: (1 - z) + z * dn + (n - h) * dz)
        ),
        "in step 4, z and 1 − z have changed places, but not in their derivatives.": (
            _wrong(state=lambda h, z, n, dz, dn: (1 - z) + z * dn + (h - n) * dz)
        ),
        "in step 4 a term is missing: 1 − z stands before n, and changes with h.": (
            _wrong(state=lambda h, z, n, dz, dn: z + (1 - z) * dn + h * dz)
        ),
        "in step 4 a term is missing: z stands before h, and changes with h.": (
            _wrong(state=lambda h, z, n, dz, dn: z + (1 - z) * dn - n * dz)
        ),
        "in step 4 a sign is wrong: the derivative of 1 − z is −z′.": (
            _wrong(state=lambda h, z, n, dz, dn: z + (1 - z) * dn + (h + n) * dz)
        ),
        "in step 4 a term is missing: n depends on h as well.": (
            _wrong(state=lambda h, z, n, dz, dn: z + (h - n) * dz)
        ),
        "in step 4 a term is missing: h itself changes, and z stands before it.": (
            _wrong(state=lambda h, z, n, dz, dn: (1 - z) * dn + (h - n) * dz)
        ),
        "in step 4 the derivative of n lacks its factor, 1 − z.": (
            _wrong(state=lambda h, z, n, dz, dn: z + dn + (h - n) * dz)
        ),
        "in step 4 the derivative of n has the factor z; it is 1 − z.": (
            _wrong(state=lambda h, z, n, dz, dn: z + z * dn + (h - n) * dz)
        ),
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
    with settings_put_back():
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
    if is_number(answer) and float(answer) % 1:
        return "a whole number is asked for; of those that keep more than half, the smallest."
    if is_number(answer) and float(answer) < 0:
        return "below 0, z is nearer to 0 than to 1, and the state is replaced, not kept."
    biases = range(8)
    right = next(bias for bias in biases if _share_left(bias) > 0.5)
    replies: dict[int | float, str] = {
        bias: f"at {bias}, {_share_left(bias):.0%} is left; more than half is asked for."
        for bias in range(right)
    }
    replies |= dict.fromkeys(biases[right + 1 :], "that is enough, but a smaller bias is, too.")
    return by_number(answer, right, replies)
