"""Translation: which pair is merged next."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain, pairwise
from typing import Any

from transformer_workbook.judge.exercises import Exercise

Pair = tuple[str, str]
Words = dict[tuple[str, ...], int]


def _next_merge(words: Words) -> Pair:
    """Find the pair of neighbours that is the most frequent in a text."""
    counts: Counter[Pair] = Counter()
    for tokens, count in words.items():
        for pair in pairwise(tokens):
            counts[pair] += count
    return max(counts, key=lambda pair: counts[pair])


def _most_frequent(things: Iterable[Any]) -> Any:
    return Counter(things).most_common(1)[0][0]


def _largest(counts: dict[Any, int]) -> Any:
    return max(counts, key=lambda thing: counts[thing])


def _written_out(words: Words) -> Iterable[tuple[str, ...]]:
    """Each word as often as it occurs."""
    return (tokens for tokens, count in words.items() for _ in range(count))


def _by_pairs(of_word: Callable[[tuple[str, ...]], Iterable[Any]]) -> Callable[[Words], Any]:
    """The most frequent of what a word has."""
    return lambda words: _most_frequent(chain.from_iterable(map(of_word, _written_out(words))))


def _counted(words: Words) -> list[tuple[Pair, int]]:
    return Counter(chain.from_iterable(map(pairwise, _written_out(words)))).most_common()


next_merge = Exercise(
    reference=_next_merge,
    given={
        "every word counts once here; a word that occurs five times counts five times.": (
            lambda words: _most_frequent(chain.from_iterable(map(pairwise, words)))
        ),
        "a pair counts once in each word here; it may occur there twice.": (
            _by_pairs(lambda tokens: dict.fromkeys(pairwise(tokens)))
        ),
        "the pairs are cut side by side; they overlap, as each token but the last begins one.": (
            _by_pairs(lambda tokens: zip(tokens[::2], tokens[1::2], strict=False))
        ),
        "the end of one word and the beginning of the next count as a pair, too.": (
            lambda words: _most_frequent(pairwise(chain.from_iterable(_written_out(words))))
        ),
        "all tokens of a word are paired; only neighbours are asked for.": (
            _by_pairs(lambda t: ((a, b) for i, a in enumerate(t) for b in t[i + 1 :]))
        ),
        "only the first two tokens of a word are looked at.": (
            _by_pairs(lambda tokens: [tokens[:2]] if len(tokens) > 1 else [])
        ),
        "the last pair of a word is left out.": _by_pairs(lambda t: list(pairwise(t))[:-1]),
        "pairs with the mark ▁ are left out; it is a token like any other.": (
            _by_pairs(lambda t: (pair for pair in pairwise(t) if "▁" not in pair))
        ),
        "the tokens are cut into characters again; a token stays whole.": (
            _by_pairs(lambda t: pairwise("".join(t)))
        ),
        "the count is overwritten by the next word's; add them up.": (
            lambda words: _largest({p: n for t, n in words.items() for p in pairwise(t)})
        ),
        "the count of the first word with the pair is kept; add up all words.": (
            lambda words: _largest({p: n for t, n in reversed(words.items()) for p in pairwise(t)})
        ),
        "this is the pair that stands in the most words; count how often they occur.": (
            lambda words: _most_frequent(
                chain.from_iterable(dict.fromkeys(pairwise(t)) for t in words)
            )
        ),
        "only the last two tokens of a word are looked at.": (
            _by_pairs(lambda tokens: [tokens[-2:]] if len(tokens) > 1 else [])
        ),
        "the first pair of a word is left out.": _by_pairs(lambda t: list(pairwise(t))[1:]),
        "the order in a pair is lost; (a, b) and (b, a) are two pairs.": (
            _by_pairs(lambda t: (tuple(sorted(pair)) for pair in pairwise(t)))
        ),
        "this is the first pair in the text; the most frequent is asked for.": (
            lambda words: next(pair for t in words for pair in pairwise(t))
        ),
        "these are all counts; only the most frequent pair is asked for.": (
            lambda words: dict(_counted(words))
        ),
        "this is the rarest pair; the most frequent one is asked for.": (
            lambda words: _counted(words)[-1][0]
        ),
        "this is the pair of the two most frequent tokens; they need not be neighbours.": (
            lambda words: tuple(
                token
                for token, _ in Counter(chain.from_iterable(_written_out(words))).most_common(2)
            )
        ),
        "this is the new token; the pair of its two parts is asked for.": (
            lambda words: "".join(_next_merge(words))
        ),
        "the two parts are swapped.": lambda words: _next_merge(words)[::-1],
        "the count is there as well; only the pair is asked for.": lambda words: _counted(words)[0],
        "this is the count; the pair is asked for.": lambda words: _counted(words)[0][1],
        "this is the largest pair in the alphabet; the most frequent is asked for.": (
            lambda words: max(pair for pair, _ in _counted(words))
        ),
        "this is the first pair of the most frequent word; a pair may occur in many words.": (
            lambda words: tuple(max(words, key=lambda tokens: words[tokens]))[:2]
        ),
    },
    cases=[
        (
            {
                ("▁", "h", "u", "n", "d"): 5,
                ("▁", "r", "u", "n", "d"): 4,
                ("▁", "u", "n", "s"): 2,
            },
        ),
        (
            {
                ("▁s", "ee"): 9,
                ("▁a",): 12,
                ("▁s", "a", "n", "d"): 2,
                ("▁", "b", "a", "n", "d"): 3,
                ("▁", "w", "a", "n", "k", "t"): 1,
            },
        ),
        (
            {
                ("▁r", "o", "t"): 4,
                ("▁b", "r", "o", "t"): 5,
                ("▁b", "o", "o", "t"): 7,
                ("▁b", "o", "o", "t", "e"): 4,
            },
        ),
        ({("▁", "d", "u"): 6, ("▁", "d", "a"): 4, ("▁", "m", "a"): 3},),
        ({("▁", "m", "a", "m", "a"): 3, ("▁d", "u"): 5, ("▁", "a"): 1},),
        ({("▁", "o", "l", "a", "l", "a"): 3, ("▁d", "u"): 5},),
    ],
)
