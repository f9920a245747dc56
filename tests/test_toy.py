import hashlib
import os
import subprocess
import sys
import unicodedata
from itertools import combinations, pairwise
from random import Random
from statistics import mean

import pytest
from jaxtyping import config

from annotated_transformer.errors import InputError
from annotated_transformer.toy import (
    EXAMPLES,
    LONGEST,
    is_held_out,
    toy_corpus,
)
from annotated_transformer.toy import pair as pair_of
from annotated_transformer.toy.lexicon import ANIMATE, LEXICON, Lexicon
from annotated_transformer.toy.morphology import GLOSSES
from annotated_transformer.toy.nominals import noun_phrase
from annotated_transformer.toy.sampler import Sampler

SPLITS = ("train", "val", "test", "unseen", "longer", "deeper")


@pytest.fixture(scope="module", autouse=True)
def _unchecked():
    """No tensors here, but millions of small calls: do not check the types of each."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def corpus(_unchecked):
    return toy_corpus(pairs=4000, seed=1)


@pytest.fixture(scope="module")
def everything(corpus):
    return [pair for split in corpus.values() for pair in split]


def length(pair):
    return max(len(pair.src), len(pair.tgt))


def some(words, *english):
    return tuple(word for word in words if word.english in english)


# The splits


def test_sizes(corpus):
    assert tuple(corpus) == SPLITS
    assert [len(corpus[name]) for name in SPLITS] == [4000, 200, 200, 200, 200, 200]


def test_no_sentence_is_in_two_splits_or_twice_in_one(everything):
    assert len({pair.src for pair in everything}) == len(everything)


def test_unseen_templates_are_unseen(corpus):
    seen = {pair.template for name in SPLITS[:3] for pair in corpus[name]}
    assert seen.isdisjoint(pair.template for pair in corpus["unseen"])
    assert len({pair.template for pair in corpus["unseen"]}) > 50


def test_bounds(corpus):
    for name in SPLITS[:4]:
        assert max(map(length, corpus[name])) == 18
        assert max(pair.depth for pair in corpus[name]) == 2
    assert all(18 < length(pair) <= LONGEST and pair.depth <= 2 for pair in corpus["longer"])
    assert all(length(pair) <= LONGEST and pair.depth > 2 for pair in corpus["deeper"])


@pytest.mark.parametrize(("max_length", "max_depth"), [(8, 0), (20, 0), (12, 1), (32, 3)])
def test_bounds_are_parameters(max_length, max_depth):
    corpus = toy_corpus(200, max_length=max_length, max_depth=max_depth)
    for pairs in (corpus[name] for name in SPLITS[:4]):
        assert all(length(pair) <= max_length and pair.depth <= max_depth for pair in pairs)
    for pair in corpus["longer"]:
        assert max_length < length(pair) <= LONGEST
        assert pair.depth <= max_depth
    assert all(pair.depth > max_depth and length(pair) <= LONGEST for pair in corpus["deeper"])


def test_train_and_test_are_drawn_alike(corpus):
    # A split taken from the end of the draw would lack the short sentences, which run out first.
    assert abs(mean(map(length, corpus["train"])) - mean(map(length, corpus["test"]))) < 1


def test_training_has_every_length_depth_and_word(corpus, everything):
    train = corpus["train"]
    assert set(range(5, 19)) <= set(map(length, train))
    assert min(sum(pair.depth == depth for pair in train) for depth in range(3)) > 200
    assert {word for pair in train for word in pair.src} == {w for p in everything for w in p.src}
    assert {word for pair in train for word in pair.tgt} == {w for p in everything for w in p.tgt}


def test_word_types(corpus):
    assert 100 <= len({word for pair in corpus["train"] for word in pair.src}) <= 200
    assert 100 <= len({word for pair in corpus["train"] for word in pair.tgt}) <= 200


def test_the_same_everywhere():
    code = (
        "from annotated_transformer.toy import toy_corpus\n"
        "for split in toy_corpus(200, seed=7).values():\n"
        "    for p in split:\n"
        "        print(p.src, p.tgt, p.gloss, sorted(p.alignment), p.depth, p.template)\n"
    )
    digests = set()
    for seed in ("0", "1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        output = subprocess.run(command, env=env, capture_output=True, check=True).stdout
        assert output.count(b"\n") == 250
        digests.add(hashlib.sha256(output).hexdigest())
    assert len(digests) == 1


def test_seeds_differ():
    first, second = ({p.src for p in toy_corpus(200, seed=seed)["train"]} for seed in (0, 1))
    assert len(first & second) < 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": 19}, "pairs is 19; it must be from 20 to"),
        ({"pairs": 10_000_000}, "pairs is 10000000; it must be"),
        ({"max_length": 3}, "max_length is 3; it must be from 4 to 32"),
        ({"max_length": 33}, "max_length is 33; it must be from 4 to 32"),
        ({"max_depth": -1}, "max_depth is -1; it must be from 0 to 3"),
        ({"max_depth": 4}, "max_depth is 4; it must be from 0 to 3"),
    ],
)
def test_arguments_out_of_range(arguments, message):
    with pytest.raises(InputError, match=message):
        toy_corpus(**arguments)


@pytest.mark.slow
def test_a_space_too_small_is_reported():
    with pytest.raises(InputError, match=r"too few sentences .* of 5499 seen"):
        toy_corpus(5000, max_length=4, max_depth=0)


# The sentences


def test_examples():
    assert [" ".join(pair.src) for pair in EXAMPLES] == [
        "I am a student",
        "a robot must obey the orders given it",
    ]
    assert [pair.surface for pair in EXAMPLES] == [
        "나는 학생이다",
        "로봇은 그것에게 주어진 명령을 따라야 한다",
    ]
    assert EXAMPLES[0].gloss == ("I", "TOPIC", "student", "be")
    assert not any(is_held_out(pair.template) for pair in EXAMPLES)


class Partial(Sampler):
    """A sampler partial to what the examples are made of, which chance alone would seldom bring."""

    def _pick(self, words):
        favourites = [w for w in words if w.english in ("student", "robot", "obey", "order")]
        return self.rng.choice(favourites or words)

    def _pattern(self, kind, says):
        return "identity" if kind == "person" else "transitive" if kind in ANIMATE else "state"

    def _auxiliary(self):
        return self.rng.choice(("", "must")), False


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda pair: pair.src[-1])
def test_examples_can_be_drawn(example):
    sampler = Partial(Random(1))
    drawn = (pair_of(sampler.sentence(example.depth, 0.0)) for _ in range(200_000))
    assert example in drawn


def test_no_auxiliary_stands_beside_a_verb_after_and(everything):
    """It would seem to belong to both verbs: before "and" in English, at the end in Korean."""
    assert any("and" in pair.src for pair in everything)
    for pair in everything:
        assert not {("and", word) for word in ("must", "can", "do", "does")} & set(
            pairwise(pair.src)
        )


class Dull(Sampler):
    """A sampler that leaves only the structure of sentences to chance, so that they return."""

    def _pick(self, words):
        return words[0]

    def _perhaps(self, weight=1.0):
        return self.rng.random() < 0.4

    def _simple(self, noun, determiner=""):
        return noun_phrase(noun)

    def _topic(self, depth):
        return self._nominal(ANIMATE, depth, free=True)

    def _subject(self, kinds, depth):
        return self._nominal(kinds, depth, free=True)

    def _object(self, kinds, depth, free, subject):
        return self._nominal(kinds & ANIMATE, depth, free)

    def _pattern(self, kind, says):
        patterns = ("intransitive", "transitive", "clausal")[: 2 + says]
        return self.rng.choice(patterns) if kind in ANIMATE else "state"

    def _auxiliary(self):
        return "", False


@pytest.mark.slow
def test_english_to_korean_is_a_function():
    nouns = some(LEXICON.nouns, "man", "woman", "tree", "park")
    verbs, adjectives = some(LEXICON.verbs, "see", "run", "say"), some(LEXICON.adjectives, "big")
    words = Lexicon(nouns, verbs, adjectives)
    sampler, korean, again = Dull(Random(0), words), {}, 0
    for _ in range(20_000):
        drawn = pair_of(sampler.sentence(sampler.rng.choice((0, 1, 1, 2)), 1.0))
        translation = drawn.tgt, drawn.gloss, drawn.alignment, drawn.depth
        again += drawn.src in korean
        assert korean.setdefault(drawn.src, translation) == translation, " ".join(drawn.src)
    assert again > 3000


def test_links_join_a_word_and_its_translation(everything):
    dictionary = {"children": "child", "men": "man", "women": "woman"}
    for noun in LEXICON.nouns:
        dictionary |= {noun.english: noun.english, noun.plural: noun.english}
    for verb in LEXICON.verbs:
        dictionary |= {verb.english: verb.english, verb.third: verb.english}
    dictionary |= {adjective.english: adjective.english for adjective in LEXICON.adjectives}
    pronouns = {"me": "I", "him": "he", "her": "she", "us": "we", "them": "they"}
    for pair in everything:
        for i, category in enumerate(pair.template.split()):
            glosses = [pair.gloss[j] for k, j in sorted(pair.alignment) if k == i]
            word = pair.src[i]
            if category in ("N", "VI", "VT", "VD", "VS", "ADJ"):
                assert [gloss for gloss in glosses if gloss != "PLURAL"] == [dictionary[word]]
            elif category == "PRO":
                assert glosses == [pronouns.get(word, word)]
            elif category in ("ART", "DO"):
                assert not glosses
            elif category != "BE":
                assert glosses


def test_unlinked_korean_is_what_english_shows_by_order(everything):
    silent = {"TOPIC", "SUBJECT", "OBJECT", "COMPLEMENT", "OF", "TO", "PLAIN", "ADNOMINAL"}
    found = set()
    for pair in everything:
        linked = {j for _, j in pair.alignment}
        assert linked <= set(range(len(pair.tgt)))
        assert {i for i, _ in pair.alignment} <= set(range(len(pair.src)))
        found |= {gloss for j, gloss in enumerate(pair.gloss) if j not in linked}
    assert found == silent


def test_every_morpheme_has_a_gloss(everything):
    english = {"top", "underside", "side", "back", "be.given", "not.be", "way", "exist"}
    english |= {"not.exist", "do", "not", "because", "every", "my", "very"}
    english |= {"I", "we", "he", "she", "they", "it"}
    english |= {w.english for w in (*LEXICON.nouns, *LEXICON.verbs, *LEXICON.adjectives)}
    for pair in everything:
        assert len(pair.src) == len(pair.template.split())
        for gloss in pair.gloss:
            assert gloss in english or gloss.removeprefix("be.") in {"be", *GLOSSES}


def test_homographs_are_told_apart(everything):
    glosses = {}
    for pair in everything:
        for form, gloss in zip(pair.tgt, pair.gloss, strict=True):
            glosses.setdefault(form, set()).add(gloss)
    assert glosses["은"] == {"TOPIC", "ADNOMINAL"}
    assert glosses["을"] == {"OBJECT", "PROSPECTIVE"}
    assert glosses["이"] == glosses["가"] == {"SUBJECT", "COMPLEMENT"}
    assert glosses["내"] == {"I", "my"}


def test_only_the_living_and_robots_act(everything):
    """Whoever stands before a verb, with nothing between, is its subject."""
    things = {n.english for n in LEXICON.nouns if n.kind not in ANIMATE}
    verbs = ("VI", "VT", "VD", "VS")
    for pair in everything:
        categories = pair.template.split()
        for i in range(1, len(categories) - 3):
            if categories[i : i + 2] == ["THAT", "ART"] and categories[i + 3] in verbs:
                assert pair.src[i + 2] not in things, " ".join(pair.src)


def test_particles_agree_with_the_last_letter(everything):
    closed = {"TOPIC": "은", "SUBJECT": "이", "OBJECT": "을", "COMPLEMENT": "이"}
    for pair in everything:
        for (before, _), (form, gloss) in pairwise(zip(pair.tgt, pair.gloss, strict=True)):
            if gloss in closed:
                letters = unicodedata.normalize("NFD", before[-1])
                assert (form == closed[gloss]) == (len(letters) == 3)


def test_the_surface_is_made_of_whole_syllables(everything):
    for pair in everything:
        assert all("가" <= letter <= "힣" for letter in pair.surface.replace(" ", ""))
        assert pair.surface[-1] == "다"
        assert pair.gloss.count("TOPIC") == 1


def test_reordering_grows_with_length(corpus):
    pairs = corpus["train"] + corpus["longer"]
    moved = [
        mean(abs(i - j) for p in pairs if low < length(p) <= low + 6 for i, j in p.alignment)
        for low in (0, 6, 12, 18, 24)
    ]
    assert all(shorter < longer for shorter, longer in pairwise(moved))
    assert moved[-1] > 3 * moved[1]
    crossings = [
        mean(
            sum((i - k) * (j - m) < 0 for (i, j), (k, m) in combinations(p.alignment, 2))
            for p in pairs
            if low < length(p) <= low + 6
        )
        for low in (0, 6, 12, 18)
    ]
    assert all(shorter < longer for shorter, longer in pairwise(crossings))


@pytest.mark.parametrize(("max_length", "expected"), [(18, 2), (11, 1)])
def test_the_examples_are_learned_from_and_stand_in_no_other_split(max_length, expected):
    splits = toy_corpus(pairs=100, max_length=max_length)
    assert splits["train"][:expected] == list(EXAMPLES[:expected])
    assert len(splits["train"]) == 100
    others = [pair.src for name, pairs in splits.items() for pair in pairs][expected:]
    assert not {example.src for example in EXAMPLES} & set(others)
