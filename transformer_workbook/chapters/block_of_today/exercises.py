import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.judge import derivation, exercise, normal, number


@exercise(
    [
        (normal(3, seed=0), normal(3, 8, seed=1), normal(4, 3, seed=2)),
        (normal(2, 5, seed=3).float(), normal(5, 6, seed=4).float(), normal(3, 5, seed=5).float()),
        (normal(2, 3, 4, seed=6), normal(4, 10, seed=7), normal(5, 4, seed=8)),
    ]
)
def swiglu_of_two_matrices(
    x: Float[Tensor, "*batch d_model"],
    W: Float[Tensor, "d_model twice_d_ff"],
    W_out: Float[Tensor, "d_ff d_model"],
) -> Float[Tensor, "*batch d_model"]:
    """Compute SwiGLU with the gate and the hidden units in one matrix, the gate in front."""
    gate, hidden = (x @ W).chunk(2, dim=-1)
    opened = F.silu(gate)
    return (opened * hidden) @ W_out


@exercise(
    [
        (normal(3, 2, 5, 4, seed=0), 6),
        (normal(2, 4, 3, 5, seed=1).float(), 8),
        (normal(4, 3, 2, 6, seed=2), 12),
    ]
)
def shared_keys(
    keys: Float[Tensor, "batch kv_heads time d"], num_heads: int
) -> Float[Tensor, "batch heads time d"]:
    """Give each query head the keys of its group; the friend deals the heads out in turns."""
    group = num_heads // keys.size(1)
    return keys.repeat_interleave(group, dim=1)


@exercise(
    [
        (normal(2, 3, 8, seed=0), normal(4, seed=1), 2),
        (normal(3, 4, 15, seed=2).float(), normal(5, seed=3).float(), 3),
        (normal(5, 2, 12, seed=4), normal(3, seed=5), 4),
    ]
)
def normalised_heads(
    x: Float[Tensor, "batch time heads_d"], gain: Float[Tensor, " d"], num_heads: int
) -> Float[Tensor, "batch heads time d"]:
    """Split into heads, then normalise each by RMSNorm; the friend normalises all heads at once."""
    batch, time, _ = x.shape
    heads = x.view(batch, time, num_heads, -1).transpose(1, 2)
    mean_square = (heads**2).mean(-1, keepdim=True)
    return gain * heads / mean_square.sqrt()


@derivation([(12, 60, 6, 2), (8, 20, 4, 1), (20, 35, 10, 5)])
def sizes_of_a_gated_layer(
    d: int, d_ff: int, num_heads: int, num_kv_heads: int
) -> tuple[float | int, ...]:
    """Give a layer with gates and shared keys as many weights as one without, in five steps."""
    plain = 2 * d * d_ff
    gated = 3 * d * d_ff
    as_large = 2 * d_ff / 3
    freed = 2 * d * d * (1 - num_kv_heads / num_heads)
    wider = as_large + freed / (3 * d)
    return plain, gated, as_large, freed, wider


@number()
def largest_score() -> float:
    """With QK-norm and without gains, how large can a score of 64 numbers be, divided by √d_k?"""
    d_k = 64
    longest = torch.full((d_k,), 3.0)  # any vector
    normed = longest / longest.square().mean().sqrt()
    return (normed @ normed / d_k**0.5).item()  # a key that points where the query does
