"""The records of associative recall: how many pairs a head finds again, by the size of its state.

A head reads pairs of a key and a value, and is then asked for the last value of each key. A model
is trained on sequences of every number of keys, and tested on each.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.linear_attention import PositiveFeatures, divided, linear_attention
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook import drawn_in_float64

SYMBOLS, D_MODEL, SENTENCES, STEPS, WARMUP, TESTS = 64, 64, 64, 1500, 50, 200
PAIRS, RATES = (4, 8, 16, 32, 64), (4e-3, 8e-3, 16e-3)
MODELS = [
    *(f"{kind} {width}" for kind in ("linear", "unit keys", "delta") for width in (8, 16, 32, 64)),
    "second order 8", "second order 16", "softmax 8", "softmax 64",
]  # fmt: skip
CHANGING = [
    f"{kind} 32" for kind in ("softmax", "linear", "unit keys", "decay", "delta", "gated delta")
]
Heads = Float[Tensor, "batch time d"]
Ids = Int[Tensor, "batch _"]


def second_order(x: Heads) -> Heads:
    """1, x and all products of two entries: φ(q)ᵀ φ(k) = 1 + z + z²/2 ≈ eᶻ of z = qᵀ k / √d.

    Source: the feature map of Based, Arora et al. 2024.
    """
    x = x / x.size(-1) ** 0.25
    squares = (x[..., :, None] * x[..., None, :]).flatten(-2) / math.sqrt(2)
    return torch.cat([torch.ones_like(x[..., :1]), x, squares], dim=-1)


class Kind(NamedTuple):
    """How a head with a state of fixed size reads and writes it."""

    features: Callable[[Heads], Heads] = partial(F.normalize, dim=-1)
    is_divided: bool = False  # by the sum of the weights
    corrects: bool = False  # the delta rule
    forgets: bool = False


KINDS = {
    "linear": Kind(PositiveFeatures(), is_divided=True),
    "second order": Kind(second_order, is_divided=True),
    "unit keys": Kind(),
    "delta": Kind(corrects=True),
    "decay": Kind(forgets=True),
    "gated delta": Kind(corrects=True, forgets=True),
}


class Recall(nn.Module):
    """One head that reads pairs, and logits of the value of each key that it is asked for."""

    def __init__(self, kind: str, width: int) -> None:
        super().__init__()
        self.kind = KINDS.get(kind)
        self.keys, self.values = (nn.Embedding(SYMBOLS, D_MODEL) for _ in range(2))
        self.query, self.key, self.value = (nn.Linear(D_MODEL, width) for _ in range(3))
        self.strength, self.forget = nn.Linear(D_MODEL, 1), nn.Linear(D_MODEL, 1)
        nn.init.constant_(self.forget.bias, -4)  # at first a write fades by 2 %
        self.slope = nn.Parameter(torch.zeros(()))  # of a softmax's scores, towards later pairs
        self.output = nn.Linear(width, SYMBOLS)

    def forward(self, keys: Ids, values: Ids, asked: Ids) -> Float[Tensor, "batch asked symbol"]:
        """Read the pairs, then compute the logits for the keys that are asked for."""
        pairs, query = self.keys(keys) + self.values(values), self.query(self.keys(asked))
        k, v = self.key(pairs), self.value(pairs)
        if self.kind is None:
            later = self.slope * torch.arange(k.size(1)).expand(asked.size(1), -1)
            y = F.scaled_dot_product_attention(query, k, v, attn_mask=later)
        else:
            _, state = self.read(self.kind, k, v, pairs)
            y = self.kind.features(query) @ state[:, 0]
            y = divided(y) if self.kind.is_divided else y
        logits: Tensor = self.output(y)
        return logits

    def read(self, kind: Kind, k: Heads, v: Heads, pairs: Heads) -> tuple[Tensor, Tensor]:
        """Write all pairs into a state."""
        k, v = kind.features(k)[:, None], F.pad(v, (0, int(kind.is_divided)), value=1.0)[:, None]
        empty = k.new_zeros(len(k), 1, k.size(-1), v.size(-1))
        strength = self.strength(pairs).sigmoid().mT if kind.corrects else None
        log_decay = -F.softplus(self.forget(pairs)).mT if kind.forgets else None
        return linear_attention(k, k, v, empty, strength, log_decay, chunk=k.size(2))


def drawn(
    number: int, pairs: int, times: int, generator: torch.Generator | None = None
) -> tuple[Ids, Ids, Ids, Ids]:
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
    kind, width = model.rsplit(maxsplit=1)
    with drawn_in_float64():
        head = Recall(kind, int(width))
    head.float()
    adam = torch.optim.Adam(head.parameters(), lr=rate, eps=1e-6)
    for step in range(STEPS):
        adam.param_groups[0]["lr"] = rate * min((step + 1) / WARMUP, 1 - step / STEPS)
        *given, wanted = drawn(SENTENCES, PAIRS[step % len(PAIRS)], times)
        loss: Any = F.cross_entropy(head(*given).mT, wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()
    row: Row = {"model": model, "rate": rate, "seed": seed}
    losses, shares, generator = [], {}, torch.Generator().manual_seed(2)
    for pairs in PAIRS:
        *given, wanted = drawn(TESTS, pairs, times, generator)
        with torch.no_grad():
            logits = head(*given)
        losses.append(F.cross_entropy(logits.mT, wanted).item())
        right = (logits.argmax(-1) == wanted).double().mean().item()
        shares[f"right_{pairs}"] = round(right, 4)
    row["val_loss"] = f"{sum(losses) / len(losses):.3e}"
    return row | shares


def make_recall(tables: Tables) -> None:
    """Heads that read up to 64 pairs of different keys, by kind and width.

    What would refute "what is lost depends on the size of the state": another feature map, whose
    state is larger in a head of the same width (second order), and keys of length 1.
    """
    tune(tables, "recall", partial(train_recall, 1), MODELS, RATES, "val_loss")


def make_recall_changed(tables: Tables) -> None:
    """Heads of width 32 that read every key twice, and are asked for its last value.

    It is the other method for "the delta rule repairs what linear attention loses": a task that
    needs the correction, beside one that does not (`recall`), and decay as another repair.
    """
    tune(tables, "recall_changed", partial(train_recall, 2), CHANGING, RATES, "val_loss")
