"""Sequence to sequence: the states after the last words, and reversed sentences."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.tokens import PAD
from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


def _last_states(
    outputs: Float[Tensor, "batch time hidden"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch hidden"]:
    """Which state does each sentence of a padded batch have after its last word?"""
    return outputs[torch.arange(len(lengths)), lengths - 1]


def _at(outputs: Tensor, places: Tensor) -> Tensor:
    return outputs[torch.arange(len(outputs)), places]


def _words_only(outputs: Tensor, lengths: Tensor) -> Tensor:
    return outputs * (torch.arange(outputs.size(1)) < lengths[:, None])[..., None]


last_states = Exercise(
    reference=_last_states,
    given={
        "these are the states at the last position; in a short sentence that is padding.": (
            lambda x, n: x[:, -1]
        ),
        "one too far: positions count from 0, so the last word is at length − 1.": _at,
        "one too early: the last word is at length − 1.": lambda x, n: _at(x, n - 2),
        "the lengths are counted from the end of the row.": lambda x, n: _at(x, -n),
        "these are the states after the first words.": lambda x, n: x[:, 0],
        "every sentence comes at every length; pair each sentence with its own length.": (
            lambda x, n: x[:, n - 1]
        ),
        "every sentence comes at every length, and each time one too far.": lambda x, n: x[:, n],
        "these are whole sentences: the lengths have picked from the batch, not from the time.": (
            lambda x, n: x[n - 1]
        ),
        "every sentence is read as far as the longest; each has its own length.": (
            lambda x, n: x[:, n.max() - 1]
        ),
        "every sentence is read as far as the first; each has its own length.": (
            lambda x, n: x[:, n[0] - 1]
        ),
        "the result has the shape (batch, 1, hidden); (batch, hidden) is asked for.": (
            lambda x, n: _last_states(x, n)[:, None]
        ),
        "each state has only its first number; all of them are asked for.": (
            lambda x, n: _last_states(x, n)[:, :1]
        ),
        "each state has only its first number, and there is an axis too many.": (
            lambda x, n: _last_states(x, n)[:, :1, None]
        ),
        "each sentence has one number, the first of its state; all of them are asked for.": (
            lambda x, n: _last_states(x, n)[:, 0]
        ),
        "these are states of the first sentence at every length; each sentence has its own.": (
            lambda x, n: x[0, n - 1]
        ),
        "all states up to the last word are there; the last alone is asked for.": _words_only,
        "these are means over all positions, padding too.": lambda x, n: x.mean(1),
        "these are means over the words; the last state alone is asked for.": (
            lambda x, n: _words_only(x, n).sum(1) / n[:, None]
        ),
        "these are sums over the words; the last state alone is asked for.": (
            lambda x, n: _words_only(x, n).sum(1)
        ),
    },
    cases=[
        (normal(2, 3, 4, seed=0), torch.tensor([1, 2])),
        (normal(3, 4, 2, seed=1, dtype=torch.float32), torch.tensor([2, 1, 3])),
        (normal(5, 6, 3, seed=2), torch.tensor([2, 3, 1, 5, 2])),
    ],
)


def _reverse_padded(ids: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    """Reverse every sentence of a padded batch; the padding stays behind the words."""
    result = torch.full_like(ids, PAD)
    for row, words in zip(result, ids, strict=True):
        length = int((words != PAD).sum())
        row[:length] = words[:length].flip(0)
    return result


def _words(ids: Tensor) -> list[list[int]]:
    return [[i for i in row if i != PAD] for row in ids.tolist()]


reverse_padded = Exercise(
    reference=_reverse_padded,
    given={
        "the padding has moved to the front: reverse the words alone.": lambda ids: ids.flip(1),
        "the padding has moved to the front, and the words are not reversed.": (
            lambda ids: _reverse_padded(ids).flip(1)
        ),
        "all rows are moved as far as the shortest sentence needs; each has its own length.": (
            lambda ids: ids.flip(1).roll(-int((ids == PAD).sum(1).max()), 1)
        ),
        "all rows are moved as far as the last sentence needs; each has its own length.": (
            lambda ids: ids.flip(1).roll(-int((ids[-1] == PAD).sum()), 1)
        ),
        "all rows are moved as far as the first sentence needs; each has its own length.": (
            lambda ids: ids.flip(1).roll(-int((ids[0] == PAD).sum()), 1)
        ),
        "each row is moved the wrong way, so padding stands between the words.": (
            lambda ids: torch.stack([row.flip(0).roll(int((row == PAD).sum())) for row in ids])
        ),
        "these are the right words, filled up with PAD, in a list; a tensor is asked for.": (
            lambda ids: _reverse_padded(ids).tolist()
        ),
        "the sentences are in reverse order; their words should be.": lambda ids: ids.flip(0),
        "both axes are reversed; the sentences keep their places.": lambda ids: ids.flip(0, 1),
        "nothing is reversed.": torch.clone,
        "the padding is gone: a batch must remain a rectangle.": (
            lambda ids: [words[::-1] for words in _words(ids)]
        ),
        "all words are in one row; a batch must remain a rectangle.": (
            lambda ids: ids[ids != PAD].flip(0)
        ),
        "words have moved into other sentences; each is reversed alone.": (
            lambda ids: torch.zeros_like(ids).masked_scatter(ids != PAD, ids[ids != PAD].flip(0))
        ),
        "there are words in the padding; it must stay as long as it was.": (
            lambda ids: torch.stack(
                [row[((row != PAD).sum() - 1 - torch.arange(len(row))).clamp(min=0)] for row in ids]
            )
        ),
        "every sentence is reversed as far as the first is long; each has its own length.": (
            lambda ids: torch.cat(
                [ids[:, : (ids[0] != PAD).sum()].flip(1), ids[:, (ids[0] != PAD).sum() :]], dim=1
            )
        ),
        "one place too far: PAD has moved in before the words; the last is at length − 1.": (
            lambda ids: torch.stack(
                [
                    row[(int((row != PAD).sum()) - torch.arange(len(row))).clamp(0, len(row) - 1)]
                    * (row != PAD)
                    for row in ids
                ]
            )
        ),
        "one place too early: the last word of each sentence is lost.": (
            lambda ids: pad(
                [words[-2::-1] for words in _words(ids)],
            )
        ),
        "these are sorted; the ids say nothing about the order of the words.": (
            lambda ids: ids.sort(1, descending=True).values
        ),
        "the last word is still last; it must come first.": (
            lambda ids: pad([[*words[-2::-1], words[-1]] for words in _words(ids)])
        ),
        "the first word is still first; it must come last.": (
            lambda ids: pad([[words[0], *words[:0:-1]] for words in _words(ids)])
        ),
    },
    cases=[
        (pad([[5, 8, 6], [7, 4]]),),
        (pad([[4, 9], [6, 7, 5, 9], [8]]),),
        (pad([[4, 4, 6], [9], [5, 7], [8, 6, 7, 9], [6, 8, 4]]),),
    ],
    whole=True,
)
