"""Masking: the masks themselves."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.batches import pad
from annotated_transformer.course.checking import Exercise
from annotated_transformer.tokens import BOS, EOS, PAD


def _causal_square(length: int) -> Bool[Tensor, "length length"]:
    position = torch.arange(length)
    return position <= position.unsqueeze(1)


def _ones(length: int) -> Tensor:
    return torch.ones(length, length).bool()


causal_square = Exercise(
    reference=_causal_square,
    mistakes={
        "it is turned round: a row must see what comes before it, yours sees what follows.": (
            lambda n: _ones(n).triu()
        ),
        "a position must see itself too; the first would see nothing at all.": (
            lambda n: _ones(n).tril(-1)
        ),
        "every row sees one place too far: that is the word it has to predict.": (
            lambda n: _ones(n).tril(1)
        ),
        "it is inverted: True means may attend.": lambda n: _ones(n).triu(1),
        "these are numbers; a mask holds True and False.": lambda n: _ones(n).tril().float(),
        "these are numbers to add to scores; a mask holds True and False.": (
            lambda n: torch.zeros(n, n).masked_fill(_ones(n).triu(1), -torch.inf)
        ),
        "every position sees only itself.": lambda n: torch.eye(n).bool(),
        "this mask hides nothing.": _ones,
        "right, but with two axes in front; here a plain square is asked for.": (
            lambda n: _ones(n).tril()[None, None]
        ),
    },
    cases=[(2,), (3,), (5,)],
)


def _padding_columns(ids: Int[Tensor, "batch key"]) -> Bool[Tensor, "batch 1 1 key"]:
    return (ids != PAD).unsqueeze(1).unsqueeze(1)


padding_columns = Exercise(
    reference=_padding_columns,
    mistakes={
        "it is inverted: True means may attend, so padding is False.": (
            lambda ids: (ids == PAD)[:, None, None]
        ),
        "the axes of the heads and of the queries are missing: (batch, 1, 1, key).": (
            lambda ids: ids != PAD
        ),
        "one axis is missing: the heads and the queries need one each, (batch, 1, 1, key).": (
            lambda ids: (ids != PAD)[:, None]
        ),
        "this hides rows: the keys, which are the columns, come last.": (
            lambda ids: (ids != PAD)[:, None, :, None]
        ),
        "you hide rows too, for every pair of positions; the columns alone are asked for.": (
            lambda ids: ((ids != PAD)[:, :, None] & (ids != PAD)[:, None])[:, None]
        ),
        "the batch must stay in front: (batch, 1, 1, key).": lambda ids: (ids != PAD)[None, None],
        "you hide EOS too; it is a token like the others, only PAD is not.": (
            lambda ids: ((ids != PAD) & (ids != EOS))[:, None, None]
        ),
        "you hide BOS too; it is a token like the others, only PAD is not.": (
            lambda ids: ((ids != PAD) & (ids != BOS))[:, None, None]
        ),
        "these are numbers; a mask holds True and False.": (
            lambda ids: (ids != PAD)[:, None, None].int()
        ),
        "these are still ids; compare them with PAD.": lambda ids: ids[:, None, None],
    },
    cases=[(pad([[1, 6, 2], [7, 2]]),), (pad([[1, 2], [9, 8, 7, 2], [2]]),)],
)


def _both_masks(ids: Int[Tensor, "batch tgt"]) -> Bool[Tensor, "batch 1 tgt tgt"]:
    return _padding_columns(ids) & _causal_square(ids.size(1))


both_masks = Exercise(
    reference=_both_masks,
    mistakes={
        "this is `or`: a key must be allowed by both masks.": (
            lambda ids: _padding_columns(ids) | _causal_square(ids.size(1))
        ),
        "padding can be seen: the causal mask alone hides only the future.": (
            lambda ids: _causal_square(ids.size(1)).repeat(len(ids), 1, 1, 1)
        ),
        "the future can be seen: the padding mask alone hides only padding.": (
            lambda ids: _padding_columns(ids) & _ones(ids.size(1))
        ),
        "the causal part is turned round: a row sees what follows.": (
            lambda ids: _padding_columns(ids) & _ones(ids.size(1)).triu()
        ),
        "a position must see itself too; BOS would see nothing at all.": (
            lambda ids: _padding_columns(ids) & _ones(ids.size(1)).tril(-1)
        ),
        "you hide the rows of padding; its columns are what must not be seen.": (
            lambda ids: _padding_columns(ids).mT & _causal_square(ids.size(1))
        ),
        "you hide the rows of padding too; its columns are enough.": (
            lambda ids: _padding_columns(ids).mT & _both_masks(ids)
        ),
        "it is inverted: True means may attend.": lambda ids: ~_both_masks(ids),
        "the axis of the heads is missing: (batch, 1, tgt, tgt).": (
            lambda ids: _both_masks(ids)[:, 0]
        ),
    },
    cases=[
        (pad([[1, 6, 5], [1, 7]]),),
        (pad([[1], [1, 5, 6, 4]]),),
        (pad([[1, 6, 5], [7, 1]]).flip(1),),  # padded on the left
    ],
)
