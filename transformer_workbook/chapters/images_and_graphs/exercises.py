import math

from jaxtyping import Float
from torch import Tensor

from transformer_workbook.judge import derivation, exercise, letters, normal


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


@derivation([(8, 2, 1, 32), (224, 16, 3, 768), (12, 3, 2, 5)])
def costs_of_patches(side: int, size: int, channels: int, d_model: int) -> tuple[int, ...]:
    """Count what patches of one size cost: tokens, table, embedding, and the FLOPs of the table."""
    tokens = (side // size) ** 2 + 1
    table = tokens**2
    embedding = channels * size**2 * d_model
    flops = 4 * tokens**2 * d_model
    return tokens, table, embedding, flops


@letters
def same_logits() -> str:
    """Which changes of a picture do the logits not show, without positions?"""
    return "AD"  # the notebook's solution tries them
