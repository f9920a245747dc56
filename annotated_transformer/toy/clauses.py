"""Clauses of the synchronous grammar: verbs with their auxiliaries and objects, and sentences.

English is verb before object, Korean object before verb, and this repeats on every level: what
follows the verb in English stands before it in Korean, in reverse.

    must not   see    the cat           고양이 를    보     지 말   아야 하
      3    2    1        0                 0        1        2       3
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from annotated_transformer.toy.hangul import attach, final
from annotated_transformer.toy.lexicon import HUMAN, Adjective, Verb
from annotated_transformer.toy.morphology import (
    ADJECTIVE,
    COPULA,
    EXISTENTIAL,
    VERB,
    Token,
    ending,
)
from annotated_transformer.toy.nominals import VERY, Nominal, marked
from annotated_transformer.toy.phrases import Phrase, join, nest, word


class Body(NamedTuple):
    """A clause without its subject and without the last ending, which hangs on its last stem."""

    phrase: Phrase
    stem: str
    kind: str


Predicate = Callable[[str], Body]  # from the agreement ("I", "singular", "plural") of the subject

_BE = {"I": "am", "singular": "is", "plural": "are"}
_CATEGORY = {"intransitive": "VI", "transitive": "VT", "ditransitive": "VD", "clausal": "VS"}
_COPULA, _NOT_BE = Token("이", "be"), Token("아니", "not.be")
_THAT = Token("that", "THAT")


@cache
def _verb(verb: Verb, modal: str, negated: bool, agreement: str) -> Body:
    """A verb and its auxiliaries, in opposite orders: must not see → 보 + 지 말 + 아야 하.

    What must not be is denied by 말, everything else by 않.
    """
    stem, kind = verb.korean, VERB
    third = agreement == "singular" and not modal and not negated
    english = verb.third if third else verb.english
    phrase = word(english, _CATEGORY[verb.pattern], Token(verb.korean, verb.english))
    if negated and modal != "can":
        deny = "말" if modal else "않"
        not_ = word("not", "NOT", ending(stem, kind, "NEGATED"), Token(deny, "not"))
        do = word("" if modal else "does" if agreement == "singular" else "do", "DO")
        phrase, stem = join(do, not_, phrase, korean=(0, 2, 1)), deny
    if modal == "must":
        must = word("must", "MUST", ending(stem, kind, "MUST"), Token("하", "do"))
        phrase, stem = join(must, phrase, korean=(1, 0)), "하"
    if modal == "can":
        way = (ending(verb.korean, VERB, "PROSPECTIVE"), Token("수", "way"))
        exist = Token("없", "not.exist") if negated else Token("있", "exist")
        english = "cannot" if negated else "can"
        can = word(english, english.upper(), *way, exist)
        phrase, stem, kind = join(can, phrase, korean=(1, 0)), exist.form, EXISTENTIAL
    return Body(phrase, stem, kind)


def action(verb: Verb, *complements: Phrase, modal: str = "", negated: bool = False) -> Predicate:
    """Put a verb before its complements in English, and behind them, in reverse, in Korean.

    "gives the book to the child in the school" → 학교 에서 아이 에게 책 을 주
    """
    return partial(_action, verb, complements, modal, negated)


def _action(
    verb: Verb, complements: tuple[Phrase, ...], modal: str, negated: bool, agreement: str
) -> Body:
    body = _verb(verb, modal, negated, agreement)
    mirrored = range(len(complements), -1, -1)
    return body._replace(phrase=join(body.phrase, *complements, korean=mirrored))


def state(adjective: Adjective, very: bool = False, negated: bool = False) -> Predicate:
    """Make a predicate of an adjective: "is not big" → 크 지 않."""
    return partial(_state, adjective, very, negated)


@cache
def _state(adjective: Adjective, very: bool, negated: bool, agreement: str) -> Body:
    stem = adjective.korean
    phrase = word(adjective.english, "ADJ", Token(stem, adjective.english))
    if very:
        phrase = join(VERY, phrase)
    if negated:
        not_ = word("not", "NOT", ending(stem, ADJECTIVE, "NEGATED"), Token("않", "not"))
        phrase, stem = join(not_, phrase, korean=(1, 0)), "않"
    return Body(join(word(_BE[agreement], "BE"), phrase), stem, ADJECTIVE)


def identity(nominal: Nominal, negated: bool = False) -> Predicate:
    """Make a predicate of a noun: "is a student" → 학생 이; "is not a student" → 학생 이 아니."""
    return partial(_identity, nominal, negated)


def _identity(nominal: Nominal, negated: bool, agreement: str) -> Body:
    if negated:
        src = (Token(_BE[agreement], "BE"), Token("not", "NOT"))
        not_be = Phrase(src, (_NOT_BE,), ((0, 0), (1, 0)))
        phrase = join(not_be, marked(nominal, "COMPLEMENT"), korean=(1, 0))
        return Body(phrase, _NOT_BE.form, COPULA)
    be = word(_BE[agreement], "BE", _COPULA)
    return Body(join(be, nominal.phrase, korean=(1, 0)), _COPULA.form, COPULA)


def both(first: Predicate, second: Predicate) -> Predicate:
    """Join two predicates of one subject: "sleep and eat" → 자 고 먹."""
    return partial(_both, first, second)


def _both(first: Predicate, second: Predicate, agreement: str) -> Body:
    start, end = first(agreement), second(agreement)
    and_ = word("and", "AND", ending(start.stem, start.kind, "AND"))
    return end._replace(phrase=join(start.phrase, and_, end.phrase))


def _embedded(
    opening: Token, gloss: str, subject: Nominal | None, body: Body, *more: Token
) -> Phrase:
    """Open a clause by a word in English and close it by an ending in Korean: these are linked."""
    close = word(*opening, ending(body.stem, body.kind, gloss), *more)
    who = marked(subject, "SUBJECT") if subject else Phrase()
    return nest(join(close, who, body.phrase, korean=(1, 2, 0)))


def that(subject: Nominal, predicate: Predicate) -> Phrase:
    """A clause that is said or thought: "that he sleeps" → 그 가 자 ㄴ다고."""
    return _embedded(_THAT, "QUOTE", subject, predicate(subject.agreement))


def relative(nominal: Nominal, predicate: Predicate, subject: Nominal | None = None) -> Nominal:
    """Modify a noun by a clause, of which it is the subject or, if one is given, the object.

    "the dog that sees the cat" → 고양이 를 보 는 개; "the dog that he sees" → 그 가 보 는 개.
    Of people: "the man who sleeps", "the man whom he sees".
    """
    opening = _THAT
    if nominal.kind in HUMAN:
        opening = Token("whom" if subject else "who", _THAT.label)
    body = predicate((subject or nominal).agreement)
    clause = _embedded(opening, "ADNOMINAL", subject, body)
    return nominal._replace(phrase=join(nominal.phrase, clause, korean=(1, 0)))


def given(nominal: Nominal, receiver: Nominal) -> Nominal:
    """Modify a noun by "given": "the orders given him" → 그 에게 주어지 ㄴ 명령.

    *It* has to be the subject of the clause, `ITSELF`: 자신 에게 주어지 ㄴ 명령.
    """
    stem = Token("주어지", "be.given")
    close = ending(stem.form, VERB, "PARTICIPLE")
    modifier = join(word("given", "GIVEN", stem, close), marked(receiver, "TO"), korean=(1, 0))
    return nominal._replace(phrase=join(nominal.phrase, nest(modifier), korean=(1, 0)))


def statement(subject: Nominal, predicate: Predicate) -> Phrase:
    """A main clause: its subject is the topic."""
    body = predicate(subject.agreement)
    close = Phrase(tgt=(ending(body.stem, body.kind, "PLAIN"),))
    return join(marked(subject, "TOPIC"), body.phrase, close)


def because(main: Phrase, subject: Nominal, predicate: Predicate) -> Phrase:
    """Add a reason, which stands first in Korean: "because he sleeps" → 그 가 자 기 때문에."""
    body = predicate(subject.agreement)
    clause = _embedded(
        Token("because", "BECAUSE"), "NOMINAL", subject, body, Token("때문에", "because")
    )
    return join(main, clause, korean=(1, 0))


def if_(main: Phrase, subject: Nominal, predicate: Predicate) -> Phrase:
    """Add a condition, which stands first in Korean: "if he sleeps" → 그 가 자 면."""
    clause = _embedded(Token("if", "IF"), "IF", subject, predicate(subject.agreement))
    return join(main, clause, korean=(1, 0))


def fused(phrase: Phrase) -> Phrase:
    """Make one morpheme of each copula and its ending: 이다, as dictionaries list it; so 인, 이면.

    After a vowel the copula leaves 이라고 without its 이: 의사 라고.
    """
    if _COPULA not in phrase.tgt:
        return phrase
    tgt: list[Token] = []
    moved: list[int] = []  # where each morpheme went
    for token in phrase.tgt:
        if tgt and tgt[-1] == _COPULA:
            form = attach(_COPULA.form, token.form)
            if token.label == "QUOTE" and not final(tgt[-2].form):
                form = token.form
            gloss = "be" if token.label == "PLAIN" else f"be.{token.label}"
            tgt[-1] = Token(form, gloss)
        else:
            tgt.append(token)
        moved.append(len(tgt) - 1)
    return phrase._replace(tgt=tuple(tgt), links=tuple((i, moved[j]) for i, j in phrase.links))
