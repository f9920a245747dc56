"""A check: a question to a module, and the answer of an oracle; numbers that both are given."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from zlib import crc32

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.ground.devices import CPU
from annotated_transformer.ground.errors import InputError
from transformer_workbook.judge.sentences import said

Module = TypeVar("Module", bound=nn.Module)

SRC = torch.tensor([[5, 3, 7, 4, 2], [6, 8, 2, 0, 0], [4, 2, 0, 0, 0]], device=CPU)
TGT = torch.tensor([[1, 6, 9, 3], [1, 4, 0, 0], [1, 8, 5, 0]], device=CPU)
"""Three sentences and their translations, with padding; there are eleven ids."""


@dataclass(frozen=True)
class Check:
    """A question to a module of the reader's, and the right answer."""

    subject: str
    """The function or class that is judged."""
    claim: str
    """The question, in a few words or as the call, with placeholders."""
    ask: Callable[[Any], Any]
    """Computes the answer of a module. An exception that it raises is an answer."""
    want: Callable[[], Any]
    """Computes the right answer, from an independent source."""
    values: Mapping[str, object] = field(default_factory=dict, compare=False)
    """The values of the placeholders."""

    @property
    def question(self) -> str:
        """Return the question in the reader's language."""
        return said(self.claim, **self.values)


def drawn(name: str, *shape: int) -> Float[Tensor, "..."]:
    """Draw numbers that depend only on a name."""
    generator = torch.Generator(CPU).manual_seed(crc32(name.encode()))
    return torch.randn(*shape, generator=generator, dtype=torch.float64, device=CPU) / 2


@torch.no_grad()
def filled(module: Module) -> Module:
    """Fill a module, without dropout, with weights that depend only on their names."""
    module = module.double()
    for name, tensor in sorted(module.state_dict().items()):
        tensor.copy_(drawn(name, *tensor.shape))
    return module.eval()


def parts(module: nn.Module) -> dict[str, tuple[int, ...]]:
    """Return the names of a module's weights, and their shapes."""
    return {name: tuple(tensor.shape) for name, tensor in sorted(module.state_dict().items())}


def linear(name: str, x: Tensor, out: int, bias: bool = True) -> Tensor:
    """Apply a linear layer with the weights of that name."""
    weight = drawn(f"{name}.weight", out, x.size(-1))
    return F.linear(x, weight, drawn(f"{name}.bias", out) if bias else None)


def embedded(name: str, ids: Tensor, width: int, vocab: int = 11) -> Tensor:
    """Embed ids by an embedding with the weights of that name."""
    return drawn(f"{name}.weight", vocab, width)[ids]


def cell_of_torch(
    cell: str, name: str, width: int, hidden: int
) -> Callable[[Tensor, Tensor], Tensor]:
    """Make PyTorch's cell with the weights of that name: from input and state to the next state."""
    theirs = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}[cell](width, hidden)
    theirs = theirs.double()
    with torch.no_grad():
        for ours, suffix in (("read", "ih"), ("recur", "hh")):
            for kind in ("weight", "bias"):
                weight = getattr(theirs, f"{kind}_{suffix}")
                weight.copy_(drawn(f"{name}{ours}.{kind}", *weight.shape))
    if isinstance(theirs, nn.LSTMCell):
        return lambda x, state: torch.cat(theirs(x, state.chunk(2, dim=-1)), dim=-1)
    return theirs


def softmax(scores: list[float]) -> list[float]:
    """Compute a softmax, in a loop."""
    exponentials = [math.exp(score) for score in scores]
    return [e / sum(exponentials) for e in exponentials]


def gradient(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Compute the gradient by x of the sum of squares of a function; 0 where it has no gradient."""
    x = x.clone().requires_grad_()
    function(x).square().sum().backward()  # type: ignore[no-untyped-call]
    return torch.zeros_like(x) if x.grad is None else x.grad


def refusal(call: Callable[[], Any]) -> str:
    """Return which exception of ours a call raises; any other passes through."""
    try:
        call()
    except (InputError, ArithmeticError) as error:
        return type(error).__name__
    return "no error"


def of_words(logits: Tensor) -> Tensor:
    """Select the logits at words of the target; those at padding are irrelevant."""
    return logits[TGT != 0]


@torch.no_grad()
def stepwise(model: Any, src: Tensor = SRC, tgt: Tensor = TGT) -> Tensor:
    """Compute a model's logits with words given one by one."""
    state, said = model.start(src), []
    for token in tgt.T:
        logits, state = model.step(state, token)
        said.append(logits)
    return torch.stack(said, dim=1)


@torch.no_grad()
def in_parts(model: Any) -> Tensor:
    """Compute a model's logits with the first word given, and then all others."""
    first, state = model.extend(model.start(SRC), TGT[:, :1])
    return torch.cat([first, model.extend(state, TGT[:, 1:])[0]], dim=1)


@torch.no_grad()
def change_by_future(model: Any) -> Tensor:
    """Measure how much the first two words' logits change when later words do."""
    other = torch.cat([TGT[:, :2], 11 - TGT[:, 2:].clamp(min=1)], dim=1)
    return (model(SRC, TGT)[:, :2] - model(SRC, other)[:, :2]).abs().max()


@torch.no_grad()
def change_by_padding(model: Any) -> Tensor:
    """Measure how much logits change when a source sentence is given without its padding."""
    alone = torch.cat([model(SRC[i : i + 1, :n], TGT[i : i + 1]) for i, n in enumerate((5, 3, 2))])
    return (of_words(model(SRC, TGT)) - of_words(alone)).abs().max()


def zero() -> Tensor:
    """Return the difference 0."""
    return torch.tensor(0.0, device=CPU)


def of_model(name: str, make: Callable[[Any], Any]) -> tuple[Check, ...]:
    """Make the checks of a translator, for one that is made from the module."""
    return (
        Check(
            name,
            "how much {name}'s logits of the first words change when later words do",
            lambda m: change_by_future(make(m)),
            zero,
            {"name": name},
        ),
        Check(
            name,
            "how much {name}'s logits change when sources come without their padding",
            lambda m: change_by_padding(make(m)),
            zero,
            {"name": name},
        ),
        Check(
            name,
            "how much {name}'s logits change when words are read one by one",
            lambda m: of_words(stepwise(make(m)) - make(m)(SRC, TGT)).abs().max(),
            zero,
            {"name": name},
        ),
        Check(
            name,
            "how much {name}'s logits change when words are read in two parts, 1 and then 3",
            lambda m: of_words(in_parts(make(m)) - make(m)(SRC, TGT)).abs().max(),
            zero,
            {"name": name},
        ),
    )
