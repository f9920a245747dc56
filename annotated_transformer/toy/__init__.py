"""The toy corpus: English and Korean sentences with gold alignments, made by a grammar.

``corpus`` makes it. Each of the other modules uses only those before it: ``hangul`` (how syllables
are written), ``morphology`` (particles and endings), ``lexicon`` (words), ``phrases`` (two
languages at once), ``nominals`` and ``clauses`` (the grammar), ``choice`` (random words),
``sampler`` (random sentences).
"""

from annotated_transformer.toy.corpus import (
    EXAMPLES,
    LONGEST,
    Pair,
    is_held_out,
    pair,
    toy_corpus,
)

__all__ = ["EXAMPLES", "LONGEST", "Pair", "is_held_out", "pair", "toy_corpus"]
