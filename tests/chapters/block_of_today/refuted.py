import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.gated_feed_forward import GatedFeedForward
from annotated_transformer.layers import DecoderLayer, FeedForward
from annotated_transformer.rotary import rotary_frequencies, rotate
from transformer_workbook.chapters.block_of_today import proofs


def linear(width, into):
    return nn.Linear(width, into, bias=False)


class Centred(nn.Module):
    """It subtracts the mean, as LayerNorm does."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * F.layer_norm(x, x.shape[-1:])


def rms_norm():
    proofs.rms_norm(Centred)


class SigmoidGate(nn.Module):
    """Its gate is σ(z) in place of z · σ(z)."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate_proj, self.up_proj = linear(d_model, d_ff), linear(d_model, d_ff)
        self.down_proj = linear(d_ff, d_model)

    def forward(self, x):
        return self.down_proj(self.gate_proj(x).sigmoid() * self.up_proj(x))


def swiglu():
    proofs.swiglu(SigmoidGate, GatedFeedForward)


def as_large():
    proofs.as_large(GatedFeedForward, FeedForward)


class InTurns(nn.Module):
    """Its query heads take the heads of keys in turns."""

    def __init__(self, d_model, num_heads, num_kv_heads, head_dim):
        super().__init__()
        self.d, self.group = head_dim, num_heads // num_kv_heads
        self.q_proj, self.o_proj = linear(d_model, d_model), linear(d_model, d_model)
        self.k_proj, self.v_proj = (linear(d_model, num_kv_heads * self.d) for _ in range(2))
        self.q_norm, self.k_norm = (nn.RMSNorm(self.d, eps=1e-6) for _ in range(2))

    def forward(self, x):
        query, key, value = (
            part(x).unflatten(-1, (-1, self.d)).transpose(1, 2)
            for part in (self.q_proj, self.k_proj, self.v_proj)
        )
        at, frequencies = torch.arange(x.size(1)), rotary_frequencies(self.d)
        query = rotate(self.q_norm(query), at, frequencies)
        key = rotate(self.k_norm(key), at, frequencies)
        key, value = (y.repeat(1, self.group, 1, 1) for y in (key, value))
        heads = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.o_proj(heads.transpose(1, 2).flatten(2))


def attention():
    proofs.attention(InTurns)


class BlockInTurns(nn.Module):
    """A block with that attention."""

    def __init__(self, d_model, num_heads, num_kv_heads, d_ff):
        super().__init__()
        self.norm_1, self.norm_2 = (nn.RMSNorm(d_model, eps=1e-6) for _ in range(2))
        self.attention = InTurns(d_model, num_heads, num_kv_heads, d_model // num_heads)
        self.network = SigmoidGate(d_model, d_ff)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.network(self.norm_2(x))


def block():
    proofs.block(BlockInTurns, DecoderLayer)


REFUTED = {
    rms_norm: "nn.RMSNorm differs from your class by",
    swiglu: "your class differs from the sum over hidden units by",
    as_large: "this is not true: with two thirds of the width",
    attention: "your class differs from PyTorch's grouped attention by",
    block: "your block differs from the package's layer by",
}
