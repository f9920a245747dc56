"""Experiments on the toy corpus: train a small model for a minute, and measure what it can do."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import torch

from annotated_transformer.ground.errors import InputError
from annotated_transformer.loss import smoothed_cross_entropy
from annotated_transformer.text.examples import Example
from annotated_transformer.tokens import TextPair, Vocabularies, Vocabulary
from annotated_transformer.toy import Pair, toy_corpus
from annotated_transformer.training import (
    Trainer,
    endless_batches,
    linear_schedule,
    paper_adam,
)
from annotated_transformer.translation import translate_ids
from annotated_transformer.translator import NextTokenModel

Model = TypeVar("Model", bound=torch.nn.Module)

EDGES = (4, 7, 10, 13, 16, 19)
"""The lower ends of the book's bins of sentence length: 4 to 6 morphemes, 7 to 9, …"""

BINS = tuple(f"{low}–{high - 1}" for low, high in pairwise(EDGES))
"""The same bins as labels: 4–6, 7–9, …"""


@contextmanager
def drawn_in_float64() -> Iterator[None]:
    """Draw the weights of new models in float64 inside the block, and keep them so.

    Drawn in float32, they would be rounded differently by other CPUs, and training would
    enlarge the difference until figures change.

    >>> with drawn_in_float64():
    ...     print(torch.nn.Linear(2, 2).weight.dtype)
    torch.float64
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def texts(pairs: Sequence[Pair]) -> list[TextPair]:
    """Convert sentence pairs of the grammar to texts, with spaces between words and morphemes."""
    return [(" ".join(pair.src), " ".join(pair.tgt)) for pair in pairs]


@dataclass(frozen=True)
class ToyTask:
    """English to Korean on the toy corpus: its sentence pairs and both vocabularies."""

    pairs: dict[str, list[Pair]]
    vocabularies: Vocabularies

    @classmethod
    def of(cls, pairs: dict[str, list[Pair]]) -> "ToyTask":
        """Learn both vocabularies from the split ``train``."""
        return cls(pairs, Vocabularies.learn(texts(pairs["train"]), subwords=0))

    @classmethod
    def make(cls) -> "ToyTask":
        """Make the task of the book, with the default corpus of :func:`toy_corpus`."""
        return cls.of(toy_corpus())

    def build(
        self, model: Callable[..., Model], config: Callable[..., Any], seed: int = 0, **choices: Any
    ) -> Model:
        """Build a new model for the task, in float64, with the initial weights of that seed."""
        with drawn_in_float64():
            torch.manual_seed(seed)
            return model(config(*map(len, self.vocabularies), **choices))

    @property
    def src_vocabulary(self) -> Vocabulary:
        """Return the vocabulary of English words."""
        return self.vocabularies.src

    @property
    def tgt_vocabulary(self) -> Vocabulary:
        """Return the vocabulary of Korean morphemes."""
        return self.vocabularies.tgt

    def examples(self, split: str) -> list[Example]:
        """Return the pairs of a split as ids.

        Raises:
            InputError: if there is no such split.
        """
        if split not in self.pairs:
            raise InputError(f"split is {split!r}, it must be one of {', '.join(self.pairs)}.")
        return self.vocabularies.encode(texts(self.pairs[split]))


def train_briefly(
    model: torch.nn.Module,
    examples: Sequence[Example],
    steps: int = 800,
    rate: float = 4e-3,
    seed: int = 0,
    batch_tokens: int = 512,
) -> list[float]:
    """Train a small model as the chapters do; return the loss per token at every step.

    It uses Adam with a linear decay to 0 over all steps. Its ε of 1e-6 is larger than usual: with
    it, and in float64, the same training gives the same figures on other machines.

    Raises:
        InputError: if the rate is not positive, or there are no steps or no examples.
    """
    if rate <= 0 or steps < 1:
        raise InputError(f"rate={rate} must be above 0 and steps={steps} at least 1.")
    schedule, adam = linear_schedule(rate, steps), paper_adam(model, eps=1e-6)
    trainer = Trainer(model, smoothed_cross_entropy, schedule, optimizer=adam)
    batches = endless_batches(examples, batch_tokens, seed)
    return [trainer.update([next(batches)])[0] for _ in range(steps)]


def exactly_right(model: NextTokenModel, examples: Sequence[Example]) -> list[bool]:
    """Tell for each example whether greedy search gives its translation, token for token."""
    found = translate_ids(model, [src for src, _ in examples])
    return [tokens == tgt for tokens, (_, tgt) in zip(found, examples, strict=True)]


def share_by_length(
    right: Sequence[bool], examples: Sequence[Example], edges: Sequence[int] = EDGES
) -> list[float]:
    """Compute the share of right examples in each bin of target lengths.

    Bin i has the lengths from ``edges[i]`` up to, but not including, ``edges[i + 1]``.

    >>> examples = [([5], [5]), ([5], [5, 6]), ([5], [5, 6, 7])]
    >>> share_by_length([True, False, True], examples, edges=(1, 3, 4))
    [0.5, 1.0]

    Raises:
        InputError: if a bin is empty, or if there are not as many verdicts as examples.
    """
    if len(right) != len(examples):
        raise InputError(f"there are {len(right)} verdicts for {len(examples)} examples.")
    shares = []
    for low, high in pairwise(edges):
        hits = [r for r, (_, tgt) in zip(right, examples, strict=True) if low <= len(tgt) < high]
        if not hits:
            raise InputError(f"0 sentences have {low} to {high - 1} tokens, a bin needs 1 or more.")
        shares.append(sum(hits) / len(hits))
    return shares


def spread(values: Sequence[float]) -> str:
    """Write the mean of several runs, then the lowest and the highest, in per cent.

    >>> spread([0.5, 0.75, 1.0])
    '75% (50–100%)'
    """
    mean = sum(values) / len(values)
    return f"{mean:.0%} ({100 * min(values):.0f}–{max(values):.0%})"
