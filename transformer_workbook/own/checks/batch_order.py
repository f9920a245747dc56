"""Checks of the order of batches in a training."""

from itertools import islice
from typing import Any

from transformer_workbook.own.checks.check import Check, refusal

EXAMPLES = [([7] * n, [5] * n) for n in range(1, 7)]


def _sources(m: Any, count: int, skip: int = 0, every: int = 1, seed: int = 0) -> list[list[int]]:
    batches = islice(m.endless_batches(EXAMPLES, 7, seed, skip, every=every), count)
    return [sorted((batch.src == 7).sum(dim=1).tolist()) for batch in batches]


BATCH_ORDER = (
    Check(
        "endless_batches",
        "the lengths of the sources of two epochs, of each sorted",
        lambda m: [sorted(_sources(m, 10)[i : i + 5]) for i in (0, 5)],
        lambda: [[[1, 2], [3], [4], [5], [6]]] * 2,
    ),
    Check(
        "endless_batches",
        "whether skip=7 goes on as after seven batches; whether epochs differ in order, and seeds",
        lambda m: [
            _sources(m, 9)[7:] == _sources(m, 2, skip=7),
            len({repr(_sources(m, 30)[i : i + 5]) for i in range(0, 30, 5)}) > 1,
            len({repr(_sources(m, 5, seed=seed)) for seed in range(6)}) > 1,
        ],
        lambda: [True, True, True],
    ),
    Check(
        "endless_batches",
        "whether skip=1 and every=2 give every second batch",
        lambda m: _sources(m, 3, skip=1, every=2) == _sources(m, 6)[1::2],
        lambda: True,
    ),
    Check(
        "endless_batches",
        "the error without examples",
        lambda m: refusal(lambda: next(iter(m.endless_batches([], 7, 0)))),
        lambda: "InputError",
    ),
)
