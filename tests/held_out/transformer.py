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


@wrong("tied_logits", "looks up the nearest: the cosine instead of the product")
def _(x, E):
    return F.normalize(x, dim=-1) @ F.normalize(E, dim=-1).T


@wrong("tied_logits", "multiplied by the root of d, as the embeddings are")
def _(x, E):
    return x @ E.T * x.size(-1) ** 0.5


@right("make_stack")
def _(make, num_layers):
    return [make() for _ in range(num_layers)]


@wrong("make_stack", "one layer, not even copied")
def _(make, num_layers):
    return [make()] * num_layers


@wrong("make_stack", "calls make in the loop, but copies the first")
def _(make, num_layers):
    layers = [make()]
    for _ in range(num_layers - 1):
        layers.append(deepcopy(layers[-1]))
    return layers


@wrong("make_stack", "one layer too many: the first and then num_layers more")
def _(make, num_layers):
    layers = [make()]
    for _ in range(num_layers):
        layers.append(make())
    return layers


def norm(x):
    return F.layer_norm(x, x.shape[-1:])


@right("encoder_block")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = (X @ Q) @ (X @ K).T / X.size(-1) ** 0.5
    tilde = A.softmax(-1) @ (X @ V)
    M = norm(tilde @ W_O + X)
    H = torch.relu(M @ W_1) @ W_2
    return norm(M + H)


@wrong("encoder_block", "the second shortcut from X, not from M")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = (X @ Q) @ (X @ K).T / X.size(-1) ** 0.5
    M = norm(A.softmax(-1) @ (X @ V) @ W_O + X)
    return norm(X + torch.relu(M @ W_1) @ W_2)


@wrong("encoder_block", "the softmax over the queries")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = (X @ Q) @ (X @ K).T / X.size(-1) ** 0.5
    M = norm(A.softmax(0) @ (X @ V) @ W_O + X)
    return norm(M + torch.relu(M @ W_1) @ W_2)


@wrong("encoder_block", "ReLU after W_2 as well")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = (X @ Q) @ (X @ K).T / X.size(-1) ** 0.5
    M = norm(A.softmax(-1) @ (X @ V) @ W_O + X)
    return norm(M + torch.relu(M @ W_1 @ W_2))


@right("model_parameters")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab


@wrong("model_parameters", "the logits' bias forgotten")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e, c = a + f + 4 * d, 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d


@wrong("model_parameters", "layer normalisations with a gain only")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e, c = a + f + 2 * d, 2 * a + f + 3 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab


@wrong("model_parameters", "three tables although they are one")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e, c = a + f + 4 * d, 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + 3 * vocab * d + vocab


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


@wrong("language_model", "hides the padding only")
class MyLanguageModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = Embedding(config.tgt_vocab, config)
        self.layers = layers(config)
        self.norm = nn.LayerNorm(config.d_model)

    def forward(self, tokens):
        mask = padding_mask(tokens)
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T


@wrong("language_model", "makes the norm and never calls it")
class MyLanguageModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = Embedding(config.tgt_vocab, config)
        self.layers = layers(config)
        self.norm = nn.LayerNorm(config.d_model)

    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return F.linear(x, self.embedding.tokens.weight)


@wrong("language_model", "a mask for the future alone, padding is seen")
class MyLanguageModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = Embedding(config.tgt_vocab, config)
        self.layers = layers(config)
        self.norm = nn.LayerNorm(config.d_model)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, causal_mask(tokens.size(1)))
        return F.linear(self.norm(x), self.embedding.tokens.weight)
