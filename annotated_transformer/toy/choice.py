"""Random words, chosen among those that are still allowed and make sense in their context.

The numbered rules are those of :mod:`annotated_transformer.toy.sampler`.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from annotated_transformer.toy import lexicon, nominals
from annotated_transformer.toy.lexicon import (
    ANIMATE,
    FIXED,
    HUMAN,
    LANDMARKS,
    Adjective,
    Kinds,
    Noun,
    Verb,
)
from annotated_transformer.toy.nominals import PRONOUNS, Nominal

T = TypeVar("T")

PEOPLE = ("I", "we", "he", "she", "they")
_MODALS = ("",) * 7 + ("must", "must", "can")
_PATTERNS = {"intransitive": 2, "transitive": 6, "ditransitive": 2, "clausal": 5}


class Choice:
    """Choose words for a sentence, and remember those it already has.

    Args:
        rng: source of randomness.
        words: the words to use.
    """

    def __init__(self, rng: Random, words: lexicon.Lexicon = lexicon.LEXICON) -> None:
        self.rng = rng
        self.words = words
        self.richness = 0.5
        self.used: set[object] = set()

    def perhaps(self, weight: float) -> bool:
        """Decide whether to add something."""
        return self.rng.random() < weight * self.richness

    def pick(self, words: Sequence[T]) -> T:
        """Choose a word, if possible one that the sentence does not have yet."""
        word = self.rng.choice(self.fresh(words) or words)
        self.used.add(word)
        return word

    def fresh(self, words: Sequence[T]) -> list[T]:
        """Return the words that the sentence does not have yet."""
        return [word for word in words if word not in self.used]

    def adjectives(self, kind: str) -> list[Adjective]:
        """Return the adjectives that are still allowed with a noun (rule 5)."""
        opposites = {a.opposite for a in self.used if isinstance(a, Adjective)}
        fresh = self.fresh(lexicon.adjectives_of(self.words, kind))
        return [adjective for adjective in fresh if adjective.english not in opposites]

    def simple(self, noun: Noun, determiner: str = "", plain: bool = False) -> Nominal:
        """Make a noun phrase with nothing after the noun; a plain one has no adjective either."""
        plural = bool(noun.plural) and not determiner and self.rng.random() < 0.3
        if not determiner:
            choices = ("the", "the", "my") if plural else ("the", "the", "a", "a", "my")
            own = noun.kind != "person"  # "my man" means more than "a man of mine"
            determiner = self.rng.choice(choices if own else choices[:-1])
            if noun.kind == "friend":  # of whom?
                determiner = "my"
        adjective, very = (None, False) if plain else self.adjective(noun)
        return nominals.noun_phrase(noun, determiner, plural, adjective, very)

    def adjective(self, noun: Noun) -> tuple[Adjective | None, bool]:
        """Choose perhaps an adjective, and perhaps "very" before it."""
        if not (adjectives := self.adjectives(noun.kind)) or not self.perhaps(0.35):
            return None, False
        return self.pick(adjectives), self.perhaps(0.3)

    def pronouns(self, kinds: Kinds, subject: Nominal) -> list[str]:
        """Return the pronouns that may be the object; "I see us" is avoided."""
        selves = subject in (PRONOUNS["I"], PRONOUNS["we"])
        people = PEOPLE[2 * selves :] if "person" in kinds else ()
        it = ("it",) if kinds - ANIMATE else ()
        return self.fresh((*people, *it))

    def more_like(self, noun: Noun) -> list[Noun]:
        """Choose one or two other nouns of the same kind, unless the sentence has all of them."""
        others = self.fresh(lexicon.nouns_of(self.words, frozenset([noun.kind])))
        more = self.rng.sample(others, min(len(others), 1 + self.perhaps(0.5)))
        self.used.update(more)
        return more

    def ground(self, nominal: Nominal) -> tuple[str, Nominal]:
        """Choose where a thing may be: a table beside a tree, a school beside a school."""
        movable = nominal.kind not in HUMAN | FIXED
        preposition = self.rng.choice(("beside", "behind", "on", "under")[: 4 if movable else 2])
        kinds = LANDMARKS if nominal.kind in LANDMARKS else FIXED
        if nominal.kind == "furniture":
            kinds = FIXED - lexicon.PLACE
        if preposition in ("on", "under"):
            kinds = lexicon.FURNITURE
        return preposition, self.simple(self.pick(lexicon.nouns_of(self.words, kinds)))

    def patterns(
        self, subject: Nominal, says: bool, states: bool = True, plain: bool = False
    ) -> list[str]:
        """List the kinds of predicate for this subject, each as often as its weight."""
        patterns = ["state"] * 2 * (states and bool(self.adjectives(subject.kind)))
        patterns += ["identity"] * 3 * (subject.kind == "person")
        for pattern, weight in _PATTERNS.items():
            if says or pattern != "clausal":
                patterns += [pattern] * weight * bool(self.verbs(pattern, subject.kind, plain))
        return patterns

    def verbs(self, pattern: str, kind: str, plain: bool = False) -> list[Verb]:
        """List the verbs for such a subject; `plain`: beside "and" (rule 7)."""
        found = lexicon.verbs_with_subject(self.words, pattern, kind)
        return [verb for verb in self.fresh(found) if not verb.stative] if plain else list(found)

    def auxiliary(self, subject: Nominal, verb: Verb | None) -> tuple[str, bool]:
        """Choose perhaps "must" or "can", and whether it is negated (rule 8)."""
        modal, negated = self.rng.choice(_MODALS), self.rng.random() < 0.15
        bare = verb is not None and verb.stative
        return "" if bare else modal, negated and not subject.universal
