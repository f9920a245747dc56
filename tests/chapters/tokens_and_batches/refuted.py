from dataclasses import replace

import torch
from torch import nn

from annotated_transformer import toy
from annotated_transformer.batches import Batch
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.tokens import Vocabulary
from transformer_workbook.chapters.tokens_and_batches import proofs

STUDENT, ROBOT = toy.EXAMPLES
CORPUS = {"train": [STUDENT, ROBOT]}
EXAMPLES = [([5, 6, 7], [5, 6]), ([8, 9], [7, 8, 9])]


class Words:
    """A vocabulary that forgets the special tokens."""

    def __init__(self, sentences):
        self.tokens = " ".join(sentences).split()


class Unshifted(Batch):
    @classmethod
    def of(cls, examples):
        batch = Batch.of(examples)
        return replace(batch, tgt_in=batch.tgt_out)


def no_sentence_twice():
    proofs.no_sentence_twice({"train": [ROBOT], "test": [STUDENT, ROBOT]})


def vocabularies():
    english, korean = (
        Vocabulary.words(" ".join(getattr(pair, side)) for pair in CORPUS["train"])
        for side in ("src", "tgt")
    )
    proofs.vocabularies(Words, CORPUS, english, korean)


def merges():
    texts = [" ".join(pair.src) for pair in CORPUS["train"]]
    pieces = Vocabulary.subwords(texts, size=40)
    proofs.merges(lambda word, pair: word, lambda words: {("a", "b"): 1}, pieces, texts)


def groups():
    proofs.groups([[0, 1]], EXAMPLES, max_tokens=7)


def batches():
    proofs.batches(Unshifted, EXAMPLES)


def loss():
    logits, target = torch.randn(2, 3, 12), torch.tensor([[5, 6, 2], [7, 2, 0]])
    with_padding = nn.functional.cross_entropy(logits.mT, target)
    proofs.loss(smoothed_cross_entropy, logits, target, with_padding)


def counting():
    untrained = (torch.zeros_like, nn.Embedding(12, 12))
    proofs.counting({"bigram": untrained}, EXAMPLES, {"bigram": 8.5})


REFUTED = {
    no_sentence_twice: "this is not true: of 3 English sentences none occurs twice",
    vocabularies: "this is not true: library and class know the same",
    merges: "this is not true: each of the library's",
    groups: "this is not true: no batch has more than 7 positions",
    batches: "this is not true: tgt_in holds the lists",
    loss: "yours differs from PyTorch's mean",
    counting: "this is not true: the bigram model is within",
}
