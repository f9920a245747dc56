import torch

from annotated_transformer.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    sinusoidal_encoding,
)
from transformer_workbook.chapters.positional_encoding import proofs


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


def rotary():
    proofs.rotary(lambda x, positions=None: x, lambda p, d: torch.eye(d))


REFUTED = {
    bag_of_words: "this is not true: in all 120 orders of five words",
    formula: "your matrix differs from the encodings of the formula",
    turn: "PE(p) R_k, at every p, differs from PE(p + k)",
    one_word_back: "this is not true: each of the 8 positions after the first",
    positions: "that of the package differs from the output by the formula",
    equal_norms: "this is not true: on 8 symbols, every run with positions",
    rotary: "this is not true: without the rotation the scores differ",
}
