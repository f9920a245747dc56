"""Checks of masks."""

import torch
from torch import Tensor

from annotated_transformer.ground.devices import CPU
from transformer_workbook.own.checks.check import Check
from transformer_workbook.own.checks.places import has_its_device


def _causal(length: int, start: int = 0) -> Tensor:
    rows = [[key <= query for key in range(length)] for query in range(start, length)]
    return torch.tensor(rows)[None, None]


def _both(ids: list[list[int]], start: int = 0) -> Tensor:
    return torch.tensor(
        [
            [[[k <= q and row[k] != 0 for k in range(len(row))] for q in range(start, len(row))]]
            for row in ids
        ]
    )


IDS, LONGER, ONE = (
    torch.tensor(rows) for rows in ([[1, 2], [8, 0]], [[1, 7, 0], [1, 7, 8]], [[1, 7, 0]])
)

CHECKS = (
    Check(
        "padding_mask",
        "padding_mask(torch.tensor([[1, 2], [8, 0]]))",
        lambda m: m.padding_mask(IDS),
        lambda: torch.tensor([[[[True, True]]], [[[True, False]]]]),
    ),
    Check("causal_mask", "causal_mask(3)", lambda m: m.causal_mask(3), lambda: _causal(3)),
    Check(
        "causal_mask",
        "causal_mask(4, start=2)",
        lambda m: m.causal_mask(4, start=2),
        lambda: _causal(4, 2),
    ),
    Check(
        "causal_mask",
        "whether causal_mask makes its mask on the device that is given",
        lambda m: has_its_device(lambda: m.causal_mask(3, device=CPU)),
        lambda: True,
    ),
    Check(
        "target_mask",
        "target_mask(torch.tensor([[1, 7, 0], [1, 7, 8]]))",
        lambda m: m.target_mask(LONGER),
        lambda: _both([[1, 7, 0], [1, 7, 8]]),
    ),
    Check(
        "target_mask",
        "target_mask(torch.tensor([[1, 7, 0]]), start=1)",
        lambda m: m.target_mask(ONE, start=1),
        lambda: _both([[1, 7, 0]], 1),
    ),
    Check(
        "target_mask",
        "whether target_mask makes its mask on the device of its tokens",
        lambda m: has_its_device(lambda: m.target_mask(LONGER)),
        lambda: True,
    ),
)
