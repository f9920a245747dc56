"""Hangul: syllables as letters, and how the morphemes of a word are written together.

A Korean syllable such as 한 is one character that packs an initial consonant (ㅎ), a vowel (ㅏ) and
perhaps a final consonant (ㄴ, the 받침). Unicode lays the 11,172 syllables out in one block, so
that letters and syllables are converted by arithmetic (The Unicode Standard, section 3.12):

    code = 0xAC00 + (initial · 21 + vowel) · 28 + final

Two features of Korean grammar depend on the final consonant: which form a particle takes (학생 은,
but 나 는), and how a verb joins its ending (보 + ㄴ다 is written 본다, 먹 + 는다 is 먹는다).
"""

from typing import NamedTuple

from annotated_transformer.ground.errors import InputError

FIRST, LAST = "가", "힣"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
FINALS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
_NIEUN_INITIAL = 2  # ㄴ in the order of the nineteen initials


class Syllable(NamedTuple):
    """The parts of a syllable: the index of its initial, its vowel and its final (" ": none)."""

    initial: int
    vowel: str
    final: str

    def __str__(self) -> str:
        block = (self.initial * len(VOWELS) + VOWELS.index(self.vowel)) * len(FINALS)
        return chr(ord(FIRST) + block + FINALS.index(self.final))


def syllable(character: str) -> Syllable:
    """Split a syllable into its parts.

    >>> syllable("한")
    Syllable(initial=18, vowel='ㅏ', final='ㄴ')
    >>> str(syllable("한"))
    '한'

    Raises:
        InputError: if `character` is not one precomposed Hangul syllable.
    """
    if len(character) != 1 or not FIRST <= character <= LAST:
        raise InputError(f"{character!r} is not one Hangul syllable (가 to 힣).")
    rest, final = divmod(ord(character) - ord(FIRST), len(FINALS))
    initial, vowel = divmod(rest, len(VOWELS))
    return Syllable(initial, VOWELS[vowel], FINALS[final])


def final(word: str) -> str:
    """Return the final consonant on which a word ends, or "" if it ends on a vowel.

    >>> final("학생"), final("나")
    ('ㅇ', '')

    Raises:
        InputError: if the word is empty or does not end on a Hangul syllable.
    """
    return syllable(word[-1:]).final.strip()


def attach(word: str, suffix: str) -> str:
    """Write a suffix onto a word as Korean spelling asks.

    >>> [attach("보", "ㄴ다"), attach("만들", "ㄴ다"), attach("지키", "어야"), attach("개", "는")]
    ['본다', '만든다', '지켜야', '개는']

    Raises:
        InputError: if the word is empty or does not end on a Hangul syllable.
    """
    head, last = word[:-1], syllable(word[-1:])
    if suffix[0] in "ㄴㄹ":  # a bare consonant slips under the vowel, and pushes out a ㄹ
        return head + str(last._replace(final=suffix[0])) + suffix[1:]
    first = syllable(suffix[0])
    if last.final == "ㄹ" and first.initial == _NIEUN_INITIAL:  # 만들 + 는 → 만드는
        return head + str(last._replace(final=" ")) + suffix
    if suffix in ("아야", "어야", "여야") and last.final == " ":
        return head + _contract(last, first.vowel) + suffix[1:]
    return word + suffix


def _contract(last: Syllable, vowel: str) -> str:
    """Merge a vowel at the end of a stem with the vowel of 아, 어 or 여 that follows."""
    if vowel == "ㅕ":  # 하 + 여 → 해
        return str(last._replace(vowel="ㅐ"))
    if last.vowel == "ㅡ":  # 따르 + 아 → 따라, 쓰 + 어 → 써
        return str(last._replace(vowel=vowel))
    if last.vowel == "ㅣ":  # 지키 + 어 → 지켜
        return str(last._replace(vowel="ㅕ"))
    if last.vowel == vowel or last.vowel in "ㅐㅔㅕ":  # 가 + 아 → 가, 보내 + 어 → 보내
        return str(last)
    return str(last) + {"ㅏ": "아", "ㅓ": "어"}[vowel]  # 보 + 아 stays 보아
