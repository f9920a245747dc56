"""Cleaning: how every text is normalised before it is split into tokens."""

import re
import unicodedata

from tokenizers import Regex, normalizers

WHITE = (
    r"[\x{9}-\x{D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}"
    r"\x{205F}\x{3000}]+"
)
"""White space of every kind: tabs, line ends, spaces of any width, no-break spaces."""

INVISIBLE = (
    r"[\x{0}-\x{8}\x{E}-\x{1B}\x{7F}-\x{84}\x{86}-\x{9F}\x{AD}\x{34F}\x{61C}\x{17B4}\x{17B5}"
    r"\x{180E}\x{200B}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2060}-\x{206F}\x{3164}\x{FEFF}\x{FFA0}"
    r"\x{FFF0}-\x{FFFB}\x{1BCA0}-\x{1BCA3}\x{1D173}-\x{1D17A}\x{E0000}-\x{E001F}]"
)
"""Characters that are invisible: control characters, soft hyphens, zero-width spaces, marks of
byte order and of direction, fillers. Joiners (U+200C, U+200D) and variants of a character stay."""

CLEANING = normalizers.Sequence(
    [
        normalizers.Replace(Regex(INVISIBLE), ""),
        normalizers.NFC(),
        normalizers.Replace(Regex(WHITE), " "),
        normalizers.Strip(),
    ]
)
"""The cleaning as a part of every tokenizer, so that a saved tokenizer cleans the same way."""


FILLERS = re.compile("[\u115f\u1160\u2800\U000e0000-\U000e0fff]")
"""Characters that are no marks and show nothing: fillers, an empty pattern of Braille, tags."""


NOTHING = ("Mn", "Mc", "Me", "Cf")
"""The general categories of marks, which show at another character, and of invisible ones."""


def clean(text: str) -> str:
    """Normalise a text to NFC, turn white space into single spaces, remove invisible characters.

    A text is empty if nothing in it shows by itself: joiners, selectors, combining marks, fillers.

    Source: Unicode Standard Annex 15 (NFC); Unicode Standard, 5.21 (default ignorable characters).

    >>> clean("\\ufeff10\\u00a0km  weit\\t")
    '10 km weit'
    """
    cleaned = CLEANING.normalize_str(text)
    shown = (c for c in FILLERS.sub("", cleaned) if not c.isspace())
    return cleaned if any(unicodedata.category(c) not in NOTHING for c in shown) else ""
