"""The records of associative recall: how many pairs a head finds again, by the size of its state.

A head reads pairs of a key and a value, and is then asked for the last value of each key. A model
is trained on sequences of every number of keys, and tested on each.
"""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.linear_attention import PositiveFeatures, divided, linear_attention
from records.fitting import fit
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook import drawn_in_float64

SYMBOLS, D_MODEL, SENTENCES, STEPS, WARMUP, TESTS = 64, 64, 64, 1500, 50, 200
PAIRS, RATES = (4, 8, 16, 32, 64), (4e-3, 8e-3, 16e-3)
MODELS = [
    *(f"{kind} {width}" for kind in ("linear", "unit keys", "delta") for width in (8, 16, 32, 64)),
    "unit keys 24", "second order 8", "second order 16", "softmax 8", "softmax 64",
]  # fmt: skip
SHAPES = {
    "linear 64x4": 0.064,
    "linear 64x8": 0.064,
    "unit keys 64x4": 0.032,
    "unit keys 64x4/128": 0.032,
}
"""Widths of keys, values and inputs, at the rate of the square head of that width of keys."""
CHANGING = [f"{k} 32" for k in ("softmax", "linear", "unit keys", "decay", "delta", "gated delta")]


def second_order(x: Tensor) -> Tensor:
    """1, x and all products of two entries: φ(q)ᵀ φ(k) = 1 + z + z²/2 ≈ eᶻ of z = qᵀ k / √d.

    Source: the feature map of Based, Arora et al. 2024.
    """
    x = x / x.size(-1) ** 0.25
    squares = (x[..., :, None] * x[..., None, :]).flatten(-2) / math.sqrt(2)
    return torch.cat([torch.ones_like(x[..., :1]), x, squares], dim=-1)


DIVIDED = {"linear": PositiveFeatures(), "second order": second_order}
"""The feature maps of heads that divide by the sum of the weights; others have keys of length 1."""


class Recall(nn.Module):
    """One head that reads pairs, and logits of the value of each key that it is asked for."""

    def __init__(self, kind: str, width: int, value_width: int, d_model: int) -> None:
        super().__init__()
        self.kind, self.features = kind, DIVIDED.get(kind, partial(F.normalize, dim=-1))
        self.keys, self.values = (nn.Embedding(SYMBOLS, d_model) for _ in range(2))
        self.query, self.key = (nn.Linear(d_model, width) for _ in range(2))
        self.value = nn.Linear(d_model, value_width)
        self.strength, self.forget = nn.Linear(d_model, 1), nn.Linear(d_model, 1)
        nn.init.constant_(self.forget.bias, -4)  # at first a write fades by 2 %
        self.slope = nn.Parameter(torch.zeros(()))  # of a softmax's scores, towards later pairs
        self.output = nn.Linear(value_width, SYMBOLS)

    def forward(self, keys: Tensor, values: Tensor, asked: Tensor) -> Tensor:
        """Read pairs (batch, time), then compute the logits for the keys that are asked for."""
        pairs, q = self.keys(keys) + self.values(values), self.query(self.keys(asked))
        k, v, is_divided = self.key(pairs), self.value(pairs), self.kind in DIVIDED
        if self.kind == "softmax":
            later = self.slope * torch.arange(k.size(1)).expand(asked.size(1), -1)
            logits: Tensor = self.output(F.scaled_dot_product_attention(q, k, v, attn_mask=later))
            return logits
        k, v = self.features(k)[:, None], F.pad(v, (0, int(is_divided)), value=1.0)[:, None]
        strength = self.strength(pairs).sigmoid().mT if "delta" in self.kind else None
        forgets = self.kind in ("decay", "gated delta")
        log_decay = -F.softplus(self.forget(pairs)).mT if forgets else None
        empty = k.new_zeros(len(k), 1, k.size(-1), v.size(-1))
        _, state = linear_attention(k, k, v, empty, strength, log_decay, chunk=k.size(2))
        y = self.features(q) @ state[:, 0]
        logits = self.output(divided(y) if is_divided else y)
        return logits


def drawn(number: int, pairs: int, times: int, generator: Any = None) -> tuple[Tensor, ...]:
    """Keys, each so many times with any values, in random order; each key, and its last value."""
    asked = torch.rand(number, SYMBOLS, generator=generator).argsort(dim=-1)[:, :pairs]
    order = torch.rand(number, times * pairs, generator=generator).argsort(dim=-1)
    values = torch.randint(SYMBOLS, order.shape, generator=generator)
    last = order.argsort(dim=-1).unflatten(1, (times, pairs)).amax(dim=1)  # where it was written
    return asked.gather(1, order % pairs), values, asked, values.gather(1, last)


def train_recall(times: int, model: str, rate: float, seed: int) -> Row:
    """Train one head on sequences of all lengths; the shares right by the number of keys."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    kind, size = model.rsplit(maxsplit=1)
    shape, _, d_model = size.partition("/")
    width, _, value_width = shape.partition("x")
    with drawn_in_float64():
        head = Recall(kind, int(width), int(value_width or width), int(d_model or D_MODEL))
    head.float()

    def loss_at(step: int) -> Tensor:
        *given, wanted = drawn(SENTENCES, PAIRS[step % len(PAIRS)], times)
        return F.cross_entropy(head(*given).mT, wanted)

    fit(head, rate, STEPS, WARMUP, loss_at)
    losses, shares, generator = [], {}, torch.Generator().manual_seed(2)
    for pairs in PAIRS:
        *given, wanted = drawn(TESTS, pairs, times, generator)
        with torch.no_grad():
            logits = head(*given)
        losses.append(F.cross_entropy(logits.mT, wanted).item())
        right = (logits.argmax(-1) == wanted).double().mean().item()
        shares[f"right_{pairs}"] = round(right, 4)
    loss = f"{sum(losses) / len(losses):.3e}"
    return {"model": model, "rate": rate, "seed": seed, "val_loss": loss} | shares


def make_recall(tables: Tables) -> None:
    """Heads that read up to 64 pairs of different keys, by kind and width.

    What would refute "what is lost depends on the size of the state": another feature map, whose
    state is larger in a head of the same width (second order), and keys of length 1. It does: at
    equal size, 576 numbers, keys of length 1 find far more than second order.
    """
    tune(tables, "recall", partial(train_recall, 1), MODELS, RATES, "val_loss")


def make_recall_shapes(tables: Tables) -> None:
    """Heads whose keys are wider than their values, each at the rate of the square one.

    It refuted "what is lost depends on the size of the state": with the feature map, 576 numbers
    find all of 64 pairs as 64 × 8. Keys of length 1 find half in 64 × 4, since a key and its value
    come as one input of 64 numbers, and nearly all where it has 128.
    """
    tasks = [(model, rate, seed) for model, rate in SHAPES.items() for seed in range(1, 6)]
    keys = ["model", "rate", "seed"]
    tables.extend("recall_shapes", partial(train_recall, 1), tasks, keys)


def make_recall_changed(tables: Tables) -> None:
    """Heads of width 32 that read every key twice, and are asked for its last value.

    It is the other method for "the delta rule repairs what linear attention loses": a task that
    needs the correction, beside one that does not (`recall`), and decay as another repair.
    """
    tune(tables, "recall_changed", partial(train_recall, 2), CHANGING, RATES, "val_loss")
