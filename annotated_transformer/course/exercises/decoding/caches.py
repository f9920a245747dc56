"""Decoding: what a decoder keeps, and what it costs."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _keep_rows(
    tokens: Int[Tensor, "beam t"],
    cache: Float[Tensor, "beam t d"],
    row: Int[Tensor, " kept"],
    token: Int[Tensor, " kept"],
) -> tuple[Int[Tensor, "kept more"], Float[Tensor, "kept t d"]]:
    """The tokens and the cache of the hypotheses that go on."""
    return torch.cat([tokens[row], token[:, None]], dim=1), cache[row]


Rows = Callable[[Tensor], Tensor]


def _wrong(
    of_tokens: Rows = lambda row: row,
    of_cache: Rows = lambda row: row,
    of_token: Rows = lambda row: torch.arange(len(row)),
) -> Callable[..., tuple[Tensor, Tensor]]:
    """Rows that are chosen wrongly: those of the tokens, the cache, or the new tokens."""

    def keep(tokens: Tensor, cache: Tensor, row: Tensor, token: Tensor) -> tuple[Tensor, Tensor]:
        new = token[of_token(row)][:, None]
        return torch.cat([tokens[of_tokens(row)], new], dim=1), cache[of_cache(row)]

    return keep


def _first(row: Tensor) -> Tensor:
    return torch.arange(len(row))


def _sorted(row: Tensor) -> Tensor:
    return row.sort().values


keep_rows = Exercise(
    reference=_keep_rows,
    mistakes={
        "the cache keeps its first rows: row i must be that of the hypothesis that goes on.": (
            _wrong(of_cache=_first)
        ),
        "the cache keeps all its rows as they were: pick them like the tokens.": (
            lambda tokens, cache, row, token: (_keep_rows(tokens, cache, row, token)[0], cache)
        ),
        "the tokens keep their first rows: take those of the hypotheses that go on.": (
            _wrong(of_tokens=_first)
        ),
        "nothing is reordered: `row` says which hypothesis each new one continues.": (
            _wrong(of_tokens=_first, of_cache=_first)
        ),
        "the rows of the cache are sorted, those of the tokens not: both follow `row` as it is.": (
            _wrong(of_cache=_sorted)
        ),
        "the rows are sorted, the new tokens not: all follow `row` as it is.": (
            _wrong(of_tokens=_sorted, of_cache=_sorted)
        ),
        "a hypothesis that goes on twice is needed twice; the cache has it once.": (
            _wrong(of_cache=torch.unique)
        ),
        "`argsort` gives places in `row`; `row` itself says which hypothesis goes on.": (
            _wrong(of_cache=torch.argsort)
        ),
        "`token` is in the new order already; do not reorder it again.": _wrong(
            of_token=lambda row: row
        ),
        "the new token comes first; append it at the end.": (
            lambda tokens, cache, row, token: (
                torch.cat([token[:, None], tokens[row]], dim=1),
                cache[row],
            )
        ),
        "the new token is missing.": lambda tokens, cache, row, token: (tokens[row], cache[row]),
        "here the positions of the cache are reordered; its first axis is the beam.": (
            lambda tokens, cache, row, token: (
                _keep_rows(tokens, cache, row, token)[0],
                cache[:, row],
            )
        ),
    },
    cases=[
        (
            torch.tensor([[1, 5, 6], [1, 7, 8], [1, 9, 5], [1, 4, 4]]),
            normal(4, 3, 5, seed=0),
            torch.tensor([2, 0]),
            torch.tensor([7, 8]),
        ),
        (
            torch.tensor([[1, 5], [1, 7], [1, 6], [1, 8], [1, 9]]),
            normal(5, 2, 3, seed=1, dtype=torch.float32),
            torch.tensor([3, 0, 3, 1]),
            torch.tensor([4, 5, 6, 7]),
        ),
        (
            torch.tensor([[1, 5, 6, 7], [1, 7, 8, 9], [1, 9, 5, 4]]),
            normal(3, 4, 2, seed=2),
            torch.tensor([1, 1, 2, 0, 1]),
            torch.tensor([7, 8, 9, 5, 6]),
        ),
    ],
    whole=True,
)


def _positions_read(length: int, cached: bool) -> int:
    """How many positions pass through the decoder in all steps together."""
    return length if cached else length * (length + 1) // 2


positions_read = Exercise(
    reference=_positions_read,
    mistakes={
        "you swapped them: with a cache every position goes through the decoder once.": (
            lambda n, cached: n * (n + 1) // 2 if cached else n
        ),
        "a square counts too much: in step t only t positions are there yet.": (
            lambda n, cached: n if cached else n * n
        ),
        "half of the square is too little: the newest position of each step is read, too.": (
            lambda n, cached: n if cached else n * (n - 1) // 2
        ),
        "without a cache every step reads all its positions again: the steps add up.": (
            lambda n, cached: n
        ),
        "with a cache, a step reads the newest position alone.": (
            lambda n, cached: n * (n + 1) // 2
        ),
        "with a cache, 1 is what one step reads; add up all steps.": (
            lambda n, cached: 1 if cached else n * (n + 1) // 2
        ),
        "this is the last step alone; add up all steps.": lambda n, cached: 1 if cached else n,
        "one step too many: the last token, EOS, is written and never read.": (
            lambda n, cached: n + 1 if cached else (n + 1) * (n + 2) // 2
        ),
    },
    cases=[(4, True), (4, False), (7, False), (12, True), (1, False)],
)


def _cached_numbers(num_layers: int, num_heads: int, d_k: int, src: int, tgt: int) -> int:
    """How many numbers the cache of one sentence holds."""
    return 2 * num_layers * num_heads * d_k * (src + tgt)


cached_numbers = Exercise(
    reference=_cached_numbers,
    mistakes={
        "a key alone is not enough: the value of each position is kept, too.": (
            lambda layers, heads, d, src, tgt: layers * heads * d * (src + tgt)
        ),
        "the source is missing: its keys and values are projected once and kept.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * tgt
        ),
        "the target is missing: the keys and values of what was written are kept.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * src
        ),
        "this is one layer; each has keys and values of its own.": (
            lambda layers, heads, d, src, tgt: 2 * heads * d * (src + tgt)
        ),
        "this is one head; each has keys and values of its own.": (
            lambda layers, heads, d, src, tgt: 2 * layers * d * (src + tgt)
        ),
        "source and target stand side by side: their lengths are added, not multiplied.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * src * tgt
        ),
        "the query is used once and thrown away; a key and a value are kept.": (
            lambda layers, heads, d, src, tgt: 3 * layers * heads * d * (src + tgt)
        ),
        "this adds up all steps; at the end each position is kept once.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * (src + tgt * (tgt + 1) // 2)
        ),
        "weights are not kept: this counts squares of the length.": (
            lambda layers, heads, d, src, tgt: (
                2 * layers * heads * d * (src + tgt) + layers * heads * tgt * (src + tgt)
            )
        ),
    },
    cases=[(2, 4, 16, 9, 7), (6, 8, 64, 20, 25), (3, 5, 11, 2, 13)],
)
