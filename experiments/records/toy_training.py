"""Runs on the toy corpus: train a model, and measure the columns of the book's tables."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from annotated_transformer.evaluation import alignment_errors, perplexity
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.text.examples import Example
from annotated_transformer.training import Trainer, endless_batches, linear_schedule
from records.tables import Row
from transformer_workbook.notebook import (
    BINS,
    ToyTask,
    exactly_right,
    share_by_length,
)

STEPS, WARMUP, BATCH_TOKENS = 2000, 0.05, 512
RATES = (2e-3, 4e-3, 8e-3)  # tried for every model, and others while the best is at the edge
COLUMNS = [bin.replace("–", "-") for bin in BINS]


@cache
def task() -> ToyTask:
    """Return the corpus, made once in each process."""
    return ToyTask.make()


def train(
    model: Any,
    steps: int,
    rate: float,
    seed: int,
    examples: Sequence[Example] | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> None:
    """Train with a linear warm-up over the first twentieth of the steps, and a linear decay."""
    torch.set_num_threads(1)
    schedule = linear_schedule(rate, steps, warmup=int(WARMUP * steps))
    trainer = Trainer(model, smoothed_cross_entropy, schedule)
    batches = endless_batches(examples or task().examples("train"), batch_tokens, seed)
    for _ in range(steps):
        trainer.update([next(batches)])


def measure(model: Any, attention: str) -> Row:
    """Measure a trained model for the tables; its alignment is that of the attention named."""
    test, longer = task().examples("test"), task().examples("longer")
    right = exactly_right(model, test)
    errors = alignment_errors(model, test, [pair.alignment for pair in task().pairs["test"]])
    return {
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "val_perplexity": round(perplexity(model, task().examples("val")), 4),
        "exact": sum(right) / len(right),
        **{b: round(s, 4) for b, s in zip(COLUMNS, share_by_length(right, test), strict=True)},
        "longer": sum(exactly_right(model, longer)) / len(longer),
        "aer": round(errors[attention], 4) if attention else "",
    }
