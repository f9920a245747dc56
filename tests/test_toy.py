import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from itertools import pairwise
from random import Random
from statistics import mean

import pytest
from jaxtyping import config

from annotated_transformer.ground.errors import InputError
from annotated_transformer.toy import (
    EXAMPLES,
    LONGEST,
    is_held_out,
    toy_corpus,
)
from annotated_transformer.toy import pair as pair_of
from annotated_transformer.toy.lexicon import (
    ADJECTIVES,
    ANIMATE,
    LEXICON,
    VERBS,
    Lexicon,
    adjectives_of,
)
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
    return tuple(word for word in words if getattr(word, "english", word) in english)


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


def test_bounds_are_reached(corpus):
    for name in SPLITS[:4]:
        assert max(map(length, corpus[name])) == 18
        assert max(pair.depth for pair in corpus[name]) == 2


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


def test_the_same_everywhere():
    code = (
        "from annotated_transformer.toy import toy_corpus\n"
        "for split in toy_corpus(200, seed=7).values():\n"
        "    for p in split:\n"
        "        print(p.src, p.tgt, p.gloss, sorted(p.alignment), p.depth, p.template)\n"
    )
    outputs = set()
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        outputs.add(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
    [output] = outputs
    assert output.count(b"\n") == 250
    first, second = ({p.src for p in toy_corpus(200, seed=seed)["train"]} for seed in (0, 1))
    assert len(first & second) < 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": 19}, "pairs is 19, it must be an integer, at least 20 and"),
        ({"pairs": 10_000_000}, "pairs is 10000000, it must be"),
        ({"max_length": 3}, "max_length is 3, it must be an integer, at least 4 and at most 32"),
        ({"max_length": 33}, "max_length is 33, it must be an integer, at least 4 and at most 32"),
        ({"max_depth": -1}, "max_depth is -1, it must be an integer, at least 0 and at most 3"),
        ({"max_depth": 4}, "max_depth is 4, it must be an integer, at least 0 and at most 3"),
        ({"pairs": 400, "max_length": 4, "max_depth": 0}, "too few sentences .* of "),
    ],
)
def test_arguments_out_of_range(arguments, message):
    with pytest.raises(InputError, match=message):
        toy_corpus(**arguments)


# The sentences


def test_examples():
    assert [" ".join(pair.src) for pair in EXAMPLES] == [
        "I am a student",
        "a robot must obey the orders given it",
    ]
    assert [pair.surface for pair in EXAMPLES] == [
        "나는 학생이다",
        "로봇은 자신에게 주어진 명령을 따라야 한다",
    ]
    assert EXAMPLES[0].gloss == ("I", "TOPIC", "student", "be")
    assert not any(is_held_out(pair.template) for pair in EXAMPLES)


class Partial(Sampler):
    """A sampler partial to what the examples are made of, which chance alone would seldom bring."""

    def pick(self, words):
        favourites = some(words, "student", "robot", "obey", "order")
        return self.rng.choice(favourites or words)

    def patterns(self, subject, says, states=True, plain=False):
        kind = subject.kind
        return ["identity" if kind == "person" else "transitive" if kind in ANIMATE else "state"]

    def adjectives(self, kind):
        return adjectives_of(self.words, kind)

    def auxiliary(self, subject, verb):
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

    def pick(self, words):
        return words[0]

    def perhaps(self, weight=1.0):
        return self.rng.random() < 0.4

    def simple(self, noun, determiner="", plain=False):
        return noun_phrase(noun)

    def _topic(self, depth):
        return self._nominal(ANIMATE, depth, free=True)

    def _subject(self, kinds, depth):
        return self._nominal(kinds, depth, free=True)

    def _object(self, kinds, depth, free, clause, creates=frozenset()):
        return self._nominal(kinds & ANIMATE, depth, free, clause)

    def patterns(self, subject, says, states=True, plain=False):
        patterns = ["intransitive", "transitive", "clausal"][: 2 + says]
        return patterns if subject.kind in ANIMATE else ["state"] * states

    def auxiliary(self, subject, verb):
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
                assert glosses in ([pronouns.get(word, word)], ["self"])
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
    english |= {"I", "we", "he", "she", "they", "it", "self"}
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


# What would be wrong or odd, in English or in Korean


def phrases_of(pair):
    return " " + " ".join(pair.src) + " ", " " + " ".join(pair.tgt) + " "


def test_what_must_not_be_is_denied_by_its_own_word(everything):
    """먹지 말아야 한다, not 먹지 않아야 한다; and only there."""
    prohibitions = 0
    for pair in everything:
        for i, (form, gloss) in enumerate(zip(pair.tgt, pair.gloss, strict=True)):
            if gloss == "not":
                forbidden = pair.gloss[i + 1] == "MUST"
                assert form == ("말" if forbidden else "않")
                prohibitions += forbidden
    assert prohibitions > 50


def test_it_receives_only_as_the_robot_or_the_animal_that_acts(everything):
    """자신에게, since 에게 wants somebody, and *it* an antecedent."""
    found = 0
    for pair in everything:
        english, korean = phrases_of(pair)
        assert " 그것 에게 " not in korean
        assert (" 자신 에게 주어지 " in korean) == (" given it " in english)
        assert korean.count("자신") == english.count(" given it ")
        if " given it " in english:
            found += 1
            actors = {n.english for n in LEXICON.nouns if n.kind in ("machine", "animal")}
            assert actors & set(pair.src[: pair.src.index("given")])
    assert found > 10


def test_a_friend_is_mine(everything):
    """*The friend*: of whom?"""
    for pair in everything:
        categories = pair.template.split()
        for i, english in enumerate(pair.src):
            if english in ("friend", "friends"):
                j = i - 1
                while categories[j] in ("ADJ", "VERY"):
                    j -= 1
                assert pair.src[j] == "my", " ".join(pair.src)


def test_what_is_being_made_has_no_history(everything):
    """No *it*, no clause: the letter that is being written is not sold yet."""
    made = {"make": {"ball", "bag", "key"}, "write": {"book", "letter"}, "draw": {"picture"}}
    made |= {VERBS[verb].third: things for verb, things in made.items()}
    seen = Counter()
    for pair in everything:
        categories = [*pair.template.split(), "END"]
        for i, verb in enumerate(pair.src):
            if verb not in made or categories[i] != "VT":
                continue
            j = i + 1
            while categories[j] in ("ART", "DET", "VERY", "ADJ"):
                j += 1
            if categories[j] == "N":
                if pair.src[j] in made[verb]:
                    seen[verb] += 1
                    assert "ADJ" not in categories[i:j], " ".join(pair.src)
                    assert categories[j + 1] not in ("THAT", "GIVEN", "P"), " ".join(pair.src)
                else:
                    assert verb in ("draw", "draws")
            if categories[j] == "PRO" and j == i + 1:
                assert verb in ("draw", "draws") or pair.src[j] != "it", " ".join(pair.src)
    assert set(made) - set(seen) <= {"draw", "draws"}  # a picture is rarely drawn
    assert all("그림 을 만들" not in phrases_of(pair)[1] for pair in everything)


def test_only_furniture_carries_and_covers(everything):
    furniture = {n.english for n in LEXICON.nouns if n.kind == "furniture"}
    for pair in everything:
        categories = pair.template.split()
        for i, english in enumerate(pair.src):
            if english in ("on", "under"):
                noun = next(j for j in range(i, len(categories)) if categories[j] == "N")
                assert pair.src[noun] in furniture, " ".join(pair.src)


def test_no_adjective_comes_twice_or_with_its_opposite(everything):
    adjectives = {adjective.english: adjective for adjective in LEXICON.adjectives}
    assert {a.english for a in LEXICON.adjectives if a.opposite} == {"big", "small", "happy", "sad"}
    for pair in everything:
        here = [word for word in pair.src if word in adjectives]
        assert len(set(here)) == len(here), " ".join(pair.src)
        assert not {adjectives[word].opposite for word in here} & set(here), " ".join(pair.src)


def test_and_joins_like_with_like(everything):
    """책을 보여주고 유명하다 is odd: 고 joins two actions, two states or two professions."""
    found = Counter()
    for pair in everything:
        both = re.search(r"\b(BE|V[ITD])\b(.*) AND (BE|V[ITD])\b(.*)", pair.template)
        if both and pair.depth == 0:
            (first, after), (second, more) = both.group(1, 2), both.group(3, 4)
            if "BE" not in (first, second):
                found["action"] += 1
            else:
                assert first == second, " ".join(pair.src)
                nouns = [" N" in after, " N" in more]
                assert nouns[0] == nouns[1], " ".join(pair.src)
                found["profession" if nouns[0] else "state"] += 1
    assert set(found) == {"action", "profession", "state"}


def test_every_or_an_and_between_objects_meets_no_not_in_a_clause(everything):
    """*Does not make a ball and a bag*: neither of them, or not both?"""
    assert any("every" in pair.src for pair in everything if pair.depth == 0)
    for pair in everything:
        if pair.depth == 0 and {"not", "cannot"} & set(pair.src):
            assert "every" not in pair.src, " ".join(pair.src)
            if "and" in pair.src:
                tags = pair.template.split()
                verb = max(i for i, tag in enumerate(tags) if tag[0] == "V" or tag == "BE")
                assert pair.src.index("and") < verb, " ".join(pair.src)


def test_joined_nouns_differ(everything):
    small = re.compile(rf"\b(the|an?|my|very|{'|'.join(ADJECTIVES)}) ")
    for pair in everything:
        assert not re.search(
            r"\b(?!is|are|am)(\w+?)s? and \1s?\b", small.sub("", " ".join(pair.src))
        )


def test_states_of_mind_are_no_duty_and_stay_alone(everything):
    stative = {verb.english for verb in LEXICON.verbs if verb.stative}
    assert stative == {"like", "love", "think", "believe"}
    forms = stative | {VERBS[verb].third for verb in stative}
    for pair in everything:
        for before, word in pairwise(pair.src):
            assert not (word in stative and before in ("must", "can", "cannot"))
            assert not (word in forms and before == "and"), " ".join(pair.src)


def test_nobody_is_a_king_and_it_is_not_helped(everything):
    """For a woman it would be 여왕, and 도와주다 wants somebody."""
    for pair in everything:
        assert not {("왕", "이다"), ("왕", "인"), ("왕", "이라고")} & set(pairwise(pair.tgt))
        english = re.sub(rf" (very|{'|'.join(ADJECTIVES)})\b", "", " ".join(pair.src))
        assert not re.search(r"\b(am|is|are)( not)?( a)? kings?\b", english)
        assert "그것 을 도와주" not in phrases_of(pair)[1]


def test_no_pronoun_meets_itself(everything):
    """그녀는 그녀가 is avoided: the second would have to be 자신이."""
    forms = [("he", "him"), ("she", "her"), ("I", "me"), ("we", "us"), ("they", "them")]
    for pair in everything:
        for both in forms:
            assert sum(word in both for word in pair.src) < 2, " ".join(pair.src)


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


@pytest.mark.parametrize(("max_length", "expected"), [(18, 2), (11, 1)])
def test_the_examples_are_learned_from_and_stand_in_no_other_split(max_length, expected):
    splits = toy_corpus(pairs=100, max_length=max_length)
    assert splits["train"][:expected] == list(EXAMPLES[:expected])
    assert len(splits["train"]) == 100
    others = [pair.src for name, pairs in splits.items() for pair in pairs][expected:]
    assert not {example.src for example in EXAMPLES} & set(others)


def test_adjectives_are_not_stacked(everything):
    """단 좋은 사과 would want a 고."""
    stacked = re.compile(r"ADJ N THAT BE (NOT )?(VERY )?ADJ(?! N)")
    for pair in everything:
        assert not stacked.search(pair.template), " ".join(pair.src)


def test_only_the_living_and_robots_act(everything):
    """Whoever stands before a verb, with nothing between, is its subject."""
    things = {n.english for n in LEXICON.nouns if n.kind not in ANIMATE}
    verbs = ("VI", "VT", "VD", "VS")
    for pair in everything:
        categories = pair.template.split()
        for i in range(1, len(categories) - 3):
            if categories[i : i + 2] == ["THAT", "ART"] and categories[i + 3] in verbs:
                assert pair.src[i + 2] not in things, " ".join(pair.src)
