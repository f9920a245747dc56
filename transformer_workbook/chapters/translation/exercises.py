import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations, pairwise
from statistics import fmean
from typing import Any

from transformer_workbook.judge import derivation, exercise, number

Result = dict[str, Any]
"""What is known of a model that was evaluated."""

PLAIN: Result = {
    "tokenizer": "joint 5000",
    "test": "2016",
    "signature": "13a, cased",
    "trials": 4,
    "minutes": 10,
    "chosen_on": "val",
}
LUONG = PLAIN | {"model": "luong", "parameters": 9, "steps": 600}
TRANSFORMER = PLAIN | {"model": "transformer", "parameters": 6, "steps": 550}


@exercise(
    [
        (LUONG, TRANSFORMER),
        (LUONG | {"trials": 1, "minutes": 5}, TRANSFORMER | {"chosen_on": "test"}),
        (LUONG | {"chosen_on": "test"}, TRANSFORMER | {"signature": "none, lower-cased"}),
        (LUONG | {"chosen_on": "test"}, TRANSFORMER | {"chosen_on": "test"}),
        (LUONG | {"tokenizer": "words"}, TRANSFORMER | {"test": "2017"}),
        (LUONG | {"trials": 9, "minutes": 20}, TRANSFORMER),
    ]
)
def unfair_in(first: Result, second: Result) -> list[str]:
    """List what makes the comparison of two results unfair."""
    equal = ["minutes", "signature", "test", "tokenizer", "trials"]
    found = [name for name in equal if first[name] != second[name]]
    if "test" in (first["chosen_on"], second["chosen_on"]):
        found.append("chosen_on")
    return sorted(found)


Counts = tuple[list[int], list[int], int, int]
"""Of one sentence: matching n-grams and all of the hypothesis, for each n; both lengths."""


@exercise(
    [
        ([([8, 6, 4, 2], [9, 8, 7, 6], 9, 9), ([3, 2, 1, 0], [5, 4, 3, 2], 5, 8)],),
        (
            [
                ([12, 9, 7, 5], [14, 13, 12, 11], 14, 9),
                ([4, 2, 1, 1], [6, 5, 4, 3], 6, 7),
                ([9, 7, 5, 3], [9, 8, 7, 6], 9, 10),
            ],
        ),
        ([([5, 3], [7, 6], 7, 9), ([6, 5], [6, 5], 6, 6), ([2, 1], [8, 7], 8, 11)],),
    ]
)
def corpus_bleu(sentences: list[Counts]) -> float:
    """Compute BLEU for a corpus from the counts of its sentences."""
    matches, totals, said, wanted = zip(*sentences, strict=True)
    found = [sum(counts) for counts in zip(*matches, strict=True)]
    runs = [sum(counts) for counts in zip(*totals, strict=True)]
    precisions = [m / t for m, t in zip(found, runs, strict=True)]
    brevity = min(1.0, math.exp(1 - sum(wanted) / sum(said)))
    mean = math.pow(math.prod(precisions), 1 / len(precisions))
    return 100 * brevity * mean


def _said(text: str) -> list[str]:
    """The words of a sentence."""
    return text.split()


def _grams(words: Sequence[str], n: int) -> list[Sequence[str]]:
    """All runs of n neighbouring words of a sentence."""
    return [words[i : i + n] for i in range(len(words) - n + 1)]


@exercise(
    [
        (_said("a dog sees the dog"), _said("dog sees a man now"), 1),
        (_said("a man or a man is"), _said("a man or a dog is"), 2),
        (_said("so so so"), _said("so so so so"), 2),
        (_said("I see two red cats"), _said("see two red cats I"), 3),
        (["hello"], _said("hello you"), 2),
    ],
    gap=True,
)
def clipped_counts(ours: list[str], theirs: list[str], n: int) -> int:
    """Count the n-grams of a translation that its reference has, each at most as often as there."""
    left = _grams(theirs, n)
    count = 0
    for gram in _grams(ours, n):
        if gram in left:
            left.remove(gram)
            count += 1
    return count


Sentences = list[list[str]]
"""The words of each sentence."""

BUS = _said("I am on a red bus")


@exercise(
    [
        ([[*BUS[:4], "big", "bus"]], [BUS]),
        ([BUS, _said("we sing a song now")], [[*BUS, "now"], _said("we sing songs all day")]),
        ([BUS * 2, BUS[:5]], [BUS, BUS]),
        ([BUS[:4], BUS], [BUS, BUS * 2]),
    ],
    gap=True,
)
def bleu_of_a_corpus(ours: Sentences, theirs: Sentences) -> float:
    """Score translations by their references, from 0 to 100."""
    shares = []
    for n in (1, 2, 3, 4):
        hits = sum(clipped_counts.reference(a, b, n) for a, b in zip(ours, theirs, strict=True))
        every = sum(len(_grams(a, n)) for a in ours)
        shares.append(hits / every)
    c, r = sum(map(len, ours)), sum(map(len, theirs))
    penalty = min(1, math.exp(1 - r / c))
    mean = math.prod(shares) ** (1 / 4)
    return 100 * penalty * mean


def _precisions(wrong: Sequence[int], words: int = 20) -> list[float]:
    """The four precisions of a sentence of different words, of which some are wrong."""
    gaps = [b - a - 1 for a, b in pairwise([-1, *wrong, words])]
    runs = [sum(max(0, gap - n + 1) for gap in gaps) for n in (1, 2, 3, 4)]
    return [run / (words - n) for n, run in enumerate(runs)]


def _bleu(wrong: Sequence[int]) -> float:
    """The BLEU of that sentence."""
    return 100 * math.prod(_precisions(wrong)) ** (1 / 4)


@number(within=0.01)
@cache
def five_wrong_words() -> float:
    """How far apart are the best and the worst BLEU with five wrong words of twenty?"""
    scores = [_bleu(wrong) for wrong in combinations(range(20), 5)]
    return max(scores) - min(scores)


Pair = tuple[str, str]
Words = dict[tuple[str, ...], int]
"""The tokens of each word of a text, and how often the word occurs."""


@exercise(
    [
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
    ]
)
def next_merge(words: Words) -> Pair:
    """Find the pair of neighbouring tokens that is the most frequent in a text."""
    counts: Counter[Pair] = Counter()
    for tokens, count in words.items():
        for pair in pairwise(tokens):
            counts[pair] += count
    best = max(counts, key=lambda pair: counts[pair])
    return best


@exercise(
    [
        ("▁hunde", [("u", "n"), ("un", "d"), ("▁", "h"), ("▁h", "und")]),
        ("▁anna", [("a", "n"), ("n", "a"), ("▁", "an"), ("na", "n"), ("n", "e")]),
        ("▁seesee", [("e", "e"), ("t", "ee"), ("s", "ee"), ("▁", "see")]),
        ("▁abcd", [("b", "c"), ("a", "b"), ("bc", "d"), ("▁", "a"), ("▁", "ab")]),
        ("▁ooo", [("o", "o"), ("▁", "oo")]),
        ("▁abc", [("b", "c"), ("a", "b")]),
        ("▁abc", [("a", "bc"), ("b", "c")]),
    ]
)
def cut_into_subwords(word: str, merges: list[Pair]) -> list[str]:
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


def _takes_the_longest_first(word: str, merges: list[Pair]) -> list[str]:
    """The longest known token comes first."""
    known, tokens = {"".join(pair) for pair in merges}, []
    while word:
        end = max(i for i in range(1, len(word) + 1) if i == 1 or word[:i] in known)
        tokens.append(word[:end])
        word = word[end:]
    return tokens


def _shortens_a_list_under_its_range(word: str, merges: list[Pair]) -> list[str]:
    """The list gets shorter while its positions are gone through."""
    tokens = list(word)
    for pair in merges:
        for i in range(len(tokens) - 1):
            if tokens[i] == pair[0] and tokens[i + 1] == pair[1]:
                tokens[i : i + 2] = ["".join(pair)]
    return tokens


@derivation([(5.0, 30, 20), (8.0, 16, 12), (2.5, 9, 8), (12.0, 40, 25), (3.0, 50, 20)])
def perplexity_per_word(
    perplexity: float, tokens: int, words: int
) -> tuple[float, float, float, float]:
    """Go from the perplexity per subword to the perplexity per word, in four steps."""
    token = math.log(perplexity)
    text = token * tokens
    word = text / words
    return token, text, word, math.exp(word)


def _runs(text: Sequence[str], n: int) -> Counter[Sequence[str]]:
    """How often each n-gram of characters occurs in a text."""
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


@exercise(
    [
        ("a brown dog runs over the meadow", "A brown dog ran across a meadow"),
        ("The the children sing", "The children are singing here"),
        ("two women talk on a bench in the park", "Two women talk"),
        ("quietly", "snowman"),
    ]
)
def chrf(said: str, wanted: str) -> float:
    """Score a sentence by its n-grams of one to six characters."""
    said, wanted = "".join(said.split()), "".join(wanted.split())
    precisions, recalls = [], []
    for n in range(1, 7):
        ours, theirs = _runs(said, n), _runs(wanted, n)
        found = (ours & theirs).total()
        precisions.append(found / ours.total())
        recalls.append(found / theirs.total())
    p, r = fmean(precisions), fmean(recalls)
    beta = 2
    return 100 * (1 + beta**2) * p * r / (beta**2 * p + r) if p else 0.0
