"""Translation: which pair is merged next, and how a word is cut by the merges."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain, pairwise

from annotated_transformer.course.checking import Exercise

Pair = tuple[str, str]


def _next_merge(words: dict[tuple[str, ...], int]) -> Pair:
    counts: Counter[Pair] = Counter()
    for tokens, count in words.items():
        for pair in pairwise(tokens):
            counts[pair] += count
    return max(counts, key=lambda pair: counts[pair])


def _most_frequent(pairs: Iterable[Pair]) -> Pair:
    return Counter(pairs).most_common(1)[0][0]


def _all_pairs(words: dict[tuple[str, ...], int]) -> list[Pair]:
    return [pair for tokens, count in words.items() for pair in list(pairwise(tokens)) * count]


next_merge = Exercise(
    reference=_next_merge,
    mistakes={
        "you count every word once; a word that stands there five times counts five times.": (
            lambda words: _most_frequent(chain.from_iterable(map(pairwise, words)))
        ),
        "you count a pair once in each word; it may stand there twice.": (
            lambda words: _most_frequent(
                pair
                for tokens, n in words.items()
                for pair in [*dict.fromkeys(pairwise(tokens))] * n
            )
        ),
        "you count the end of one word and the beginning of the next as a pair, too.": (
            lambda words: _most_frequent(
                pairwise(chain.from_iterable(tokens * n for tokens, n in words.items()))
            )
        ),
        "this is the rarest pair; the most frequent one is asked for.": (
            lambda words: Counter(_all_pairs(words)).most_common()[-1][0]
        ),
        "these are the two most frequent tokens; they need not be neighbours.": (
            lambda words: tuple(
                token
                for token, _ in Counter(
                    chain.from_iterable(tokens * n for tokens, n in words.items())
                ).most_common(2)
            )
        ),
        "you give the new token; the pair of its two parts is asked for.": (
            lambda words: "".join(_next_merge(words))
        ),
        "the two parts are swapped.": lambda words: _next_merge(words)[::-1],
        "you give the count as well; only the pair is asked for.": (
            lambda words: Counter(_all_pairs(words)).most_common(1)[0]
        ),
        "you look at the most frequent word only; a pair may occur in many words.": (
            lambda words: next(pairwise(max(words, key=lambda tokens: words[tokens])))
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


def _cut(word: str, merges: list[Pair]) -> list[str]:
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


cut_into_subwords = Exercise(
    reference=_cut,
    mistakes={
        "you join a pair only where it stands first in the word; join it everywhere.": _first_only,
        "you apply the merges from the last to the first; begin with the first.": (
            lambda word, merges: _cut(word, merges[::-1])
        ),
        "you join from the left; the merge that was learned first goes first.": _from_the_left,
        "a merge that finds nothing ends your work; go on with the next one.": _until_one_fails,
        "you take the longest known token from the left; the order of the merges decides.": (
            _longest_first
        ),
        "you apply the first merge only.": lambda word, merges: _cut(word, merges[:1]),
        "you leave out the last merge.": lambda word, merges: _cut(word, merges[:-1]),
        "you give one text; a list of tokens is asked for.": (
            lambda word, merges: " ".join(_cut(word, merges))
        ),
        "these are the new tokens only; the characters that stay single belong to the word, too.": (
            lambda word, merges: [token for token in _cut(word, merges) if len(token) > 1]
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
