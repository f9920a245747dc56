"""Checks of positions."""

import math
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.own.checks.attention import X
from transformer_workbook.own.checks.check import Check, drawn, filled, parts, refusal


def sinusoids(length: int, width: int) -> Tensor:
    """Compute sines and cosines, number by number."""
    rows = [
        [
            (math.cos if i % 2 else math.sin)(position / 10000 ** ((i - i % 2) / width))
            for i in range(width)
        ]
        for position in range(length)
    ]
    return torch.tensor(rows, dtype=torch.float64)


def _type_of_the_encoding(m: Any) -> str:
    torch.set_default_dtype(torch.float32)  # restored by the caller
    return str(m.sinusoidal_encoding(2, 2).dtype)


AT = torch.tensor([[5, 6, 7, 8], [0, 0, 1, 2]])
"""Positions of four tokens, different in each of two sentences."""

CHECKS = (
    Check(
        "sinusoidal_encoding",
        "sinusoidal_encoding(2, 2)",
        lambda m: m.sinusoidal_encoding(2, 2),
        lambda: sinusoids(2, 2),
    ),
    Check(
        "sinusoidal_encoding",
        "sinusoidal_encoding(50, 6), compared with a loop",
        lambda m: m.sinusoidal_encoding(50, 6),
        lambda: sinusoids(50, 6),
    ),
    Check(
        "sinusoidal_encoding",
        "the type of sinusoidal_encoding(2, 2) where new tensors are of float32",
        _type_of_the_encoding,
        lambda: "torch.float64",
    ),
    Check(
        "sinusoidal_encoding",
        "the error of sinusoidal_encoding(4, 5)",
        lambda m: refusal(lambda: m.sinusoidal_encoding(4, 5)),
        lambda: "InputError",
    ),
    Check(
        "SinusoidalPositionalEncoding",
        "what SinusoidalPositionalEncoding(9, 8) makes of (2, 4, 8)",
        lambda m: m.SinusoidalPositionalEncoding(9, 8)(X),
        lambda: X + sinusoids(4, 8),
    ),
    Check(
        "SinusoidalPositionalEncoding",
        "what SinusoidalPositionalEncoding(9, 8) makes of (2, 4, 8) at other positions",
        lambda m: m.SinusoidalPositionalEncoding(9, 8)(X, AT),
        lambda: X + sinusoids(9, 8)[AT],
    ),
    Check(
        "SinusoidalPositionalEncoding",
        "the type of what SinusoidalPositionalEncoding(9, 8) makes of vectors of float32",
        lambda m: str(m.SinusoidalPositionalEncoding(9, 8)(X.float()).dtype),
        lambda: "torch.float32",
    ),
    Check(
        "PositionalEncoding",
        "the errors of SinusoidalPositionalEncoding(9, 8) for position 9, and for position −1",
        lambda m: [
            refusal(lambda at=at: m.SinusoidalPositionalEncoding(9, 8)(X, at))  # type: ignore[misc]
            for at in (AT + 1, AT - 6)
        ],
        lambda: ["InputError"] * 2,
    ),
    Check(
        "SinusoidalPositionalEncoding",
        "the names and shapes of the weights of SinusoidalPositionalEncoding(9, 8): none",
        lambda m: parts(m.SinusoidalPositionalEncoding(9, 8)),
        dict,
    ),
    Check(
        "SinusoidalPositionalEncoding",
        "the names of the buffers of SinusoidalPositionalEncoding(9, 8)",
        lambda m: [name for name, _ in m.SinusoidalPositionalEncoding(9, 8).named_buffers()],
        lambda: ["table"],
    ),
    Check(
        "LearnedPositionalEncoding",
        "what LearnedPositionalEncoding(9, 8) makes of (2, 4, 8) at other positions",
        lambda m: filled(m.LearnedPositionalEncoding(9, 8))(X, AT).detach(),
        lambda: X + drawn("table", 9, 8)[AT],
    ),
    Check(
        "LearnedPositionalEncoding",
        "the variance of LearnedPositionalEncoding(999, 64), to a digit, and whether it is trained",
        lambda m: (lambda p: [f"{p.table.var().item():.1g}", p.table.requires_grad])(
            m.LearnedPositionalEncoding(999, 64)
        ),
        lambda: ["1", True],
    ),
    Check(
        "NoPositionalEncoding",
        "what NoPositionalEncoding(9, 8) makes of (2, 4, 8)",
        lambda m: m.NoPositionalEncoding(9, 8)(X),
        lambda: X,
    ),
    Check(
        "NoPositionalEncoding",
        "the error of NoPositionalEncoding(9, 8) for position 9",
        lambda m: refusal(lambda: m.NoPositionalEncoding(9, 8)(X, AT + 1)),
        lambda: "InputError",
    ),
)
