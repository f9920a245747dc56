"""Random sentences from the synchronous grammar.

English to Korean must be a function: no English sentence may have two readings. The sampler sees to
it by four rules of attachment:

1. What follows a noun modifies the nearest noun. A noun has one modifier after it at most (a
   prepositional phrase, a relative clause or "given"); nouns joined by "and" have none.
2. "to", "at" and the "and" before a verb belong to the nearest verb before them: no clause stands
   between a verb and one of these.
3. "because" and "if" belong to the main clause and come once.
4. In "see and eat" no verb has an auxiliary: before the first in English, and after the last in
   Korean, it would seem to belong to both.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from annotated_transformer.toy import clauses, lexicon, nominals
from annotated_transformer.toy.clauses import Predicate, action
from annotated_transformer.toy.lexicon import AGENT, ANIMATE, FIXED, GOODS, HUMAN, LANDMARKS, RULE
from annotated_transformer.toy.nominals import PRONOUNS, Nominal, marked
from annotated_transformer.toy.phrases import Phrase

T = TypeVar("T")

_PEOPLE = ("I", "we", "he", "she", "they")
_MODALS = ("",) * 7 + ("must", "must", "can")
_PATTERNS = {"intransitive": 2, "transitive": 6, "ditransitive": 2, "clausal": 5}


class Sampler:
    """Draw sentences.

    Args:
        rng: source of randomness.
        words: the words to use.
    """

    def __init__(self, rng: Random, words: lexicon.Lexicon = lexicon.LEXICON) -> None:
        self.rng = rng
        self.words = words
        self.richness = 0.5
        self.used: set[object] = set()

    def sentence(self, depth: int, richness: float) -> Phrase:
        """Draw a sentence.

        Args:
            depth: how deep clauses and prepositional phrases may nest.
            richness: how often to add adjectives, "and" and the like, 0 (never) to 1; it lengthens.
        """
        self.richness = richness
        self.used.clear()
        subject = self._topic(depth)
        adverbial = depth > 0 and self._perhaps(0.3)
        main = clauses.statement(subject, self._predicate(subject, depth, says=not adverbial))
        if adverbial:
            add = self.rng.choice((clauses.because, clauses.if_))
            subject = self._topic(depth - 1)
            main = add(main, subject, self._predicate(subject, depth - 1))
        return clauses.fused(main)

    def _perhaps(self, weight: float) -> bool:
        """Decide whether to add something."""
        return self.rng.random() < weight * self.richness

    def _pick(self, words: Sequence[T]) -> T:
        """Choose a word, rather one that the sentence does not have yet."""
        for _ in range(3):
            word = self.rng.choice(words)
            if word not in self.used:
                break
        self.used.add(word)
        return word

    # Noun phrases: `depth` is what remains, `free` whether a clause may stand inside (rule 2).

    def _topic(self, depth: int) -> Nominal:
        """The subject of a clause of its own: somebody, or a thing now and then."""
        if self.rng.random() < 0.07:
            return self._nominal(lexicon.THINGS, depth, free=True)
        return self._subject(ANIMATE, depth)

    def _subject(self, kinds: lexicon.Kinds, depth: int) -> Nominal:
        """A noun phrase or pronoun that may be the subject of a verb."""
        if "person" in kinds and self.rng.random() < 0.3:
            return PRONOUNS[self.rng.choice(_PEOPLE)]
        return self._nominal(kinds, depth, free=True)

    def _object(self, kinds: lexicon.Kinds, depth: int, free: bool, subject: Nominal) -> Nominal:
        """A noun phrase or pronoun; "I see us" is avoided."""
        if self.rng.random() < 0.2:
            selves = subject in (PRONOUNS["I"], PRONOUNS["we"])
            people = _PEOPLE[2 * selves :] if "person" in kinds else ()
            return PRONOUNS[self.rng.choice((*people, "it") if kinds - HUMAN else people)]
        return self._nominal(kinds, depth, free)

    def _nominal(self, kinds: lexicon.Kinds, depth: int, free: bool) -> Nominal:
        """A noun and what belongs to it, or nouns joined by "and" (rule 1)."""
        noun = self._pick(lexicon.nouns_of(self.words, kinds))
        if self._perhaps(0.25):
            fellows = lexicon.nouns_of(self.words, frozenset([noun.kind]))
            others = [fellow for fellow in fellows if fellow is not noun]
            more = self.rng.sample(others, min(len(others), 1 + self._perhaps(0.5)))
            if more:
                return nominals.coordinate(*map(self._simple, (noun, *more)))
        every = self.rng.random() < 0.08
        return self._modified(self._simple(noun, "every" if every else ""), depth, free)

    def _simple(self, noun: lexicon.Noun, determiner: str = "") -> Nominal:
        """A noun with nothing after it."""
        plural = bool(noun.plural) and not determiner and self.rng.random() < 0.3
        if not determiner:
            choices = ("the", "the", "my") if plural else ("the", "the", "a", "a", "my")
            own = noun.kind != "person"  # "my man" says more than it seems
            determiner = self.rng.choice(choices if own else choices[:-1])
        return nominals.noun_phrase(noun, determiner, plural, *self._adjective(noun))

    def _adjective(self, noun: lexicon.Noun) -> tuple[lexicon.Adjective | None, bool]:
        """Perhaps an adjective, perhaps "very" before it."""
        if not self._perhaps(0.35):
            return None, False
        return self._pick(lexicon.adjectives_of(self.words, noun.kind)), self._perhaps(0.3)

    def _modified(self, nominal: Nominal, depth: int, free: bool) -> Nominal:
        """A noun, perhaps with something after it (rule 1)."""
        if not depth or self.rng.random() < 0.3:
            return nominal
        ways: list[Callable[[Nominal, int, bool], Nominal]] = []
        if nominal.kind not in RULE:
            ways.append(self._located)
        if free:
            ways += [self._related, self._object_related]
        if free and nominal.kind in GOODS | RULE:
            ways.append(self._given)
        return self.rng.choice(ways)(nominal, depth - 1, free) if ways else nominal

    def _located(self, nominal: Nominal, depth: int, free: bool) -> Nominal:
        """Put a thing where it may be: a table beside a tree, a school beside a school."""
        movable = nominal.kind not in HUMAN | FIXED
        preposition = self.rng.choice(("beside", "behind", "on", "under")[: 4 if movable else 2])
        flat = preposition in ("on", "under") or nominal.kind == "furniture"
        kinds = FIXED - lexicon.PLACE if flat else LANDMARKS if nominal.kind in LANDMARKS else FIXED
        ground = self._simple(self._pick(lexicon.nouns_of(self.words, kinds)))
        return nominals.located(nominal, preposition, self._modified(ground, depth, free))

    def _related(self, nominal: Nominal, depth: int, free: bool) -> Nominal:
        return clauses.relative(nominal, self._predicate(nominal, depth))

    def _object_related(self, nominal: Nominal, depth: int, free: bool) -> Nominal:
        verb = self._pick(lexicon.verbs_with_object(self.words, nominal.kind))
        subject = self._subject(verb.subjects, 0)
        receivers = []
        if verb.pattern == "ditransitive":
            receivers = [marked(self._object(HUMAN, depth, free, subject), "TO", "to")]
        modal, negated = self._auxiliary()
        predicate = action(verb, *receivers, modal=modal, negated=negated)
        return clauses.relative(nominal, predicate, subject)

    def _given(self, nominal: Nominal, depth: int, free: bool) -> Nominal:
        if self.rng.random() < 0.2:
            return clauses.given(nominal, PRONOUNS["it"])
        return clauses.given(nominal, self._object(AGENT, depth, free, nominal))

    # Predicates

    def _predicate(self, subject: Nominal, depth: int, says: bool = True) -> Predicate:
        """One predicate, or two joined by "and" (rules 2 and 4); `says` lets it be "say that"."""
        if self._perhaps(0.2):
            first = self._single(subject, depth, free=False, says=False, plain=True)
            second = self._single(subject, depth, free=True, says=says, plain=True)
            return clauses.both(first, second)
        return self._single(subject, depth, free=True, says=says, plain=False)

    def _single(
        self, subject: Nominal, depth: int, free: bool, says: bool, plain: bool
    ) -> Predicate:
        pattern = self._pattern(subject.kind, says and depth > 0)
        modal, negated = ("", False) if plain else self._auxiliary()
        if pattern == "state":
            adjective = self._pick(lexicon.adjectives_of(self.words, subject.kind))
            return clauses.state(adjective, not negated and self._perhaps(0.3), negated)
        if pattern == "identity":
            return clauses.identity(self._profession(subject.agreement, depth, free), negated)
        verb = self._pick(lexicon.verbs_with_subject(self.words, pattern, subject.kind))
        place = verb.place and self._perhaps(0.3)
        complements = []
        if pattern == "clausal":
            speaker = self._topic(depth - 1)
            complements.append(clauses.that(speaker, self._predicate(speaker, depth - 1)))
        if verb.objects:
            last = pattern == "transitive" and not place
            thing = self._object(verb.objects, depth, free and last, subject)
            complements.append(marked(thing, "OBJECT"))
        if pattern == "ditransitive":
            complements.append(marked(self._object(HUMAN, depth, free, subject), "TO", "to"))
        if place:
            where = self._simple(self._pick(lexicon.nouns_of(self.words, lexicon.PLACE)))
            complements.append(marked(self._modified(where, depth, free), "AT", "at"))
        return action(verb, *complements, modal=modal, negated=negated)

    def _profession(self, agreement: str, depth: int, free: bool) -> Nominal:
        """What somebody is: "a poet that the king likes", or in the plural "poets"."""
        noun = self._pick(lexicon.nouns_of(self.words, lexicon.PROFESSION))
        determiner, plural = ("", True) if agreement == "plural" else ("a", False)
        nominal = nominals.noun_phrase(noun, determiner, plural, *self._adjective(noun), False)
        if free and depth and self.rng.random() < 0.5:
            return self._object_related(nominal, depth - 1, free)
        return nominal

    def _pattern(self, kind: str, says: bool) -> str:
        """Choose what kind of predicate to make."""
        patterns = ["state"] * 2 + ["identity"] * 3 * (kind == "person")
        for pattern, weight in _PATTERNS.items():
            if says or pattern != "clausal":
                found = lexicon.verbs_with_subject(self.words, pattern, kind)
                patterns += [pattern] * weight * bool(found)
        return self.rng.choice(patterns)

    def _auxiliary(self) -> tuple[str, bool]:
        return self.rng.choice(_MODALS), self.rng.random() < 0.15
