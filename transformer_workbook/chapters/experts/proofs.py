from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_workbook.notebook.proofs import agree, proof


@proof
def experts(
    Plain: Callable[[int, int, int, int], Any], Package: Callable[[int, list[Any], int], Any]
) -> None:
    """A layer gives what its experts give one token at a time, and what the package's gives."""
    mine, x = Plain(6, 5, 4, 2), torch.randn(20, 6)
    ours = Package(6, list(mine.experts), 2)
    ours.router.logits.weight = mine.router.weight
    singly = []
    for token, logits in zip(x, mine.router(x), strict=True):
        first, second = logits.argsort(descending=True)[:2]
        share = torch.sigmoid(logits[first] - logits[second])
        both = (mine.experts[i](token) for i in (first, second))
        singly.append(sum(g * y for g, y in zip((share, 1 - share), both, strict=True)))
    agree(
        1e-12,
        {
            "one token at a time": torch.stack(singly),
            "the package": ours(x[None])[0],
            "your class": mine(x),
        },
    )


@proof
def imbalance(
    mine: Callable[[Tensor, Tensor], Tensor], Package: Callable[[Tensor, Tensor, Tensor], Any]
) -> None:
    """A function computes the package's auxiliary loss, here of two choices a token."""
    p = torch.randn(30, 5).softmax(dim=-1)
    weights, chosen = p.topk(2)
    agree(1e-12, {"the package": Package(p, chosen, weights).imbalance, "yours": mine(p, chosen)})
