"""Sampling: drawing the next token at random, from all tokens or the likeliest."""

import zlib

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.search import Search
from annotated_transformer.tokens import PAD


def draw(
    log_probs: Float[Tensor, "rows vocab"], search: Search, number: Float[Tensor, " rows"]
) -> Int[Tensor, " rows"]:
    """Draw a token of each row: that at which the probabilities, added up, pass ``number``.

    The likeliest come first. Temperature T makes of p a p^(1/T), scaled to sum to 1; of what
    follows, top-k keeps the k likeliest, and top-p the fewest likeliest that have p together.

    Source: top-k: Fan et al. 2018, section 5.1; top-p: Holtzman et al. 2020, section 3.1.
    """
    p, token = (log_probs / search.temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    p[:, search.top_k or p.size(1) :] = 0.0
    p = p / p.sum(dim=-1, keepdim=True)
    p = p.masked_fill(p.cumsum(dim=-1) - p >= search.top_p, 0.0)
    passed = p.cumsum(dim=-1) / p.sum(dim=-1, keepdim=True) > number[:, None]
    return token.gather(1, passed.int().argmax(dim=-1, keepdim=True))[:, 0]


def random_draws(
    src: Int[Tensor, "batch src"], seed: int, length: int
) -> Float[Tensor, "batch length"]:
    """Random numbers in [0, 1) for each sentence: the same ones alone and in any batch."""
    rows = []
    for sentence in src.tolist():
        ids = [token for token in sentence if token != PAD]
        generator = torch.Generator().manual_seed(zlib.crc32(repr((seed, ids)).encode()))
        rows.append(torch.rand(length, generator=generator, device=generator.device))
    return torch.stack(rows).to(src.device)
