"""Linear attention: the table of weights becomes a state of fixed size, as in a recurrent network.

Without a softmax the sum over earlier positions is one matrix, which every new key and value
changes and every query reads.
"""

import math
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.inputs import require_lookup, require_mask, require_sizes
from annotated_transformer.masking import causal_mask
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.translator import State


def linear_attention(
    queries: Float[Tensor, "batch heads time d_k"],
    keys: Float[Tensor, "batch heads time d_k"],
    values: Float[Tensor, "batch heads time d_v"],
    state: Float[Tensor, "batch heads d_k d_v"],
    strength: Float[Tensor, "batch heads time"] | None = None,
    log_decay: Float[Tensor, "batch heads time"] | None = None,
    chunk: int = 64,
) -> tuple[Float[Tensor, "batch heads time d_v"], Float[Tensor, "batch heads d_k d_v"]]:
    """Compute yₜ = Sₜᵀ qₜ with Sₜ = Sₜ₋₁ + kₜ vₜᵀ for all positions; return them and the last S.

    With a decay aₜ, Sₜ₋₁ is first multiplied by it. With a strength βₜ, the delta rule writes what
    is new, βₜ (vₜ − Sᵀ kₜ), instead of vₜ. Both together are the gated delta rule.

    Any ``chunk`` gives the same. 1 is the recurrent form; as many as there are positions make the
    parallel form, with one table of weights; in between, each chunk has a small table of its own.

    Source: Katharopoulos et al. 2020, section 3.3; delta rule: Schlag et al. 2021, section 4.2, in
    chunks: Yang et al. 2024, section 3; with decay: Yang et al. 2025, section 3.

    Raises:
        InputError: if ``chunk`` is not an integer of at least 1, or queries, keys and values do not
            fit together.
    """
    require_sizes(chunk=chunk)
    require_lookup(queries, keys, values, None, same_width=True)
    log_decay = torch.zeros_like(keys[..., 0]) if log_decay is None else log_decay
    # Sums of larger ones would cancel badly, or be nan; e to the power of this is 0 already.
    log_decay = log_decay.clamp(min=2 * math.log(torch.finfo(log_decay.dtype).tiny))
    outputs = []
    for start in range(0, keys.size(2), chunk):
        now = slice(start, start + chunk)
        q, k, v = (x[:, :, now] for x in (queries, keys, values))
        since = log_decay[:, :, now].cumsum(-1)[..., None]  # of the state before this chunk
        between = since - since.mT  # of what position j wrote, at position i
        future = torch.ones_like(between[0, 0], dtype=torch.bool).triu(1)
        fades = between.masked_fill(future, -torch.inf).exp()
        if strength is not None:
            b = strength[:, :, now, None]
            # What is written at i depends on all writes j < i: a triangular system of equations.
            solve = partial(torch.linalg.solve_triangular, upper=False, unitriangular=True)
            v = solve((b * k @ k.mT) * fades, b * (v - since.exp() * k @ state))
        outputs.append(since.exp() * q @ state + (q @ k.mT * fades) @ v)
        end = since[:, :, -1:]
        state = end.exp() * state + ((end - since).exp() * k).mT @ v
    return torch.cat(outputs, dim=2), state


class PositiveFeatures(nn.Module):
    """φ(x) = elu(x) + 1, entry by entry: positive, so that no weight is negative.

    Source: Katharopoulos et al. 2020, equation 7.
    """

    def forward(self, x: Float[Tensor, "*batch d_k"]) -> Float[Tensor, "*batch d_k"]:
        """Map queries or keys."""
        return torch.where(x > 0, x + 1, x.clamp(max=0).exp())  # elu(x) + 1 would round to 0


@dataclass(frozen=True)
class Summary(State):
    """Of all positions read so far: Σ φ(k) vᵀ, and as the last column Σ φ(k)."""

    matrix: Float[Tensor, "batch heads d_k d_v_and_1"]


class LinearAttention(MultiHeadAttention):
    """Multi-head attention with the weights φ(q)ᵀ φ(kⱼ) / Σⱼ φ(q)ᵀ φ(kⱼ) instead of a softmax.

    :meth:`attend` makes the table of weights, and takes any mask. :meth:`extend` is causal and
    makes none: its state has the same size however much was read.

    Source: Katharopoulos et al. 2020, section 3.
    """

    def __init__(
        self, d_model: int, num_heads: int, d_k: int | None = None, d_v: int | None = None
    ) -> None:
        """Make a layer of the same sizes as :class:`MultiHeadAttention`."""
        # φ comes where a norm of queries and keys would: after the split into heads.
        super().__init__(d_model, num_heads, d_k, d_v, normalise=lambda _: PositiveFeatures())

    def gather(
        self,
        queries: Float[Tensor, "batch heads query d_k"],
        seen: KeyValues,
        mask: Bool[Tensor, "#batch #heads #query key"] | None,
    ) -> Float[Tensor, "batch heads query d_v"]:
        """Compute the output of every head from the table of all weights."""
        require_lookup(queries, seen.keys, seen.values, mask, same_width=True)
        weights = queries @ seen.keys.mT  # (batch, heads, query, key)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        return divided(weights @ F.pad(seen.values, (0, 1), value=1.0))

    def empty(self, batch: int) -> Summary:  # type: ignore[override]
        """Make the state of that many sentences before their first position.

        It has at least single precision: in 16 bits, a sum soon stops growing.
        """
        weight, size = self.key.weight, (batch, self.num_heads, self.d_k, self.d_v + 1)
        return Summary(
            weight.new_zeros(size, dtype=torch.promote_types(weight.dtype, torch.float32))
        )

    def extend(  # type: ignore[override]
        self,
        x: Float[Tensor, "batch new d_model"],
        past: Summary,
        mask: Bool[Tensor, "#batch #heads #new past_and_new"] | None = None,
        positions: Int[Tensor, "#batch new"] | None = None,
    ) -> tuple[Float[Tensor, "batch new d_model"], Summary]:
        """Let new positions attend to earlier ones and to themselves; return the state after them.

        The mask, if any, is causal, and may hide keys such as padding: these are not written. Its
        columns of earlier positions are not read; what was written stays.

        Raises:
            InputError: if the mask is not causal, or does not have the shape of the scores.
        """
        queries, new = self.query_norm(self.split(self.query(x))), self.project(x, x)
        keys = new.keys
        if mask is not None:
            time = max(mask.size(-1), x.size(1)) if isinstance(mask, Tensor) else 0
            require_mask(mask, torch.Size([*queries.shape[:-1], time]))
            mask = mask[..., -x.size(1) :]
            read = mask[..., -1:, :]  # (batch, heads, 1, new)
            if (mask != read & causal_mask(x.size(1), device=x.device)).any():
                raise InputError("the mask is not causal: only `attend` takes any mask.")
            keys = keys * read.mT
        values = F.pad(new.values, (0, 1), value=1.0)  # S gets Σ φ(k) as one more column
        queries, keys, values = (part.to(past.matrix.dtype) for part in (queries, keys, values))
        heads, matrix = linear_attention(queries, keys, values, past.matrix)
        merged = divided(heads).to(x.dtype).transpose(1, 2).flatten(2)
        return self.output(merged), Summary(matrix)


def divided(
    sums: Float[Tensor, "batch heads query d_v_and_1"],
) -> Float[Tensor, "batch heads query d_v"]:
    """Divide weighted sums by the sum of their weights, the last column; 0 where there is none."""
    total = sums[..., -1:]
    return sums[..., :-1] / total.masked_fill(total == 0, 1.0)
