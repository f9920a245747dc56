"""The record of search by meaning: its searches are what their papers say, and its rows fit."""

import math
import subprocess

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
    stems = [text.replace("runs", "run") for text in TEXTS]
    np.testing.assert_allclose(
        meaning.by_words(["Dogs sleeping"], TEXTS, k, b, stemming=True),
        meaning.by_words(["dog sleep"], stems, k, b),
    )


def test_of_equal_scores_the_right_text_comes_last():
    scores = np.array([[1.0, 0, 1], [2, 1, 0], [0, 0, 0.5]])
    assert meaning.ranks(scores, meaning.own(scores)).tolist() == [2, 2, 1]
    right = np.array([[True, True, False], [False, True, True], [True, True, False]])
    assert meaning.ranks(scores, right).tolist() == [2, 2, 2]


@pytest.mark.skipif(
    subprocess.run(["git", "cat-file", "-e", meaning.COURSE], cwd=meaning.ROOT).returncode != 0,
    reason="this copy does not have the commit whose lessons are searched",
)
def test_a_definition_has_a_right_paragraph_and_no_copy_of_it():
    queries, texts, right = meaning.course()
    rows = [r for r in read(RECORDS / "search_ranks.csv") if r["split"] == "course"]
    assert [(r["query"], int(r["texts"])) for r in rows] == [(q, len(texts)) for q in queries]
    assert right.shape == (len(queries), len(texts))
    assert right.any(axis=1).all()
    assert (right.mean(axis=1) < 0.2).all()
    everything = " ".join(" ".join(meaning.words(text)) for text in texts)
    for query in queries:
        words = meaning.words(query)
        assert not any(" ".join(words[i : i + 6]) in everything for i in range(len(words) - 5))


def test_the_scores_are_those_of_the_ranks():
    ranks = read(RECORDS / "search_ranks.csv")
    for row in read(RECORDS / "search.csv"):
        mine = [r for r in ranks if r["split"] == row["split"]]
        assert len(mine) == int(row["queries"]) == meaning.SPLITS[row["split"]]
        first = [[int(r[name]) == 1 for r in mine] for name in row["search"].split(" − ")]
        shares = [100 * sum(found) / len(mine) for found in first]
        assert float(row["recall_1"]) == pytest.approx(shares[0] - sum(shares[1:]), abs=0.051)
        assert float(row["recall_1_low"]) < float(row["recall_1"]) < float(row["recall_1_high"])


def test_what_the_lesson_says_of_the_searches():
    row = {(r["split"], r["search"]): r for r in read(RECORDS / "search.csv")}
    seen, new = meaning.CAPTIONS
    for split in meaning.CAPTIONS:
        assert float(row[split, "sentence_vectors − stems"]["recall_1_low"]) > 0
        assert float(row[split, "untranslated"]["recall_1_high"]) < 25
    for weak, strong in (("BM25", "stems"), ("embeddings", "component_removed")):
        gains = [float(row[new, f"sentence_vectors − {x}"]["recall_1"]) for x in (weak, strong)]
        assert gains[1] < 0.7 * gains[0]
    layers = [row[split, "sentence_vectors − component_removed"] for split in (seen, new)]
    assert [float(r["recall_1_low"]) > 0 for r in layers] == [True, False]
    for search in meaning.SEARCHES:
        assert float(row[new, search]["recall_1_high"]) < float(row[seen, search]["recall_1_low"])
    paragraphs, sentences = (
        row[x, "sentence_vectors − stems"] for x in ("course", "course_sentences")
    )
    assert float(paragraphs["recall_1_high"]) < 0
    assert float(sentences["recall_1_low"]) < 0 < float(sentences["recall_1_high"])


def test_no_best_setting_is_at_an_end_that_could_go_further():
    rows = read(RECORDS / "search_settings.csv")
    for name in meaning.GRIDS:
        best = max((r for r in rows if r["search"] == name), key=lambda r: float(r["mrr"]))
        first, *b = map(float, best["setting"].split())
        tried = [float(r["setting"].split()[0]) for r in rows if r["search"] == name]
        last_is_a_limit = name == "component_removed"  # equal weights
        assert min(tried) < first < max(tried) + last_is_a_limit
        assert 0 not in b


@pytest.mark.slow
def test_the_mean_of_embeddings_is_a_weighted_mean_and_a_vector_finds_itself(minilm):
    model, tokenizer = meaning.minilm()
    table, total = model.tokens.weight.detach().double().numpy(), meaning.frequencies().total()

    def mean(text):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        weights = [0.01 / (0.01 + meaning.frequencies()[i] / total) for i in ids]
        return sum(w * table[i] for w, i in zip(weights, ids, strict=True)) / len(ids)

    queries, texts = map(np.stack, ([mean("a dog")], [mean(text) for text in TEXTS]))
    common = np.linalg.eigh(texts.T @ texts)[1][:, -1:]
    for removing in (False, True):
        one, other = (rows - removing * rows @ common @ common.T for rows in (queries, texts))
        lengths = np.linalg.norm(one, axis=1)[:, None] * np.linalg.norm(other, axis=1)
        scores = meaning.by_mean_embedding(["a dog"], TEXTS, 0.01, removing)
        np.testing.assert_allclose(scores, one @ other.T / lengths, atol=1e-4)
    scores = meaning.by_sentence_vector(TEXTS, TEXTS)
    assert meaning.ranks(scores, meaning.own(TEXTS)).tolist() == [1, 1, 1, 1]
