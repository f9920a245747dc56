"""Korean particles and endings: their forms, their glosses, and how morphemes make words.

A gloss says in English what a morpheme does. Glosses in capitals name grammatical morphemes, and
`GLOSSES` explains each; all other glosses are plain English words. A full stop in a gloss joins
two meanings in one morpheme: 인 is `be.ADNOMINAL`.
"""

from functools import cache
from typing import NamedTuple

from annotated_transformer.toy.hangul import attach, final, syllable


class Token(NamedTuple):
    """A word or morpheme with a label: its category in English, its gloss in Korean."""

    form: str
    label: str


GLOSSES = {
    "TOPIC": "은/는: what the sentence is about; here always its subject",
    "SUBJECT": "이/가: the subject of a clause inside the sentence",
    "OBJECT": "을/를: the object",
    "COMPLEMENT": "이/가: what the subject is said not to be",
    "TO": "에게: the receiver",
    "IN": "에서: the place of an action",
    "OF": "의: ties a noun to the noun that follows",
    "PLURAL": "들: more than one (people, robots and animals)",
    "PLAIN": "ㄴ다/는다/다: ends a statement",
    "QUOTE": "ㄴ다고/는다고/다고/라고: ends what is said or thought",
    "ADNOMINAL": "는/ㄴ/은: turns what stands before it into a modifier of the noun that follows",
    "PARTICIPLE": "ㄴ: the same, of something done",
    "AND": "와/과 between nouns, 고 between predicates: and",
    "IF": "면/으면: if",
    "NOMINAL": "기: turns a clause into a noun",
    "NEGATED": "지: what is denied",
    "MUST": "아야/어야/여야: what is necessary",
    "PROSPECTIVE": "ㄹ/을: what may happen",
}

_PARTICLES = {  # after a consonant, after a vowel
    "TOPIC": ("은", "는"),
    "SUBJECT": ("이", "가"),
    "COMPLEMENT": ("이", "가"),
    "OBJECT": ("을", "를"),
    "AND": ("과", "와"),
    "TO": ("에게", "에게"),
    "IN": ("에서", "에서"),
    "OF": ("의", "의"),
}

# Kinds of stem, which differ in their endings. An existential (있, 없) ends a statement like an
# adjective and modifies a noun like a verb; a copula is 이 or 아니, "to be" and "not to be".
VERB, ADJECTIVE, EXISTENTIAL, COPULA = "verb", "adjective", "existential", "copula"

_ENDINGS = {  # after a consonant, after a vowel or ㄹ; where kinds of stem differ, by kind
    "PLAIN": {VERB: ("는다", "ㄴ다"), "": ("다", "다")},
    "QUOTE": {VERB: ("는다고", "ㄴ다고"), COPULA: ("라고", "라고"), "": ("다고", "다고")},
    "ADNOMINAL": {VERB: ("는", "는"), EXISTENTIAL: ("는", "는"), "": ("은", "ㄴ")},
    "PARTICIPLE": {"": ("은", "ㄴ")},
    "PROSPECTIVE": {"": ("을", "ㄹ")},
    "IF": {"": ("으면", "면")},
    "AND": {"": ("고", "고")},
    "NOMINAL": {"": ("기", "기")},
    "NEGATED": {"": ("지", "지")},
}


@cache
def particle(word: str, gloss: str) -> Token:
    """Choose the form of a particle by the last letter of the word that it follows.

    >>> particle("학생", "TOPIC").form, particle("나", "TOPIC").form
    ('은', '는')
    """
    return Token(_PARTICLES[gloss][not final(word)], gloss)


@cache
def ending(stem: str, kind: str, gloss: str) -> Token:
    """Choose the form of an ending by the stem that it follows, and by the kind of the stem.

    >>> ending("보", VERB, "PLAIN").form, ending("먹", VERB, "PLAIN").form
    ('ㄴ다', '는다')
    """
    if gloss == "MUST":
        return Token(_harmony(stem) + "야", gloss)
    forms = _ENDINGS[gloss].get(kind) or _ENDINGS[gloss][""]
    return Token(forms[final(stem) in ("", "ㄹ")], gloss)


def _harmony(stem: str) -> str:
    """Choose 아, 어 or 여: after 하 여, after a bright vowel (ㅏ, ㅗ) 아, otherwise 어."""
    if stem.endswith("하"):
        return "여"
    last = syllable(stem[-1])
    if last.vowel == "ㅡ" and last.final == " " and len(stem) > 1:  # 따르: the ㅡ will drop out
        last = syllable(stem[-2])
    return "아" if last.vowel in "ㅏㅗ" else "어"


def is_attached(gloss: str) -> bool:
    """Tell whether a morpheme with this gloss is written onto the one before it."""
    return gloss == "be" or gloss.split(".")[-1] in GLOSSES


def written(tokens: tuple[Token, ...]) -> str:
    """Write morphemes as Korean is written: joined into words, with spaces between the words.

    >>> i_sleep = [("나", "I"), ("는", "TOPIC"), ("자", "sleep"), ("ㄴ다", "PLAIN")]
    >>> written(tuple(Token(form, gloss) for form, gloss in i_sleep))
    '나는 잔다'
    """
    words: list[str] = []
    for form, gloss in tokens:
        if is_attached(gloss):
            words[-1] = attach(words[-1], form)
        else:
            words.append(form)
    return " ".join(words)
