from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.rotary import rotary_frequencies
from transformer_workbook.notebook.proofs import agree, proof
from transformer_workbook.notebook.pytorch import copy_layer

Cut = Callable[[Float[Tensor, "batch height width"], int], Float[Tensor, "batch patches pixels"]]


@proof
def patches(cut: Cut) -> None:
    """Patches times a matrix are a convolution whose stride is the size of a patch."""
    pictures, W = torch.randn(3, 6, 12), torch.randn(5, 9)
    convolved = F.conv2d(pictures[:, None], W.view(5, 1, 3, 3), stride=3)
    embedded = cut(pictures, 3) @ W.T
    agree(1e-12, {"the convolution": convolved.flatten(2).mT, "your patches": embedded})


@proof
@torch.no_grad()
def vision_transformer(plain: Any) -> None:
    """Unfolded patches and PyTorch's layers, with the same weights, give the same logits."""
    mine, pictures = plain(2), torch.randn(3, 8, 8)
    mine.first.normal_()
    W, b = mine.embed.weight.flatten(1), mine.embed.bias
    x = F.linear(F.unfold(pictures[:, None], 2, stride=2).mT, W, b)
    x = torch.cat([mine.first.expand(3, 1, -1), x], dim=1) + mine.positions
    for layer in mine.layers:
        heads, d_ff = layer.self_attention.num_heads, layer.feed_forward.inner.out_features
        options: Any = {"dropout": 0, "activation": "gelu", "batch_first": True, "norm_first": True}
        theirs = nn.TransformerEncoderLayer(x.size(-1), heads, d_ff, **options)
        copy_layer(layer, theirs)
        x = theirs(x)
    agree(1e-12, {"PyTorch's layers": mine.output(mine.norm(x)[:, 0]), "yours": mine(pictures)})


@proof
@torch.no_grad()
def no_order(plain: Any) -> None:
    """Without positions, pictures whose patches are permuted have the same logits."""
    mine, pictures = plain(2), torch.randn(3, 8, 8)
    mine.positions.zero_()
    patches = F.unfold(pictures[:, None], 2, stride=2)[..., torch.randperm(16)]
    permuted = F.fold(patches, (8, 8), 2, stride=2)[:, 0]
    agree(1e-12, {"the logits": mine(pictures), "those of permuted patches": mine(permuted)})


@proof
@torch.no_grad()
def axial(attention: Any) -> None:
    """The scores of patches depend on the differences of their rows and of their columns alone."""
    layer, (q, k) = attention(16, 2), torch.randn(2, 2, 8)
    turned = [
        layer.with_positions(x[None, :, None].expand(1, 2, 17, 8), torch.arange(17)[None])
        for x in (q, k)
    ]
    scores = (turned[0] @ turned[1].mT)[0, :, 1:, 1:].reshape(2, 4, 4, 4, 4)
    place, speed = torch.arange(4.0), rotary_frequencies(4, base=100.0)
    difference = place - place[:, None]  # of the key from the query
    angles = torch.zeros(4, 4, 4, 4, 4)
    angles[..., :2] = difference[:, None, :, None, None] * speed
    angles[..., 2:] = difference[None, :, None, :, None] * speed
    q, k = (torch.view_as_complex(x.view(2, 4, 2)) for x in (q, k))
    products = (q.conj() * k)[:, None, None, None, None] * torch.exp(1j * angles)
    agree(1e-12, {"turns by the differences": products.sum(dim=-1).real, "your scores": scores})
