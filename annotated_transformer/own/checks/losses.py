"""Checks of the loss, and of masks."""

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.own.checks.check import TGT, Check, drawn, refusal

LOGITS, TARGET = drawn("logits", 3, 4, 11), torch.where(TGT == 3, 2, TGT)  # with an EOS


def _of_torch(smoothing: float) -> Tensor:
    return F.cross_entropy(
        LOGITS.flatten(0, 1),
        TARGET.flatten(),
        ignore_index=0,
        reduction="sum",
        label_smoothing=smoothing,
    )


LOSS = (
    Check(
        "smoothed_cross_entropy",
        "smoothed_cross_entropy without smoothing, beside torch.nn",
        lambda m: m.smoothed_cross_entropy(LOGITS, TARGET),
        lambda: _of_torch(0.0),
    ),
    Check(
        "smoothed_cross_entropy",
        "smoothed_cross_entropy with smoothing=0.3, beside torch.nn",
        lambda m: m.smoothed_cross_entropy(LOGITS, TARGET, 0.3),
        lambda: _of_torch(0.3),
    ),
    Check(
        "smoothed_cross_entropy",
        "the error for smoothing=1.0 and -0.1",
        lambda m: [
            refusal(lambda s=s: m.smoothed_cross_entropy(LOGITS, TARGET, s))  # type: ignore[misc]
            for s in (1.0, -0.1)
        ],
        lambda: ["InputError"] * 2,
    ),
)


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


MASKING = (
    Check(
        "padding_mask",
        "padding_mask(torch.tensor([[5, 6], [8, 0]]))",
        lambda m: m.padding_mask(torch.tensor([[5, 6], [8, 0]])),
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
        "target_mask",
        "target_mask(torch.tensor([[1, 7, 0], [1, 7, 8]]))",
        lambda m: m.target_mask(torch.tensor([[1, 7, 0], [1, 7, 8]])),
        lambda: _both([[1, 7, 0], [1, 7, 8]]),
    ),
    Check(
        "target_mask",
        "target_mask(torch.tensor([[1, 7, 0]]), start=1)",
        lambda m: m.target_mask(torch.tensor([[1, 7, 0]]), start=1),
        lambda: _both([[1, 7, 0]], 1),
    ),
)
