"""The exercises of the book: a folder for every chapter, named by the stem of its notebook.

An exercise is called with the reader's function and returns a verdict:

>>> count_tokens(lambda ids: ids.sum(dim=1))
wrong: you add up the ids; compare them with PAD first.
"""

from typing import Any

from annotated_transformer.course.exercises import (
    bahdanau,
    cross_attention,
    decoding,
    find_the_bug,
    layers,
    luong,
    masking,
    multi_head_attention,
    positional_encoding,
    self_attention,
    seq2seq,
    tokens_and_batches,
    training,
    transformer,
    translation,
    what_heads_do,
    why_attention,
)
from annotated_transformer.course.exercises.bahdanau import *
from annotated_transformer.course.exercises.cross_attention import *
from annotated_transformer.course.exercises.decoding import *
from annotated_transformer.course.exercises.find_the_bug import *
from annotated_transformer.course.exercises.layers import *
from annotated_transformer.course.exercises.luong import *
from annotated_transformer.course.exercises.masking import *
from annotated_transformer.course.exercises.multi_head_attention import *
from annotated_transformer.course.exercises.positional_encoding import *
from annotated_transformer.course.exercises.self_attention import *
from annotated_transformer.course.exercises.seq2seq import *
from annotated_transformer.course.exercises.tokens_and_batches import *
from annotated_transformer.course.exercises.training import *
from annotated_transformer.course.exercises.transformer import *
from annotated_transformer.course.exercises.translation import *
from annotated_transformer.course.exercises.what_heads_do import *
from annotated_transformer.course.exercises.why_attention import *
from annotated_transformer.course.progress import read_progress
from annotated_transformer.course.tables import table

CHAPTERS: dict[str, tuple[str, ...]] = {
    chapter.__name__.rpartition(".")[2]: tuple(chapter.__all__)
    for chapter in (
        tokens_and_batches,
        seq2seq,
        bahdanau,
        luong,
        self_attention,
        multi_head_attention,
        positional_encoding,
        masking,
        cross_attention,
        why_attention,
        layers,
        transformer,
        training,
        decoding,
        translation,
        what_heads_do,
        find_the_bug,
    )
}
"""The exercises of every chapter, as it asks them; the chapters stand as in the book."""

__all__ = [name for names in CHAPTERS.values() for name in names]


def summary(chapter: str | None = None) -> Any:
    """Which exercises of a chapter are passed, or how many of every chapter.

    Raises:
        KeyError: if there is no chapter of this name.
    """
    known = read_progress()
    if chapter is None:
        passed = [[known.get(name) for name in names].count("right") for names in CHAPTERS.values()]
        asked = [len(names) for names in CHAPTERS.values()]
        titles = [name.replace("_", " ") for name in CHAPTERS]
        return table({"passed": passed, "of": asked}, rows=titles)
    names = CHAPTERS[chapter]
    tasks = [globals()[name] for name in names]
    signs = {"right": "✓ right", "wrong": "✗ not yet"}
    return table(
        {
            "exercise": [task.statement for task in tasks],
            "state": [signs.get(known.get(name, ""), "○ open") for name in names],
        },
        rows=[str(number) for number in range(1, len(names) + 1)],
    )
