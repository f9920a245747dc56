"""Scaled dot-product attention, and a sentence that attends to itself."""

import math

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.ground.inputs import require_sizes
from annotated_transformer.soft_lookup import SoftLookup


class ScaledDotProductAttention(SoftLookup):
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V.

    The scores are divided by √d_k because a dot product of two vectors of d_k independent numbers
    of mean 0 and variance 1 has variance d_k; without it the softmax of long vectors is nearly
    hard, and for most queries, if d_k is large enough, its gradient is nearly zero.

    ``forward`` calls PyTorch's ``scaled_dot_product_attention``. For many shapes it has a fused
    kernel that never stores all the weights; for others it computes step by step.
    :meth:`weights` always computes them explicitly. The tests check that both agree.

    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """

    same_width = True  # the numbers of a query and a key are multiplied in pairs

    def scores(
        self, query: Float[Tensor, "*batch query d_k"], key: Float[Tensor, "*batch key d_k"]
    ) -> Float[Tensor, "*batch query key"]:
        """Compute Q Kᵀ / √d_k."""
        return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))

    def forward(
        self,
        query: Float[Tensor, "*batch query d_k"],
        key: Float[Tensor, "*batch key d_k"],
        value: Float[Tensor, "*batch key d_v"],
        mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    ) -> Float[Tensor, "*batch query d_v"]:
        """Compute the weighted sum of the values for every query."""
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class SelfAttention(nn.Module):
    """One head of self-attention: queries, keys and values are all made from the same sequence.

    SelfAttention(X) = Attention(X W^Q, X W^K, X W^V)

    Source: Vaswani et al. 2017, section 3.2.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        require_sizes(d_model=d_model, d_k=d_k, d_v=d_v)
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.attention = ScaledDotProductAttention()

    def forward(
        self,
        x: Float[Tensor, "batch time d_model"],
        mask: Bool[Tensor, "#batch #time time"] | None = None,
    ) -> Float[Tensor, "batch time d_v"]:
        """Compute, for every position, the weighted sum over the positions it may attend to."""
        return self.attention(self.query(x), self.key(x), self.value(x), mask)
