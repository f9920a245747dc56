"""Checks of the loss."""

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.own.checks.check import TGT, Check, drawn, gradient, refusal

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


CHECKS = (
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
    Check(
        "smoothed_cross_entropy",
        "the gradient of the squared loss with smoothing=0.3 by the logits, compared with torch.nn",
        lambda m: gradient(lambda x: m.smoothed_cross_entropy(x, TARGET, 0.3), LOGITS),
        lambda: gradient(lambda x: cross_entropy_of_torch(0.3, x), LOGITS),
    ),
)
