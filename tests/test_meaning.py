"""The record of search by meaning: its searches are what their papers say, and its rows fit."""

import math

import numpy as np
import pytest

from records import meaning
from records.tables import RECORDS, read

TEXTS = ["a dog runs", "a dog and a dog sleep on a mat", "the cat", "two men run"]


@pytest.mark.parametrize(("k", "b"), [(1.2, 0.75), (0.3, 0.0), (2.0, 1.0)])
def test_bm25_is_the_sum_of_its_formula(k, b):
    bags = [text.split() for text in TEXTS]
    mean = sum(map(len, bags)) / len(bags)

    def score(query, bag):
        total = 0.0
        for word in query.split():
            having = sum(word in other for other in bags)
            idf = math.log(1 + (len(bags) - having + 0.5) / (having + 0.5))
            often = bag.count(word)
            total += idf * often * (k + 1) / (often + k * (1 - b + b * len(bag) / mean))
        return total

    queries = ["A dog, a cat!", "nobody", "dog dog runs"]
    plain = ["a dog a cat", "nobody", "dog dog runs"]
    expected = [[score(query, bag) for bag in bags] for query in plain]
    np.testing.assert_allclose(meaning.by_words(queries, TEXTS, k, b), expected, atol=1e-12)


def test_of_equal_scores_the_own_caption_comes_last():
    scores = np.array([[1.0, 0, 1], [2, 1, 0], [0, 0, 0.5]])
    assert meaning.ranks(scores).tolist() == [2, 2, 1]


def test_the_scores_are_those_of_the_ranks():
    ranks = read(RECORDS / "search_ranks.csv")
    for row in read(RECORDS / "search.csv"):
        mine = [r for r in ranks if r["split"] == row["split"]]
        assert len(mine) == int(row["captions"]) == 1000
        first = [[int(r[name]) == 1 for r in mine] for name in row["search"].split(" − ")]
        shares = [sum(found) / 10 for found in first]
        assert float(row["recall_1"]) == pytest.approx(shares[0] - sum(shares[1:]), abs=0.051)
        assert float(row["recall_1_low"]) < float(row["recall_1"]) < float(row["recall_1_high"])


def test_what_the_lesson_says_of_the_searches():
    row = {(r["split"], r["search"]): r for r in read(RECORDS / "search.csv")}
    seen, new = meaning.SPLITS
    for split in meaning.SPLITS:
        assert float(row[split, "sentence_vectors − BM25"]["recall_1_low"]) > 0
        assert float(row[split, "sentence_vectors − embeddings"]["recall_1_low"]) > 0
        assert float(row[split, "untranslated"]["recall_1_high"]) < 25
    gains = [row[split, "sentence_vectors − BM25"] for split in (seen, new)]
    assert float(gains[1]["recall_1"]) > float(gains[0]["recall_1_low"])
    for search in meaning.SEARCHES:
        assert float(row[new, search]["recall_1_high"]) < float(row[seen, search]["recall_1_low"])


def test_no_best_setting_is_at_an_end_that_could_go_further():
    rows = read(RECORDS / "search_settings.csv")
    best = {
        name: max((r for r in rows if r["search"] == name), key=lambda r: float(r["mrr"]))
        for name in ("BM25", "embeddings")
    }
    k, b = map(float, best["BM25"]["setting"].split())
    assert min(meaning.BM25)[0] < k < max(meaning.BM25)[0]
    assert b > 0
    assert min(meaning.RARITY) < float(best["embeddings"]["setting"]) < max(meaning.RARITY)


@pytest.mark.slow
def test_the_mean_of_embeddings_is_a_weighted_mean_and_a_vector_finds_itself(minilm):
    [[cosine]] = meaning.by_mean_embedding(["a dog"], ["a dog runs"], 0.01)
    model, tokenizer = meaning.minilm()
    table, total = model.tokens.weight.detach().double().numpy(), meaning.frequencies().total()

    def mean(text):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        weights = [0.01 / (0.01 + meaning.frequencies()[i] / total) for i in ids]
        return sum(w * table[i] for w, i in zip(weights, ids, strict=True))

    one, other = mean("a dog"), mean("a dog runs")
    assert cosine == pytest.approx(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    assert meaning.ranks(meaning.by_sentence_vector(TEXTS, TEXTS)).tolist() == [1, 1, 1, 1]
