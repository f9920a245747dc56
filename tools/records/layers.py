"""The record of what three kinds of layer cost, by the length of a sentence."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.soft_lookup import SoftLookup
from records.costs import operations, times_in_turns
from records.tables import Row, Tables

D_MODEL, SENTENCES, HEADS, KERNEL = 256, 4, 4, 3
LENGTHS = (16, 32, 64, 128, 256, 512, 1024)


class WrittenOut(ScaledDotProductAttention):
    """The same attention, one operation at a time: it holds the weights, n × n a head."""

    forward = SoftLookup.forward


class Recurrent(nn.GRU):
    """A GRU that gives its states only."""

    def __init__(self) -> None:
        super().__init__(D_MODEL, D_MODEL, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """(batch, time, d) to (batch, time, d)."""
        states: Tensor = super().forward(x)[0]
        return states


class Convolutional(nn.Conv1d):
    """A convolution over neighbouring positions."""

    def __init__(self) -> None:
        super().__init__(D_MODEL, D_MODEL, KERNEL, padding=KERNEL // 2)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, time, d) to (batch, time, d)."""
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class Attending(MultiHeadAttention):
    """A sentence that attends to itself, with PyTorch's fused attention or written out."""

    def __init__(self, attention: type[ScaledDotProductAttention]) -> None:
        super().__init__(D_MODEL, HEADS)
        self.attention = attention()

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """(batch, time, d) to (batch, time, d)."""
        return super().forward(x, x, x)


LAYERS: dict[str, Callable[[], Any]] = {
    "recurrent": Recurrent,
    "convolutional": Convolutional,
    "self-attention": lambda: Attending(ScaledDotProductAttention),
    "self-attention, written out": lambda: Attending(WrittenOut),
}


def time_layer(name: str, length: int) -> Row:
    """Time a layer, forwards and backwards, in turns with the recurrent one."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.randn(SENTENCES, length, D_MODEL, requires_grad=True)
    layers = [LAYERS[name](), LAYERS["recurrent"]()]
    works = [lambda layer=layer: layer(x).sum().backward() for layer in layers]
    repeats = max(5, 2 * LENGTHS[-1] // length)
    ours, recurrent = times_in_turns(*works, repeats=repeats, skip=1)
    counted = "self-attention, written out" if name.startswith("self") else name
    return {
        "layer": name,
        "length": length,
        "operations": operations(LAYERS[counted](), x),
        "milliseconds": round(1000 * ours, 2),
        "ratio_to_recurrent": round(ours / recurrent, 3),
    }


def make_layers_times(tables: Tables) -> None:
    """Operations and time of recurrent, convolutional and attending layers, by the length."""
    # One at a time: nothing else may run beside what is timed.
    tasks = [(name, length) for name in LAYERS for length in LENGTHS]
    tables.extend("layers_times", time_layer, tasks, ["layer", "length"], workers=1)
