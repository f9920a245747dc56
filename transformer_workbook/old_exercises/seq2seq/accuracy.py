"""Sequence to sequence: how many sentences are exactly right."""

from collections.abc import Callable
from itertools import pairwise

from transformer_workbook.judge.exercises import Exercise

Sentence = list[str]
Sentences = list[Sentence]
LONGEST = 99


def _exact_accuracy_by_length(
    translations: Sentences, references: Sentences, edges: list[int]
) -> list[float]:
    """What share of the translations is exactly right, for each bin of lengths?"""
    shares = []
    for low, high in pairwise(edges):
        pairs = zip(translations, references, strict=True)
        exact = [said == right for said, right in pairs if low <= len(right) < high]
        shares.append(sum(exact) / len(exact))
    return shares


def _share(chosen: list[float], every: int) -> float:
    return sum(chosen) / len(chosen)


def _wrong(
    value: Callable[[Sentence, Sentence], float] = lambda said, right: said == right,
    length: Callable[[Sentence, Sentence], int] = lambda said, right: len(right),
    first: int = 0,
    last: int = 0,
    share: Callable[[list[float], int], float] = _share,
    at: Callable[[list[int]], list[int]] = list,
) -> Callable[[Sentences, Sentences, list[int]], list[float]]:
    """The shares, if another value or length is taken, the edges move, or the sum is divided."""

    def answer(translations: Sentences, references: Sentences, edges: list[int]) -> list[float]:
        pairs = list(zip(translations, references, strict=True))
        bins = [
            [pair for pair in pairs if low + first <= length(*pair) < high + last]
            for low, high in pairwise(at(edges))
        ]
        return [share([float(value(*pair)) for pair in chosen], len(pairs)) for chosen in bins]

    return answer


def _or_0(chosen: list[float], every: int) -> float:
    return _share(chosen, every) if chosen else 0.0


def _by_words(
    size: Callable[[Sentence, Sentence], int],
) -> Callable[[Sentences, Sentences, list[int]], list[float]]:
    """The right words of a bin, divided by a number of words."""

    def answer(translations: Sentences, references: Sentences, edges: list[int]) -> list[float]:
        right = _wrong(lambda said, right: sum(_right_words(said, right)))
        shares = (count(translations, references, edges) for count in (right, _wrong(size)))
        return [good / every for good, every in zip(*shares, strict=True)]

    return answer


def _right_words(said: Sentence, right: Sentence) -> list[bool]:
    return [x == y for x, y in zip(said, right, strict=False)]


def _case(said: str, right: str, edges: list[int]) -> tuple[Sentences, Sentences, list[int]]:
    """Bars stand between the sentences."""
    return [s.split() for s in said.split("|")], [s.split() for s in right.split("|")], edges


exact_accuracy_by_length = Exercise(
    reference=_exact_accuracy_by_length,
    given={
        "the bins are those of the translations' lengths; a wrong one can have another length.": (
            _wrong(length=lambda said, right: len(said))
        ),
        "these are shares of right words; a sentence is right only as a whole.": (
            _wrong(lambda said, right: sum(_right_words(said, right)) / len(right))
        ),
        "these are shares of all right words of a bin; a sentence is right only as a whole.": (
            _by_words(lambda said, right: len(right))
        ),
        "these are shares of the words that are said; a sentence is right only as a whole.": (
            _by_words(lambda said, right: len(said))
        ),
        "these are shares of the longer sentences' words; one is right only as a whole.": (
            _by_words(lambda said, right: max(len(said), len(right)))
        ),
        "sentences count as right that agree as far as the shorter goes; both must end there.": (
            _wrong(lambda said, right: all(_right_words(said, right)))
        ),
        "sentences count as right that have the right length; their words must be right.": (
            _wrong(lambda said, right: len(said) == len(right))
        ),
        "the order of the words is not looked at: `c b a` is not `a b c`.": (
            _wrong(lambda said, right: sorted(said) == sorted(right))
        ),
        "sentences count as right that hold the same words; order and number count, too.": (
            _wrong(lambda said, right: set(said) == set(right))
        ),
        "sentences count as right that begin right; nothing may follow.": (
            _wrong(lambda said, right: said[: len(right)] == right)
        ),
        "sentences count as right of which a part is; all words must be.": (
            _wrong(lambda said, right: any(_right_words(said, right)))
        ),
        "sentences count as right whose last word is; all must be.": (
            _wrong(lambda said, right: said[-1:] == right[-1:])
        ),
        "every bin begins at the first edge; each begins at its own.": (
            lambda said, right, edges: [
                _wrong()(said, right, [edges[0], high])[0] for high in edges[1:]
            ]
        ),
        "every bin goes up to the last edge; each ends at its own.": (
            lambda said, right, edges: [
                _wrong()(said, right, [low, edges[-1]])[0] for low in edges[:-1]
            ]
        ),
        "the upper edge is counted too: a sentence can fall into two bins.": _wrong(last=1),
        "the lower edge is left out: a length on it belongs to this bin.": _wrong(first=1),
        "the edges have moved: the lower one is in, the upper one is out.": (
            _wrong(first=1, last=1)
        ),
        "the lower edge is not looked at: a bin holds the shorter sentences, too.": (
            _wrong(first=-100)
        ),
        "longer sentences fall into the last bin; they belong to none.": (
            _wrong(at=lambda edges: [*edges[:-1], LONGEST])
        ),
        "shorter sentences fall into the first bin; they belong to none.": (
            _wrong(at=lambda edges: [0, *edges[1:]])
        ),
        "shorter and longer sentences fall into the first and the last bin, not into none.": (
            _wrong(at=lambda edges: [0, *edges[1:-1], LONGEST])
        ),
        "a bin for all longer sentences is added; the last edge ends the last bin.": (
            _wrong(share=_or_0, at=lambda edges: [*edges, LONGEST])
        ),
        "a bin for all shorter sentences is added; the first edge begins the first bin.": (
            _wrong(share=_or_0, at=lambda edges: [0, *edges])
        ),
        "bins for all shorter and all longer sentences are added.": (
            _wrong(share=_or_0, at=lambda edges: [0, *edges, LONGEST])
        ),
        "the bins are one word long; each goes from an edge to the next.": (
            _wrong(share=_or_0, at=lambda edges: [*range(edges[0], edges[-1] + 1)])
        ),
        "the sums are divided by the number of all sentences; divide by those in the bin.": (
            _wrong(share=lambda chosen, every: sum(chosen) / every)
        ),
        "these are numbers of sentences; divide by how many are in the bin.": (
            _wrong(share=lambda chosen, every: sum(chosen))
        ),
        "these are percentages; a share lies between 0 and 1.": (
            _wrong(share=lambda chosen, every: 100 * _share(chosen, every))
        ),
        "these are the shares of wrong sentences.": _wrong(lambda said, right: said != right),
        "every bin has the share of all sentences.": _wrong(first=-100, last=100),
        "the last bin is missing.": lambda said, right, edges: _wrong()(said, right, edges[:-1]),
    },
    cases=[
        _case("a | b c d | b d | d a b | c d b a", "a | b c | b a | d a b | c d a b", [1, 3, 5]),
        _case(
            "a | a b | c b | a b c | b c d | a d b c | a b c d e | a c c d f f | a b c d e f g",
            "a | a b | b c | a b c | b c d a | a b c d | a b c d e | a c c d f e | a b c d e f g",
            [2, 4, 7],
        ),
        _case(
            "a b a | b | b b c | a c b | d a b b c | d c b a | e d c b | a b c a b c | d",
            "a b | b | b b c | a b c | d a b c | d c b a | e d c b a | a b c a b c | e",
            [1, 3, 5, 8],
        ),
    ],
)
