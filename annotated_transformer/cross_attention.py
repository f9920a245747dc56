"""Cross-attention: in a beam search several rows share a source, which is kept once."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention

SHARE_KEPT = 3 / 4
"""When at most this share of the sources is still looked at, the rest are dropped: never to drop
wastes work, always to drop copies at every step."""


@dataclass(frozen=True)
class SourceKeyValues(KeyValues):
    """Projected keys and values of sources, and at which of them each row looks.

    A search chooses rows at every step. These stay in their place meanwhile: only the list of who
    looks at what is changed. At first row i looks at source i.
    """

    source: Int[Tensor, " rows"] | None = None  # None: row i looks at source i

    def select(self, rows: Tensor) -> "SourceKeyValues":
        """Those for these rows, given by index (repeats allowed) or as a boolean mask."""
        number = len(self.keys)
        before = torch.arange(number, device=rows.device) if self.source is None else self.source
        source = before[rows]
        used, renumbered = torch.unique(source, return_inverse=True)
        if len(used) > SHARE_KEPT * number:
            return replace(self, source=source)
        return SourceKeyValues(self.keys[used], self.values[used], renumbered)


class CrossAttention(MultiHeadAttention):
    """Multi-head attention to sources, in which the rows of one source ask it together.

    Rows that look at the same source, as those of a beam do, become several queries of one row: the
    products with its keys and values are larger and fewer, and nothing is repeated.

    Source: Vaswani et al. 2017, section 3.2.3.
    """

    def project(
        self,
        key: Float[Tensor, "batch key d_model"],
        value: Float[Tensor, "batch key d_model"],
        positions: Int[Tensor, "#batch key"] | None = None,
    ) -> SourceKeyValues:
        """K Wᵢ^K and V Wᵢ^V of all heads i: of every source, once."""
        seen = super().project(key, value, positions)
        # Every step reads them: the numbers of each head are contiguous.
        return SourceKeyValues(seen.keys.contiguous(), seen.values.contiguous())

    def gather(
        self,
        queries: Float[Tensor, "rows heads query d_k"],
        seen: KeyValues,
        mask: Bool[Tensor, "#rows #heads #query key"] | None,
    ) -> Float[Tensor, "rows heads query d_v"]:
        """What each head gathers. Row i of a grid has the queries of all rows of source i."""
        if not isinstance(seen, SourceKeyValues) or seen.source is None:
            return super().gather(queries, seen, mask)
        source, number = seen.source, len(seen.keys)
        column, (_, heads, length, d_k) = rank(source, number), queries.shape
        grid = queries.new_zeros(number, int(column.max()) + 1, length, heads, d_k)
        grid[source, column] = queries.transpose(1, 2)
        if mask is not None and len(mask) > 1:  # rows of one source have the same mask
            mask = mask.new_zeros(number, *mask.shape[1:]).index_copy(0, source, mask)
        found = super().gather(grid.flatten(1, 2).transpose(1, 2), seen, mask)
        found = found.transpose(1, 2).reshape(*grid.shape[:4], -1)
        return found[source, column].transpose(1, 2)


def rank(source: Int[Tensor, " rows"], number: int) -> Int[Tensor, " rows"]:
    """For each row, how many rows before it attend to the same source, of ``number`` sources.

    >>> rank(torch.tensor([2, 0, 2, 2, 0]), 3)
    tensor([0, 0, 1, 2, 1])
    """
    counts = source.bincount(minlength=number)
    order = source.argsort(stable=True)  # the rows of a source side by side
    first = counts.cumsum(0) - counts  # where there each source begins
    ranks = torch.arange(len(source), device=source.device) - first[source[order]]
    return torch.empty_like(ranks).index_copy(0, order, ranks)
