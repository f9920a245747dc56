"""Cross-attention: its mask."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.tokens import BOS, EOS, PAD, UNK
from transformer_workbook.judge.exercises import Exercise


def _cross_mask(
    src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
) -> Bool[Tensor, "batch 1 tgt src"]:
    """Write the mask of cross-attention, with a row for every target position."""
    return (src != PAD)[:, None, None].expand(-1, -1, tgt_in.size(1), -1)


_mask = _cross_mask  # a row for each of the second, their keys the first

cross_mask = Exercise(
    reference=_cross_mask,
    given={
        "True must mean may attend; here it marks the padding.": lambda s, t: ~_mask(s, t),
        "there is one row only; write it out for every target position.": (
            lambda s, t: _mask(s, t)[:, :, :1]
        ),
        "the axis of the heads is missing: (batch, 1, target, source).": (
            lambda s, t: _mask(s, t)[:, 0]
        ),
        "one row, and no axis of the heads: (batch, 1, target, source) is asked for.": (
            lambda s, t: _mask(s, t)[:, 0, :1]
        ),
        "later source words are hidden, too; the whole source is known, so all may be seen.": (
            lambda s, t: _mask(s, t).tril()
        ),
        "the rows of target padding are empty; a mask hides keys, and the keys are the source.": (
            lambda s, t: _mask(s, t) & _mask(t, s).mT
        ),
        "this hides the padding of the target; the keys are the source.": (
            lambda s, t: _mask(t, s).mT
        ),
        "this is the padding mask of the target; the keys are the source.": (
            lambda s, t: _mask(t, t)
        ),
        "this is one row, of the target's padding; the keys are the source.": (
            lambda s, t: _mask(t, t)[:, :, :1]
        ),
        "rows are target and columns are source; here it is the other way round.": (
            lambda s, t: _mask(s, t).mT
        ),
        "source and target are swapped: the target asks, the source is asked.": (
            lambda s, t: _mask(t, s)
        ),
        "the keys are the source; this is the mask of the decoder's self-attention.": (
            lambda s, t: _mask(t, t).tril()
        ),
        "this is the mask of the encoder's self-attention: the rows are source words.": (
            lambda s, t: _mask(s, s)
        ),
        "EOS is hidden too; it is a token like the others, only PAD is not.": (
            lambda s, t: _mask(s, t) & (s != EOS)[:, None, None]
        ),
        "BOS is hidden too; it is a token like the others, only PAD is not.": (
            lambda s, t: _mask(s, t) & (s != BOS)[:, None, None]
        ),
        "BOS and EOS are hidden too; they are tokens like the others, only PAD is not.": (
            lambda s, t: _mask(s, t) & (s > EOS)[:, None, None]
        ),
        "all special tokens are hidden, UNK too; only PAD must be.": (
            lambda s, t: _mask(s, t) & (s > UNK)[:, None, None]
        ),
        "earlier source words are hidden, too; the whole source is known, so all may be seen.": (
            lambda s, t: _mask(s, t).triu()
        ),
        "the rows of target padding see the padding of the source; no row may.": (
            lambda s, t: _mask(s, t) | ~_mask(t, s).mT
        ),
        "a pair is open if either of the two is a word; only the key must be one.": (
            lambda s, t: _mask(s, t) | _mask(t, s).mT
        ),
        "these are 0 and −∞, to be added to scores; a mask holds True and False.": (
            lambda s, t: torch.zeros(_mask(s, t).shape).masked_fill(~_mask(s, t), -torch.inf)
        ),
        "the axis of the heads is at the end; it comes after the batch.": (
            lambda s, t: _mask(s, t)[:, 0, :, :, None]
        ),
        "there is one row only, of the source's padding, and it is inverted.": (
            lambda s, t: ~_mask(s, t)[:, :, :1]
        ),
        "everything is allowed: the padding of the source must be hidden.": (
            lambda s, t: torch.ones_like(_mask(s, t))
        ),
        "the batch is repeated here, once for each target position; repeat the row in each.": (
            lambda s, t: _mask(s, t)[:, :, :1].repeat(t.size(1), 1, 1, 1)
        ),
        "the target positions stand in the axis of the heads; they are the third axis.": (
            lambda s, t: _mask(s, t).transpose(1, 2)
        ),
        "the rows of target padding are empty, and the axis of the heads is missing.": (
            lambda s, t: (_mask(s, t) & _mask(t, s).mT)[:, 0]
        ),
        "this is the padding of the source, without axes for heads and target positions.": (
            lambda s, t: s != PAD
        ),
        "PAD and UNK are hidden; UNK is a word that was there, only PAD is not.": (
            lambda s, t: _mask(s, t) & (s != UNK)[:, None, None]
        ),
        "only PAD of the last source word's column is looked at; every column has its own.": (
            lambda s, t: _mask(s, t)[..., -1:].expand(-1, -1, -1, s.size(1))
        ),
    },
    cases=[
        (
            torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]),
            torch.tensor([[1, 9, 0], [1, 7, 8]]),
        ),
        (
            torch.tensor([[5, 2, 0, 0, 0], [4, 6, 7, 8, 2], [3, 9, 2, 0, 0]]),
            torch.tensor([[1, 4, 5, 6, 7, 8], [1, 3, 5, 0, 0, 0], [1, 9, 0, 0, 0, 0]]),
        ),
        (
            torch.tensor([[1, 3, 8, 2, 0], [0, 1, 6, 3, 2]]),
            torch.tensor([[1, 4, 6, 2], [1, 5, 2, 0]]),
        ),
    ],
)
