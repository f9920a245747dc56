"""Find the bug: exercises that are called with a *test*, and run it on models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.course.mistakes import SMALL, patient
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer

SRC = torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, 4, EOS, PAD, PAD]])
"""Two source sentences; the second is shorter."""
TGT_IN = torch.tensor([[BOS, 6, 7, 8, 9], [BOS, 9, 10, 11, 5]])
"""What the decoder reads; there is no padding."""

Change = Callable[[Transformer], None]
Test = Callable[[Transformer], bool]


@dataclass(frozen=True, repr=False)
class Model:
    """A model to be tested, made anew for every test; it is shown as what it is."""

    what: str
    number: int = 0
    trains: bool = False
    layers: int = 2
    change: Change = lambda model: None

    def make(self) -> Transformer:
        """The model, with weights that do not depend on what else is tested."""
        sizes = {**vars(SMALL), "num_layers": self.layers}
        model = patient(self.number, type(SMALL)(**sizes))
        self.change(model)
        return model.train(self.trains)

    def __repr__(self) -> str:
        return self.what


def put_to_test(test: Test, case: Model) -> Any:
    """Ask a test whether a model is healthy. The models are healthy ones, ones with the fault that
    the test should find, and ones with another; what one test does to a model, the next does not
    notice."""
    torch.manual_seed(0)
    return test(case.make())


def wrong_answers(test: Test) -> dict[str, Callable[[Transformer], Any]]:
    """Mistakes in what a test answers, whatever it tests."""
    return {
        "it is the other way round: True means that the model is healthy.": (
            lambda model: not test(model)
        ),
        "right, but as a tensor; bool(…) makes it True or False.": (
            lambda model: torch.tensor(test(model))
        ),
    }


LONG, SHORT, ANY = range(5, 100), range(5), range(100)
"""Lengths of source sentences: the first above is long, the second is short."""


def _of_length(memory_mask: Tensor, lengths: range) -> Tensor:
    """The sentences of a batch that have one of the lengths, in whatever company."""
    return torch.tensor([n in lengths for n in memory_mask.sum((1, 2, 3)).tolist()])


def leak(query: int, key: int, lengths: range = ANY) -> Change:
    """Let one target position see one other in the last layer, when all are read at once."""

    def change(model: Transformer) -> None:
        def open_mask(layer: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            *others, mask, memory_mask = arguments
            mask = mask.clone()
            mask[_of_length(memory_mask, lengths), :, query : query + 1, key : key + 1] = True
            return *others, mask, memory_mask

        model.decoder[-1].register_forward_pre_hook(open_mask)

    return change


def read_padding_in_the_encoder(model: Transformer) -> None:
    """Let the encoder look at padding."""

    def open_mask(layer: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        x, mask = arguments
        return x, torch.ones_like(mask)

    for layer in model.encoder:
        layer.register_forward_pre_hook(open_mask)


def read_padding_at(position: int, lengths: range = ANY) -> Change:
    """Let one target position look at the padding of the source, in the last layer."""

    def change(model: Transformer) -> None:
        def open_mask(
            attention: nn.Module, arguments: tuple[Tensor, ...], named: dict[str, Any]
        ) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
            mask, targets = named["mask"], arguments[0].size(1)
            opened = mask.repeat(1, 1, targets, 1)
            if targets > 1:  # one position alone is a step of a search
                opened[_of_length(mask, lengths), :, position] = True
            return arguments, named | {"mask": opened}

        last: Any = model.decoder[-1]
        last.cross_attention.register_forward_pre_hook(open_mask, with_kwargs=True)

    return change


def round_logits(model: Transformer) -> None:
    """Let equal logits be equal to the last digit, however they are computed."""
    model.output.register_forward_hook(lambda part, given, logits: logits.round(decimals=6))


def see_everything(model: Transformer) -> None:
    """Let every target position see every other, and padding too, when all are read at once."""

    def open_mask(layer: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        *others, mask, memory_mask = arguments
        return *others, torch.ones_like(mask), memory_mask

    for layer in model.decoder:
        layer.register_forward_pre_hook(open_mask)


def healthy(part: str) -> Change:
    """Give a model the encoder or the decoder of a healthy one."""

    def change(model: Transformer) -> None:
        setattr(model, part, getattr(patient(0, model.config, seed=1), part))

    return change


HEALTHY = Model("a healthy model")
ROUNDED = Model("a healthy model that rounds its logits", change=round_logits)
TRAINING = Model("a healthy model that comes in training mode", trains=True)
POSITIONS = Model("a model that writes every word at position 0", 1)
NORMS = Model("a model with another layer normalisation", 2)
HEADS = Model("a model whose heads are cut across positions", 3)
DROPPING = Model("a model that never stops dropping", 4)
COPIES = Model("a model whose layers start as copies", 5)
PADDING = Model("a model whose decoder reads the padding of the source", 6)
SCALE = Model("a model that scales after the softmax", 7)
FUTURE = Model("a model that sees the future when it does not train", 8)
FUTURE_TRAINING = Model("the same, when it comes in training mode", 8, trains=True)
