"""Decoding: how much is read, and how much a cache holds."""

from collections.abc import Callable

from transformer_workbook.judge.exercises import Exercise


def _positions_read(length: int, cached: bool) -> int:
    """How many positions pass through the decoder in all steps together."""
    return length if cached else length * (length + 1) // 2


def _reads(
    cached: Callable[[int], int] = lambda n: n,
    without: Callable[[int], float] = lambda n: n * (n + 1) // 2,
) -> Callable[[int, bool], float]:
    """How many positions, by two formulas."""
    return lambda n, with_cache: cached(n) if with_cache else without(n)


positions_read = Exercise(
    reference=_positions_read,
    given={
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
        "BOS is not counted here; it is one of the tokens that are read.": _reads(
            lambda n: n - 1, lambda n: n * (n - 1) // 2
        ),
        "with a cache one is missing: BOS is read, too.": _reads(lambda n: n - 1),
        "with a cache this is one too many: each token is read once.": _reads(lambda n: n + 1),
        "with a cache, every step reads one position, not two.": _reads(lambda n: 2 * n),
        "without a cache this is twice too much: 1 + 2 + … + n is n(n + 1)/2.": _reads(
            without=lambda n: n * (n + 1)
        ),
        "without a cache there is one step too many.": _reads(
            without=lambda n: (n + 1) * (n + 2) // 2
        ),
        "without a cache the first step is missing: it reads BOS.": _reads(
            without=lambda n: n * (n + 1) // 2 - 1
        ),
        "without a cache, n² is halved; the sum of 1 to n is n(n + 1)/2.": _reads(
            without=lambda n: n * n / 2
        ),
        "without a cache the positions do not double; each step has one more.": _reads(
            without=lambda n: 2**n - 1
        ),
        "one step too many: the last token, EOS, is written and never read.": (
            lambda n, cached: n + 1 if cached else (n + 1) * (n + 2) // 2
        ),
        "these are the numbers for 100 tokens, whatever the length is.": _reads(
            lambda n: 100, lambda n: 5050
        ),
        "with a cache a step reads one position; without one, step t reads t, not n.": (
            _reads(lambda n: n * (n + 1) // 2, lambda n: n * n)
        ),
        "BOS comes beside the tokens here; it is the first of them.": _reads(
            lambda n: n + 1, lambda n: n * (n + 1) // 2 + n
        ),
        "without a cache every step has one position too many.": _reads(
            without=lambda n: n * (n + 1) // 2 + n
        ),
    },
    cases=[(4, True), (4, False), (7, False), (12, True), (1, False)],
)


def _cached_numbers(num_layers: int, num_heads: int, d_k: int, src: int, tgt: int) -> int:
    """How many numbers the cache of one sentence holds."""
    return 2 * num_layers * num_heads * d_k * (src + tgt)


cached_numbers = Exercise(
    reference=_cached_numbers,
    given={
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
        "the source counts in one layer only; its keys and values are kept in each.": (
            lambda layers, heads, d, src, tgt: 2 * heads * d * (layers * tgt + src)
        ),
        "the target counts in one layer only; its keys and values are kept in each.": (
            lambda layers, heads, d, src, tgt: 2 * heads * d * (tgt + layers * src)
        ),
        "only the source has a value besides its key here; the target has both, too.": (
            lambda layers, heads, d, src, tgt: layers * heads * d * (2 * src + tgt)
        ),
        "only the target has a value besides its key here; the source has both, too.": (
            lambda layers, heads, d, src, tgt: layers * heads * d * (src + 2 * tgt)
        ),
        "one position too many: `tgt` counts all that was read, BOS included.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * (src + tgt + 1)
        ),
        "one position too few: all `src` and `tgt` tokens are kept.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * (src + tgt - 1)
        ),
        "two positions too many: `src` and `tgt` are all there is.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * (src + tgt + 2)
        ),
        "d_k counts twice here: one key has d_k numbers, and weight matrices are not kept.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d**2 * (src + tgt)
        ),
        "the heads count twice here: `d_k` is the width of one head.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads**2 * d * (src + tgt)
        ),
        "d_k is missing: a key is a vector of d_k numbers.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * (src + tgt)
        ),
        "the width is divided by the heads here; `d_k` is that of one head already.": (
            lambda layers, heads, d, src, tgt: 2 * layers * d * (src + tgt) / heads
        ),
        "every pair of positions counts here; each position has one key and one value.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * (src + tgt) ** 2
        ),
        "weights are not kept: this counts squares of the length.": (
            lambda layers, heads, d, src, tgt: (
                2 * layers * heads * d * (src + tgt) + layers * heads * tgt * (src + tgt)
            )
        ),
        "`tgt` is added at the end, alone: put brackets round `src + tgt`.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * src + tgt
        ),
        "`src` is added at the end, alone: put brackets round `src + tgt`.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * tgt + src
        ),
        "the target counts twice: a position has one key and one value.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * (src + 2 * tgt)
        ),
        "the source counts twice: a position has one key and one value.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * (2 * src + tgt)
        ),
        "this has the longer of the two lengths; both are kept.": (
            lambda layers, heads, d, src, tgt: 2 * layers * heads * d * max(src, tgt)
        ),
    },
    cases=[(2, 4, 16, 9, 7), (6, 8, 64, 20, 25), (3, 5, 11, 2, 13)],
)
