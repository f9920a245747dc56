"""The optimisations of fast training, ablated one at a time: how much slower are the steps?

The work is that of the contest ``training``. A contestant is our fast trainer, with the readable
counterpart of one optimisation.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.fast import output_loss, products, twin
from annotated_transformer.fast.products import FastLinear
from annotated_transformer.loss import smoothed_cross_entropy
from bench.task import Contestant
from bench.training import SMOOTHING, OursFast, judge, prepare

__all__ = ["CONTESTANTS", "judge", "prepare", "reference"]


def plain_product(rows: Tensor, others: Tensor) -> Tensor:
    """Compute what :func:`products.transposed_product` computes."""
    return rows.t() @ others


def loss_of_logits(logits: Tensor, target: Tensor) -> Tensor:
    """Compute the loss from a table of batch × vocabulary."""
    return smoothed_cross_entropy(logits.float(), target, SMOOTHING)


REPLACED: dict[str, list[tuple[Any, str, Any]]] = {
    "oneDNN": [(products, "linear", F.linear), (output_loss, "linear", F.linear)],
    "copied transposes": [
        (products, "transposed_product", plain_product),
        (output_loss, "transposed_product", plain_product),
    ],
    "cheap dropout": [(twin, "FastDropout", nn.Dropout)],
    "attention written out": [(twin, "FastAttention", ScaledDotProductAttention)],
}
"""For each optimisation: module, name there, and its replacement."""


IN_32_BITS = ("oneDNN", "copied transposes")
"""The optimisations for 32 bits: in 16, PyTorch uses oneDNN by itself, except for the biases."""


def without(lever: str, precision: str, folder: Path) -> Contestant:
    """Make our fast trainer, with the readable counterpart of one optimisation."""
    for module, name, counterpart in REPLACED.get(lever, []):
        setattr(module, name, counterpart)
    fast = OursFast(folder, precision)
    if lever == "fused loss":
        dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        fast.trainer.twin.output = FastLinear(fast.trainer.model.output, dtype)
        fast.trainer.loss = loss_of_logits
    return fast


def named(lever: str, precision: str) -> str:
    """Return the name of the contestant that lacks an optimisation, or none."""
    name = f"without {lever}" if lever else "all levers"
    return name if precision == "float32" else f"{name}, {precision}"


CONTESTANTS: dict[str, Callable[[Path], Contestant]] = {
    named(lever, precision): partial(without, lever, precision)
    for precision in ("float32", "bfloat16")
    for lever in ("", *REPLACED, "fused loss")
    if precision == "float32" or lever not in IN_32_BITS
}


def reference(name: str) -> str:
    """Compare each with the trainer that has all optimisations, in the same precision."""
    return named("", "bfloat16" if name.endswith("bfloat16") else "float32")
