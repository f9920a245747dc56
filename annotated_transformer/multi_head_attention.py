"""Multi-head attention: several attention heads, each in its own subspace."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_sizes
from annotated_transformer.translator import State


@dataclass(frozen=True)
class KeyValues(State):
    """The KV cache of one layer: projected keys and values of all heads."""

    keys: Float[Tensor, "batch heads time d_k"]
    values: Float[Tensor, "batch heads time d_v"]

    @property
    def length(self) -> int:
        """Return the number of positions."""
        return self.keys.size(2)

    def append(self, newer: "KeyValues") -> "KeyValues":
        """Append the keys and values of newer positions."""
        if not self.length:
            return newer  # uncopied: when a sentence is read at once, all of it is new
        return KeyValues(
            torch.cat([self.keys, newer.keys], dim=2), torch.cat([self.values, newer.values], dim=2)
        )


def first_positions(x: Float[Tensor, "batch time _"]) -> Int[Tensor, "1 time"]:
    """Return positions 0, 1, … for sequences read from their beginning: one row for all."""
    return torch.arange(x.size(1), device=x.device)[None]


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head₁, …, head_h) W^O.

    headᵢ = Attention(Q Wᵢ^Q, K Wᵢ^K, V Wᵢ^V). The matrices of all heads are stored as one: the
    transpose of Wᵢ^Q is rows (i−1)·d_k to i·d_k of ``query.weight``, counted from 0. Unlike in the
    paper, every product has a bias. The computation has two steps, *project*
    and *attend* (which merges the heads), so that a decoder can keep projected keys and values:
    the KV cache, which :meth:`extend` reads and extends.

    With fewer heads of keys and values than of queries, each serves a group of consecutive
    query heads (grouped-query attention; with one, multi-query attention): a smaller KV cache.
    Queries and keys may be normalised in each head (QK-norm), which bounds their scores.

    Source: Vaswani et al. 2017, section 3.2.2; groups: Ainslie et al. 2023, section 2.2; QK-norm:
    Dehghani et al. 2023, section 2.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        num_kv_heads: int | None = None,
        normalise: Callable[[int], nn.Module] = nn.Identity,
    ) -> None:
        """Make a layer of ``num_heads`` heads.

        d_k and d_v default to d_model / num_heads, num_kv_heads to num_heads. ``normalise`` makes
        the normalisation of queries, and that of keys, from d_k.

        Raises:
            InputError: if a size is not an integer of at least 1, if d_k or d_v is not given and
                d_model is not a multiple of num_heads, or if num_heads is not one of num_kv_heads.
        """
        super().__init__()
        sizes = {"d_k": d_k, "d_v": d_v, "num_kv_heads": num_kv_heads}
        given = {name: size for name, size in sizes.items() if size is not None}
        require_sizes(d_model=d_model, num_heads=num_heads, **given)
        if (d_k is None or d_v is None) and d_model % num_heads:
            raise InputError(
                f"d_model={d_model} is not a multiple of num_heads={num_heads}: "
                "choose another number of heads, or give d_k and d_v."
            )
        num_kv_heads = num_kv_heads or num_heads
        if num_heads % num_kv_heads:
            raise InputError(
                f"num_heads={num_heads} is not a multiple of num_kv_heads={num_kv_heads}: "
                "the groups of query heads must be equal."
            )
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.d_k = d_k = d_k or d_model // num_heads
        self.d_v = d_v = d_v or d_model // num_heads
        self.query = nn.Linear(d_model, num_heads * d_k)
        self.key = nn.Linear(d_model, num_kv_heads * d_k)
        self.value = nn.Linear(d_model, num_kv_heads * d_v)
        self.output = nn.Linear(num_heads * d_v, d_model)
        self.query_norm, self.key_norm = normalise(d_k), normalise(d_k)
        self.attention = ScaledDotProductAttention()

    def split(
        self, x: Float[Tensor, "batch time heads_d"], num_heads: int | None = None
    ) -> Float[Tensor, "batch heads time d"]:
        """Split the last axis into heads, and move the heads before the positions."""
        batch, time, _ = x.shape
        return x.view(batch, time, num_heads or self.num_heads, -1).transpose(1, 2)

    def with_positions(
        self,
        heads: Float[Tensor, "batch heads time d_k"],
        positions: Int[Tensor, "#batch time"],
    ) -> Float[Tensor, "batch heads time d_k"]:
        """Encode positions in queries or keys; here they stay unchanged.

        A subclass that rotates them by their positions (rotary positions, RoPE) does it here.
        """
        return heads

    def project(
        self,
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        positions: Int[Tensor, "#batch key"] | None = None,
    ) -> KeyValues:
        """Compute K Wᵢ^K and V Wᵢ^V of all heads i, at these positions (``None``: 0, 1, …)."""
        positions = first_positions(key) if positions is None else positions
        keys = self.key_norm(self.split(self.key(key), self.num_kv_heads))
        values = self.split(self.value(value), self.num_kv_heads)  # (batch, kv_heads, key, d_v)
        return KeyValues(self.with_positions(keys, positions), values)

    def gather(
        self,
        queries: Float[Tensor, "batch heads query d_k"],
        seen: KeyValues,
        mask: Bool[Tensor, "#batch #heads #query key"] | None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """Compute the output of every head; each key and value serves a group of queries."""
        keys, values = seen.keys, seen.values  # (batch, kv_heads, key, d)
        if self.num_kv_heads < self.num_heads:
            group = self.num_heads // self.num_kv_heads
            keys, values = (x.repeat_interleave(group, dim=1) for x in (keys, values))
        heads: Tensor = self.attention(queries, keys, values, mask)  # (batch, heads, query, d_v)
        return heads

    def attend(
        self,
        query: Float[Tensor, "batch query d_model"],
        seen: KeyValues,
        mask: Bool[Tensor, "#batch #heads #query key"] | None = None,
        positions: Int[Tensor, "#batch query"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend with projected keys and values, and merge the heads.

        The queries are at these positions (``None``: 0, 1, …).
        """
        positions = first_positions(query) if positions is None else positions
        queries = self.query_norm(self.split(self.query(query)))  # (batch, heads, query, d_k)
        heads = self.gather(self.with_positions(queries, positions), seen, mask)
        return self.output(heads.transpose(1, 2).flatten(2))  # from (batch, query, heads · d_v)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        mask: Bool[Tensor, "#batch #heads #query key"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Compute the weighted sum of the values for every query, merged over all heads."""
        return self.attend(query, self.project(key, value), mask)

    def empty(self, batch: int) -> KeyValues:
        """Make an empty KV cache for that many sentences."""
        weight, heads = self.key.weight, self.num_kv_heads
        return KeyValues(
            weight.new_empty(batch, heads, 0, self.d_k), weight.new_empty(batch, heads, 0, self.d_v)
        )

    def extend(
        self,
        x: Float[Tensor, "batch new d_model"],
        past: KeyValues,
        mask: Bool[Tensor, "#batch #heads #new past_and_new"] | None = None,
        positions: Int[Tensor, "#batch new"] | None = None,
    ) -> tuple[Float[Tensor, "batch new d_model"], KeyValues]:
        """Let new positions attend to earlier ones and to themselves; return ``past`` with them.

        ``past`` itself is unchanged.
        """
        past = past.append(self.project(x, x, positions))
        return self.attend(x, past, mask, positions), past
