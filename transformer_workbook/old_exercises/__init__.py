"""The exercises of the book: a folder for every chapter, named by the stem of its notebook.

An exercise is called with the reader's function and returns a verdict:

>>> count_tokens(lambda ids: ids.sum(dim=1))
wrong: you add up the ids; compare them with PAD first.
"""

from typing import Any

from transformer_workbook.judge.progress import read_progress
from transformer_workbook.notebook.tables import table
from transformer_workbook.old_exercises import (
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
from transformer_workbook.old_exercises.bahdanau import *
from transformer_workbook.old_exercises.cross_attention import *
from transformer_workbook.old_exercises.decoding import *
from transformer_workbook.old_exercises.find_the_bug import *
from transformer_workbook.old_exercises.layers import *
from transformer_workbook.old_exercises.luong import *
from transformer_workbook.old_exercises.masking import *
from transformer_workbook.old_exercises.multi_head_attention import *
from transformer_workbook.old_exercises.positional_encoding import *
from transformer_workbook.old_exercises.self_attention import *
from transformer_workbook.old_exercises.seq2seq import *
from transformer_workbook.old_exercises.tokens_and_batches import *
from transformer_workbook.old_exercises.training import *
from transformer_workbook.old_exercises.transformer import *
from transformer_workbook.old_exercises.translation import *
from transformer_workbook.old_exercises.what_heads_do import *
from transformer_workbook.old_exercises.why_attention import *

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
