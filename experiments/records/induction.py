"""The records of induction: what a model needs that continues … A B … A with B.

A sequence repeats a random segment of 8 to 16 different tokens, so that a model can only know the
next one from its place in the segment before. Models have attention alone, as those of Elhage et
al. 2021: no feed-forward layers, no normalisation, no biases.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.capture import capture_attention
from annotated_transformer.masking import causal_mask
from annotated_transformer.multi_head_attention import KeyValues, MultiHeadAttention
from annotated_transformer.positional_encoding import sinusoidal_encoding
from annotated_transformer.transformer import remove_biases
from records.fitting import fit
from records.tables import Row, Tables
from records.trials import tune
from transformer_workbook.notebook import drawn_in_float64

SYMBOLS, LENGTH, SENTENCES, STEPS, WARMUP, TESTS = 24, 32, 32, 600, 50, 500
RATES = (5e-3, 1e-2, 2e-2)
SIZES = {  # layers, heads, width
    "two layers": (2, 1, 48),
    "one layer": (1, 1, 48),
    "one layer, four heads, twice as wide": (1, 4, 96),
    "one layer, smeared keys": (1, 1, 48),
    "two layers, the first attends to its own token": (2, 1, 48),
}


def drawn(number: int, generator: Any = None) -> tuple[Tensor, Tensor]:
    """Sequences (number, LENGTH), and True where a token is one of a repetition."""
    order = torch.rand(number, SYMBOLS, generator=generator).argsort(dim=-1)
    period = torch.randint(8, 17, (number, 1), generator=generator)
    t = torch.arange(LENGTH)
    return order.gather(1, t % period), t >= period


class AttentionOnly(nn.Module):
    """Embedding, layers of attention whose outputs are added, and logits."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        layers, heads, d_model = SIZES[kind]
        self.embedding = nn.Embedding(SYMBOLS, d_model)
        self.register_buffer("positions", sinusoidal_encoding(LENGTH, d_model))
        self.layers = nn.ModuleList(MultiHeadAttention(d_model, heads) for _ in range(layers))
        self.output = nn.Linear(d_model, SYMBOLS)
        remove_biases(self)
        self.own = nn.Parameter(torch.zeros(())) if "smeared" in kind else None
        self.sees_only_itself = "own token" in kind

    def forward(self, tokens: Tensor) -> Tensor:
        """Compute the logits of every next token of sequences (batch, LENGTH)."""
        x, mask = self.embedding(tokens) + self.positions, causal_mask(LENGTH)
        for number, layer in enumerate(self.layers):
            attention: Any = layer
            seen = attention.project(x, x)
            if self.own is not None:  # a key is mixed with the one before: Olsson et al. 2022
                before = F.pad(seen.keys, (0, 0, 1, 0))[..., :-1, :]
                seen = KeyValues(torch.lerp(before, seen.keys, self.own.sigmoid()), seen.values)
            alone = self.sees_only_itself and number == 0
            itself = torch.eye(LENGTH, dtype=torch.bool)[None, None]
            x = x + attention.attend(x, seen, itself if alone else mask)
        logits: Tensor = self.output(x)
        return logits


def circuits(model: Any, tokens: Tensor, again: Tensor) -> Row:
    """What the two heads of a model with two layers attend to, copy and match."""
    with capture_attention(model) as captured:
        model(tokens)
    first, second = (captured[f"layers.{layer}"][0][:, 0] for layer in (0, 1))
    follows = F.pad(tokens[:, None, :-1] == tokens[:, :, None], (1, 0)).tril()
    E, (one, two) = model.embedding.weight, model.layers
    copied = model.output.weight @ two.output.weight @ two.value.weight @ E.T
    matched = E @ two.query.weight.T @ two.key.weight @ one.output.weight @ one.value.weight @ E.T
    eigenvalues = torch.linalg.eigvals(copied.double())
    diagonal = matched.argmax(dim=-1) == torch.arange(SYMBOLS)
    found = {
        "previous": first.diagonal(-1, 1, 2)[:, :15].mean(),  # where every segment is new or ends
        "prefix": (second * follows).sum(-1)[again].mean(),
        "copies": eigenvalues.real.sum() / eigenvalues.abs().sum(),
        "matches": diagonal.double().mean(),
    }
    return {name: round(value.item(), 3) for name, value in found.items()}


def train_induction(kind: str, rate: float, seed: int) -> Row:
    """Train one model; the share of the repetitions that it predicts, and its circuits."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    with drawn_in_float64():
        model = AttentionOnly(kind)
    model.float()

    def loss_at(_: int) -> Tensor:
        seen = drawn(SENTENCES)[0]
        return F.cross_entropy(model(seen)[:, :-1].mT, seen[:, 1:])

    fit(model, rate, STEPS, WARMUP, loss_at)
    tokens, again = drawn(TESTS, torch.Generator().manual_seed(2))
    with torch.no_grad():
        logits = model(tokens)[:, :-1][again[:, :-1]]
        wanted = tokens[:, 1:][again[:, :-1]]
        more = circuits(model, tokens, again) if kind == "two layers" else {}
    return {
        "model": kind, "rate": rate, "seed": seed,
        "val_loss": round(F.cross_entropy(logits, wanted).item(), 4),
        "right": round((logits.argmax(-1) == wanted).double().mean().item(), 4),
        **dict.fromkeys(("previous", "prefix", "copies", "matches"), ""), **more,
    }  # fmt: skip


def make_induction(tables: Tables) -> None:
    """Models with attention alone that continue repeated sequences, with one layer and with two.

    What would refute "one layer cannot, because its keys do not know the previous token": one
    layer whose keys do (smeared keys) still fails, or two layers succeed though the first attends
    to nothing but its own token. Both were run, and a wider layer with four heads.
    """
    tune(tables, "induction", train_induction, SIZES, RATES, "val_loss")
