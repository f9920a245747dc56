import torch

from transformer_workbook.chapters.translation import proofs


def corpus_bleu():
    proofs.corpus_bleu(40.0, ["a cat chases a dog"], ["a cat is chasing a dog"])


def model_or_search():
    right = {"Hund": "dog", "Katze": "cat", "Friseur": "barber"}
    proofs.model_or_search(lambda german, english: 0.0, right, ["god", "act", "man"])


def endings_change_nothing():
    proofs.endings_change_nothing(["A dog."] * 20, ["A dog."] * 19 + ["A cat."])


def a_head_sees_the_ending():
    even = [torch.full((8, 1, 2), 0.5)] * 3
    proofs.a_head_sees_the_ending(even, ["▁dog"], ["▁Ein", "en"])


REFUTED = {
    corpus_bleu: "yours differs from sacreBLEU's score of these captions by",
    model_or_search: "this is not true: with the barber, the log p of the right sentence",
    endings_change_nothing: "this is not true: exchanging the endings",
    a_head_sees_the_ending: "this is not true: of 24 heads, one of layer 1",
}
