"""Cleaning: what becomes of every text before it is cut into tokens."""

from tokenizers import Regex, normalizers

WHITE = (
    r"[\x{9}-\x{D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}"
    r"\x{205F}\x{3000}]+"
)
"""White space of every kind: tabs, ends of lines, spaces of any width, those that do not break."""

INVISIBLE = (
    r"[\x{0}-\x{8}\x{E}-\x{1B}\x{7F}-\x{84}\x{86}-\x{9F}\x{AD}\x{34F}\x{61C}\x{17B4}\x{17B5}"
    r"\x{180E}\x{200B}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2060}-\x{206F}\x{3164}\x{FEFF}\x{FFA0}"
    r"\x{FFF0}-\x{FFFB}\x{1BCA0}-\x{1BCA3}\x{1D173}-\x{1D17A}\x{E0000}-\x{E001F}]"
)
"""What is not seen and says nothing: control characters, soft hyphens, zero-width spaces, marks of
byte order and of direction, fillers. Joiners (U+200C, U+200D) and variants of a character stay."""

CLEANING = normalizers.Sequence(
    [
        normalizers.Replace(Regex(INVISIBLE), ""),
        normalizers.NFC(),
        normalizers.Replace(Regex(WHITE), " "),
        normalizers.Strip(),
    ]
)
"""The cleaning as a part of every tokenizer: whoever loads one cleans the same."""


def clean(text: str) -> str:
    """The text in Unicode's form NFC, one space for white space, and nothing that is not seen.

    Source: Unicode Standard Annex 15 (NFC); Unicode Standard, 5.21 (what is ignored in display).

    >>> clean("\\ufeff10\\u00a0km  weit\\t")
    '10 km weit'
    """
    return CLEANING.normalize_str(text)
