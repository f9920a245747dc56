"""What heads do: what one head adds to the residual stream."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Derivation

NARROW = torch.float32


def _parts_of_the_stream(
    x: Float[Tensor, "query d_model"],
    A: Float[Tensor, "heads query key"],
    V: Float[Tensor, "heads key d"],
    W: Float[Tensor, "d_model heads_d"],
    h: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What does one head add to the residual stream, and what is left without it?"""
    gathered = A @ V
    blocks = torch.stack(W.chunk(len(A), dim=1))
    added = gathered @ blocks.mT
    after = x + added.sum(0)
    return gathered[h], added[h], after, after - added[h]


def _by_other_columns(x: Tensor, A: Tensor, V: Tensor, W: Tensor, h: int) -> tuple[Tensor, ...]:
    """The same with other columns of W for a head."""
    W = W.view(len(W), V.size(2), len(A)).mT.flatten(1)
    return _parts_of_the_stream(x, A, V, W, h)


def _by_reshape(x: Tensor, A: Tensor, V: Tensor, W: Tensor, h: int) -> tuple[Tensor, ...]:
    """The same with heads that are joined by `reshape` alone."""
    gathered, added, _, left = _parts_of_the_stream(x, A, V, W, h)
    return gathered, added, x + (A @ V).reshape(len(x), -1) @ W.T, left


OTHER_STEPS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "step 3 is what fills the blank, without x; give the whole stream.": (
        lambda H, P, after, left, x, all_H: (H, P, after - x, left)
    ),
    "step 4 is what fills the blank, P_h; give the whole stream without it.": (
        lambda H, P, after, left, x, all_H: (H, P, after, P)
    ),
    "step 3 is the stream with head h alone; all heads add to it.": (
        lambda H, P, after, left, x, all_H: (H, P, x + P, left)
    ),
    "step 4 is x less P_h; the other heads are still in the stream.": (
        lambda H, P, after, left, x, all_H: (H, P, after, x - P)
    ),
    "step 4 is the stream before the attention; the other heads are still in it.": (
        lambda H, P, after, left, x, all_H: (H, P, after, x)
    ),
    "step 4 is the stream with head h alone; it is the others that stay.": (
        lambda H, P, after, left, x, all_H: (H, P, after, x + P)
    ),
    "step 4 is what the other heads add, without x.": (
        lambda H, P, after, left, x, all_H: (H, P, after, left - x)
    ),
    "step 4 has P_h twice: it is added, not taken away.": (
        lambda H, P, after, left, x, all_H: (H, P, after, after + P)
    ),
    "step 2 is the stream with P_h in it; what the head adds is asked for.": (
        lambda H, P, after, left, x, all_H: (H, x + P, after, left)
    ),
    "step 2 is what all heads add; only head h is asked for.": (
        lambda H, P, after, left, x, all_H: (H, after - x, after, left)
    ),
    "step 1 is gathered by all heads; only head h is asked for.": (
        lambda H, P, after, left, x, all_H: (all_H, P, after, left)
    ),
    "step 1 is that of all heads, side by side; only head h is asked for.": (
        lambda H, P, after, left, x, all_H: (all_H.transpose(0, 1).flatten(1), P, after, left)
    ),
    "step 3 is the mean over the heads; what they add is summed.": (
        lambda H, P, after, left, x, all_H: (
            H,
            P,
            x + (after - x) / len(all_H),
            x + (after - x) / len(all_H) - P,
        )
    ),
}
"""What may stand in place of a step: H_h, P_h, the two streams, x, all that is gathered."""


parts_of_the_stream = Derivation(
    reference=_parts_of_the_stream,
    given={
        "every heads-th column of W is taken for a head; its d columns stand side by side.": (
            _by_other_columns
        ),
        "step 3 joins the heads without a transpose; a row holds all heads of one query.": (
            _by_reshape
        ),
        **{
            sentence: lambda x, A, V, W, h, other=other: other(
                *_parts_of_the_stream(x, A, V, W, h), x, A @ V
            )
            for sentence, other in OTHER_STEPS.items()
        },
    },
    cases=[
        (
            normal(3, 6, seed=0, dtype=dtype),
            normal(heads, 3, 4, seed=1, dtype=dtype).softmax(-1),
            normal(heads, 4, d, seed=2, dtype=dtype),
            normal(6, heads * d, seed=3, dtype=dtype),
            h,
        )
        for heads, d, h, dtype in (
            (2, 5, 1, torch.float64),
            (2, 5, 0, NARROW),
            (5, 7, 1, torch.float64),
        )
    ],
)
