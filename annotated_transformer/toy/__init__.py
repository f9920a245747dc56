"""The toy corpora: English and Korean sentences with gold alignments, and little stories.

A grammar makes each. ``corpus`` makes the sentence pairs. Each of the other modules uses only those
before it: ``hangul`` (how syllables are written), ``morphology`` (particles and endings),
``lexicon`` (words), ``phrases`` (two languages at once), ``nominals`` and ``clauses`` (the
grammar), ``choice`` (random words), ``sampler`` (random sentences). ``stories`` makes the stories,
and ``story_reader`` judges them.
"""

from annotated_transformer.toy.corpus import (
    EXAMPLES,
    LONGEST,
    Pair,
    is_held_out,
    pair,
    toy_corpus,
)
from annotated_transformer.toy.stories import toy_stories
from annotated_transformer.toy.story_reader import story_fault

__all__ = [
    "EXAMPLES",
    "LONGEST",
    "Pair",
    "is_held_out",
    "pair",
    "story_fault",
    "toy_corpus",
    "toy_stories",
]
