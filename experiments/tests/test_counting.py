"""Counting captions gives probabilities, and those of Witten and Bell."""

import math

import pytest

from annotated_transformer.tokens import BOS, EOS
from records.counting import Counts

TEXTS = [[4, 5, 6], [4, 5], [7, 5, 6, 4]]
VOCABULARY = 9


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("before", [(BOS, BOS), (BOS, 4), (4, 5), (6, 8), (8, 8)])
def test_the_probabilities_of_all_tokens_add_up_to_one(order: int, before: tuple[int, ...]) -> None:
    counts = Counts(TEXTS, order, VOCABULARY)
    before = before[len(before) - order + 1 :]
    each = [counts.probability(before, token) for token in range(VOCABULARY)]
    assert min(each) > 0
    assert math.fsum(each) == pytest.approx(1)


def test_they_are_those_that_one_computes_by_hand() -> None:
    """After 5 come 6, 6 and <eos>: two kinds of token, three in all."""
    unigram = (2 + 5 * 1 / 9) / (12 + 5)  # 12 tokens of five kinds, two of them 6
    bigram = (2 + 2 * unigram) / (3 + 2)
    counts = Counts(TEXTS, 2, VOCABULARY)
    assert counts.probability((), 6) == pytest.approx(unigram)
    assert counts.probability((5,), 6) == pytest.approx(bigram)
    assert counts.probability((8,), 6) == pytest.approx(unigram)  # never seen before a token


def test_its_perplexity_is_of_every_token_and_the_end() -> None:
    counts = Counts(TEXTS, 2, VOCABULARY)
    pairs = [(BOS, 7), (7, 5), (5, EOS)]
    product = math.prod(counts.probability((a,), b) for a, b in pairs)
    assert counts.perplexity([[7, 5]]) == pytest.approx(product ** (-1 / 3))
