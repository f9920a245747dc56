"""The records of the cost of three kinds of layer, by the length, the batch and the mask."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import ScaledDotProductAttention
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.soft_lookup import SoftLookup
from records.costs import operations, times_in_turns
from records.tables import Row, Tables

D_MODEL, SENTENCES, HEADS, KERNEL = 256, 4, 4, 3
LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
PORTIONS, PORTION_LENGTH = (1, 4, 16, 64), 64
MASKED_LENGTHS, WINDOW, MASK_REPEATS, RUNS = (256, 512, 1024, 2048), 65, 5, range(5)


class WrittenOut(ScaledDotProductAttention):
    """The same attention, one operation at a time: it stores the weights, n × n a head."""

    forward = SoftLookup.forward


class Recurrent(nn.GRU):
    """A GRU that returns only its states."""

    def __init__(self, width: int = D_MODEL) -> None:
        super().__init__(width, width, batch_first=True)

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
    """Self-attention, with PyTorch's fused attention or written out."""

    def __init__(
        self, attention: type[ScaledDotProductAttention], width: int = D_MODEL, heads: int = HEADS
    ) -> None:
        super().__init__(width, heads)
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
    """Time a layer, forward and backward pass, in turns with the recurrent one."""
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
    """Operations and time of recurrent, convolutional and self-attention layers, by the length.

    What would refute "operations are not time": layers with equal operations that take equally
    long. With four sentences they do not; with 64 both do as many in a second, see portions_times.
    """
    # One at a time, here and below: nothing else may run during the timing.
    tasks = [(name, length) for name in LAYERS for length in LENGTHS]
    tables.extend("layers_times", time_layer, tasks, ["layer", "length"], workers=1)


def time_portions(sentences: int, run: int) -> Row:
    """Time attention and the GRU for a batch of that many sentences, rows of the GRU's products."""
    torch.set_num_threads(1)
    torch.manual_seed(run)
    x = torch.randn(sentences, PORTION_LENGTH, D_MODEL, requires_grad=True)
    layers = [LAYERS[name]() for name in ("self-attention", "recurrent")]
    works = [lambda layer=layer: layer(x).sum().backward() for layer in layers]
    ours, recurrent = times_in_turns(*works, repeats=max(5, 64 // sentences), skip=1)
    counted = operations(LAYERS["self-attention, written out"](), x)
    speed = counted / ours / (operations(layers[1], x) / recurrent)
    return {
        "sentences": sentences,
        "run": run,
        "ratio_to_recurrent": round(ours / recurrent, 3),
        "speed_to_recurrent": round(speed, 2),
    }


def make_portions_times(tables: Tables) -> None:
    """Time of attention relative to the GRU, by the number of sentences in a batch.

    What would refute "small batches slow the GRU down": that it stays slower in larger ones. With
    64 sentences it does as many operations in a second as attention.
    """
    tasks = [(sentences, run) for run in RUNS for sentences in PORTIONS]
    tables.extend("portions_times", time_portions, tasks, ["sentences", "run"], workers=1)


def attend_in_windows(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Compute attention of each position to the WINDOW around it, with gathered keys and values."""
    reach = WINDOW // 2
    exists = F.pad(key.new_ones(key.size(-2)), (reach, reach)).unfold(0, WINDOW, 1) > 0
    keys, values = (F.pad(x, (0, 0, reach, reach)).unfold(-2, WINDOW, 1) for x in (key, value))
    scores = (query[..., None, :] @ keys)[..., 0, :] / query.size(-1) ** 0.5
    weights = scores.masked_fill(~exists, -torch.inf).softmax(dim=-1)
    return (weights[..., None, :] @ values.mT)[..., 0, :]


def masked_attentions(length: int) -> dict[str, Callable[..., Tensor]]:
    """Return the same fused attention without a mask, with two, and equivalent computations."""
    place = torch.arange(length)
    causal = place[:, None] >= place
    near = (place[:, None] - place).abs() <= WINDOW // 2
    attend: Callable[..., Tensor] = F.scaled_dot_product_attention
    return {
        "no mask": attend,
        "causal, Boolean mask": lambda *qkv: attend(*qkv, attn_mask=causal),
        "causal, is_causal": lambda *qkv: attend(*qkv, is_causal=True),
        "window, Boolean mask": lambda *qkv: attend(*qkv, attn_mask=near),
        "window, gathered": attend_in_windows,
    }


MASKED = tuple(masked_attentions(1))


def time_masked(name: str, length: int, run: int) -> Row:
    """Time attention, forward and backward pass, in turns with the one without a mask."""
    torch.set_num_threads(1)
    torch.manual_seed(run)
    shape = (1, HEADS, length, D_MODEL // HEADS)
    qkv = [torch.randn(shape, requires_grad=True) for _ in range(3)]
    kinds = masked_attentions(length)
    works = [lambda attend=kinds[kind]: attend(*qkv).sum().backward() for kind in (name, MASKED[0])]
    ours, unmasked = times_in_turns(*works, repeats=MASK_REPEATS, skip=1)
    return {
        "attention": name,
        "length": length,
        "run": run,
        "milliseconds": round(1000 * ours, 2),
        "ratio_to_no_mask": round(ours / unmasked, 3),
    }


def make_mask_times(tables: Tables) -> None:
    """Time of attention without a mask, with Boolean masks, told it is causal, and gathered.

    What would refute "a Boolean mask saves nothing": that one which hides nearly everything is
    faster than none. The mask of the window is not, at any length.
    """
    tasks = [(name, length, run) for run in RUNS for name in MASKED for length in MASKED_LENGTHS]
    tables.extend("mask_times", time_masked, tasks, ["attention", "length", "run"], workers=1)
