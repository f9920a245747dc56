"""Bahdanau attention: how well it aligns."""

from collections.abc import Callable, Set

from transformer_workbook.judge.exercises import Exercise

Links = Set[tuple[int, int]]


def _alignment_error(predicted: Links, gold: Links) -> float:
    """The alignment error rate of one sentence."""
    aligned = {target for _, target in gold}
    judged = {(source, target) for source, target in predicted if target in aligned}
    return 1 - 2 * len(judged & gold) / (len(judged) + len(gold))


def _judged(predicted: Links, gold: Links, end: int = 1) -> Links:
    """The predicted links of which the source (end 0) or the target (end 1) has a gold link."""
    return {link for link in predicted if link[end] in {true[end] for true in gold}}


def _wrong(rate: Callable[[int, int, int, int], float]) -> Callable[[Links, Links], float]:
    """A rate from the sizes of A, of G, of what they share, and of both together."""

    def answer(predicted: Links, gold: Links) -> float:
        judged = _judged(predicted, gold)
        return float(rate(len(judged), len(gold), len(judged & gold), len(judged | gold)))

    return answer


def _unjudged(predicted: Links, gold: Links) -> float:
    return 1 - 2 * len(predicted & gold) / (len(predicted) + len(gold))


def _one_each(links: Links, pick: Callable[..., tuple[int, int]]) -> Links:
    """One link of every target, as a dictionary keeps it."""
    targets = {target for _, target in links}
    return {pick(link for link in links if link[1] == target) for target in targets}


alignment_error = Exercise(
    reference=_alignment_error,
    given={
        "links of targets without gold count; they have no right answer, so leave them out.": (
            _unjudged
        ),
        "links are left out by their source; the target is the second of a pair.": (
            lambda a, g: _unjudged(_judged(a, g, end=0), g)
        ),
        "a target keeps one of its gold links, the one of the last source; all of them count.": (
            lambda a, g: _unjudged(_judged(a, g), _one_each(g, max))
        ),
        "a target keeps one of its gold links, the one of the first source; all of them count.": (
            lambda a, g: _unjudged(_judged(a, g), _one_each(g, min))
        ),
        "a target keeps one of its predicted links; all of them count.": (
            lambda a, g: _unjudged(_one_each(_judged(a, g), max), g)
        ),
        "a target keeps its first predicted link only; all of them count.": (
            lambda a, g: _unjudged(_one_each(_judged(a, g), min), g)
        ),
        "of gold links and predicted ones, a target keeps one; all of them count.": (
            lambda a, g: _unjudged(_one_each(_judged(a, g), max), _one_each(g, max))
        ),
        "gold links are left out where nothing is predicted; what is missed counts, too.": (
            lambda a, g: _unjudged(_judged(a, g), _judged(g, a))
        ),
        "predicted links count only if their source and their target have gold.": (
            lambda a, g: _unjudged(_judged(_judged(a, g), g, end=0), g)
        ),
        "every wrong link is left out; only a target without gold has no right answer.": (
            lambda a, g: _unjudged(a & g, g)
        ),
        "this is 1 minus the precision; gold links that are missed count too.": (
            _wrong(lambda a, g, hits, _: 1 - hits / a)
        ),
        "this is 1 minus the recall: predicting every link would be perfect.": (
            _wrong(lambda a, g, hits, _: 1 - hits / g)
        ),
        "this divides by the union (Jaccard); divide twice the hits by both sizes together.": (
            _wrong(lambda a, g, hits, both: 1 - hits / both)
        ),
        "the 2 is missing: even a perfect alignment would have an error of a half.": (
            _wrong(lambda a, g, hits, _: 1 - hits / (a + g))
        ),
        "this is large where the links are good; the error is 1 minus it.": (
            _wrong(lambda a, g, hits, _: 2 * hits / (a + g))
        ),
        "the brackets are missing: this divides by the first size and adds the second.": (
            _wrong(lambda a, g, hits, _: 1 - 2 * hits / a + g)
        ),
        "this is the number of wrong links; a share is asked for.": (
            _wrong(lambda a, g, hits, _: a + g - 2 * hits)
        ),
        "this rounds down to whole numbers: divide with /, not with //.": (
            _wrong(lambda a, g, hits, _: 1 - 2 * hits // (a + g))
        ),
    },
    cases=[
        ({(0, 1), (1, 0), (2, 2)}, {(0, 1), (1, 3), (2, 0)}),
        ({(0, 0), (1, 1), (2, 2), (0, 3)}, {(0, 0), (3, 1), (1, 1)}),
        ({(0, 2), (1, 1), (3, 0), (2, 4)}, {(0, 2), (1, 1), (4, 0), (3, 3), (2, 3), (5, 5)}),
        ({(0, 0), (1, 2), (2, 1), (4, 2), (3, 3), (3, 1)}, {(0, 0), (1, 2), (2, 1), (4, 5)}),
        ({(0, 0), (1, 1), (2, 3)}, {(0, 0), (1, 1)}),
    ],
)
