"""Multi-head latent attention (MLA): the cache keeps one vector for all heads."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_mask, require_sizes
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.rotary import rotary_frequencies, rotate


class LatentAttention(MultiHeadAttention):
    """Multi-head attention whose keys and values are linear maps of one latent vector.

    All that is kept of a position is its latent, c = RMSNorm(x W^DKV), and one rotary key r, which
    is x W^KR turned by the position. Head i has the key [c Wᵢ^UK, r] and the value c Wᵢ^UV.

    There are two ways to the same output, and :meth:`absorbs` chooses one. Rebuilding makes the
    keys and values of all heads again. Absorbing multiplies Wᵢ^UK into the query instead, since
    q · (c Wᵢ^UK) = (q Wᵢ^UKᵀ) · c, and Wᵢ^UV into the weighted sum of the latents.

    Unlike in the paper, queries are not compressed: the cache keeps none of them.

    Source: DeepSeek-AI 2024 (DeepSeek-V2), section 2.1.
    """

    def __init__(
        self, d_model: int, num_heads: int, d_k: int, d_v: int, d_latent: int, d_rotary: int
    ) -> None:
        """Make a layer whose queries and keys have d_k numbers, and d_rotary that turn.

        Raises:
            InputError: if a size is not an integer of at least 1, or if d_rotary is odd.
        """
        require_sizes(d_k=d_k, d_v=d_v, d_latent=d_latent, d_rotary=d_rotary)
        if d_rotary % 2:
            raise InputError(f"d_rotary is {d_rotary}, it must be even: columns turn in pairs.")
        super().__init__(d_model, num_heads, d_k + d_rotary, d_v, num_kv_heads=1)
        self.d_latent, self.d_rotary = d_latent, d_rotary
        self.key = nn.Linear(d_model, d_rotary)
        self.value = nn.Linear(d_model, d_latent)
        self.latent_norm = nn.RMSNorm(d_latent, eps=1e-6)
        self.key_up = nn.Linear(d_latent, num_heads * d_k, bias=False)
        self.value_up = nn.Linear(d_latent, num_heads * d_v, bias=False)
        self.frequencies = rotary_frequencies(d_rotary)

    def with_positions(
        self, heads: Float[Tensor, "batch heads time _"], positions: Int[Tensor, "#batch time"]
    ) -> Float[Tensor, "batch heads time _"]:
        """Turn the last d_rotary numbers by their positions."""
        plain, turning = heads.tensor_split([-self.d_rotary], dim=-1)
        return torch.cat([plain, rotate(turning, positions[:, None], self.frequencies)], dim=-1)

    def project(
        self,
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        positions: Int[Tensor, "#batch key"] | None = None,
    ) -> KeyValues:
        """Compute what is kept: a rotary key as the only key, a latent as the only value."""
        seen = super().project(key, value, positions)
        return KeyValues(seen.keys, self.latent_norm(seen.values))

    def gather(
        self,
        queries: Float[Tensor, "batch heads query d_k"],
        seen: KeyValues,
        mask: Bool[Tensor, "#batch #heads #query key"] | None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """Compute the output of every head from the latents."""
        up = self.num_heads, -1, self.d_latent
        up_keys, up_values = self.key_up.weight.view(up), self.value_up.weight.view(up)
        latents, turned = seen.values, seen.keys  # (batch, 1, key, …)
        batch, heads, length, _ = queries.shape
        if not self.absorbs(length, seen.length):
            keys = torch.cat([latents @ up_keys.mT, turned.expand(-1, heads, -1, -1)], dim=-1)
            return self.attention(queries, keys, latents @ up_values.mT, mask)
        plain, turning = queries.tensor_split([-self.d_rotary], dim=-1)
        wide = torch.cat([plain @ up_keys, turning], dim=-1)
        # The attention divides by the root of this width, but the scores are those of width d_k.
        wide = wide * math.sqrt(wide.size(-1) / self.d_k)
        # Every head reads the same keys, so the queries of all heads are queries of one.
        require_mask(mask, torch.Size([batch, heads, length, seen.length]))
        if mask is not None:
            mask = mask.expand(batch, heads, length, -1).flatten(1, 2)[:, None]
        wide, keys = wide.flatten(1, 2)[:, None], torch.cat([latents, turned], dim=-1)
        sums = self.attention(wide, keys, latents, mask)
        return sums.view(batch, heads, length, -1) @ up_values.mT

    def absorbs(self, queries: int, positions: int) -> bool:
        """Tell whether absorbing takes fewer operations than rebuilding."""
        rebuilt = self.d_k - self.d_rotary + self.d_v  # numbers of a head that come from a latent
        product, longer = self.d_latent * rebuilt, 2 * self.d_latent - rebuilt
        return queries * (product + positions * longer) < positions * product

    def empty(self, batch: int) -> KeyValues:
        """Make an empty cache for that many sentences."""
        empty = self.key.weight.new_empty
        return KeyValues(empty(batch, 1, 0, self.d_rotary), empty(batch, 1, 0, self.d_latent))
