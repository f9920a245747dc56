import unicodedata

import pytest

from annotated_transformer.ground.errors import InputError
from annotated_transformer.toy.hangul import attach, final, syllable
from annotated_transformer.toy.morphology import (
    ADJECTIVE,
    COPULA,
    EXISTENTIAL,
    GLOSSES,
    VERB,
    Token,
    ending,
    is_attached,
    particle,
    written,
)

SYLLABLES = [chr(code) for code in range(ord("가"), ord("힣") + 1)]

# The names of conjoining and of single letters end alike: CHOSEONG KIYEOK, LETTER KIYEOK.
LETTERS = {unicodedata.name(chr(code)).split()[-1]: chr(code) for code in range(0x3131, 0x3164)}


def alone(conjoining: str) -> str:
    return LETTERS[unicodedata.name(conjoining).split()[-1]]


def test_every_syllable_has_the_letters_that_unicode_gives_it():
    for character in SYLLABLES:
        _, vowel, *last = unicodedata.normalize("NFD", character)
        parts = syllable(character)
        assert parts.vowel == alone(vowel)
        assert parts.final.strip() == "".join(map(alone, last))
        assert final("가" + character) == "".join(map(alone, last))


def test_every_syllable_is_put_together_again():
    for character in SYLLABLES:
        assert str(syllable(character)) == character


@pytest.mark.parametrize(("letter", "conjoining"), [("ㄴ", "\u11ab"), ("ㄹ", "\u11af")])
def test_a_bare_consonant_closes_an_open_syllable_as_unicode_composes_it(letter, conjoining):
    for character in SYLLABLES:
        if not final(character):
            composed = unicodedata.normalize("NFC", character + conjoining)
            assert attach("가" + character, letter + "다") == "가" + composed + "다"


@pytest.mark.parametrize("character", ["", "a", "ㄱ", "가나", "\u1112"])
def test_what_is_no_syllable_is_refused(character):
    with pytest.raises(InputError, match="not one Hangul syllable"):
        syllable(character)


def test_a_word_that_ends_on_no_syllable_is_refused():
    with pytest.raises(InputError, match="'k' is not one Hangul syllable"):
        final("book")


# What follows was written by hand, word by word.

PARTICLES = """
    학생은 학생이 학생을 학생과
    아이는 아이가 아이를 아이와
    멜론은 멜론이 멜론을 멜론과
    나무는 나무가 나무를 나무와
"""


@pytest.mark.parametrize("line", PARTICLES.strip().splitlines())
def test_particles(line):
    forms = line.split()
    noun = forms[0][:-1]
    glosses = ("TOPIC", "SUBJECT", "OBJECT", "AND")
    assert [noun + particle(noun, gloss).form for gloss in glosses] == forms


# stem, kind: statement, that (quoted), that (relative), if, and, must (adjectives: none), may
CONJUGATIONS = """
    보 verb 본다 본다고 보는 보면 보고 보아야 볼
    먹 verb 먹는다 먹는다고 먹는 먹으면 먹고 먹어야 먹을
    만들 verb 만든다 만든다고 만드는 만들면 만들고 만들어야 만들
    팔 verb 판다 판다고 파는 팔면 팔고 팔아야 팔
    따르 verb 따른다 따른다고 따르는 따르면 따르고 따라야 따를
    쓰 verb 쓴다 쓴다고 쓰는 쓰면 쓰고 써야 쓸
    지키 verb 지킨다 지킨다고 지키는 지키면 지키고 지켜야 지킬
    가 verb 간다 간다고 가는 가면 가고 가야 갈
    만나 verb 만난다 만난다고 만나는 만나면 만나고 만나야 만날
    보내 verb 보낸다 보낸다고 보내는 보내면 보내고 보내야 보낼
    주 verb 준다 준다고 주는 주면 주고 주어야 줄
    사랑하 verb 사랑한다 사랑한다고 사랑하는 사랑하면 사랑하고 사랑해야 사랑할
    잡 verb 잡는다 잡는다고 잡는 잡으면 잡고 잡아야 잡을
    쫓 verb 쫓는다 쫓는다고 쫓는 쫓으면 쫓고 쫓아야 쫓을
    믿 verb 믿는다 믿는다고 믿는 믿으면 믿고 믿어야 믿을
    웃 verb 웃는다 웃는다고 웃는 웃으면 웃고 웃어야 웃을
    않 verb 않는다 않는다고 않는 않으면 않고 않아야 않을
    크 adjective 크다 크다고 큰 크면 크고 - 클
    작 adjective 작다 작다고 작은 작으면 작고 - 작을
    달 adjective 달다 달다고 단 달면 달고 - 달
    좋 adjective 좋다 좋다고 좋은 좋으면 좋고 - 좋을
    빠르 adjective 빠르다 빠르다고 빠른 빠르면 빠르고 - 빠를
    행복하 adjective 행복하다 행복하다고 행복한 행복하면 행복하고 - 행복할
    않 adjective 않다 않다고 않은 않으면 않고 - 않을
    있 existential 있다 있다고 있는 있으면 있고 - 있을
    없 existential 없다 없다고 없는 없으면 없고 - 없을
    아니 copula 아니다 아니라고 아닌 아니면 아니고 - 아닐
"""


@pytest.mark.parametrize("line", CONJUGATIONS.strip().splitlines())
def test_conjugations(line):
    stem, kind, *forms = line.split()
    assert kind in (VERB, ADJECTIVE, EXISTENTIAL, COPULA)
    glosses = ("PLAIN", "QUOTE", "ADNOMINAL", "IF", "AND", "MUST", "PROSPECTIVE")
    for gloss, form in zip(glosses, forms, strict=True):
        if form != "-":
            assert attach(stem, ending(stem, kind, gloss).form) == form


def test_only_grammatical_morphemes_are_attached():
    assert all(gloss.isupper() for gloss in GLOSSES)
    assert is_attached("be")
    assert is_attached("be.QUOTE")
    assert not any(map(is_attached, ("I", "dog", "be.given", "not.be", "not", "way", "because")))


def test_words_are_written_apart_and_morphemes_together():
    tokens = "자/sleep ㄹ/PROSPECTIVE 수/way 있/exist 는/ADNOMINAL 개/dog 들/PLURAL 에게/TO"
    pairs = tuple(Token(*token.split("/")) for token in tokens.split())
    assert written(pairs) == "잘 수 있는 개들에게"
