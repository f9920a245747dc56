"""Checks of rotary positions."""

import math
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.own.checks.attention import CAUSAL, X
from transformer_workbook.own.checks.check import Check, filled, linear, refusal
from transformer_workbook.own.checks.soft_lookup import weights_by_hand

AT = torch.tensor([[3, 4, 5, 6]])


def _frequencies(d_k: int, base: float = 10000.0) -> Tensor:
    return torch.tensor([base ** (-2 * i / d_k) for i in range(d_k // 2)], dtype=torch.float64)


def _turned(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
    """Multiply each pair of columns, as a complex number, by one of length 1."""
    angles = positions[..., None].double() * frequencies
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


@torch.no_grad()
def _attended(m: Any) -> Tensor:
    layer = filled(m.RotaryAttention(8, 2, base=50.0))
    layer.frequencies = _frequencies(4, 50.0)
    return layer.attend(X, layer.project(X, X, AT), CAUSAL[:, None], AT)


def _attended_by_hand() -> Tensor:
    split = [linear(name, X, 8) for name in ("query", "key", "value")]
    query, key, value = (torch.stack(x.chunk(2, dim=-1), dim=1) for x in split)
    turned = [_turned(x, AT[:, None], _frequencies(4, 50.0)) for x in (query, key)]
    scores = turned[0] @ turned[1].mT / math.sqrt(4)
    return linear("output", torch.cat((weights_by_hand(scores, CAUSAL) @ value).unbind(1), -1), 8)


def _halves(rows: Tensor, heads: int) -> Tensor:
    width = len(rows) // heads
    order = [
        head * width + half * (width // 2) + pair
        for head in range(heads)
        for pair in range(width // 2)
        for half in range(2)
    ]
    return rows[order]


def _yarn(d_k: int, base: float, factor: float, length: int) -> Tensor:
    """Compute pair by pair as in the code of its authors."""
    first, last = (
        d_k * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base)) for turns in (32, 1)
    )
    low, high = max(math.floor(first), 0), min(math.ceil(last), d_k - 1)
    scaled = []
    for pair, frequency in enumerate(_frequencies(d_k, base).tolist()):
        share = min(max((pair - low) / (high - low), 0), 1)
        scaled.append(frequency * (1 - share) + frequency / factor * share)
    return torch.tensor(scaled, dtype=torch.float64)


CHECKS = (
    Check(
        "rotary_frequencies",
        "rotary_frequencies(8), from its formula",
        lambda m: m.rotary_frequencies(8),
        lambda: _frequencies(8),
    ),
    Check(
        "rotary_frequencies",
        "rotary_frequencies(6, 500.0), from its formula",
        lambda m: m.rotary_frequencies(6, 500.0),
        lambda: _frequencies(6, 500.0),
    ),
    Check(
        "rotary_frequencies",
        "the error of rotary_frequencies(5)",
        lambda m: refusal(lambda: m.rotary_frequencies(5)),
        lambda: "InputError",
    ),
    Check(
        "rotate",
        "vectors (2, 4, 8) at positions 3 to 6, compared with complex numbers",
        lambda m: m.rotate(X, AT, _frequencies(8)),
        lambda: _turned(X, AT, _frequencies(8)),
    ),
    Check(
        "rotate",
        "the type of vectors of float32 that were turned",
        lambda m: str(m.rotate(X.float(), AT, _frequencies(8)).dtype),
        lambda: "torch.float32",
    ),
    Check(
        "pairs_from_halves",
        "pairs_from_halves of 8 rows of two heads",
        lambda m: m.pairs_from_halves(X[0].mT, 2),
        lambda: _halves(X[0].mT, 2),
    ),
    Check(
        "pairs_from_halves",
        "pairs_from_halves of a bias of 8 numbers, one head",
        lambda m: m.pairs_from_halves(X[0, 0], 1),
        lambda: _halves(X[0, 0], 1),
    ),
    Check(
        "RotaryAttention",
        "RotaryAttention(8, 2, base=50.0) with the right frequencies, at positions 3 to 6",
        _attended,
        _attended_by_hand,
    ),
    Check(
        "RotaryAttention",
        "the frequencies of RotaryAttention(8, 2, base=50.0)",
        lambda m: m.RotaryAttention(8, 2, base=50.0).frequencies.double(),
        lambda: _frequencies(4, 50.0),
    ),
    Check(
        "RotaryAttention",
        "the names of the weights of RotaryAttention(8, 2)",
        lambda m: sorted(m.RotaryAttention(8, 2).state_dict()),
        lambda: sorted(
            f"{name}.{kind}"
            for name in ("query", "key", "value", "output")
            for kind in ("weight", "bias")
        ),
    ),
    Check(
        "interpolated",
        "interpolated(frequencies, 4.0)",
        lambda m: m.interpolated(_frequencies(8), 4.0),
        lambda: torch.tensor([f / 4 for f in _frequencies(8).tolist()], dtype=torch.float64),
    ),
    Check(
        "ntk_aware",
        "ntk_aware(8, 10000.0, 4.0): the first is kept, the last divided by 4",
        lambda m: m.ntk_aware(8, 10000.0, 4.0),
        lambda: _frequencies(8) * 4.0 ** (-torch.arange(4, dtype=torch.float64) / 3),
    ),
    Check(
        "yarn_amplitude",
        "yarn_amplitude of the factors 1, 4 and 32",
        lambda m: [m.yarn_amplitude(factor) for factor in (1.0, 4.0, 32.0)],
        lambda: [1 + math.log(factor) / 10 for factor in (1.0, 4.0, 32.0)],
    ),
    Check(
        "yarn_amplitude",
        "the error of yarn_amplitude(0.0)",
        lambda m: refusal(lambda: m.yarn_amplitude(0.0)),
        lambda: "InputError",
    ),
    Check(
        "yarn",
        "yarn of 32 frequencies for a text four times as long as 512, pair by pair",
        lambda m: m.yarn(_frequencies(64), 10000.0, 4.0, 512),
        lambda: _yarn(64, 10000.0, 4.0, 512),
    ),
    Check(
        "yarn",
        "yarn of 8 frequencies for a text eight times as long as 16",
        lambda m: m.yarn(_frequencies(16), 10000.0, 8.0, 16),
        lambda: _yarn(16, 10000.0, 8.0, 16),
    ),
)
