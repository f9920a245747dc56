"""What heads do: what a head scores by chance."""

from collections.abc import Callable
from math import log

from transformer_workbook.judge.exercises import Exercise


def _previous_by_chance(n: int, causal: bool) -> float:
    """What does a head with even weights score for the previous token?"""
    if not causal:
        return 1 / n
    return sum(1 / t for t in range(2, n + 1)) / (n - 1)


def _behind(mask: Callable[[int], float]) -> Callable[[int, bool], float]:
    """Right without the mask, something else behind it."""
    return lambda n, causal: mask(n) if causal else 1 / n


def _without(bare: Callable[[int], float]) -> Callable[[int, bool], float]:
    """Right behind the mask, something else without it."""
    return lambda n, causal: _previous_by_chance(n, True) if causal else bare(n)


def _sum(first: int, last: int) -> float:
    return sum(1 / t for t in range(first, last + 1))


BEHIND: dict[str, Callable[[int], float]] = {
    "(1 + 1/2 + … + 1/n)/(n - 1)": lambda n: _sum(1, n) / (n - 1),
    "(1 + 1/2 + … + 1/(n - 1))/n": lambda n: _sum(1, n - 1) / n,
    "(1/2 + … + 1/(n - 1))/(n - 1); the last counts": lambda n: _sum(2, n - 1) / (n - 1),
    "(1/2 + … + 1/(n + 1))/n; the last token sees n": lambda n: _sum(2, n + 1) / n,
    "(1/2 + … + 1/(n + 1))/(n - 1)": lambda n: _sum(2, n + 1) / (n - 1),
    "(1/3 + … + 1/(n + 1))/(n - 1); 1/2 is there": lambda n: _sum(3, n + 1) / (n - 1),
    "2/(n + 1), not a mean of 1/t": lambda n: 2 / (n + 1),
    "2/n, not a mean of 1/t": lambda n: 2 / n,
    "1/(n - 1); token t sees t tokens": lambda n: 1 / (n - 1),
    "1/2; only the second token gives so much": lambda n: 1 / 2,
    "the mean of 1/2 and 1/n alone": lambda n: (1 / 2 + 1 / n) / 2,
    "ln n/(n - 1), which is only near it": lambda n: log(n) / (n - 1),
    "ln n/n, which is only near it": lambda n: log(n) / n,
    "the share of previous ones among all pairs that are seen; each row shares out 1 of its own": (
        lambda n: 2 * (n - 1) / (n * (n + 1))
    ),
    "(n - 1)/n, how many have a previous one": lambda n: (n - 1) / n,
    "(n - 1)/n²; token t sees t tokens": lambda n: (n - 1) / n**2,
}
"""What else stands behind the mask."""

BARE: dict[str, Callable[[int], float]] = {
    "(n - 1)/n²; the first token does not count": lambda n: (n - 1) / n**2,
    "(n - 1)/n; each token gives 1/n": lambda n: (n - 1) / n,
    "1/(n + 1); there are n tokens": lambda n: 1 / (n + 1),
    "1; a token has n to share its weight among": lambda n: 1.0,
}
"""What else is given without a mask."""


previous_by_chance = Exercise(
    reference=_previous_by_chance,
    given={
        "behind a causal mask token t shares 1 out among t tokens; without it you are right.": (
            _behind(lambda n: 1 / n)
        ),
        "without a mask you are right; with it, leave the first token out: none is before it.": (
            _behind(lambda n: sum(1 / t for t in range(1, n + 1)) / n)
        ),
        "without a mask you are right; with it, divide by the n - 1 tokens that have one before.": (
            _behind(lambda n: _previous_by_chance(n, True) * (n - 1) / n)
        ),
        "tokens without a previous one do not count: divide by n - 1.": (
            lambda n, causal: _previous_by_chance(n, causal) * (n - 1) / n
        ),
        "without a mask you are right; with it, a token sees itself too: token t sees t tokens.": (
            _behind(lambda n: sum(1 / t for t in range(1, n)) / (n - 1))
        ),
        "without a mask you are right; the mean of 1/t is not 1 over the mean of t.": (
            _behind(lambda n: 2 / (n + 2))
        ),
        "without a mask you are right; with it, this is the sum, the mean is asked for.": (
            _behind(lambda n: _previous_by_chance(n, True) * (n - 1))
        ),
        **{
            f"without a mask you are right; with it, this is {what}.": _behind(mask)
            for what, mask in BEHIND.items()
        },
        **{
            f"with the mask you are right; without it, this is {what}.": _without(bare)
            for what, bare in BARE.items()
        },
        "these are the scores for four tokens, whatever n is.": (
            lambda n, causal: _previous_by_chance(4, causal)
        ),
        "these are the sums; the mean over the tokens is asked for.": (
            lambda n, causal: _previous_by_chance(n, causal) * (n - 1)
        ),
        "a token sees itself, too: the shares begin at 1/2, and without a mask are 1/n.": (
            lambda n, causal: _sum(1, n - 1) / (n - 1) if causal else 1 / (n - 1)
        ),
        "the two are exchanged: the mask hides the future where causal is True.": (
            lambda n, causal: _previous_by_chance(n, not causal)
        ),
        "with the mask you are right; without it a token sees all n tokens, itself included.": (
            lambda n, causal: _previous_by_chance(n, True) if causal else 1 / (n - 1)
        ),
        "with the mask you are right; it hides nothing where causal is False.": (
            lambda n, causal: _previous_by_chance(n, True)
        ),
    },
    cases=[(4, False), (4, True), (3, False), (3, True), (9, True), (9, False)],
)
