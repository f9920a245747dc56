"""What heads do: what else than the weights a reader may capture."""

from collections.abc import Callable

import torch
from torch import Tensor


def masked_scores(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    """The scores, with −∞ where a query may not look."""
    scores = query @ key.mT / query.size(-1) ** 0.5
    return scores.masked_fill(~mask, -torch.inf)


def weights_of(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """The right weights."""
    return masked_scores(query, key, mask).softmax(-1)


def hidden(scores: Tensor, mask: Tensor, score: float = -torch.inf) -> Tensor:
    """The scores, with another number where a query may not look."""
    return scores.masked_fill(~mask, score)


OTHER_WEIGHTS: dict[str, Callable[..., Tensor]] = {
    "the mask is turned round: True is where a query may look, and that is hidden.": (
        lambda q, k, v, mask: masked_scores(q, k, ~mask).softmax(-1)
    ),
    "a masked score of 0 is not a weight of 0, for e⁰ = 1; it must be −∞.": (
        lambda q, k, v, mask: hidden(q @ k.mT / q.size(-1) ** 0.5, mask, 0.0).softmax(-1)
    ),
    "the scores are divided by d_k; its root is asked for.": (
        lambda q, k, v, mask: weights_of(q / q.size(-1) ** 0.5, k, v, mask)
    ),
    "the scores are multiplied by the root of d_k, not divided.": (
        lambda q, k, v, mask: weights_of(q * q.size(-1), k, v, mask)
    ),
    "the scores are divided by the root of d_model; a head has d_k numbers.": (
        lambda q, k, v, mask: weights_of(q / q.size(1) ** 0.5, k, v, mask)
    ),
    "the scores are divided by the root of the number of keys; take d_k.": (
        lambda q, k, v, mask: weights_of(q * (q.size(-1) / k.size(-2)) ** 0.5, k, v, mask)
    ),
    "the mask is missing, and the root of d_k, too.": (
        lambda q, k, v, mask: (q @ k.mT).softmax(-1)
    ),
    "these are the scores, with neither mask nor softmax.": (
        lambda q, k, v, mask: q @ k.mT / q.size(-1) ** 0.5
    ),
    "the softmax is taken over the heads; over the keys, each row sums to 1.": (
        lambda q, k, v, mask: masked_scores(q, k, mask).softmax(1).nan_to_num()
    ),
    "these are the logarithms of the weights.": (
        lambda q, k, v, mask: masked_scores(q, k, mask).log_softmax(-1)
    ),
    "the values stand for the keys; the weights come from queries and keys.": (
        lambda q, k, v, mask: masked_scores(q, v, mask).softmax(-1)
    ),
    "queries and keys stand with rows and columns swapped.": (
        lambda q, k, v, mask: weights_of(q, k, v, mask).mT
    ),
    "this is the sum over the heads; each has weights of its own.": (
        lambda *args: weights_of(*args).sum(1)
    ),
    "this is the first head's; each head has weights of its own.": (
        lambda *args: weights_of(*args)[:, 0]
    ),
    "this is the last head's; each head has weights of its own.": (
        lambda *args: weights_of(*args)[:, -1]
    ),
    "this is the first sentence only; all of the batch is asked for.": (
        lambda *args: weights_of(*args)[0]
    ),
    "this is the mean over the sentences; each has weights of its own.": (
        lambda *args: weights_of(*args).mean(0)
    ),
    "the heads stand before the sentences; the batch comes first.": (
        lambda *args: weights_of(*args).transpose(0, 1)
    ),
    "these are the queries; the weights are asked for.": lambda q, k, v, mask: q,
    "this is the mask; the weights are asked for.": lambda q, k, v, mask: mask,
}
"""What else a hook may keep."""
