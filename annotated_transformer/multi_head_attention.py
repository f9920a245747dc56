"""Multi-head attention: several attentions side by side, each in a space of its own."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.errors import InputError


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head₁, …, head_h) W^O.

    headᵢ = Attention(Q Wᵢ^Q, K Wᵢ^K, V Wᵢ^V). The matrices of all heads stand in one: the transpose
    of Wᵢ^Q is rows (i−1)·d_k to i·d_k of ``query.weight``, counted from 0. Unlike in the paper,
    every product has a bias. The work is done in three steps, *project*,
    *attend*, *merge*, so that a decoder can keep what it has projected once.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(
        self, d_model: int, num_heads: int, d_k: int | None = None, d_v: int | None = None
    ) -> None:
        """Make a layer of ``num_heads`` heads; d_k and d_v are d_model / num_heads unless given.

        Raises:
            InputError: if a size is below 1, or d_k or d_v is not given and d_model is no multiple
                of num_heads.
        """
        super().__init__()
        for name, size in {"num_heads": num_heads, "d_k": d_k, "d_v": d_v}.items():
            if size is not None and size < 1:
                raise InputError(f"{name} is {size}, it must be at least 1.")
        if (d_k is None or d_v is None) and d_model % num_heads:
            raise InputError(
                f"d_model={d_model} is no multiple of num_heads={num_heads}: "
                "choose another number of heads, or give d_k and d_v."
            )
        self.num_heads = num_heads
        d_k, d_v = d_k or d_model // num_heads, d_v or d_model // num_heads
        self.query = nn.Linear(d_model, num_heads * d_k)
        self.key = nn.Linear(d_model, num_heads * d_k)
        self.value = nn.Linear(d_model, num_heads * d_v)
        self.output = nn.Linear(num_heads * d_v, d_model)
        self.attention = ScaledDotProductAttention()

    def split(self, x: Float[Tensor, "batch time heads_d"]) -> Float[Tensor, "batch heads time d"]:
        """Cut the last axis into heads, and put the heads before the positions."""
        batch, time, _ = x.shape
        return x.view(batch, time, self.num_heads, -1).transpose(1, 2)

    def project(
        self, key: Float[Tensor, "batch key d_model"], value: Float[Tensor, "batch key d_model"]
    ) -> tuple[Float[Tensor, "batch heads key d_k"], Float[Tensor, "batch heads key d_v"]]:
        """K Wᵢ^K and V Wᵢ^V of all heads i."""
        return self.split(self.key(key)), self.split(self.value(value))

    def attend(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch heads key d_k"],
        value: Float[Tensor, "batch heads key d_v"],
        mask: Bool[Tensor, "#batch #heads #query key"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend with projected keys and values, and merge the heads."""
        heads = self.attention(self.split(self.query(query)), key, value, mask)
        merged: Tensor = self.output(heads.transpose(1, 2).flatten(2))
        return merged

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "#batch #heads #query key"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """What every query gathers from the values, through all heads."""
        return self.attend(query, *self.project(key, value), mask)
