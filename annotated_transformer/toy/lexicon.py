"""The dictionary of the toy corpus: words, their translations, and which words combine.

Nouns have kinds. Verbs and adjectives list the kinds they combine with, so that poets may be sad
and cakes sweet, not the reverse. Every stem takes its endings regularly here,
except for the spelling rules in `attach`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

Kinds = frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun: English singular and plural ("" if the corpus has none), Korean, and its kind."""

    english: str
    plural: str
    korean: str
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb: English base form and third person, Korean stem, and the kinds that it combines with.

    `pattern` is "intransitive", "transitive", "ditransitive" or "clausal" (it takes a clause);
    `place` tells whether the action has a place ("in the school"), `creates` which of the objects
    are created by the action: nothing can be said of them before. `stative`: it is a state of mind,
    which cannot be a duty ("must like") and is not joined to actions.
    """

    english: str
    third: str
    korean: str
    pattern: str
    subjects: Kinds
    objects: Kinds = frozenset()
    place: bool = False
    creates: Kinds = frozenset()
    stative: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective: English, Korean stem, the kinds of noun that it describes, and its opposite."""

    english: str
    korean: str
    subjects: Kinds
    opposite: str


def _kinds(names: str) -> Kinds:
    return frozenset(names.split())


HUMAN = _kinds("profession friend person")
AGENT = HUMAN | _kinds("machine")
LIVING = HUMAN | _kinds("animal")
ANIMATE = AGENT | LIVING
PROFESSION = _kinds("profession")
GOODS = _kinds("food text thing picture")
PLACE = _kinds("place")
LANDMARKS = _kinds("landmark place")
FURNITURE = _kinds("furniture")
FIXED = LANDMARKS | FURNITURE
RULE = _kinds("rule")
CONCRETE = ANIMATE | GOODS | FIXED
THINGS = GOODS | FIXED | RULE

_NOUNS = {
    "profession": "student 학생, teacher 교사, doctor 의사, farmer 농부, poet 시인, king 왕",
    "friend": "friend 친구",
    "person": "man 남자, woman 여자, child 아이, boy 소년, girl 소녀",
    "machine": "robot 로봇",
    "animal": "dog 개, cat 고양이, bird 새, rabbit 토끼, bear 곰, tiger 호랑이",
    "food": "apple 사과, cake 케이크, melon 멜론",
    "text": "book 책, letter 편지",
    "thing": "ball 공, bag 가방, key 열쇠",
    "picture": "picture 그림",
    "furniture": "table 탁자, chair 의자, bed 침대",
    "landmark": "tree 나무, house 집, tower 탑",
    "place": "school 학교, park 공원, store 가게, garden 정원, library 도서관",
    "rule": "order 명령, rule 규칙, law 법",
}

_INTRANSITIVE = {
    "run 달리, play 놀, sleep 자": LIVING,
    "cry 울": LIVING,
    "laugh 웃, sing 노래하": HUMAN,
    "work 일하": AGENT,
}

_TRANSITIVE = {  # True: an action that has a place
    "see 보": (ANIMATE, CONCRETE, True),
    "catch 잡, chase 쫓": (LIVING, LIVING, True),
    "like 좋아하": (LIVING, ANIMATE | GOODS | FIXED, False),
    "love 사랑하": (HUMAN, LIVING, False),
    "meet 만나": (AGENT, AGENT, True),
    "help 도와주": (AGENT, ANIMATE, True),
    "protect 지키": (ANIMATE, LIVING | LANDMARKS, False),
    "obey 따르": (AGENT, RULE, False),
    "eat 먹": (LIVING, _kinds("food"), True),
    "make 만들": (AGENT, _kinds("thing"), True),
    "read 읽, write 쓰": (AGENT, _kinds("text"), True),
    "buy 사, sell 팔": (HUMAN, GOODS, True),
    "draw 그리": (AGENT, ANIMATE | FIXED | _kinds("food picture"), True),
}

_STATIVE = ("like", "love", "think", "believe")
_CREATES = {"make": _kinds("thing"), "write": _kinds("text"), "draw": _kinds("picture")}

_DITRANSITIVE = "give 주, show 보여주, send 보내"
_CLAUSAL = "think 생각하, say 말하, believe 믿"

_ADJECTIVES = {
    "big 크, small 작": _kinds("animal food thing picture machine") | FIXED,
    "kind 친절하, sad 슬프, wise 현명하": HUMAN,
    "happy 행복하, brave 용감하": LIVING,
    "famous 유명하": HUMAN | _kinds("text place"),
    "fast 빠르": _kinds("machine animal"),
    "pretty 예쁘": _kinds("thing picture") | FIXED,
    "good 좋": GOODS | RULE,
    "sweet 달": _kinds("food"),
    "spacious 넓, quiet 조용하": PLACE,
    "important 중요하": RULE | _kinds("text"),
}

_OPPOSITES = {"big": "small", "small": "big", "happy": "sad", "sad": "happy"}

_IRREGULAR = {"man": "men", "woman": "women", "child": "children"}


def with_s(english: str) -> str:
    """Add the -s of plural nouns and of verbs in the third person.

    >>> with_s("dog"), with_s("cry"), with_s("play"), with_s("catch")
    ('dogs', 'cries', 'plays', 'catches')
    """
    if english.endswith("ch"):
        return english + "es"
    if english[-1] == "y" and english[-2] not in "aeou":
        return english[:-1] + "ies"
    return english + "s"


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The words that sentences are made from."""

    nouns: tuple[Noun, ...]
    verbs: tuple[Verb, ...]
    adjectives: tuple[Adjective, ...]


@cache
def nouns_of(lexicon: Lexicon, kinds: Kinds) -> tuple[Noun, ...]:
    """Return the nouns of these kinds."""
    return tuple(noun for noun in lexicon.nouns if noun.kind in kinds)


@cache
def verbs_with_subject(lexicon: Lexicon, pattern: str, kind: str) -> tuple[Verb, ...]:
    """Return the verbs of a pattern whose subject may be of this kind."""
    return tuple(v for v in lexicon.verbs if v.pattern == pattern and kind in v.subjects)


@cache
def verbs_with_object(lexicon: Lexicon, kind: str) -> tuple[Verb, ...]:
    """Return the verbs whose object may be of this kind."""
    return tuple(verb for verb in lexicon.verbs if kind in verb.objects)


@cache
def adjectives_of(lexicon: Lexicon, kind: str) -> tuple[Adjective, ...]:
    """Return the adjectives that describe nouns of this kind."""
    return tuple(adjective for adjective in lexicon.adjectives if kind in adjective.subjects)


def _entries(listing: str) -> Iterable[list[str]]:
    return (entry.split() for entry in listing.split(", "))


def _nouns() -> Iterable[Noun]:
    for kind, listing in _NOUNS.items():
        for english, korean in _entries(listing):
            plural = _IRREGULAR.get(english) or with_s(english)
            yield Noun(english, plural if kind in ANIMATE | RULE else "", korean, kind)


def _verbs() -> Iterable[Verb]:
    for listing, subjects in _INTRANSITIVE.items():
        for english, korean in _entries(listing):
            yield Verb(english, with_s(english), korean, "intransitive", subjects, place=True)
    for listing, (subjects, objects, place) in _TRANSITIVE.items():
        for english, korean in _entries(listing):
            creates, stative = _CREATES.get(english, frozenset()), english in _STATIVE
            yield Verb(
                english, with_s(english), korean, "transitive", subjects, objects, place, creates,
                stative,
            )  # fmt: skip
    for english, korean in _entries(_DITRANSITIVE):
        yield Verb(english, with_s(english), korean, "ditransitive", AGENT, GOODS)
    for english, korean in _entries(_CLAUSAL):
        stative = english in _STATIVE
        yield Verb(english, with_s(english), korean, "clausal", AGENT, stative=stative)


def _adjectives() -> Iterable[Adjective]:
    for listing, subjects in _ADJECTIVES.items():
        for english, korean in _entries(listing):
            yield Adjective(english, korean, subjects, _OPPOSITES.get(english, ""))


LEXICON = Lexicon(tuple(_nouns()), tuple(_verbs()), tuple(_adjectives()))
NOUNS = {noun.english: noun for noun in LEXICON.nouns}
VERBS = {verb.english: verb for verb in LEXICON.verbs}
ADJECTIVES = {adjective.english: adjective for adjective in LEXICON.adjectives}
