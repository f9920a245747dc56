"""Answers of readers who saw only the statement."""
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.masking import causal_mask, padding_mask, target_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.transformer import Embedding
from answers import right, wrong


@right("tied_logits")
def _(x, E):
    return x @ E.T


@wrong("tied_logits", "without a transpose, the widths do not fit")
def _(x, E):
    return x @ E






@right("make_stack")
def _(make, num_layers):
    return [make() for _ in range(num_layers)]








def norm(x):
    return F.layer_norm(x, x.shape[-1:])


@right("encoder_block")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = (X @ Q) @ (X @ K).T / X.size(-1) ** 0.5
    tilde = A.softmax(-1) @ (X @ V)
    M = norm(tilde @ W_O + X)
    H = torch.relu(M @ W_1) @ W_2
    return norm(M + H)








@right("model_parameters")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab








right("unmoved_by_shuffling")("DG")
wrong("unmoved_by_shuffling", "the printed letters that moved")("ABCEF")
wrong("unmoved_by_shuffling", "a tiny rounding taken for a movement")("D")
wrong("unmoved_by_shuffling", "every attention is blind to order, all of them")("ABCDEFG")

right("first_loss_limit")(12)
wrong("first_loss_limit", "where it says half a nat too much")(9)
wrong("first_loss_limit", "the rule's v/2 alone is one nat")(2)
wrong("first_loss_limit", "2 ln V, where v/2 is the logarithm of V")(10)


def layers(config):
    return nn.ModuleList(
        EncoderLayer(
            MultiHeadAttention(config.d_model, config.num_heads),
            FeedForward(config.d_model, config.d_ff),
            lambda: Residual(config.d_model, config.dropout, "pre"),
        )
        for _ in range(config.num_layers)
    )


@right("language_model")
class MyLanguageModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = Embedding(config.tgt_vocab, config)
        self.layers = layers(config)
        self.norm = nn.LayerNorm(config.d_model)

    def forward(self, tokens):
        mask = target_mask(tokens)
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T






