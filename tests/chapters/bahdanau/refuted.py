from dataclasses import replace

import torch
from torch import nn

from annotated_transformer.bahdanau import AdditiveAttention, Bahdanau
from annotated_transformer.recurrent import RecurrentLayer
from annotated_transformer.seq2seq import RecurrentConfig
from transformer_workbook.chapters.bahdanau import proofs

EXAMPLES = [([5, 6, 7], [5, 6]), ([8, 9], [7, 8, 9])]


class Attention(nn.Module):
    def __init__(self, query_dim, row_dim, hidden):
        super().__init__()
        self.W = nn.Linear(query_dim, hidden, bias=False)
        self.U = nn.Linear(row_dim, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)

    def forward(self, query, h, mask):
        scores = self.v(self.W(query)[:, None] + self.U(h)).squeeze(-1)  # no tanh
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        return (weights[:, None] @ h).squeeze(1), weights


class Decoder(nn.Module):
    """A decoder that does not look."""

    def __init__(self, vocabulary):
        super().__init__()
        self.attention, self.cell = Attention(1, 1, 1), nn.GRUCell(1, 1)

    def forward(self, word, s, memory, mask):
        y = self.embedding(word)
        seen = torch.cat([s, memory.mean(dim=1), y], dim=-1)
        return self.output(torch.tanh(self.readout(seen))), s


class Leaky(Bahdanau):
    def start(self, src):
        state = super().start(src)
        return replace(state, mask=torch.ones_like(state.mask))


def by_hand():
    h, scores = torch.eye(3), torch.eye(3)
    weights = scores.softmax(dim=0) * torch.tensor([[1.0], [1.0], [2.0]])
    proofs.by_hand(h, scores, weights, weights @ h)


def annotations():
    layers = [RecurrentLayer("gru", 4, 5) for _ in range(2)]  # both read from the left
    x, is_word = torch.randn(2, 6, 4), torch.ones(2, 6).bool()
    memory = torch.cat([layer(x, is_word)[0] for layer in layers], dim=-1)
    proofs.annotations(layers, x, is_word, memory)


def additive_score():
    proofs.additive_score(Attention, AdditiveAttention)


def one_loss():
    model = Bahdanau(RecurrentConfig(12, 12))
    model.unused = nn.Linear(1, 1)
    proofs.one_loss(model, EXAMPLES)


def decoder():
    proofs.decoder(Decoder, Bahdanau(RecurrentConfig(12, 12)), EXAMPLES)


def mask():
    proofs.mask(Leaky(RecurrentConfig(12, 12)), EXAMPLES, [([5] * 40, [5])])


REFUTED = {
    by_hand: "your weights differs from the exponentials of the scores",
    annotations: "this is not true: a new third word changes",
    additive_score: "your weights differs from a loop",
    one_loss: "this is not true: the loss of one sentence sends a gradient",
    decoder: "those of your decoder differs from the logits of Bahdanau",
    mask: "this is not true: with the mask, 2 sentences",
}
