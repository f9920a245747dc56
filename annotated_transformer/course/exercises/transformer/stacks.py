"""The whole Transformer: its stacks, and how they are connected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import (
    normal,
    random_cases,
)


@dataclass(frozen=True)
class _Encodes:
    """An encoder layer of one number: (source, d) -> (source, d)."""

    factor: float

    def __call__(self, x: Tensor) -> Tensor:
        return torch.tanh(self.factor * x + x.mean(dim=0))


@dataclass(frozen=True)
class _Decodes:
    """A decoder layer of one number: (target, d), (source, d) -> (target, d)."""

    factor: float

    def __call__(self, y: Tensor, memory: Tensor) -> Tensor:
        return torch.tanh(self.factor * y + memory.mean(dim=0))


def _run_stacks(
    x: Float[Tensor, "src d"],
    y: Float[Tensor, "tgt d"],
    encoder: Sequence[Callable[[Tensor], Tensor]],
    decoder: Sequence[Callable[[Tensor, Tensor], Tensor]],
) -> Float[Tensor, "tgt d"]:
    for read in encoder:
        x = read(x)
    for write in decoder:
        y = write(y, x)
    return y


def _memory(x: Tensor, encoder: Any) -> Tensor:
    return reduce(lambda states, read: read(states), encoder, x)


def _side_by_side(x: Tensor, y: Tensor, encoder: Any, decoder: Any) -> Tensor:
    for read, write in zip(encoder, decoder, strict=True):
        x = read(x)
        y = write(y, x)
    return y


def _own_output(x: Tensor, y: Tensor, encoder: Any, decoder: Any) -> Tensor:
    memory = _memory(x, encoder)
    for write in decoder:
        y = memory = write(y, memory)
    return y


def _swapped(x: Tensor, y: Tensor, encoder: Any, decoder: Any) -> Tensor:
    memory = _memory(x, encoder)
    for write in decoder:
        y = write(memory, y)
    return y


run_stacks = Exercise(
    reference=_run_stacks,
    mistakes={
        "decoder layer i reads encoder layer i; every one reads the output of the whole encoder.": (
            _side_by_side
        ),
        "the decoder reads the embedded source; the encoder has not been run on it.": (
            lambda x, y, e, d: _run_stacks(x, y, [], d)
        ),
        "each encoder layer reads x again; it must go on from the layer before.": (
            lambda x, y, e, d: _run_stacks(x, y, e[-1:], d)
        ),
        "each decoder layer reads y again; it must go on from the layer before.": (
            lambda x, y, e, d: _run_stacks(x, y, e, d[-1:])
        ),
        "in both stacks each layer reads the input again; it must go on from the layer before.": (
            lambda x, y, e, d: _run_stacks(x, y, e[-1:], d[-1:])
        ),
        "the memory is overwritten by the decoder; it stays the same for all layers.": _own_output,
        "the arguments are swapped: the decoder's vectors ask, so they stand first.": _swapped,
        "this is the memory; the output of the decoder is asked for.": (
            lambda x, y, e, d: _memory(x, e)
        ),
        "the encoder's layers run from the last to the first.": (
            lambda x, y, e, d: _run_stacks(x, y, e[::-1], d)
        ),
        "the decoder's layers run from the last to the first.": (
            lambda x, y, e, d: _run_stacks(x, y, e, d[::-1])
        ),
    },
    cases=[
        (x, y, [_Encodes(0.5 + i) for i in range(n)], [_Decodes(1.5 - i) for i in range(n)])
        for n, (x, y) in zip((2, 4, 3), random_cases("src d", "tgt d"), strict=True)
    ],
)


@dataclass
class _Maker:
    """Makes a layer, a matrix here, with other numbers at every call."""

    made: int = field(default=0, compare=False)

    def __call__(self) -> Tensor:
        self.made += 1
        return normal(2, 3, seed=self.made)

    def __repr__(self) -> str:
        return "make"


def _make_stack(make: Callable[[], Tensor], num_layers: int) -> list[Tensor]:
    return [make() for _ in range(num_layers)]


make_stack = Exercise(
    reference=_make_stack,
    mistakes={
        "all layers hold the same numbers; call make once for each layer.": (
            lambda make, n: [make()] * n
        ),
        "these are n makers, not layers: call make.": lambda make, n: [make] * n,
        "one layer is missing.": lambda make, n: [make() for _ in range(n - 1)],
        "there is one layer too many.": lambda make, n: [make() for _ in range(n + 1)],
        "these are the layers of both stacks; one stack is asked for.": (
            lambda make, n: [make() for _ in range(2 * n)]
        ),
        "this is the last layer; the list of all layers is asked for.": (
            lambda make, n: [make() for _ in range(n)][-1]
        ),
        "only the first layer has numbers of its own; the others share theirs.": (
            lambda make, n: [make()] + [make()] * (n - 1)
        ),
    },
    cases=[(_Maker(), 3), (_Maker(), 6), (_Maker(), 4)],
)
