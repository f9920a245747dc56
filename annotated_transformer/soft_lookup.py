"""Attention in general: a soft dictionary lookup.

An ordinary dictionary returns the value of the one key that equals the query. A soft one returns
a weighted mean of all values, with more weight where the key matches the query better.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.ground.inputs import require_lookup, require_scores


def masked_softmax(
    scores: Float[Tensor, "*batch query key"],
    mask: Bool[Tensor, "*#batch #query #key"] | None = None,
) -> Float[Tensor, "*batch query key"]:
    """Compute the softmax over the keys that a query may attend to: exp(scores) / Σ exp(scores).

    Where ``mask`` is ``False`` the score becomes −∞ *before* the softmax, so the weight is exactly
    0 and the rest sums to 1. A query that may attend to no key gets weight 0 everywhere (an
    undefined 0/0 otherwise), as in PyTorch's ``scaled_dot_product_attention``.

    >>> scores = torch.tensor([[1.0, 1.0, 5.0]])
    >>> masked_softmax(scores, torch.tensor([[True, True, False]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    require_scores(scores, mask)
    if mask is None:
        return scores.softmax(dim=-1)
    empty = ~mask.any(dim=-1, keepdim=True)  # (…, query, 1)
    weights = scores.masked_fill(~(mask | empty), -torch.inf).softmax(dim=-1)  # (…, query, key)
    return weights.masked_fill(empty, 0.0)


class SoftLookup(nn.Module):
    """The form of every attention of the course: score, softmax, weighted sum.

    output = Σⱼ αⱼ valueⱼ with α = softmax(score(query, keyⱼ)). A subclass defines how a memory
    becomes keys (:meth:`keys`, called once per sentence; its result is passed as
    ``key``) and how a query is scored against them (:meth:`scores`).
    """

    same_width = False
    """Whether queries must be as wide as keys, because the score multiplies them."""

    def keys(self, memory: Float[Tensor, "*batch key memory"]) -> Float[Tensor, "*batch key d_k"]:
        """Compute keys from the memory; here they are the memory, a subclass may project it."""
        return memory

    def scores(
        self, query: Float[Tensor, "*batch query d_q"], key: Float[Tensor, "*batch key d_k"]
    ) -> Float[Tensor, "*batch query key"]:
        """Compute the score of every pair of a query and a key."""
        raise NotImplementedError(f"{type(self).__name__} does not implement scores.")

    def weights(
        self,
        query: Float[Tensor, "*batch query d_q"],
        key: Float[Tensor, "*batch key d_k"],
        mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Float[Tensor, "*batch query key"]:
        """Compute the attention weights α: not negative; a row that sees any key sums to 1.

        Raises:
            InputError: if queries and keys do not fit together, or the mask is not boolean.
        """
        require_lookup(query, key, key, mask, self.same_width)
        return masked_softmax(self.scores(query, key), mask)

    def __call__(self, query: Any, key: Any, value: Any, mask: Any = None) -> Any:
        """Check the arguments, then call :meth:`forward`.

        Raises:
            InputError: if queries, keys and values do not fit together, or the mask is not boolean.
        """
        require_lookup(query, key, value, mask, self.same_width)
        return super().__call__(query, key, value, mask)

    def forward(
        self,
        query: Float[Tensor, "*batch query d_q"],
        key: Float[Tensor, "*batch key d_k"],
        value: Float[Tensor, "*batch key d_v"],
        mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Float[Tensor, "*batch query d_v"]:
        """Compute the weighted sum of the values for every query."""
        return self.weights(query, key, mask) @ value
