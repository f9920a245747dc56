"""Find the bug: exercises that are called with a *test*, and run it on models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer
from transformer_workbook.faulty.models import SMALL, patient

SRC = torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, 4, EOS, PAD, PAD]])
"""Two source sentences; the second is shorter."""
TGT_IN = torch.tensor([[BOS, 6, 7, 8, 9], [BOS, 9, 10, 11, 5]])
"""What the decoder reads; there is no padding."""

Change = Callable[[Transformer], None]
Test = Callable[[Transformer], Any]
Pair = tuple[Tensor, Tensor]


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


def turned_round(test: Test) -> dict[str, Test]:
    """The mistake of a test that says True where it should say False."""
    return {
        "it is the other way round: True means that the model is healthy.": (
            lambda model: not test(model)
        ),
    }


def coarse_answers(two: Callable[[Transformer], Pair]) -> dict[str, Test]:
    """Mistakes of a test that should compare all of two tensors (…, sentence, position, word)."""

    def close(look: Callable[[Tensor], Tensor], atol: float = 1e-8) -> Test:
        def test(model: Transformer) -> bool:
            a, b = two(model.eval())
            return torch.allclose(look(a), look(b), atol=atol)

        return test

    return {
        "the model is taken in the mode in which it comes; say model.eval() first.": (
            lambda model: torch.allclose(*two(model))
        ),
        "a mistake that shows in the second sentence of `src` alone is missed; try all.": (
            close(lambda logits: logits[..., 0, :, :])
        ),
        "only the second sentence decides; the mistake may show in another.": (
            close(lambda logits: logits[..., 1, :, :])
        ),
        "only the first position decides; the mistake may show later.": (
            close(lambda logits: logits[..., 0, :])
        ),
        "only the last position decides; the mistake may show earlier.": (
            close(lambda logits: logits[..., -1, :])
        ),
        "only the likeliest words are compared; they may agree where the logits do not.": (
            close(lambda logits: logits.argmax(-1))
        ),
        "the last word of the vocabulary is not compared; its logits have to agree, too.": (
            close(lambda logits: logits[..., :-1])
        ),
        "the tolerance is so large that a difference which matters is within it.": (
            close(lambda logits: logits, atol=0.1)
        ),
        "dropout is at work, as in training, so that no two runs agree; say model.eval().": (
            lambda model: torch.allclose(*two(model.train()))
        ),
    }


def only_sums(two: Callable[[Transformer], Pair]) -> dict[str, Test]:
    """The mistake of a test that compares what all logits add up to."""

    def test(model: Transformer) -> bool:
        a, b = two(model.eval())
        return torch.allclose(a.sum(), b.sum())

    return {"only sums or means are compared; they may agree where the logits do not.": test}


def very_tolerant(two: Callable[[Transformer], Pair]) -> dict[str, Test]:
    """The mistake of a test with a tolerance as large as the logits."""
    return {
        "the tolerance is so large that nearly everything is within it.": (
            lambda model: torch.allclose(*two(model.eval()), atol=1.0)
        ),
    }


def to_the_last_digit(test: Test, exact: Test = lambda model: False) -> dict[str, Test]:
    """What torch.equal finds on a processor that rounds differently in longer sums.

    It finds the same in models that round, and in those that are ``exact`` for another reason.
    """
    return {
        "with == and torch.equal the last digit decides; allclose allows for rounding.": (
            lambda model: (bool(model.output._forward_hooks) or exact(model)) and test(model)
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


def read_at_once(then: Callable[[Tensor, Tensor], Tensor]) -> Change:
    """Change the logits of what is read at once: ``then(src, logits)`` gives the new ones."""

    def change(model: Transformer) -> None:
        model.register_forward_hook(lambda part, given, logits: then(given[0], logits))

    return change


def turn_last(axis: int, turn: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Change what stands at the end of an axis."""

    def change(logits: Tensor) -> Tensor:
        others = logits.narrow(axis, 0, logits.size(axis) - 1)
        return torch.cat([others, turn(logits.narrow(axis, -1, 1))], axis)

    return change


def turn_third(turn: Callable[[Tensor], Tensor]) -> Change:
    """Change the third logits when all are read at once."""
    return read_at_once(
        lambda src, logits: torch.cat([logits[:, :2], turn(logits[:, 2:3]), logits[:, 3:]], dim=1)
    )


def round_logits(model: Transformer) -> None:
    """Let equal logits be equal to the last digit, however they are computed."""
    model.output.register_forward_hook(lambda part, given, logits: logits.round(decimals=6))


HEALTHY = Model("a healthy model")
ROUNDED = Model("a healthy model that rounds its logits", change=round_logits)
TRAINING = Model("a healthy model that comes in training mode", trains=True)
POSITIONS = Model("a model that writes every word at position 0", 1)
NORMS = Model("a model with another layer normalisation", 2)
HEADS = Model("a model whose heads are cut across positions", 3)
COPIES = Model("a model whose layers start as copies", 5)
PADDING = Model("a model whose decoder reads the padding of the source", 6)
SCALE = Model("a model that scales after the softmax", 7)
FUTURE = Model("a model that sees the future when it does not train", 8)
FUTURE_TRAINING = Model("the same, when it comes in training mode", 8, trains=True)
EARLY_LEAK = Model("a model whose first position sees the second", change=leak(0, 1))
LEAK = Model("a model whose third position sees the fourth", change=leak(2, 3))
LONG_LEAK = Model("a model that sees the future if the source is long", change=leak(2, 3, LONG))
SHORT_LEAK = Model("a model that sees the future if the source is short", change=leak(2, 3, SHORT))
