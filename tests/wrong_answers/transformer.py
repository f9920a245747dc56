"""Answers of readers who saw only the statement."""
import math
from copy import deepcopy
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from answers import right, wrong

from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.masking import causal_mask, padding_mask, target_mask
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import ENCODINGS
from annotated_transformer.transformer import Embedding

torch.set_default_dtype(torch.float64)

# ---------------------------------------------------------------- 1 tied logits


@right("tied_logits")
def _(x, E):
    return x @ E.T


@right("tied_logits")
def _(x, E):
    return torch.einsum("btd,vd->btv", x, E)


@right("tied_logits")
def _(x, E):
    return F.linear(x, E)


@wrong("tied_logits", "forgets the transpose")
def _(x, E):
    return x @ E


@wrong("tied_logits", "gives probabilities, not logits")
def _(x, E):
    return (x @ E.T).softmax(dim=-1)


@wrong("tied_logits", "times sqrt(d), as the embedding does")
def _(x, E):
    return x @ E.T * math.sqrt(x.size(-1))


@wrong("tied_logits", "divides by sqrt(d), as attention does")
def _(x, E):
    return x @ E.T / E.size(1) ** 0.5


@wrong("tied_logits", "log-probabilities")
def _(x, E):
    return torch.log_softmax(x @ E.mT, -1)


@wrong("tied_logits", "cosine similarity")
def _(x, E):
    return F.normalize(x, dim=-1) @ F.normalize(E, dim=-1).T


@wrong("tied_logits", "only the last position")
def _(x, E):
    return x[:, -1:] @ E.T


@wrong("tied_logits", "reshapes instead of transposing")
def _(x, E):
    return x @ E.reshape(E.size(1), E.size(0))


@wrong("tied_logits", "axes of the result in the wrong order")
def _(x, E):
    return E @ x.transpose(1, 2)


# ---------------------------------------------------------------- 2 make stack


@right("make_stack")
def _(make, num_layers):
    return [make() for _ in range(num_layers)]


@right("make_stack")
def _(make, num_layers):
    layers = []
    while len(layers) < num_layers:
        layers.append(deepcopy(make()))
    return layers


@wrong("make_stack", "the same object many times")
def _(make, num_layers):
    return [make()] * num_layers


@wrong("make_stack", "drops deepcopy, keeps the one layer")
def _(make, num_layers):
    layer = make()
    return [layer for _ in range(num_layers)]


@wrong("make_stack", "does not call make")
def _(make, num_layers):
    return [make for _ in range(num_layers)]


@wrong("make_stack", "one layer too many: the first one kept")
def _(make, num_layers):
    layers = [make()]
    for _ in range(num_layers):
        layers.append(make())
    return layers


@wrong("make_stack", "one layer too few")
def _(make, num_layers):
    return [make() for _ in range(1, num_layers)]


@wrong("make_stack", "the same seed before each")
def _(make, num_layers):
    stack = []
    for _ in range(num_layers):
        torch.manual_seed(0)
        stack.append(make())
    return stack


@wrong("make_stack", "two fresh layers that take turns")
def _(make, num_layers):
    first, second = make(), make()
    return [deepcopy((first, second)[i % 2]) for i in range(num_layers)]


@wrong("make_stack", "copies, and draws again only the first")
def _(make, num_layers):
    layer = make()
    return [make()] + [deepcopy(layer) for _ in range(num_layers - 1)]


@wrong("make_stack", "copies and adds a little noise")
def _(make, num_layers):
    layer = make()
    return [layer + 0.01 * torch.randn_like(layer) for _ in range(num_layers)]


@wrong("make_stack", "resets parameters, which a matrix has not")
def _(make, num_layers):
    layer = make()
    layers = [deepcopy(layer) for _ in range(num_layers)]
    for copy in layers:
        copy.reset_parameters()
    return layers


# ---------------------------------------------------------------- 3 encoder block


def norm(x):
    return F.layer_norm(x, x.shape[-1:])


@right("encoder_block")
def _(X, Q, K, V, W_O, W_1, W_2):
    d = X.size(-1)
    A = (X @ Q) @ (X @ K).T / math.sqrt(d)
    heard = A.softmax(dim=-1) @ (X @ V)
    M = F.layer_norm(heard @ W_O + X, X.shape[-1:])
    return F.layer_norm(M + torch.relu(M @ W_1) @ W_2, M.shape[-1:])


@right("encoder_block")
def _(X, Q, K, V, W_O, W_1, W_2):
    x = F.scaled_dot_product_attention((X @ Q)[None], (X @ K)[None], (X @ V)[None])[0]
    m = norm(torch.addmm(X, x, W_O))
    return norm(m + F.linear(F.linear(m, W_1.T).clamp(min=0), W_2.T))


@right("encoder_block")
def _(X, Q, K, V, W_O, W_1, W_2):
    out = []
    for x in X:
        scores = torch.stack([(x @ Q) @ (y @ K) for y in X]) / x.numel() ** 0.5
        weights = torch.exp(scores - scores.max())
        weights = weights / weights.sum()
        mixed = sum(w * (y @ V) for w, y in zip(weights, X))
        m = norm(mixed @ W_O + x)
        out.append(norm(m + torch.relu(m @ W_1) @ W_2))
    return torch.stack(out)


@wrong("encoder_block", "the formula's F hides torch's F: UnboundLocalError")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / math.sqrt(X.shape[-1])
    X_tilde = A.softmax(-1) @ (X @ V)
    M = F.layer_norm(X_tilde @ W_O + X, X.shape[-1:])
    F = torch.relu(M @ W_1) @ W_2
    return F.layer_norm(M + F, M.shape[-1:])


@wrong("encoder_block", "no scaling")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T
    M = norm(A.softmax(-1) @ (X @ V) @ W_O + X)
    return norm(M + torch.relu(M @ W_1) @ W_2)


@wrong("encoder_block", "divides by d")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / X.size(-1)
    M = norm(A.softmax(-1) @ (X @ V) @ W_O + X)
    return norm(M + torch.relu(M @ W_1) @ W_2)


@wrong("encoder_block", "root of the number of words")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / math.sqrt(X.shape[0])
    M = norm(A.softmax(-1) @ (X @ V) @ W_O + X)
    return norm(M + torch.relu(M @ W_1) @ W_2)


@wrong("encoder_block", "softmax over the queries")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / math.sqrt(X.size(-1))
    M = norm(A.softmax(0) @ (X @ V) @ W_O + X)
    return norm(M + torch.relu(M @ W_1) @ W_2)


@wrong("encoder_block", "forgets O")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / math.sqrt(X.size(-1))
    M = norm(A.softmax(-1) @ (X @ V) + X)
    return norm(M + torch.relu(M @ W_1) @ W_2)


@wrong("encoder_block", "the second shortcut begins at X")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / math.sqrt(X.size(-1))
    M = norm(A.softmax(-1) @ (X @ V) @ W_O + X)
    return norm(X + torch.relu(M @ W_1) @ W_2)


@wrong("encoder_block", "ReLU after the second matrix")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / math.sqrt(X.size(-1))
    M = norm(A.softmax(-1) @ (X @ V) @ W_O + X)
    return norm(M + torch.relu(M @ W_1 @ W_2))


@wrong("encoder_block", "the sigma as the logistic sigmoid")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / math.sqrt(X.size(-1))
    M = norm(A.softmax(-1) @ (X @ V) @ W_O + X)
    return norm(M + torch.sigmoid(M @ W_1) @ W_2)


@wrong("encoder_block", "layer norm over all words at once")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / math.sqrt(X.size(-1))
    M = A.softmax(-1) @ (X @ V) @ W_O + X
    M = F.layer_norm(M, M.shape)
    Z = M + torch.relu(M @ W_1) @ W_2
    return F.layer_norm(Z, Z.shape)


@wrong("encoder_block", "no LayerNorm at the end")
def _(X, Q, K, V, W_O, W_1, W_2):
    A = X @ Q @ (X @ K).T / math.sqrt(X.size(-1))
    M = norm(A.softmax(-1) @ (X @ V) @ W_O + X)
    return M + torch.relu(M @ W_1) @ W_2


# ---------------------------------------------------------------- 4 parameters


@right("model_parameters")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab


@right("model_parameters")
def _(vocab, num_layers, d, d_ff):
    linear = lambda n, m: (n + 1) * m
    a = 4 * linear(d, d)
    f = linear(d, d_ff) + linear(d_ff, d)
    ln = 2 * d
    e, c = a + f + 2 * ln, a + a + f + 3 * ln
    return [a, f, e, c, num_layers * e + num_layers * c + linear(d, vocab)]


@wrong("model_parameters", "three matrices in attention, no output matrix")
def _(vocab, num_layers, d, d_ff):
    a = 3 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab


@wrong("model_parameters", "feed-forward's two biases both of d_ff")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + 2 * d_ff
    e = a + f + 4 * d
    c = 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab


@wrong("model_parameters", "layer norms without their shift")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 2 * d
    c = 2 * a + f + 3 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab


@wrong("model_parameters", "one norm in each layer")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 2 * d
    c = 2 * a + f + 2 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab


@wrong("model_parameters", "forgets the bias of the logits")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d


@wrong("model_parameters", "one table each for source, target and logits")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + 3 * vocab * d + vocab


@wrong("model_parameters", "final norms, as in pre-norm")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab + 4 * d


@wrong("model_parameters", "decoder has one attention and only two norms")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = a + f + 4 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + vocab


@wrong("model_parameters", "decoder's third norm forgotten")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = 2 * a + f + 4 * d
    return a, f, e, c, num_layers * (e + c) + (vocab + 1) * d


@wrong("model_parameters", "bias of the logits has d entries")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    e = a + f + 4 * d
    c = 2 * a + f + 6 * d
    return a, f, e, c, num_layers * (e + c) + vocab * d + d


@wrong("model_parameters", "the total alone")
def _(vocab, num_layers, d, d_ff):
    a = 4 * (d**2 + d)
    f = 2 * d * d_ff + d_ff + d
    return num_layers * (3 * a + 2 * f + 10 * d) + vocab * d + vocab


# ---------------------------------------------------------------- 5 shuffling (a value)

right("unmoved_by_shuffling")("DG")
wrong("unmoved_by_shuffling", "thinks of the missing positions only")("G")
wrong("unmoved_by_shuffling", "thinks of the missing source only")("D")
wrong("unmoved_by_shuffling", "thinks a forgotten mask makes order invisible")("CDG")
wrong("unmoved_by_shuffling", "loud embeddings drown the positions entirely")("DFG")
wrong("unmoved_by_shuffling", "the loud one instead of the deaf one")("FG")
wrong("unmoved_by_shuffling", "names those that move")("ABCEF")
wrong("unmoved_by_shuffling", "thinks that copies of one layer cannot notice")("DEG")
wrong("unmoved_by_shuffling", "includes the right model")("ADG")

# ---------------------------------------------------------------- 6 first loss (a value)

right("first_loss_limit")(12)
wrong("first_loss_limit", "v/2 has reached 12")(24)
wrong("first_loss_limit", "off by one bit, ln 2, not by a nat")(10)
wrong("first_loss_limit", "standard deviation in place of the variance")(3)
wrong("first_loss_limit", "begins to differ")(2)
wrong("first_loss_limit", "v/2 is one nat")(1)
wrong("first_loss_limit", "compares with ln V + v")(5)
wrong("first_loss_limit", "wrong by two nats")(17)
wrong("first_loss_limit", "base-2 logarithm of V in the rule")(7)

# ---------------------------------------------------------------- 7 language model


@right("language_model")
class MyLanguageModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        c = config
        self.embedding = Embedding(c.tgt_vocab, c)
        self.layers = nn.ModuleList(
            EncoderLayer(
                MultiHeadAttention(c.d_model, c.num_heads, c.d_k, c.d_v, c.num_kv_heads),
                FeedForward(c.d_model, c.d_ff),
                lambda: Residual(c.d_model, c.dropout, "pre", c.norm),
            )
            for _ in range(c.num_layers)
        )
        self.norm = nn.LayerNorm(c.d_model)

    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T


@right("language_model")
class PlainModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        residual = partial(Residual, d, config.dropout, "pre")
        self.embedding = Embedding(config.tgt_vocab, config)
        self.layers = nn.ModuleList()
        for _ in range(config.num_layers):
            attention = ENCODINGS[config.positions].attention(d, config.num_heads)
            self.layers.append(EncoderLayer(attention, FeedForward(d, config.d_ff), residual))
        self.norm = nn.LayerNorm(d)

    def forward(self, tokens):
        mask = causal_mask(tokens.size(1)) & padding_mask(tokens)
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return F.linear(self.norm(x), self.embedding.tokens.weight)


def layer_of(c, position="pre"):  # each student has written it out
    return EncoderLayer(
        MultiHeadAttention(c.d_model, c.num_heads),
        FeedForward(c.d_model, c.d_ff),
        lambda: Residual(c.d_model, c.dropout, position),
    )


class Base(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding = Embedding(config.tgt_vocab, config)
        self.layers = nn.ModuleList(layer_of(config) for _ in range(config.num_layers))
        self.norm = nn.LayerNorm(config.d_model)


@wrong("language_model", "padding mask alone: sees the future")
class L1(Base):
    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, padding_mask(tokens))
        return self.norm(x) @ self.embedding.tokens.weight.T


@wrong("language_model", "causal mask alone: hears PAD")
class L2(Base):
    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = causal_mask(tokens.size(1))
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T


@wrong("language_model", "leaves the norm at the end out of forward")
class L3(Base):
    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return x @ self.embedding.tokens.weight.T


@wrong("language_model", "the norm after every layer")
class L4(Base):
    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = self.norm(layer(x, mask))
        return x @ self.embedding.tokens.weight.T


@wrong("language_model", "post-norm: takes norm_position from the config's default")
class L5(Base):
    def __init__(self, config):
        super().__init__(config)
        self.layers = nn.ModuleList(
            layer_of(config, config.norm_position) for _ in range(config.num_layers)
        )

    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T


@wrong("language_model", "multiplies the logits by sqrt(d_model)")
class L6(Base):
    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T * self.embedding.scale


@wrong("language_model", "an output layer of its own, untied, with a bias")
class L7(Base):
    def __init__(self, config):
        super().__init__(config)
        self.output = nn.Linear(config.d_model, config.tgt_vocab)

    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.output(self.norm(x))


@wrong("language_model", "every layer reads the embedding")
class L8(Base):
    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            y = layer(x, mask)
        return self.norm(y) @ self.embedding.tokens.weight.T


@wrong("language_model", "one layer, used num_layers times")
class L9(Base):
    def __init__(self, config):
        super().__init__(config)
        self.layers = nn.ModuleList([layer_of(config)] * config.num_layers)

    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T


@wrong("language_model", "one Residual for both sub-layers")
class L10(Base):
    def __init__(self, config):
        super().__init__(config)
        c, layers = config, []
        for _ in range(c.num_layers):
            residual = Residual(c.d_model, c.dropout, "pre")
            attention = MultiHeadAttention(c.d_model, c.num_heads)
            layers.append(EncoderLayer(attention, FeedForward(c.d_model, c.d_ff), lambda: residual))
        self.layers = nn.ModuleList(layers)

    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T


@wrong("language_model", "inverts the mask, as PyTorch's layers want it")
class L11(Base):
    def forward(self, tokens):
        x, mask = self.embedding(tokens), ~target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T


@wrong("language_model", "returns probabilities")
class L12(Base):
    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return (self.norm(x) @ self.embedding.tokens.weight.T).softmax(-1)


@wrong("language_model", "the number of heads forgotten: one head")
class L13(Base):
    def __init__(self, config):
        super().__init__(config)
        c = config
        self.layers = nn.ModuleList(
            EncoderLayer(
                MultiHeadAttention(c.d_model, 1),
                FeedForward(c.d_model, c.d_ff),
                partial(Residual, c.d_model, c.dropout, "pre"),
            )
            for _ in range(c.num_layers)
        )

    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T


@wrong("language_model", "takes the source's vocabulary")
class L14(Base):
    def __init__(self, config):
        super().__init__(config)
        self.embedding = Embedding(config.src_vocab, config)

    def forward(self, tokens):
        x, mask = self.embedding(tokens), target_mask(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.embedding.tokens.weight.T
