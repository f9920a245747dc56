"""Tokens and batches: sentences of similar length share a batch, and little padding is left."""

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any

from annotated_transformer.batches import batches_by_tokens
from annotated_transformer.toy import toy_corpus
from transformer_workbook.judge.comparing import is_number
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.old_question import Question, by_number

SENTENCES, BATCH, BOUND = 1000, 16, 0.05


def _cut(lengths: Sequence[int], size: int) -> list[Sequence[int]]:
    return [lengths[i : i + size] for i in range(0, len(lengths), size)]


@cache
def _target_lengths() -> list[int]:
    return [len(pair.tgt) + 1 for pair in toy_corpus(SENTENCES)["train"]]


@cache
def _padding(pool: int) -> float:
    """The share of padding if pools of so many sentences are sorted, and then cut into batches."""
    lengths = _target_lengths()
    batches = [batch for part in _cut(lengths, pool) for batch in _cut(sorted(part), BATCH)]
    return 1 - sum(lengths) / sum(len(batch) * max(batch) for batch in batches)


@Question
def smallest_pool(answer: Any) -> str:
    """How large must a pool be to leave less than 5 % padding?"""
    if is_number(answer) and 0 < answer < 1:
        return "this is a share of padding; the number of sentences in a pool is asked for."
    pools = [BATCH * 2**i for i in range(7)]
    enough = [pool for pool in pools if _padding(pool) < BOUND]
    if is_number(answer) and answer not in [*pools, SENTENCES]:
        return "a pool holds 16, 32, 64, … sentences, each twice as many as the one before."
    replies = {pool: f"a pool of {pool} leaves {_padding(pool):.0%} padding." for pool in pools}
    replies |= dict.fromkeys(enough, "that is enough, but a smaller pool is, too.")
    replies[BATCH] = "such a pool is one batch, and sorting inside a batch changes nothing."
    replies[SENTENCES] = "this sorts the whole corpus; a smaller pool is enough."
    return by_number(answer, enough[0], replies)


Lengths = list[int]


def _fill_batches(lengths: Lengths, limit: int) -> list[Lengths]:
    """Cut sentences of similar length into batches of at most `limit` positions."""
    sides = [[0] * (length - 1) for length in lengths]  # the package adds an EOS
    pairs = list(zip(sides, sides, strict=True))
    return [group.tolist() for group in batches_by_tokens(pairs, limit)]


def _filled(
    lengths: Lengths,
    limit: int,
    size: Callable[[Lengths, int], int] = lambda batch, new: (len(batch) + 1) * new,
    sign: int = 1,
    later: int = 1,
    lost: bool = False,
) -> list[Lengths]:
    """The batches, if their size with a new sentence is another, or the order, or one is lost."""
    groups: list[Lengths] = [[]]
    for i in sorted(range(len(lengths)), key=lambda i: (sign * lengths[i], later * i)):
        if groups[-1] and size([lengths[j] for j in groups[-1]], lengths[i]) > limit:
            groups.append([] if lost else [i])
        else:
            groups[-1].append(i)
    return groups


def _sized(size: Callable[[Lengths, int], int]) -> Callable[[Lengths, int], list[Lengths]]:
    return lambda lengths, limit: _filled(lengths, limit, size)


def _as_they_come(lengths: Lengths, limit: int) -> list[Lengths]:
    """Batches in the order of the sentences, each up to the limit."""
    groups: list[Lengths] = [[]]
    for i, length in enumerate(lengths):
        widest = max([length, *(lengths[j] for j in groups[-1])])
        if (len(groups[-1]) + 1) * widest > limit:
            groups.append([])
        groups[-1].append(i)
    return groups


def _renamed(
    change: Callable[[Lengths, int], int],
) -> Callable[[Lengths, int], list[Lengths]]:
    """The right batches, with something else in place of the sentences' places."""
    return lambda lengths, limit: [
        [change(lengths, i) for i in group] for group in _fill_batches(lengths, limit)
    ]


fill_batches = Exercise(
    reference=_fill_batches,
    given={
        "the lengths are added up, but padding takes positions, too: number × longest.": (
            _sized(lambda batch, new: sum(batch) + new)
        ),
        "a batch can be too large: it is measured before the new sentence is in.": (
            _sized(lambda batch, new: len(batch) * max(batch))
        ),
        "a batch can be too large: the new sentence is the longest, so its length counts.": (
            _sized(lambda batch, new: (len(batch) + 1) * max(batch))
        ),
        "a batch can be too large: it is measured with one sentence too few.": (
            _sized(lambda batch, new: len(batch) * new)
        ),
        "a batch is closed too early: exactly `limit` positions are allowed.": (
            lambda lengths, limit: _filled(lengths, limit - 1)
        ),
        "a position too many is counted for each sentence; EOS is in its length already.": (
            _sized(lambda batch, new: (len(batch) + 1) * (new + 1))
        ),
        "`limit` is taken as a number of sentences; it is one of positions.": (
            _sized(lambda batch, new: len(batch) + 1)
        ),
        "the last batch is missing.": lambda lengths, limit: _fill_batches(lengths, limit)[:-1],
        "the first batch is empty.": lambda lengths, limit: [[], *_fill_batches(lengths, limit)],
        "sentences are lost: the one that does not fit begins the next batch.": (
            lambda lengths, limit: _filled(lengths, limit, lost=True)
        ),
        "sentences of one length are in reverse order; the earlier one comes first.": (
            lambda lengths, limit: _filled(lengths, limit, later=-1)
        ),
        "the sentences are not sorted by length.": _as_they_come,
        "the sentences are not sorted by length, and only the newest one's length counts.": (
            lambda lengths, limit: _filled(lengths, limit, sign=0)
        ),
        "the longest sentences come first.": (
            lambda lengths, limit: _filled(lengths, limit, lambda b, new: (len(b) + 1) * b[0], -1)
        ),
        "the longest sentences come first, and only the newest one's length counts.": (
            lambda lengths, limit: _filled(lengths, limit, sign=-1)
        ),
        "sentences of equal length get the same place; each has its own.": (
            _renamed(lambda lengths, i: lengths.index(lengths[i]))
        ),
        "these are the lengths; the places of the sentences are asked for.": (
            _renamed(lambda lengths, i: lengths[i])
        ),
        "these are places among the sorted sentences; give those in `lengths`.": (
            _renamed(
                lambda lengths, i: sorted(range(len(lengths)), key=lambda j: lengths[j]).index(i)
            )
        ),
        "places count from 0.": _renamed(lambda lengths, i: i + 1),
    },
    cases=[
        ([5, 3, 4, 3, 7, 2, 5], 12),
        (Random(1).choices(range(2, 12), k=15), 30),
        (Random(2).choices(range(4, 20), k=40), 64),
    ],
    whole=True,
)
