"""Checks of the loss, and of masks."""

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.ground.devices import CPU
from transformer_workbook.own.checks.check import TGT, Check, drawn, refusal
from transformer_workbook.own.checks.places import has_its_device

LOGITS, TARGET = drawn("logits", 3, 4, 11), torch.where(TGT == 3, 2, TGT)  # with an EOS


def cross_entropy_of_torch(smoothing: float, logits: Tensor = LOGITS) -> Tensor:
    """Compute PyTorch's own loss, summed over what is not padding."""
    return F.cross_entropy(
        logits.flatten(0, 1),
        TARGET.flatten(),
        ignore_index=0,
        reduction="sum",
        label_smoothing=smoothing,
    )


LOSS = (
    Check(
        "smoothed_cross_entropy",
        "smoothed_cross_entropy without smoothing, compared with torch.nn",
        lambda m: m.smoothed_cross_entropy(LOGITS, TARGET),
        lambda: cross_entropy_of_torch(0.0),
    ),
    Check(
        "smoothed_cross_entropy",
        "smoothed_cross_entropy with smoothing=0.3, compared with torch.nn",
        lambda m: m.smoothed_cross_entropy(LOGITS, TARGET, 0.3),
        lambda: cross_entropy_of_torch(0.3),
    ),
    Check(
        "smoothed_cross_entropy",
        "smoothed_cross_entropy of logits around 1000 and -1000, compared with torch.nn",
        lambda m: m.smoothed_cross_entropy(1000 * LOGITS, TARGET),
        lambda: cross_entropy_of_torch(0.0, 1000 * LOGITS),
    ),
    Check(
        "smoothed_cross_entropy",
        "the errors for targets (3, 3) of logits (3, 4, 11), and for an id of 11",
        lambda m: [
            refusal(lambda t=t: m.smoothed_cross_entropy(LOGITS, t))  # type: ignore[misc]
            for t in (TARGET[:, :3], TARGET + 11)
        ],
        lambda: ["InputError"] * 2,
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


IDS, LONGER, ONE = (
    torch.tensor(rows) for rows in ([[1, 2], [8, 0]], [[1, 7, 0], [1, 7, 8]], [[1, 7, 0]])
)

MASKING = (
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
