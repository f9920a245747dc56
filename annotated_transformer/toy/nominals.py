"""Noun phrases of the synchronous grammar: nouns, pronouns, "and", prepositions, case.

In English, phrases and clauses follow the noun; in Korean everything precedes it.

    the cat on the table        탁자 위 의 고양이       (table top OF cat)
"""

from functools import cache
from typing import NamedTuple

from annotated_transformer.toy.lexicon import ANIMATE, Adjective, Noun
from annotated_transformer.toy.morphology import (
    ADJECTIVE,
    Token,
    ending,
    particle,
)
from annotated_transformer.toy.phrases import Phrase, join, nest, word


class Nominal(NamedTuple):
    """A noun phrase, before it has a case.

    Attributes:
        phrase: the phrase, without a particle.
        agreement: "I", "singular" or "plural"; English verbs agree with it.
        kind: kind of noun, which determines what it may be the subject or object of.
        embedded: as the subject of an embedded clause, where that differs (I: 나, but 내 가).
        oblique: as anything but a subject, where that differs (I, but me).
        described: whether an adjective stands before the noun.
        universal: whether it begins with "every".
    """

    phrase: Phrase
    agreement: str
    kind: str
    embedded: Phrase | None = None
    oblique: Phrase | None = None
    described: bool = False
    universal: bool = False


def _pronoun(english: str, oblique: str, korean: str, agreement: str, kind: str) -> Nominal:
    """Make a pronoun; its gloss is its English form as a subject."""
    token = Token(korean, english)
    embedded = word(english, "PRO", Token("내", english)) if english == "I" else None
    return Nominal(
        word(english, "PRO", token), agreement, kind, embedded, word(oblique, "PRO", token)
    )


PRONOUNS = {
    "I": _pronoun("I", "me", "나", "I", "person"),
    "he": _pronoun("he", "him", "그", "singular", "person"),
    "she": _pronoun("she", "her", "그녀", "singular", "person"),
    "we": _pronoun("we", "us", "우리", "plural", "person"),
    "they": _pronoun("they", "them", "그들", "plural", "person"),
    "it": _pronoun("it", "it", "그것", "singular", "thing"),
}

ITSELF = Nominal(word("it", "PRO", Token("자신", "self")), "singular", "thing")
"""The "it" of "a robot must obey the orders given it": the subject of the clause."""

DETERMINERS = {"every": Token("모든", "every"), "my": Token("내", "my")}

PREPOSITIONS = {
    "on": Token("위", "top"),
    "under": Token("아래", "underside"),
    "beside": Token("옆", "side"),
    "behind": Token("뒤", "back"),
}


VERY = word("very", "VERY", Token("매우", "very"))


@cache
def noun_phrase(
    noun: Noun,
    determiner: str = "the",
    plural: bool = False,
    adjective: Adjective | None = None,
    very: bool = False,
    counted: bool = True,
) -> Nominal:
    """Build a noun phrase: "the very sad students" → 매우 슬프 ㄴ 학생 들.

    Articles have no Korean counterpart. Only people, robots and animals take 들 in the plural, and
    they only if `counted` (not as a predicate: "we are students" → 우리 는 학생 이다).
    """
    tokens = [Token(noun.korean, noun.english)]
    if counted and plural and noun.kind in ANIMATE:
        tokens.append(Token("들", "PLURAL"))
    phrase = word(noun.plural if plural else noun.english, "N", *tokens)
    if adjective:
        stem = Token(adjective.korean, adjective.english)
        close = Phrase(tgt=(ending(adjective.korean, ADJECTIVE, "ADNOMINAL"),))
        phrase = join(word(adjective.english, "ADJ", stem), close, phrase)
    if very:
        phrase = join(VERY, phrase)
    if determiner in DETERMINERS:
        phrase = join(word(determiner, "DET", DETERMINERS[determiner]), phrase)
    elif determiner:
        vowel = phrase.src[0].form[0] in "aeiou"
        phrase = join(word("an" if determiner == "a" and vowel else determiner, "ART"), phrase)
    return Nominal(
        phrase,
        "plural" if plural else "singular",
        noun.kind,
        described=adjective is not None,
        universal=determiner == "every",
    )


def coordinate(*nominals: Nominal) -> Nominal:
    """Join nouns by "and": "the dog and the cat" → 개 와 고양이."""
    phrase = nominals[0].phrase
    for nominal in nominals[1:]:
        both = word("and", "AND", particle(phrase.tgt[-1].form, "AND"))
        phrase = join(phrase, both, nominal.phrase)
    return Nominal(phrase, "plural", nominals[0].kind)


def located(nominal: Nominal, preposition: str, ground: Nominal) -> Nominal:
    """Modify by a prepositional phrase: "the cat on the table" → 탁자 위 의 고양이."""
    where = word(preposition, "P", PREPOSITIONS[preposition])
    modifier = join(where, ground.phrase, Phrase(tgt=(Token("의", "OF"),)), korean=(1, 0, 2))
    return nominal._replace(phrase=join(nominal.phrase, nest(modifier), korean=(1, 0)))


def marked(nominal: Nominal, gloss: str, english: str = "") -> Phrase:
    """Give a noun phrase its particle, and in English its preposition, if it has one.

    "to the child" → 아이 에게; the particle is linked to the preposition.
    """
    if gloss == "TOPIC":
        phrase = nominal.phrase
    elif gloss == "SUBJECT":
        phrase = nominal.embedded or nominal.phrase
    else:
        phrase = nominal.oblique or nominal.phrase
    return join(word(english, gloss, particle(phrase.tgt[-1].form, gloss)), phrase, korean=(1, 0))
