"""The record of serving: many requests in batches of a fixed size, and by continuous batching."""

import torch

from annotated_transformer.batches import pad
from annotated_transformer.decoding import Search, greedy
from annotated_transformer.paged_cache import Engine
from annotated_transformer.run import Run
from annotated_transformer.tokens import EOS
from records.costs import times_in_turns
from records.tables import RECORDS, Row, Tables
from records.toy_training import task

REQUESTS, ROWS, LONGEST, EXTRA = 64, 8, 64, 26
"""Sentences; those of a batch; most tokens of one and its answer; of an answer beyond its source's.

The memory is that of a batch: ``ROWS`` · ``LONGEST`` cells. As in the page `deeper/serving`.
"""


def time_serving(page_size: int) -> Row:
    """Time both ways in turns; in a batch of fixed size, finished texts leave, but none joins."""
    torch.set_num_threads(1)
    model = Run.open(RECORDS.parent.parent / "checkpoints" / "toy-language").model
    sources = [[*src, EOS] for src, _ in task().examples("test")[:REQUESTS]]

    def in_batches() -> None:
        for first in range(0, REQUESTS, ROWS):
            greedy(model, pad(sources[first : first + ROWS]), Search(extra_length=EXTRA))

    def continuously() -> None:
        engine = Engine(model, ROWS * LONGEST // page_size, page_size)
        for src in sources:
            engine.submit(src, EXTRA)
        while engine.waiting or engine.running:
            engine.step()

    batches, continuous = times_in_turns(in_batches, continuously, repeats=9, skip=1)
    return {
        "page_size": page_size,
        "batches_milliseconds": round(1000 * batches),
        "continuous_milliseconds": round(1000 * continuous),
        "ratio": round(batches / continuous, 2),
    }


def make_serving_times(tables: Tables) -> None:
    """The time to answer 64 requests in batches of eight, and by continuous batching."""
    # One at a time: nothing else may run beside what is timed.
    sizes = [(LONGEST,), (16,), (4,), (1,)]
    tables.extend("serving_times", time_serving, sizes, ["page_size"], workers=1)
