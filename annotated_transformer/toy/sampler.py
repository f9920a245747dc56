"""Random sentences from the synchronous grammar.

English to Korean must be a function: no English sentence may have two readings. The sampler ensures
this by four rules of attachment:

1. What follows a noun modifies the nearest noun. A noun has one modifier after it at most (a
   prepositional phrase, a relative clause or "given"); nouns joined by "and" have none.
2. "to", "in" and the "and" before a verb belong to the nearest verb before them: no clause stands
   between a verb and one of these.
3. "because" and "if" belong to the main clause and come once.
4. In "see and eat" no verb has an auxiliary: before the first in English, and after the last in
   Korean, it would seem to belong to both.

It also ensures that sentences make sense, in both languages:

5. No adjective comes twice in a sentence, and none together with its opposite.
6. A noun with an adjective is not described by a clause as well ("the good cake that is sweet").
7. "and" joins two actions, two qualities or two professions; states of mind are not joined.
8. Neither "every" nor an "and" between objects occurs with a "not" in its clause: the scope would
   be ambiguous.
9. "given it" is said of what is given to the subject, 자신, if that is one robot or one animal.
10. What is being made has no past: "writes a letter that the king sells" is not generated.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from annotated_transformer.toy import clauses, lexicon, nominals
from annotated_transformer.toy.choice import PEOPLE, Choice
from annotated_transformer.toy.clauses import Predicate, action
from annotated_transformer.toy.lexicon import ANIMATE, GOODS, HUMAN, RULE, Kinds
from annotated_transformer.toy.nominals import ITSELF, PRONOUNS, Nominal, marked
from annotated_transformer.toy.phrases import Phrase


class Clause(NamedTuple):
    """What the rest of a clause has to know about it."""

    subject: Nominal
    negated: bool


class Sampler(Choice):
    """Draw sentences."""

    def sentence(self, depth: int, richness: float) -> Phrase:
        """Draw a sentence.

        Args:
            depth: how deep clauses and prepositional phrases may nest.
            richness: how often to add adjectives, "and" and the like, 0 (never) to 1; it lengthens.
        """
        self.richness = richness
        self.used.clear()
        subject = self._topic(depth)
        adverbial = depth > 0 and self.perhaps(0.3)
        main = clauses.statement(subject, self._predicate(subject, depth, says=not adverbial))
        if adverbial:
            add = self.rng.choice((clauses.because, clauses.if_))
            subject = self._topic(depth - 1)
            main = add(main, subject, self._predicate(subject, depth - 1))
        return clauses.fused(main)

    # Noun phrases: `depth` is what remains, `free` whether a clause may stand inside (rule 2).

    def _topic(self, depth: int) -> Nominal:
        """Draw the subject of a main clause: somebody, or sometimes a thing."""
        if self.rng.random() < 0.07:
            thing = self._nominal(lexicon.THINGS, depth, free=True)
            if self.patterns(thing, says=False):
                return thing
        return self._subject(ANIMATE, depth)

    def _subject(self, kinds: Kinds, depth: int) -> Nominal:
        """Draw a noun phrase or pronoun that may be the subject of a verb."""
        if "person" in kinds and self.rng.random() < 0.3 and (people := self.fresh(PEOPLE)):
            return PRONOUNS[self.pick(people)]
        return self._nominal(kinds, depth, free=True)

    def _object(
        self, kinds: Kinds, depth: int, free: bool, clause: Clause, creates: Kinds = frozenset()
    ) -> Nominal:
        """Draw a noun phrase or pronoun as an object."""
        pronominal = kinds - creates and self.rng.random() < 0.2
        if pronominal and (pronouns := self.pronouns(kinds, clause.subject)):
            return PRONOUNS[self.pick(pronouns)]
        return self._nominal(kinds, depth, free, clause, creates)

    def _nominal(
        self,
        kinds: Kinds,
        depth: int,
        free: bool,
        clause: Clause | None = None,
        creates: Kinds = frozenset(),
    ) -> Nominal:
        """Draw a noun with its modifiers, or nouns joined by "and" (rule 1).

        `clause` is the clause whose object it is, or None for a subject.
        """
        noun = self.pick(lexicon.nouns_of(self.words, kinds))
        if noun.kind in creates:  # rule 10
            return self.simple(noun, plain=True)
        denied = clause is not None and clause.negated  # rule 8
        if not denied and self.perhaps(0.25) and (more := self.more_like(noun)):
            return nominals.coordinate(*map(self.simple, (noun, *more)))
        every = not denied and noun.kind != "friend" and self.rng.random() < 0.08
        return self._modified(self.simple(noun, "every" if every else ""), depth, free, clause)

    def _modified(
        self, nominal: Nominal, depth: int, free: bool, clause: Clause | None = None
    ) -> Nominal:
        """Draw a noun, perhaps with a modifier after it (rule 1)."""
        if not depth or self.rng.random() < 0.3:
            return nominal
        ways: list[Callable[[Nominal, int, bool], Nominal]] = []
        if nominal.kind not in RULE:
            ways.append(self._located)
        if free and self.patterns(nominal, says=False, states=not nominal.described):
            ways.append(self._related)
        if free:
            ways.append(self._object_related)
        if free and clause and nominal.kind in GOODS | RULE and nominal.phrase.src[0].form != "my":
            # One robot or one animal has fewer sentences from which "given it" is learned.
            ways += [partial(self._given, clause)] * (5 if _is_it(clause.subject) else 1)
        return self.rng.choice(ways)(nominal, depth - 1, free) if ways else nominal

    def _located(self, nominal: Nominal, depth: int, free: bool) -> Nominal:
        """Put a thing beside, behind, on or under another."""
        preposition, ground = self.ground(nominal)
        return nominals.located(nominal, preposition, self._modified(ground, depth, free))

    def _related(self, nominal: Nominal, depth: int, free: bool) -> Nominal:
        return clauses.relative(
            nominal, self._predicate(nominal, depth, states=not nominal.described)
        )

    def _object_related(self, nominal: Nominal, depth: int, free: bool) -> Nominal:
        verb = self.pick(lexicon.verbs_with_object(self.words, nominal.kind))
        subject = self._subject(verb.subjects, 0)
        modal, negated = self.auxiliary(subject, verb)
        if nominal.kind in verb.creates:  # rule 10: it is there, so it has been made
            modal, negated = "", False
        receivers = []
        if verb.pattern == "ditransitive":
            receiver = self._object(HUMAN, depth, free, Clause(subject, negated))
            receivers = [marked(receiver, "TO", "to")]
        predicate = action(verb, *receivers, modal=modal, negated=negated)
        return clauses.relative(nominal, predicate, subject)

    def _given(self, clause: Clause, nominal: Nominal, depth: int, free: bool) -> Nominal:
        people = self.fresh(PEOPLE)
        if not people or (_is_it(clause.subject) and self.rng.random() < 0.7):
            return clauses.given(nominal, ITSELF) if _is_it(clause.subject) else nominal
        return clauses.given(nominal, PRONOUNS[self.pick(people)])

    # Predicates

    def _predicate(
        self, subject: Nominal, depth: int, says: bool = True, states: bool = True
    ) -> Predicate:
        """Draw one predicate, or two joined by "and" (rules 2, 4 and 7).

        `says` allows "say that", `states` allows an adjective.
        """
        says = says and depth > 0
        if not self.perhaps(0.2):
            pattern = self.rng.choice(self.patterns(subject, says, states))
            return self._single(pattern, subject, depth, free=True)
        pattern = self.rng.choice(self.patterns(subject, False, states, plain=True))
        first = self._single(pattern, subject, depth, free=False, plain=True)
        patterns = self.patterns(subject, says, states, plain=True)
        if not (like := [other for other in patterns if _sort(other) == _sort(pattern)]):
            return first
        second = self._single(self.rng.choice(like), subject, depth, free=True, plain=True)
        return clauses.both(first, second)

    def _single(
        self, pattern: str, subject: Nominal, depth: int, free: bool, plain: bool = False
    ) -> Predicate:
        verb = None
        if pattern not in ("state", "identity"):
            verb = self.pick(self.verbs(pattern, subject.kind, plain))
        modal, negated = ("", False) if plain else self.auxiliary(subject, verb)
        clause = Clause(subject, negated)
        if pattern == "state":
            adjective = self.pick(self.adjectives(subject.kind))
            return clauses.state(adjective, not negated and self.perhaps(0.3), negated)
        if not verb:
            return clauses.identity(self._profession(subject.agreement, depth, free), negated)
        place = verb.place and self.perhaps(0.3)
        complements = []
        if pattern == "clausal":
            speaker = self._topic(depth - 1)
            complements.append(clauses.that(speaker, self._predicate(speaker, depth - 1)))
        if verb.objects:
            last = pattern == "transitive" and not place
            # If the action has a place, its object has none.
            deep = 0 if place else depth
            thing = self._object(verb.objects, deep, free and last, clause, verb.creates)
            complements.append(marked(thing, "OBJECT"))
        if pattern == "ditransitive":
            complements.append(marked(self._object(HUMAN, depth, free, clause), "TO", "to"))
        if place:
            where = self.simple(self.pick(lexicon.nouns_of(self.words, lexicon.PLACE)))
            complements.append(marked(self._modified(where, depth, free, clause), "IN", "in"))
        return action(verb, *complements, modal=modal, negated=negated)

    def _profession(self, agreement: str, depth: int, free: bool) -> Nominal:
        """Draw what somebody is: "a poet that the king likes", or in the plural "poets"."""
        professions = lexicon.nouns_of(self.words, lexicon.PROFESSION)
        noun = self.pick([one for one in professions if one.english != "king"])  # or a queen?
        determiner, plural = ("", True) if agreement == "plural" else ("a", False)
        nominal = nominals.noun_phrase(noun, determiner, plural, *self.adjective(noun), False)
        if free and depth and self.rng.random() < 0.5:
            return self._object_related(nominal, depth - 1, free)
        return nominal


def _is_it(nominal: Nominal) -> bool:
    """Tell whether it is one robot or one animal (rule 9)."""
    return nominal.agreement == "singular" and nominal.kind in ("machine", "animal")


def _sort(pattern: str) -> str:
    """Return the sort of a pattern, which "and" does not mix: states, professions, actions."""
    return pattern if pattern in ("state", "identity") else "action"
