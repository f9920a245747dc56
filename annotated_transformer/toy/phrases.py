"""A small algebra of phrases in two languages at once.

A `Phrase` holds an English side, a Korean side, and the links between them. Two operations make
every phrase: `word` makes one from the dictionary, and `join` puts phrases side by side, in one
order in English and in another in Korean. A sentence built with them is a translation pair, and
carries its own gold alignment: this is a synchronous grammar (Chiang, "Hierarchical Phrase-Based
Translation", 2007) written as plain functions.

What is linked: a Korean morpheme and the English word that carries its meaning. What stays without
a link: the articles, the auxiliary `do`, `be` before an adjective; the particles of topic, subject,
object and complement, 에게 after *given*, 의, and the endings of statements and of adjectives:
English shows what they mean by the order of words or not at all.
"""

from collections.abc import Sequence
from typing import NamedTuple

from annotated_transformer.toy.morphology import Token


class Phrase(NamedTuple):
    """A phrase on both sides.

    Attributes:
        src: English words with their categories.
        tgt: Korean morphemes with their glosses.
        links: pairs of positions (in `src`, in `tgt`).
        depth: how deep clauses and prepositional phrases are nested in it.
    """

    src: tuple[Token, ...] = ()
    tgt: tuple[Token, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    depth: int = 0


def word(english: str, category: str, *korean: Token) -> Phrase:
    """Translate one English word (or none, "") by Korean morphemes, all of them linked to it.

    >>> word("dogs", "N", Token("개", "dog"), Token("들", "PLURAL")).links
    ((0, 0), (0, 1))
    """
    src = (Token(english, category),) if english else ()
    return Phrase(src, korean, tuple((0, j) for j in range(len(korean))) if english else ())


def join(*parts: Phrase, korean: Sequence[int] = ()) -> Phrase:
    """Put phrases side by side.

    Args:
        parts: the phrases in their English order.
        korean: the same phrases, by number, in their Korean order (default: the English order).

    >>> see, dog = word("see", "V", Token("보", "see")), word("dogs", "N", Token("개", "dog"))
    >>> join(see, dog, korean=(1, 0)).links
    ((0, 1), (1, 0))
    """
    starts = [0] * len(parts)
    tgt: tuple[Token, ...] = ()
    for number in korean or range(len(parts)):
        starts[number] = len(tgt)
        tgt += parts[number].tgt
    src: tuple[Token, ...] = ()
    links: list[tuple[int, int]] = []
    for part, start in zip(parts, starts, strict=True):
        offset = len(src)
        links += [(offset + i, start + j) for i, j in part.links]
        src += part.src
    return Phrase(src, tgt, tuple(links), max([part.depth for part in parts]))


def nest(phrase: Phrase) -> Phrase:
    """Count one level of nesting more."""
    return phrase._replace(depth=phrase.depth + 1)
