from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.linear_attention import PositiveFeatures
from transformer_workbook.notebook.proofs import agree, proof

Rows = Float[Tensor, "time d"]
Attention = Callable[[Rows, Rows, Rows], Rows]


@proof
def blocks(blockwise: Callable[[Rows, Rows, Rows, int], Rows]) -> None:
    """Attention block by block is that of PyTorch, whatever the size, with scores above 1,000."""
    q, k, v = torch.randn(5, 8), torch.randn(10, 8), torch.randn(10, 3)
    sizes, larger = (1, 3, 10, 64), (q, 1000 * q)
    expected = torch.stack([F.scaled_dot_product_attention(x, k, v) for x in larger])
    mine = torch.stack([blockwise(x, k, v, size) for size in sizes for x in larger])
    agree(
        1e-12,
        {
            "PyTorch's attention": expected.repeat(len(sizes), 1, 1),
            "blocks of 1, 3, 10 and 64": mine,
        },
    )


@proof
def forms(with_matrix: Attention, as_a_network: Attention, package: Callable[..., Any]) -> None:
    """Two functions, and the package's in chunks, compute the same."""
    q, k, v = torch.randn(11, 4), torch.randn(11, 4), torch.randn(11, 3)
    phi, ones = PositiveFeatures(), F.pad(v, (0, 1), value=1.0)[None, None]
    empty = torch.zeros(1, 1, 4, 4)
    sums, _ = package(phi(q)[None, None], phi(k)[None, None], ones, empty, chunk=4)
    agree(
        1e-12,
        {
            "the attention matrix": with_matrix(q, k, v),
            "the recurrent network": as_a_network(q, k, v),
            "the package in chunks": (sums[..., :-1] / sums[..., -1:])[0, 0],
        },
    )


@proof
def delta_rule(
    correct: Callable[[Tensor, Tensor, Tensor], Tensor], package: Callable[..., Any]
) -> None:
    """One position after the other, a function writes what the package's chunks write."""
    k, v = F.normalize(torch.randn(1, 1, 9, 4), dim=-1), torch.randn(1, 1, 9, 3)
    mine, empty = torch.zeros(4, 3), torch.zeros(1, 1, 4, 3)
    for key, value in zip(k[0, 0], v[0, 0], strict=True):
        mine = correct(mine, key, value)
    _, ours = package(k, k, v, empty, torch.ones(1, 1, 9), chunk=5)
    agree(1e-12, {"the package": ours[0, 0], "your rule": mine})


@proof
def chunks(in_chunks: Callable[..., Rows], package: Callable[..., Any]) -> None:
    """A function in chunks computes what the package's recurrent form does, for both rules."""
    q, v = torch.randn(11, 4), torch.randn(11, 3)
    k, b = F.normalize(torch.randn(11, 4), dim=-1), torch.rand(11)
    empty = torch.zeros(1, 1, 4, 3)
    ours = [
        package(*(x[None, None] for x in (q, k, v)), empty, strength, chunk=1)[0][0, 0]
        for strength in (None, b[None, None])
    ]
    mine = [in_chunks(q, k, v), in_chunks(q, k, v, b)]
    agree(
        1e-12,
        {"the package, one position after the other": torch.cat(ours), "chunks": torch.cat(mine)},
    )
