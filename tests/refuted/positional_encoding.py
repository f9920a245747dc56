"""What the proofs of chapter 7 must refuse."""

import torch
from torch import nn

from annotated_transformer.attention import SelfAttention
from annotated_transformer.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    sinusoidal_encoding,
)
from transformer_workbook.proofs import positional_encoding as proofs


def bag_of_words():
    proofs.bag_of_words(lambda x: x.cumsum(dim=1))


def formula():
    proofs.formula(sinusoidal_encoding(41, 20)[1:], sinusoidal_encoding)


def turn():
    proofs.turn(lambda k, d: torch.eye(d))


def one_word_back():
    proofs.one_word_back(torch.eye(9))


def positions():
    proofs.positions(SinusoidalPositionalEncoding, LearnedPositionalEncoding)


def equal_norms():
    proofs.equal_norms({"sinusoids": [], "learned": []}, lambda *_: "50% (50–50%)")


class OneHead(nn.Module):
    def __init__(self, positions):
        super().__init__()
        self.words, self.positions = nn.Embedding(8, 16), positions
        self.look = SelfAttention(16, 16, 16)

    def forward(self, tokens):
        return self.look(self.positions(self.words(tokens)))


def fastest_hand():
    proofs.fastest_hand(OneHead, lambda model: model)  # which has not been trained


def rotary():
    proofs.rotary(lambda x, positions=None: x, lambda p, d: torch.eye(d))


REFUTED = {
    bag_of_words: "this is not true: the layer: in all 120 orders of five words",
    formula: "your matrix differs from the formula",
    turn: "turned differs from all encodings some positions on",
    one_word_back: "this is not true: each of the 8 positions after the first",
    positions: "the package differs from the formula",
    equal_norms: "this is not true: every run with positions answers every question",
    fastest_hand: "this is not true: all frequencies × 0.8: position 6 attends 8",
    rotary: "this is not true: without the rotation the scores are others",
}
