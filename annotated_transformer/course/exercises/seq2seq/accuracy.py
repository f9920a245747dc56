"""Sequence to sequence: how many sentences are exactly right."""

from itertools import pairwise

from annotated_transformer.course.checking import Exercise

Sentences = list[list[str]]


def _exact_accuracy_by_length(
    translations: Sentences, references: Sentences, edges: list[int]
) -> list[float]:
    shares = []
    for low, high in pairwise(edges):
        pairs = zip(translations, references, strict=True)
        exact = [said == right for said, right in pairs if low <= len(right) < high]
        shares.append(sum(exact) / len(exact))
    return shares


def _shares(
    measured: list[int], values: list[float], edges: list[int], *, last: int = 0, first: int = 0
) -> list[float]:
    """The mean value of those that are measured to lie between two edges, moved by first, last."""
    shares = []
    for low, high in pairwise(edges):
        pairs = zip(measured, values, strict=True)
        chosen = [value for size, value in pairs if low + first <= size < high + last]
        shares.append(sum(chosen) / len(chosen))
    return shares


def _exact(said: Sentences, right: Sentences) -> list[float]:
    return [float(x == y) for x, y in zip(said, right, strict=True)]


def _lengths(sentences: Sentences) -> list[int]:
    return list(map(len, sentences))


def _words_right(said: Sentences, right: Sentences) -> list[float]:
    pairs = zip(said, right, strict=True)
    return [sum(x == y for x, y in zip(*pair, strict=False)) / len(pair[1]) for pair in pairs]


def _begun(said: Sentences, right: Sentences) -> list[float]:
    pairs = zip(said, right, strict=True)
    return [float(all(x == y for x, y in zip(*pair, strict=False))) for pair in pairs]


def _by_length(said: Sentences, right: Sentences, edges: list[int]) -> list[float]:
    return _shares(_lengths(right), _exact(said, right), edges)


def _case(said: str, right: str, edges: list[int]) -> tuple[Sentences, Sentences, list[int]]:
    """Bars stand between the sentences."""
    return [s.split() for s in said.split("|")], [s.split() for s in right.split("|")], edges


exact_accuracy_by_length = Exercise(
    reference=_exact_accuracy_by_length,
    mistakes={
        "you sort by the length of the translation; a wrong one can have another length.": (
            lambda said, right, edges: _shares(_lengths(said), _exact(said, right), edges)
        ),
        "you count right words; a sentence is right only as a whole.": (
            lambda said, right, edges: _shares(_lengths(right), _words_right(said, right), edges)
        ),
        "you compare only as far as the shorter sentence goes; both must end there.": (
            lambda said, right, edges: _shares(_lengths(right), _begun(said, right), edges)
        ),
        "the upper edge is counted too: a sentence can fall into two bins.": (
            lambda said, right, edges: _shares(_lengths(right), _exact(said, right), edges, last=1)
        ),
        "you leave out the lower edge: a length on it belongs to this bin.": (
            lambda said, right, edges: _shares(_lengths(right), _exact(said, right), edges, first=1)
        ),
        "the edges have moved: the lower one is in, the upper one is out.": (
            lambda said, right, edges: _shares(
                _lengths(right), _exact(said, right), edges, first=1, last=1
            )
        ),
        "you divide by the number of all sentences; divide by those in the bin.": (
            lambda said, right, edges: [
                sum(x == y for x, y in zip(said, right, strict=True) if low <= len(y) < high)
                / len(right)
                for low, high in pairwise(edges)
            ]
        ),
        "these are numbers of sentences; divide by how many are in the bin.": (
            lambda said, right, edges: [
                sum(x == y for x, y in zip(said, right, strict=True) if low <= len(y) < high)
                for low, high in pairwise(edges)
            ]
        ),
        "you forget the order of the words: `c b a` is not `a b c`.": (
            lambda said, right, edges: _by_length(
                [*map(sorted, said)], [*map(sorted, right)], edges
            )
        ),
        "these are percentages; a share lies between 0 and 1.": (
            lambda said, right, edges: [100 * share for share in _by_length(said, right, edges)]
        ),
        "these are the shares of wrong sentences.": (
            lambda said, right, edges: [1 - share for share in _by_length(said, right, edges)]
        ),
        "you give the share of all sentences for every bin.": (
            lambda said, right, edges: [sum(_exact(said, right)) / len(right)] * (len(edges) - 1)
        ),
    },
    cases=[
        _case("a | b c d | d a b | c d b a", "a | b c | d a b | c d a b", [1, 3, 5]),
        _case(
            "a b | c b | c d | a b c | b c d | a d b c | a b c d e | a c c d f e",
            "a b | b c | c d | a b c | b c d a | a b c d | a b c d e | a c c d f e",
            [2, 3, 6],
        ),
        _case(
            "a b a | b | b b c | a c b | d a b b c | d c b a | e d",
            "a b | b | b b c | a b c | d a b c | d c b a | e",
            [1, 2, 4, 5],
        ),
    ],
)
