"""Decoding: what a decoder keeps of a beam."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


def _keep_rows(
    tokens: Int[Tensor, "beam t"],
    cache: Float[Tensor, "beam t d"],
    row: Int[Tensor, " kept"],
    token: Int[Tensor, " kept"],
) -> tuple[Int[Tensor, "kept more"], Float[Tensor, "kept t d"]]:
    """The tokens and the cache of the hypotheses that go on."""
    return torch.cat([tokens[row], token[:, None]], dim=1), cache[row]


Rows = Callable[[Tensor], Tensor | slice]


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


def _first(row: Tensor) -> slice:
    return slice(len(row))


def _sorted(row: Tensor) -> Tensor:
    return row.sort().values


def _scattered(tokens: Tensor, cache: Tensor, row: Tensor, token: Tensor) -> tuple[Tensor, Tensor]:
    new = torch.zeros_like(cache)
    new[row] = cache[: len(row)]
    return _keep_rows(tokens, cache, row, token)[0], new[: len(row)]


def _one_by_one(tokens: Tensor, cache: Tensor, row: Tensor, token: Tensor) -> tuple[Tensor, Tensor]:
    new = torch.cat([cache, torch.zeros_like(cache)])
    for i, old in enumerate(row.tolist()):
        new[i] = new[old]
    return _keep_rows(tokens, cache, row, token)[0], new[: len(row)]


keep_rows = Exercise(
    reference=_keep_rows,
    given={
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
        "the cache keeps its last rows: row i must be that of the hypothesis that goes on.": (
            _wrong(of_cache=lambda row: torch.arange(-len(row), 0))
        ),
        "the cache is picked by `token`; `row` says which hypothesis goes on.": (
            lambda tokens, cache, row, token: (
                _keep_rows(tokens, cache, row, token)[0],
                cache[token % len(cache)],
            )
        ),
        "rows are scattered: old row i goes to `row[i]`; new row i is old row `row[i]`.": (
            _scattered
        ),
        "the rows of the tokens are sorted; they follow `row` as it is.": (
            _wrong(of_tokens=_sorted)
        ),
        "the rows of the cache are in reverse order; they follow `row` as it is.": (
            _wrong(of_cache=lambda row: row.flip(0))
        ),
        "all new hypotheses have the cache of the first one.": (
            _wrong(of_cache=lambda row: row[:1].expand(len(row)))
        ),
        "the last token is overwritten; append the new one behind it.": (
            lambda tokens, cache, row, token: (
                torch.cat([tokens[row, :-1], token[:, None]], dim=1),
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
        "rows are overwritten before they are read: pick them all at once, `cache[row]`.": (
            _one_by_one
        ),
        "both are picked by the new tokens' order; `row` says which hypothesis goes on.": (
            _wrong(of_tokens=torch.argsort, of_cache=torch.argsort)
        ),
        "all new hypotheses go on from the first one's tokens.": (
            _wrong(of_tokens=lambda row: row[:1].expand(len(row)))
        ),
        "all new hypotheses go on from the first old one.": (
            _wrong(of_tokens=lambda row: 0 * row, of_cache=lambda row: 0 * row)
        ),
        "the rows are in reverse order, those of tokens and cache; both follow `row`.": (
            _wrong(of_tokens=lambda row: row.flip(0), of_cache=lambda row: row.flip(0))
        ),
        "the cache has one position more, a copy of the last: the new token is not read yet.": (
            lambda tokens, cache, row, token: (
                _keep_rows(tokens, cache, row, token)[0],
                torch.cat([cache[row], cache[row][:, -1:]], dim=1),
            )
        ),
        "the cache has lost its last position; all that was read is kept.": (
            lambda tokens, cache, row, token: (
                _keep_rows(tokens, cache, row, token)[0],
                cache[row][:, :-1],
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
