"""Translation: which pair is merged next, and how a word is cut by the merges."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain, pairwise
from typing import Any

from annotated_transformer.course.checking import Exercise

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
    mistakes={
        "every word counts once here; a word that occurs five times counts five times.": (
            lambda words: _most_frequent(chain.from_iterable(map(pairwise, words)))
        ),
        "a pair counts once in each word here; it may occur there twice.": (
            _by_pairs(lambda tokens: dict.fromkeys(pairwise(tokens)))
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
        ({("▁", "m", "a", "m", "a"): 3, ("▁d", "u"): 5, ("▁", "a"): 1},),
    ],
)


def _cut_into_subwords(word: str, merges: list[Pair]) -> list[str]:
    """Cut a word into subwords with a list of merges."""
    tokens = list(word)
    for pair in merges:
        joined = tokens[:1]
        for token in tokens[1:]:
            if (joined[-1], token) == pair:
                joined[-1] += token
            else:
                joined.append(token)
        tokens = joined
    return tokens


_cut = _cut_into_subwords


def _first_only(word: str, merges: list[Pair]) -> list[str]:
    tokens = list(word)
    for pair in merges:
        for i, found in enumerate(pairwise(tokens)):
            if found == pair:
                tokens[i : i + 2] = ["".join(pair)]
                break
    return tokens


def _until_one_fails(word: str, merges: list[Pair]) -> list[str]:
    for i in range(len(merges)):
        if _cut(word, merges[: i + 1]) == _cut(word, merges[:i]):
            return _cut(word, merges[:i])
    return _cut(word, merges)


def _from_the_left(word: str, merges: list[Pair]) -> list[str]:
    tokens = list(word)
    while known := [i for i, pair in enumerate(pairwise(tokens)) if pair in merges]:
        tokens[known[0] : known[0] + 2] = ["".join(tokens[known[0] : known[0] + 2])]
    return tokens


def _longest_first(word: str, merges: list[Pair]) -> list[str]:
    known, tokens = {"".join(pair) for pair in merges}, []
    while word:
        end = max(i for i in range(1, len(word) + 1) if i == 1 or word[:i] in known)
        tokens.append(word[:end])
        word = word[end:]
    return tokens


def _overlapping(word: str, merges: list[Pair]) -> list[str]:
    """A token that was joined is used once more for the next pair."""
    tokens = list(word)
    for pair in merges:
        found = [found == pair for found in pairwise(tokens)]
        if any(found):
            new = ["".join(pair) if hit else a for a, hit in zip(tokens, found, strict=False)]
            tokens = new if found[-1] else [*new, tokens[-1]]
    return tokens


cut_into_subwords = Exercise(
    reference=_cut_into_subwords,
    mistakes={
        "a pair is joined only where it comes first in the word; join it everywhere.": _first_only,
        "the merges are applied from the last to the first; begin with the first.": (
            lambda word, merges: _cut(word, merges[::-1])
        ),
        "pairs are joined from the left; the merge that was learned first goes first.": (
            _from_the_left
        ),
        "a merge that finds nothing ends the work; go on with the next one.": _until_one_fails,
        "this takes the longest known token from the left; the order of the merges decides.": (
            _longest_first
        ),
        "a part that was joined is there a second time; it is used up.": _overlapping,
        "only the first merge is applied.": lambda word, merges: _cut(word, merges[:1]),
        "the first merge is left out.": lambda word, merges: _cut(word, merges[1:]),
        "the last merge is left out.": lambda word, merges: _cut(word, merges[:-1]),
        "nothing is joined: these are the characters.": lambda word, merges: list(word),
        "this is one text; a list of tokens is asked for.": (
            lambda word, merges: " ".join(_cut(word, merges))
        ),
        "the mark ▁ is lost; it belongs to the word.": (
            lambda word, merges: [t for t in (x.lstrip("▁") for x in _cut(word, merges)) if t]
        ),
        "these are the new tokens only; the characters that stay single belong to the word, too.": (
            lambda word, merges: [token for token in _cut(word, merges) if len(token) > 1]
        ),
        "these are the merges that were used; the tokens of the word are asked for.": (
            lambda word, merges: [
                "".join(pair)
                for i, pair in enumerate(merges)
                if _cut(word, merges[: i + 1]) != _cut(word, merges[:i])
            ]
        ),
    },
    cases=[
        ("▁hunde", [("u", "n"), ("un", "d"), ("▁", "h"), ("▁h", "und")]),
        ("▁anna", [("a", "n"), ("n", "a"), ("▁", "an"), ("na", "n"), ("n", "e")]),
        ("▁seesee", [("e", "e"), ("t", "ee"), ("s", "ee"), ("▁", "see")]),
        ("▁abcd", [("b", "c"), ("a", "b"), ("bc", "d"), ("▁", "a"), ("▁", "ab")]),
        ("▁ooo", [("o", "o"), ("▁", "oo")]),
        ("▁abc", [("b", "c"), ("a", "b")]),
    ],
)
