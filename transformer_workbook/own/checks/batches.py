"""Checks of batches."""

from typing import Any

import torch

from annotated_transformer.ground.devices import CPU
from annotated_transformer.text.examples import Example
from transformer_workbook.own.checks.check import Check, refusal
from transformer_workbook.own.checks.places import has_its_device

LENGTHS = [(3, 2), (1, 1), (6, 5), (2, 3), (4, 4), (5, 6), (9, 1), (1, 12)]
ROWS, PAIRS = [[5, 6, 7], [8]], [([7, 8], [9]), ([7], [5, 6])]
EXAMPLES: list[Example] = [([7] * n, [5] * m) for n, m in LENGTHS]


def _groups(
    m: Any, seed: int | None = None, examples: list[Example] = EXAMPLES, most: int = 14
) -> list[list[int]]:
    return [[int(i) for i in group] for group in m.batches_by_tokens(examples, most, seed)]


CHECKS = (
    Check(
        "pad",
        "pad([[5, 6, 7], [8]])",
        lambda m: m.pad(ROWS),
        lambda: torch.tensor([[5, 6, 7], [8, 0, 0]]),
    ),
    Check(
        "pad",
        "the type of pad([[5, 6]])",
        lambda m: str(m.pad([[5, 6]]).dtype),
        lambda: "torch.int64",
    ),
    Check(
        "pad",
        "whether pad makes its tensor on the device that is given",
        lambda m: has_its_device(lambda: m.pad(ROWS, CPU)),
        lambda: True,
    ),
    Check(
        "pad", "the error for pad([])", lambda m: refusal(lambda: m.pad([])), lambda: "InputError"
    ),
    Check(
        "Batch.of",
        "src, tgt_in and tgt_out of Batch.of([([7, 8], [9]), ([7], [5, 6])])",
        lambda m: (lambda b: [b.src, b.tgt_in, b.tgt_out])(m.Batch.of(PAIRS)),
        lambda: [
            torch.tensor(rows)
            for rows in ([[7, 8, 2], [7, 2, 0]], [[1, 9, 0], [1, 5, 6]], [[9, 2, 0], [5, 6, 2]])
        ],
    ),
    Check(
        "Batch.of",
        "whether Batch.of makes src, tgt_in and tgt_out on the device that is given",
        lambda m: [
            has_its_device(lambda n=name: getattr(m.Batch.of(PAIRS, CPU), n))  # type: ignore[misc]
            for name in ("src", "tgt_in", "tgt_out")
        ],
        lambda: [True] * 3,
    ),
    Check(
        "TextBatch.of",
        "tgt_in and tgt_out of TextBatch.of([([5, 6],), ([7],)])",
        lambda m: (lambda b: [b.tgt_in, b.tgt_out])(m.TextBatch.of([([5, 6],), ([7],)])),
        lambda: [torch.tensor(rows) for rows in ([[1, 5, 6], [1, 7, 0]], [[5, 6, 2], [7, 2, 0]])],
    ),
    Check(
        "Batch.num_tokens",
        "Batch.of([([7, 8, 9, 7], [9]), ([7], [5, 6])]).num_tokens",
        lambda m: m.Batch.of([([7, 8, 9, 7], [9]), ([7], [5, 6])]).num_tokens,
        lambda: 5,
    ),
    Check(
        "TextBatch.num_tokens",
        "the number of tokens that are predicted in a TextBatch of 3 tokens and of 1",
        lambda m: m.TextBatch.of([(row,) for row in ROWS]).num_tokens,
        lambda: 6,
    ),
    Check(
        "TextBatch.without_ends",
        "tgt_in and tgt_out of a TextBatch of 3 tokens and of 1, without their ends",
        lambda m: (lambda b: [b.tgt_in, b.tgt_out])(
            m.TextBatch.of([(row,) for row in ROWS]).without_ends()
        ),
        lambda: [torch.tensor([[5, 6], [8, 0]]), torch.tensor([[6, 7], [0, 0]])],
    ),
    Check(
        "TextBatch.without_ends",
        "the error of a TextBatch without its ends if no text has two tokens",
        lambda m: refusal(lambda: m.TextBatch.of([([5],), ([6],)]).without_ends()),
        lambda: "InputError",
    ),
    Check(
        "batches_by_tokens",
        "the groups of pairs of {lengths} tokens, of at most 14",
        _groups,
        lambda: [[1], [6], [0, 3], [4, 2], [5], [7]],
        {"lengths": LENGTHS},
    ),
    Check(
        "batches_by_tokens",
        "the same groups of at most 20",
        lambda m: _groups(m, most=20),
        lambda: [[1, 6], [0, 3, 4], [2, 5], [7]],
    ),
    Check(
        "batches_by_tokens",
        "the groups of at most 14 with a seed, sorted",
        lambda m: sorted(map(sorted, _groups(m, 3))),
        lambda: [[0, 3], [1], [2, 4], [5], [6], [7]],
    ),
    Check(
        "batches_by_tokens",
        "whether the order is the same for the same seed, and for every seed",
        lambda m: (
            _groups(m, 3) == _groups(m, 3),
            len({repr(_groups(m, seed)) for seed in range(9)}) == 1,
        ),
        lambda: (True, False),
    ),
    Check(
        "batches_by_tokens",
        "whether nine seeds group four pairs of equal length by two in more than one way",
        lambda m: (
            len({repr(sorted(map(sorted, _groups(m, s, EXAMPLES[:1] * 4, 8)))) for s in range(9)})
            > 1
        ),
        lambda: True,
    ),
    Check(
        "batches_by_tokens",
        "the groups of at most 7 of a sentence of 6 tokens, with its end symbol 7",
        lambda m: _groups(m, examples=[([5] * 6, [5])], most=7),
        lambda: [[0]],
    ),
    Check(
        "batches_by_tokens",
        "the error for a sentence of 7 tokens with its end symbol and max_tokens=6",
        lambda m: refusal(lambda: m.batches_by_tokens([([5] * 6, [5])], 6)),
        lambda: "InputError",
    ),
)
