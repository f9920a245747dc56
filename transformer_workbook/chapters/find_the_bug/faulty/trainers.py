"""Faulty trainers: four small training loops, each with a mistake that no loss curve shows.

This file is the solution of an exercise of chapter 17. Read it when you have named all four.

They fit y = x · w by gradient descent on the squared error. They take what a trainer of a
Transformer takes: updates that consist of micro-batches, a validation set, and the choice to
average the weights after each update.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.ground.errors import InputError
from annotated_transformer.training import inverse_sqrt_schedule

Part = tuple[Float[Tensor, "_ d"], Float[Tensor, " _"]]
"""A micro-batch: some examples, their numbers x and their targets y."""


@dataclass(frozen=True)
class Run:
    """What is known of a training when it is over."""

    weights: Float[Tensor, " d"]
    """The weights after the last update."""
    val_loss: float
    """The mean squared error on the validation set."""


class HealthyTrainer:
    """Gradient descent in updates of several micro-batches, which act as one batch."""

    def __init__(self, width: int, average: bool) -> None:
        self.weights, self.average = torch.zeros(width, dtype=torch.float64), average
        self.passed: list[Tensor] = []  # the weights after each update
        self.steps, self.schedule = 0, inverse_sqrt_schedule(peak=0.2, warmup=2)

    def gradient(self, parts: Sequence[Part]) -> Tensor:
        """Sum over all examples of all micro-batches, and divide by their number."""
        return sum(map(self.summed, parts), torch.tensor(0.0)) / sum(len(y) for _, y in parts)

    def summed(self, part: Part) -> Tensor:
        """Sum the gradients of the squared errors of one micro-batch."""
        x, y = part
        return 2 * (x @ self.weights - y) @ x

    def count(self, parts: Sequence[Part]) -> None:
        """Count an update as one step of the schedule, however many micro-batches it has."""
        self.steps += 1

    def fit(self, updates: Sequence[Sequence[Part]], val: Part) -> None:
        """Take one step for each update."""
        for parts in updates:
            self.count(parts)
            self.weights = self.weights - self.schedule(self.steps) * self.gradient(parts)
            self.passed.append(self.weights)

    def chosen(self) -> Tensor:
        """The weights to be evaluated."""
        return torch.stack(self.passed).mean(dim=0) if self.average else self.weights


class AveragesMeans(HealthyTrainer):
    """The mean of the micro-batches' means: an example of a small one counts more."""

    def gradient(self, parts: Sequence[Part]) -> Tensor:
        """Divide each micro-batch by its own number of examples."""
        return torch.stack([self.summed(part) / len(part[1]) for part in parts]).mean(dim=0)


class TrainsOnValidation(HealthyTrainer):
    """The validation set is among the examples of every update."""

    def fit(self, updates: Sequence[Sequence[Part]], val: Part) -> None:
        """Add one more micro-batch to each update."""
        super().fit([[*parts, val] for parts in updates], val)


class ForgetsTheAverage(HealthyTrainer):
    """The weights are averaged, and the last ones are evaluated."""

    def chosen(self) -> Tensor:
        """Whatever is asked for."""
        return self.weights


class CountsParts(HealthyTrainer):
    """The schedule takes a step for every micro-batch, not for every update."""

    def count(self, parts: Sequence[Part]) -> None:
        """Several steps for one update."""
        self.steps += len(parts)


KINDS: dict[int, type[HealthyTrainer]] = {
    0: HealthyTrainer,
    1: TrainsOnValidation,
    2: CountsParts,
    3: AveragesMeans,
    4: ForgetsTheAverage,
}
"""The trainers by their numbers."""


def train(number: int, updates: Sequence[Sequence[Part]], val: Part, average: bool = False) -> Run:
    """Train with trainer 1 to 4, or 0, which is healthy.

    Every update is a list of micro-batches. With ``average``, the validation loss is that of the
    mean of the weights after each update.

    >>> x, y = torch.eye(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    >>> train(0, [[(x, y)]], (x, y)).weights
    tensor([0.1000, 0.1000], dtype=torch.float64)

    Raises:
        InputError: if there is no trainer of that number.
    """
    if number not in KINDS:
        raise InputError(f"number is {number}, it must be from 0 (healthy) to {max(KINDS)}.")
    x, y = val
    trainer = KINDS[number](x.size(1), average)
    trainer.fit([[(x.double(), y.double()) for x, y in parts] for parts in updates], val)
    error = x.double() @ trainer.chosen() - y
    return Run(trainer.weights, error.square().mean().item())
