import torch
from torch import nn

from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.multi_head_attention import MultiHeadAttention
from transformer_workbook.chapters.layers import proofs


class Wrong(nn.Module):
    """A network without a nonlinearity, which adds what the subclass says."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.outer(self.inner(x)) + self.added(x)

    def added(self, x):
        return 0


class Neighbourly(Wrong):
    def added(self, x):
        return x.mean(dim=0)


class Forgetful(Wrong):
    """Its derivative is another at every call."""

    def added(self, x):
        return x * torch.rand(())


class AlwaysPost(EncoderLayer):
    def __init__(self, d_model, num_heads, d_ff, is_pre):
        parts = MultiHeadAttention(d_model, num_heads), FeedForward(d_model, d_ff)
        super().__init__(*parts, lambda: Residual(d_model, 0.1, "post"))

    def forward(self, x, mask=None):
        return super().forward(x, torch.ones(1, 1, 5, 5).bool())


def all_alike():
    attentions = [MultiHeadAttention(32, 4) for _ in range(2)]
    proofs.all_alike(torch.randn(1, 8, 32), attentions, [0.5] * 13)


def conclusions():
    numbers = torch.ones(3, 2), torch.full((2,), -3.0), torch.ones(2, 3)
    proofs.conclusions(Wrong, torch.ones(1, 3), numbers, torch.ones(1, 3))


def position_wise():
    proofs.position_wise(Neighbourly)


def shortcut():
    proofs.shortcut(Forgetful)


def layer_norm():
    proofs.layer_norm(lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True))


def encoder_layer():
    proofs.encoder_layer(AlwaysPost, EncoderLayer)


def depth():
    kinds = {"plain, 24": (24, False), "shortcut, 24": (24, True)}
    proofs.depth(lambda depth, shortcut, rate: (0.0, 1.0), kinds)


REFUTED = {
    all_alike: "this is not true: apart is over 0.9",
    conclusions: "that of your class differs from the change computed by hand",
    position_wise: "this is not true: each output of the network",
    shortcut: "that of x + F(x) differs from the Jacobian of F plus the identity",
    layer_norm: "yours differs from the output of nn.LayerNorm",
    encoder_layer: "your class differs from pre-norm in nn.TransformerEncoderLayer",
    depth: "this is not true: after 150 steps",
}
