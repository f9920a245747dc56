import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer import rotary
from annotated_transformer.masking import causal_mask
from transformer_workbook.notebook.proofs import agree, holds, proof


@proof
def turns(frequencies: Float[Tensor, " pair"], length: int) -> None:
    """Of the angles at which a pair is after each position, count the whole turns."""
    often = [length * frequency / (2 * math.pi) for frequency in frequencies.tolist()]
    first, second = often
    claim = f"in {length} positions, the first turns {first:.1f} times, the second {second:.3f}"
    holds(claim, first > 1 > second)


@proof
def rotary_heads(mine: Callable[..., nn.Module], package: Callable[..., nn.Module]) -> None:
    """With the same weights: the reader's layer, the package's, and products of complex numbers."""
    d_model, heads, d_k = 16, 2, 8
    ours, theirs = mine(d_model, heads), package(d_model, heads)
    theirs.load_state_dict(ours.state_dict())
    x, mask = torch.randn(1, 7, d_model), causal_mask(7)
    parts: Any = ours
    vectors = [parts.split(part(x)) for part in (parts.query, parts.key, parts.value)]
    turning = torch.polar(
        torch.ones(7, d_k // 2),
        torch.arange(7)[:, None] * 10000 ** (-torch.arange(0, d_k, 2) / d_k),
    )
    query, key = (
        torch.view_as_complex(vector.unflatten(-1, (d_k // 2, 2)).contiguous()) * turning
        for vector in vectors[:2]
    )
    # The real part of the product with the conjugate is the dot product of the two vectors.
    scores = (query @ key.conj().transpose(-2, -1)).real / math.sqrt(d_k)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    by_complex = parts.output((weights @ vectors[2]).transpose(1, 2).flatten(2))
    results = {"your class": ours(x, x, x, mask), "the package's": theirs(x, x, x, mask)}
    agree(1e-12, results | {"a product of complex numbers": by_complex})


@proof
def layouts(rotate: Any, order: Int[Tensor, " column"]) -> None:
    """Queries and keys in Llama's order, turned as Llama does, have the scores of neighbours."""
    d_k = len(order)
    query, key = torch.randn(2, 5, d_k)
    frequencies, at = rotary.rotary_frequencies(d_k), torch.arange(5)
    angles = torch.cat([at[:, None] * frequencies] * 2, dim=-1)

    def as_llama(x: Tensor) -> Tensor:
        first, second = x[..., order].chunk(2, dim=-1)
        half_turned = torch.cat([-second, first], dim=-1)
        return x[..., order] * angles.cos() + half_turned * angles.sin()

    neighbours = rotate(query, at, frequencies) @ rotate(key, at, frequencies).T
    agree(
        1e-12,
        {
            "the scores of neighbours": neighbours,
            "those of Llama after the permutation": as_llama(query) @ as_llama(key).T,
        },
    )
    mixed = rotate(query[:, order], at, frequencies) @ rotate(key[:, order], at, frequencies).T
    holds(
        "with columns in one order and the rotation of the other, the scores differ",
        (mixed - neighbours).abs().max() > 0.1,
    )


@proof
def scalings(interpolated: Any, ntk_aware: Any, yarn: Any) -> None:
    """Three ways to slow pairs down, beside those of the package."""
    for d_k, length in ((32, 16), (128, 4096)):
        frequencies = rotary.rotary_frequencies(d_k)
        mine = [interpolated(frequencies, 8), ntk_aware(d_k, 8), yarn(frequencies, 8, length)]
        ours = [
            rotary.interpolated(frequencies, 8.0),
            rotary.ntk_aware(d_k, 10000.0, 8.0),
            rotary.yarn(frequencies, 10000.0, 8.0, length),
        ]
        agree(
            1e-12,
            {f"your three, d_k = {d_k}": torch.stack(mine), "the package's": torch.stack(ours)},
        )
