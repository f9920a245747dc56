"""Little stories: what the generator promises, and what the reader refuses."""

import re
from collections import Counter

import pytest
from jaxtyping import config

from annotated_transformer.ground.errors import InputError
from annotated_transformer.toy import story_fault, toy_stories
from annotated_transformer.toy.stories import NEEDS

CAKE = (
    "ruth is hungry and looks for a cake . then two kind birds come and give her a cake . "
    "she thanks the birds . ruth eats the cake . now she laughs . "
    "who gives ruth the cake ? the birds ."
)
RING = (
    "one day an old king walks to the park . he is sad because he has lost his ring . "
    "the king looks for the ring . then mia comes . mia finds the ring under the bench and gives "
    "the king the ring . now he dances . what does mia give the king ? the ring ."
)
GHOST = (
    "anna and tom live in a small boat . then a big ghost comes . they hide behind the door "
    "because they are afraid of the ghost . but the ghost only wants to sing . "
    "now they are happy . why do anna and tom hide ? because they are afraid of the ghost ."
)
MILK = (
    "two small cats are thirsty . the cats look for some milk . soon they find some milk "
    "on the table . but leo takes the milk and runs away . now they cry . "
    "where do the cats find the milk ? on the table ."
)


@pytest.fixture(scope="module", autouse=True)
def _unchecked():
    """No tensors here, but many small calls: do not check the types of each."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def many(_unchecked):
    return toy_stories(10_000)


def test_ten_thousand_differ_and_are_the_same_again(many):
    assert len(set(many)) == 10_000
    assert toy_stories(50) == many[:50]
    assert len(set(toy_stories(1000, seed=1)) & set(many)) < 10


def test_a_story_is_short_and_asks_at_its_end(many):
    for story in many:
        assert 30 < len(story.split()) < 63
        told = re.fullmatch(r"(.+ \.) w\w+ [^.?]+ \? [^.?]+ \.", story)[1]
        assert 3 <= told.count(".") <= 6


def test_words_and_questions_vary(many):
    words = Counter(word for story in many for word in story.split())
    assert 150 <= len(words) <= 250
    assert min(words.values()) > 50
    asked = Counter(re.search(r"\. (\w+) [^.]+\?", story)[1] for story in many)
    assert set(asked) == {"who", "what", "where", "why"}
    assert min(asked.values()) > 500


@pytest.mark.parametrize("story", [CAKE, RING, GHOST, MILK])
def test_stories_written_by_hand_hold_together(story):
    assert not story_fault(story)


def test_all_stories_hold_together(many):
    assert not [story for story in many[:4000] if story_fault(story)]


@pytest.mark.parametrize(
    ("story", "old", "new", "says"),
    [
        (CAKE, "she thanks", "he thanks", "who is 'he'"),
        (CAKE, "give her", "give him", "does not follow"),
        (CAKE, "two kind birds", "mia", "'she' could be 'ruth' or 'mia'"),
        (CAKE, "come and", "comes and", "'comes' does not agree with 'the birds'"),
        (CAKE, "hungry", "thirsty", "does not follow"),
        (CAKE, "ruth eats", "the birds eat", "'the birds', 'eat the cake': does not follow"),
        (CAKE, "a cake . then", "an cake . then", "an article"),
        (CAKE, "a cake . then", "the cake . then", "'the cake'?"),
        (CAKE, "she thanks", "ruth thanks mia . she thanks", "does not follow"),
        (CAKE, "now she laughs . ", "", "no end"),
        (CAKE, "laughs", "cries", "'ruth', 'cry': does not follow"),
        (CAKE, "? the birds", "? ruth", "'ruth' is not the answer"),
        (CAKE, "? the birds .", "?", "nothing is asked"),
        (CAKE, "who gives ruth the cake ? the birds .", "", "nothing is asked"),
        (CAKE, "who gives", "who give", "'give' does not agree with 'who'"),
        (CAKE, "the cake ? the birds", "the cake ? the cake", "not the answer"),
        (CAKE, "two kind birds", "two birds kind", "who is 'two birds kind'?"),
        (RING, "an old king walks", "an old king and walks", "is no clause"),
        (RING, "his ring", "her ring", "does not follow"),
        (RING, "mia finds", "the king finds", "does not follow"),
        (RING, "mia comes", "ben comes", "'he' could be 'the king' or 'ben'"),
        (RING, "looks for the ring", "looks for the key", "does not follow"),
        (RING, "gives the king", "gives mia", "does not follow"),
        (RING, "an old king walks", "oscar walks", "who is 'the king'?"),
        (RING, "to the park", "to the moon", "does not follow"),
        (RING, "? the ring", "? the key", "'the key' is not the answer"),
        (RING, "what does", "where does", "not the answer"),
        (RING, "the king looks for the ring . ", "", ""),  # still a story
        (GHOST, "of the ghost . but", "of the wolf . but", "does not follow"),
        (GHOST, "anna and tom live", "anna and anna live", "who is 'anna and anna'?"),
        (GHOST, "behind the door", "behind the king", "does not follow"),
        (GHOST, "are afraid of the ghost . but", "are hungry . but", "is no reason"),
        (GHOST, "only wants to sing", "only wants to cry", "does not follow"),
        (
            GHOST,
            "? because they are afraid of the ghost",
            "? because they are happy",
            "not the answer",
        ),
        (GHOST, "they are happy", "they are sad", "does not follow"),
        (MILK, "but leo takes", "but two cats take", "who is 'two cats'?"),
        (MILK, "they cry", "they laugh", "does not follow"),
        (MILK, "leo takes the milk", "leo takes the key", "does not follow"),
        (MILK, "? on the table", "? under the table", "not the answer"),
        (MILK, "? on the table", "? the milk", "not the answer"),
        (
            MILK,
            "two small cats are",
            "one day mia walks to the park . two small cats are",
            "what became",
        ),
    ],
)
def test_a_change_is_refused(story, old, new, says):
    assert story.count(old) == 1
    found = story_fault(story.replace(old, new))
    assert says in found, found
    assert bool(found) == bool(says)


@pytest.mark.parametrize(
    "words",
    [
        "she he it they", "her him them", "his its their", " ".join(NEEDS), "happy sad",
        "laughs cries", "finds takes gives", "is are has have", "looks look", "comes come",
        "eats drinks reads wears", "who where what", "does do", "a an some", "then who",
    ],
)  # fmt: skip
def test_no_other_word_will_do(many, words):
    changed = 0
    for story in many[:300]:
        tokens = story.split()
        for place, word in enumerate(tokens):
            for other in words.split() if word in words.split() else ():
                if other != word:
                    bad = " ".join([*tokens[:place], other, *tokens[place + 1 :]])
                    assert story_fault(bad), bad
                    changed += 1
    assert changed > 50


def test_no_other_answer_will_do(many):
    """The answers of stories that ask alike, and whoever and whatever else this story mentions."""
    answers = {story.split(" ? ")[1] for story in many[:50]}
    for story in many[:200]:
        told, answer = story.split(" ? ")
        mentioned = {f"the {noun} ." for noun in re.findall(r"the (\w+)", told)}
        for other in {*answers, *mentioned} - {answer}:
            assert story_fault(f"{told} ? {other}"), f"{told} ? {other}"


@pytest.mark.parametrize("arguments", [{"count": 0}, {"count": 2_000_000}, {"seed": -1}])
def test_what_is_out_of_range_is_refused(arguments):
    with pytest.raises(InputError, match="must be"):
        toy_stories(**arguments)


def test_a_story_is_a_text():
    with pytest.raises(InputError, match="must be"):
        story_fault(["once"])
