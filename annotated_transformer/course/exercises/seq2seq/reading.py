"""Sequence to sequence: gates, last states and reversed sentences."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import (
    normal,
    random_cases,
)
from annotated_transformer.tokens import PAD

Gate = Float[Tensor, "batch hidden"]


def _gru_update(update: Gate, new: Gate, old: Gate) -> Gate:
    return (1 - update) * new + update * old


gru_update = Exercise(
    reference=_gru_update,
    mistakes={
        "new and old are swapped: z = 1 must keep the old state.": (
            lambda z, new, old: z * new + (1 - z) * old
        ),
        "new has no weight; only with 1 − z the two weights add up to 1.": (
            lambda z, new, old: new + z * old
        ),
        "old has no weight: the state can grow with every word.": (
            lambda z, new, old: (1 - z) * new + old
        ),
        "you add the two states and never ask the gate.": lambda z, new, old: new + old,
        "you take the mean of both; the gate says how much of each.": (
            lambda z, new, old: (new + old) / 2
        ),
        "z weighs both states; the new one needs 1 − z.": lambda z, new, old: z * (new + old),
        "1 − z weighs both states; the old one needs z.": lambda z, new, old: (1 - z) * (new + old),
        "you keep nothing of the old state: without it the cell cannot remember.": (
            lambda z, new, old: new
        ),
        "you return the old state: no word is ever read.": lambda z, new, old: old,
        "update is a gate already; you applied σ to it once more.": (
            lambda z, new, old: (1 - z.sigmoid()) * new + z.sigmoid() * old
        ),
        "you round the gate to 0 or 1; it mixes.": (
            lambda z, new, old: torch.where(z > 0.5, old, new)
        ),
    },
    cases=[(z.sigmoid(), new, old) for z, new, old in random_cases(*["batch hidden"] * 3)],
)


def _last_states(
    outputs: Float[Tensor, "batch time hidden"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch hidden"]:
    return outputs[torch.arange(len(lengths)), lengths - 1]


def _is_word(outputs: Tensor, lengths: Tensor) -> Tensor:
    return (torch.arange(outputs.size(1)) < lengths[:, None])[..., None]


last_states = Exercise(
    reference=_last_states,
    mistakes={
        "you take the last position; in a short sentence that is padding.": (lambda x, n: x[:, -1]),
        "one too far: positions count from 0, so the last word stands at length − 1.": (
            lambda x, n: x[torch.arange(len(n)), n]
        ),
        "one too far, but for the longest sentences: the last word stands at length − 1.": (
            lambda x, n: x[torch.arange(len(n)), n.clamp(max=x.size(1) - 1)]
        ),
        "one too early: the last word stands at length − 1.": (
            lambda x, n: x[torch.arange(len(n)), n - 2]
        ),
        "you take the state after the first word; it has not read the others.": lambda x, n: x[
            :, 0
        ],
        "you take every sentence at every length; pair each sentence with its own length.": (
            lambda x, n: x[:, n - 1]
        ),
        "you take the mean over all positions, padding too.": lambda x, n: x.mean(1),
        "you take the mean over the words; the last state alone is asked for.": (
            lambda x, n: (x * _is_word(x, n)).sum(1) / n[:, None]
        ),
        "you count the length from the end of the row.": (lambda x, n: x[torch.arange(len(n)), -n]),
    },
    cases=[
        (normal(2, 3, 4, seed=0), torch.tensor([1, 2])),
        (normal(3, 4, 2, seed=1, dtype=torch.float32), torch.tensor([4, 1, 3])),
        (normal(5, 4, 3, seed=2), torch.tensor([2, 3, 1, 4, 2])),
    ],
)


def _reverse_padded(ids: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    result = torch.full_like(ids, PAD)
    for row, words in zip(result, ids, strict=True):
        length = int((words != PAD).sum())
        row[:length] = words[:length].flip(0)
    return result


def _words(ids: Tensor) -> list[list[int]]:
    return [[i for i in row if i != PAD] for row in ids.tolist()]


reverse_padded = Exercise(
    reference=_reverse_padded,
    mistakes={
        "the padding moved to the front: reverse the words alone.": lambda ids: ids.flip(1),
        "you reverse the order of the sentences, not of their words.": lambda ids: ids.flip(0),
        "you reverse both axes; the sentences keep their places.": lambda ids: ids.flip(0, 1),
        "nothing is reversed.": lambda ids: ids.clone(),
        "the padding is gone: a batch must remain a rectangle.": (
            lambda ids: [words[::-1] for words in _words(ids)]
        ),
        "words stand in the padding: it must stay as long as it was.": (
            lambda ids: torch.stack(
                [row[((row != PAD).sum() - 1 - torch.arange(len(row))).clamp(min=0)] for row in ids]
            )
        ),
        "you sort; the ids say nothing about the order of the words.": (
            lambda ids: ids.sort(1, descending=True).values
        ),
        "one word is left over: the last word must come first.": (
            lambda ids: pad([[*words[-2::-1], words[-1]] for words in _words(ids)])
        ),
        "the first word stays first; it must come last.": (
            lambda ids: pad([[words[0], *words[:0:-1]] for words in _words(ids)])
        ),
    },
    cases=[
        (pad([[5, 8, 6], [7, 4]]),),
        (pad([[4, 9], [6, 7, 5, 9], [8]]),),
        (pad([[4, 4, 6], [9], [5, 7], [8, 6, 7, 9], [6, 8, 4]]),),
    ],
)
