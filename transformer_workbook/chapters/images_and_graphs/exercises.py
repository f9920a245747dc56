import math

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.judge import derivation, exercise, letters, normal


@exercise(
    [
        (torch.arange(16.0, dtype=torch.float64).view(1, 4, 4), 2),
        (normal(2, 4, 6, seed=6).float(), 2),
        (normal(2, 6, 9, seed=7), 3),
        (normal(3, 8, 4, seed=8), 4),
    ],
    gap=True,
)
def cut_images(
    images: Float[Tensor, "batch height width"], size: int
) -> Float[Tensor, "batch patches pixels"]:
    """Cut images into patches, row by row, each of them row by row."""
    batch, height, width = images.shape
    x = images.view(batch, height // size, size, width // size, size)
    x = x.transpose(2, 3)
    return x.flatten(3).flatten(1, 2)


@exercise(
    [
        (normal(4, 6, 5, seed=9), normal(5, seed=10), normal(2, 5, seed=11), normal(3, 5, seed=12)),
        (
            normal(3, 8, 5, seed=13).float(),
            normal(5, seed=14).float(),
            normal(2, 5, seed=15).float(),
            normal(4, 5, seed=16).float(),
        ),
        (
            normal(7, 8, 3, seed=17),
            normal(3, seed=18),
            normal(4, 3, seed=19),
            normal(2, 3, seed=20),
        ),
    ],
    gap=True,
)
def token_places(
    x: Float[Tensor, "batch patches d"],
    class_token: Float[Tensor, " d"],
    rows: Float[Tensor, "row d"],
    columns: Float[Tensor, "column d"],
) -> Float[Tensor, "batch tokens d"]:
    """Add to each patch the vectors of its row and column, and put the class token in front."""
    positions = rows[:, None] + columns
    x = x + positions.flatten(0, 1)
    first = class_token.expand(len(x), 1, -1)
    return torch.cat([first, x], dim=1)


@exercise(
    [
        (normal(2, 6, 4, seed=3), 6),
        (normal(2, 6, 9, seed=4).float(), 9),
        (normal(3, 8, 4, seed=5), 4),
    ]
)
def assemble(
    patches: Float[Tensor, "batch patches pixels"], width: int
) -> Float[Tensor, "batch height width"]:
    """Put square patches back into pictures of that width."""
    batch, _, pixels = patches.shape
    size = math.isqrt(pixels)
    x = patches.view(batch, -1, width // size, size, size)
    return x.transpose(2, 3).reshape(batch, -1, width)


@letters
def same_logits() -> str:
    """Which changes of a picture do the logits not show, without positions?"""
    return "AD"  # the notebook's solution tries them


@derivation([(8, 2, 1, 32), (224, 16, 3, 768), (12, 3, 2, 5)])
def costs_of_patches(side: int, size: int, channels: int, d_model: int) -> tuple[int, ...]:
    """Count what patches cost: tokens, attention matrix, embedding, and the FLOPs of attention."""
    tokens = (side // size) ** 2 + 1
    matrix = tokens**2
    embedding = channels * size**2 * d_model
    flops = 4 * tokens**2 * d_model
    return tokens, matrix, embedding, flops


@exercise(
    [
        (normal(2, 3, 4, 6, seed=0), 2),
        (normal(4, 2, 6, 9, seed=1).float(), 3),
        (normal(3, 2, 8, 4, seed=2), 4),
    ]
)
def patchify(
    pictures: Float[Tensor, "batch channels height width"], size: int
) -> Float[Tensor, "batch patches pixels"]:
    """Cut pictures into patches, row by row; of a patch, one channel comes after the other."""
    batch, channels, height, width = pictures.shape
    x = pictures.view(batch, channels, height // size, size, width // size, size)
    return x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
