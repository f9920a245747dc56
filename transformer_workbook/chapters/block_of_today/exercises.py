from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.rotary import rotary_frequencies, rotate
from transformer_workbook.judge import derivation, exercise, normal, number, put_to_work


def _put_to_work(
    kind: Callable[..., nn.Module], sizes: tuple[int, ...], weights: dict[str, Tensor], x: Tensor
) -> Any:
    """Build the reader's layer, give it weights, and let texts pass through it."""
    return put_to_work(kind(*sizes), weights, x)


def _case(
    sizes: tuple[int, ...], dtype: torch.dtype = torch.float64, **shapes: tuple[int, ...]
) -> tuple[tuple[int, ...], dict[str, Tensor], Tensor]:
    """Sizes of a layer, its weights by their names, and three texts of five tokens."""
    weights = {
        f"{name}.weight": normal(*shape, seed=seed, dtype=dtype)
        for seed, (name, shape) in enumerate(shapes.items())
    }
    return sizes, weights, normal(3, 5, sizes[0], seed=20, dtype=dtype)


def _network(d: int, d_ff: int, dtype: torch.dtype = torch.float64) -> Any:
    inner = (d_ff, d)
    return _case((d, d_ff), dtype, gate_proj=inner, up_proj=inner, down_proj=(d, d_ff))


@exercise(
    [_network(4, 6), _network(6, 10, torch.float32), _network(2, 3)],
    ask=_put_to_work,
    gap=True,
)
def gated_network(d: int, d_ff: int) -> nn.Module:
    """Write a feed-forward network with a gate for every hidden unit."""

    class SwiGLU(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate_proj = nn.Linear(d, d_ff, bias=False)
            self.up_proj = nn.Linear(d, d_ff, bias=False)
            self.down_proj = nn.Linear(d_ff, d, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            gate = F.silu(self.gate_proj(x))
            hidden = self.up_proj(x)
            output: Tensor = self.down_proj(gate * hidden)
            return output

    return SwiGLU()


def _attention(
    d: int, heads: int, kv_heads: int, head_dim: int, dtype: torch.dtype = torch.float64
) -> Any:
    shared = (kv_heads * head_dim, d)
    return _case(
        (d, heads, kv_heads, head_dim),
        dtype,
        q_proj=(heads * head_dim, d),
        k_proj=shared,
        v_proj=shared,
        o_proj=(d, heads * head_dim),
        q_norm=(head_dim,),
        k_norm=(head_dim,),
    )


@exercise(
    [
        _attention(8, 4, 2, 6),
        _attention(12, 6, 2, 4, torch.float32),
        _attention(10, 4, 1, 8),
    ],
    ask=_put_to_work,
    gap=True,
)
def modern_attention(d: int, heads: int, kv_heads: int, head_dim: int) -> nn.Module:
    """Write causal attention with QK-norm, rotary positions and grouped queries."""

    def turned(x: Tensor) -> Tensor:
        at = torch.arange(x.size(-2))
        return rotate(x, at, rotary_frequencies(head_dim).to(x))

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q_proj = nn.Linear(d, heads * head_dim, bias=False)
            self.k_proj = nn.Linear(d, kv_heads * head_dim, bias=False)
            self.v_proj = nn.Linear(d, kv_heads * head_dim, bias=False)
            self.o_proj = nn.Linear(heads * head_dim, d, bias=False)
            self.q_norm = nn.RMSNorm(head_dim, eps=1e-6)
            self.k_norm = nn.RMSNorm(head_dim, eps=1e-6)

        def split(self, x: Tensor) -> Tensor:
            return x.view(*x.shape[:-1], -1, head_dim).transpose(1, 2)

        def forward(self, x: Tensor) -> Tensor:
            q, k = self.split(self.q_proj(x)), self.split(self.k_proj(x))
            v = self.split(self.v_proj(x))
            q, k = self.q_norm(q), self.k_norm(k)
            q, k = turned(q), turned(k)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            output: Tensor = self.o_proj(y.transpose(1, 2).flatten(2))
            return output

    return Attention()


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


@number()
def largest_score() -> float:
    """With QK-norm and without gains, how large can a score of 64 numbers be, divided by √d_k?"""
    d_k = 64
    longest = torch.full((d_k,), 3.0)  # any vector
    normed = longest / longest.square().mean().sqrt()
    return (normed @ normed / d_k**0.5).item()  # a key that points where the query does


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
