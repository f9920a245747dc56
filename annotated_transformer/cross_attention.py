"""Cross-attention: queries of the target, keys and values of the source, which a beam shares."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention

SHARE_KEPT = 3 / 4
"""Drop unused sources when at most this share is still attended to: never dropping them wastes
work, and dropping them at once copies at every step."""


@dataclass(frozen=True)
class SourceKeyValues(KeyValues):
    """Projected keys and values of sources, and the source that each row attends to.

    A search selects rows at every step. Keys and values stay as they are: only the index of each
    row's source changes. At first row i attends to source i.
    """

    source: Int[Tensor, " rows"] | None = None  # None: row i attends to source i

    def select(self, rows: Tensor) -> "SourceKeyValues":
        """Select rows, given by index (repeats allowed) or as a boolean mask."""
        number = len(self.keys)
        before = torch.arange(number, device=rows.device) if self.source is None else self.source
        source = before[rows]
        used, renumbered = torch.unique(source, return_inverse=True)
        if len(used) > SHARE_KEPT * number:
            return replace(self, source=source)
        return SourceKeyValues(self.keys[used], self.values[used], renumbered)


class CrossAttention(MultiHeadAttention):
    """Multi-head attention to sources, in which all rows of one source attend together.

    Rows with the same source, as those of a beam, become several queries of one row: the matrix
    products with its keys and values are larger and fewer, and nothing is repeated.

    Source: Vaswani et al. 2017, section 3.2.3.
    """

    def project(
        self,
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        positions: Int[Tensor, "#batch key"] | None = None,
    ) -> SourceKeyValues:
        """Compute K Wᵢ^K and V Wᵢ^V of all heads i, once for every source."""
        seen = super().project(key, value, positions)
        # They are read at every step, so the numbers of each head are contiguous.
        return SourceKeyValues(seen.keys.contiguous(), seen.values.contiguous())

    def gather(
        self,
        queries: Float[Tensor, "rows heads query d_k"],
        seen: KeyValues,
        mask: Bool[Tensor, "#rows #heads #query key"] | None,
    ) -> Float[Tensor, "rows heads query d_v"]:
        """Compute the output of each head; row i of a grid has the queries of source i."""
        if not isinstance(seen, SourceKeyValues) or seen.source is None:
            return super().gather(queries, seen, mask)
        source, number = seen.source, len(seen.keys)  # (rows), how many sources
        column, (_, heads, length, d_k) = rank(source, number), queries.shape
        grid = queries.new_zeros(number, int(column.max()) + 1, length, heads, d_k)
        grid[source, column] = queries.transpose(1, 2)
        if mask is not None and len(mask) > 1:  # rows of one source have the same mask
            mask = mask.new_zeros(number, *mask.shape[1:]).index_copy(0, source, mask)
        found = super().gather(grid.flatten(1, 2).transpose(1, 2), seen, mask)
        found = found.transpose(1, 2).reshape(*grid.shape[:4], -1)
        return found[source, column].transpose(1, 2)


def rank(source: Int[Tensor, " rows"], number: int) -> Int[Tensor, " rows"]:
    """Count, for each row, the earlier rows with the same source, of ``number`` sources.

    >>> rank(torch.tensor([2, 0, 2, 2, 0]), 3)
    tensor([0, 0, 1, 2, 1])
    """
    counts = source.bincount(minlength=number)
    order = source.argsort(stable=True)  # rows of one source are neighbours
    first = counts.cumsum(0) - counts  # the index at which each source begins
    ranks = torch.arange(len(source), device=source.device) - first[source[order]]
    return torch.empty_like(ranks).index_copy(0, order, ranks)
