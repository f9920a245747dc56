import math
from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.positional_encoding import sinusoidal_encoding
from transformer_workbook.notebook.proofs import agree, holds, proof


@proof
def bag_of_words(layer: Any) -> None:
    """In every order of five words the outputs are the same, permuted; not with positions."""
    pytorch, five = nn.MultiheadAttention(6, 2, batch_first=True), torch.randn(1, 5, 6)
    orders = torch.tensor(list(permutations(range(5))))[1:]  # (119, word): all but the first
    same, moved = (
        torch.stack(
            [
                (attend(five[0, orders] + p) - attend(five + p)[0, orders]).abs().amax((1, 2))
                for attend in (layer, lambda x: pytorch(x, x, x)[0])
            ]
        )
        for p in (torch.zeros(5, 6), sinusoidal_encoding(5, 6))
    )
    claim = (
        "in all 120 orders of five words, this layer and PyTorch's give the same outputs, permuted"
    )
    holds(claim, same.max() < 1e-12)
    holds("with positions added, another order gives other outputs", moved.min() > 0.001)


@proof
def formula(encoding: Float[Tensor, "40 20"], package: Any) -> None:
    """Every entry is the formula, written out with loops."""
    results = {
        "the encodings of the formula": _by_loop(40, 20),
        "your matrix": encoding,
        "the package": package(40, 20),
    }
    agree(1e-12, results)


def _by_loop(length: int, d: int) -> Float[Tensor, "length d"]:
    written = torch.empty(length, d)
    for pos in range(length):
        for i in range(d // 2):
            angle = pos / 10000 ** (2 * i / d)
            written[pos, 2 * i] = math.sin(angle)
            written[pos, 2 * i + 1] = math.cos(angle)
    return written


@proof
def turn(rotation: Callable[[int, int], Float[Tensor, "d_model d_model"]]) -> None:
    """One rotation for each offset leads from every position to the one further on."""
    encoding, offsets = sinusoidal_encoding(2000, 16), (1, 7, 100, -3)
    spans = [torch.arange(max(0, -k), 2000 - max(0, k)) for k in offsets]
    further = [encoding[p + k] for p, k in zip(spans, offsets, strict=True)]
    turned = [encoding[p] @ rotation(k, 16) for p, k in zip(spans, offsets, strict=True)]
    results = {"PE(p + k)": torch.cat(further), "PE(p) R_k, at every p,": torch.cat(turned)}
    agree(1e-11, results)
    back = torch.stack([rotation(-k, 16) for k in offsets])
    transposed = torch.stack([rotation(k, 16).T for k in offsets])
    agree(1e-11, {"R_−k": back, "the transpose of R_k": transposed})
    seven = rotation(3, 16) @ rotation(4, 16)
    agree(1e-11, {"R_7": rotation(7, 16), "R_3 followed by R_4": seven})
    lengths = encoding.norm(dim=1)
    agree(
        1e-11, {"√(d/2)": torch.full_like(lengths, math.sqrt(8)), "the norms of all PE(p)": lengths}
    )


@proof
def one_word_back(weights: Float[Tensor, "query key"]) -> None:
    """A head that was built of a rotation attends to the previous position, wherever it is."""
    before = weights.diagonal(-1)
    claim = (
        f"each of the {len(before):,} positions after the first gives over 99.9 % of its attention"
        " to the one before"
    )
    holds(claim, (before > 0.999).all())


@proof
def positions(plain: Any, package: Any) -> None:
    """Two layers add the same encodings, to whole sentences and to a word that comes alone."""
    x = torch.randn(2, 7, 6)
    expected = x + _by_loop(7, 6)
    results = {"the output by the formula": expected}
    later = torch.tensor([[4], [6]])  # of one new word in each sentence
    alone = {
        "the output by the formula for words that come alone": torch.stack(
            [expected[0, 4:5], expected[1, 6:]]
        )
    }
    for name, layer in {
        "that of your class": plain(9, 6),
        "that of the package": package(9, 6),
    }.items():
        results[name] = layer(x)
        alone[name] = layer(torch.stack([x[0, 4:5], x[1, 6:]]), later)
    agree(1e-12, results)
    agree(1e-12, alone)


@proof
def equal_norms(models: Mapping[str, Any], right: Any) -> None:
    """Learned positions solve the task as sinusoids do, without being equally long."""
    shares = {right(models[name], 8, 1, 7) for name in ("sinusoids", "learned")}
    claim = "on 8 symbols, every run with positions is right everywhere"
    holds(claim, shares == {"100% (100–100%)"})
    norms = models["learned"][0].positions.table[:8].norm(dim=1)
    holds(
        "learned positions are right there although their norms differ by a tenth and more",
        norms.max() > 1.1 * norms.min(),
    )


@proof
def rotary(rotate: Any, rotation: Any) -> None:
    """Rotated queries and keys have the same scores three positions on; with sinusoids, others."""
    q, k = torch.randn(2, 5, 16)  # (time, d_k) each
    by_matrix = torch.stack([row @ rotation(p, 16) for p, row in enumerate(q)])
    agree(1e-12, {"q R_p": by_matrix, "what rotate makes of q": rotate(q)})
    scores, later = rotate(q) @ rotate(k).T, torch.arange(3, 8)  # (query, key)
    moved = rotate(q, later) @ rotate(k, later).T
    agree(1e-12, {"the scores": scores, "the scores with all positions shifted by 3": moved})
    holds("without the rotation the scores differ", (scores - q @ k.T).abs().max() > 0.1)
    here, there = sinusoidal_encoding(8, 16).unfold(0, 5, 3).mT  # positions 0 to 4, and 3 to 7
    gap = (q + here) @ (k + here).T - (q + there) @ (k + there).T
    holds("with sinusoids added instead, a shift changes the scores", gap.abs().max() > 0.1)
