"""The record of rotary positions: how far they carry beyond the length of training, by width.

The task of chapter 7: predict the previous symbol, with one head of self-attention, trained on
sequences of 8 symbols. A learning rate is chosen with a seed of its own by the loss at that length.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import SelfAttention
from annotated_transformer.rotary import rotary_frequencies, rotate
from records.fitting import fit
from records.tables import Row, Tables
from records.trials import tune

SYMBOLS, LENGTH, SENTENCES, STEPS, WARMUP = 8, 8, 64, 300, 30
TESTS, LENGTHS, WIDTHS = 1000, (8, 16, 32, 64), (8, 16, 64)
RATES = (1e-2, 2e-2, 4e-2)


class OneHead(nn.Module):
    """Symbols, one head of self-attention whose queries and keys are rotated, logits."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(SYMBOLS, width)
        self.look = SelfAttention(width, width, width)
        self.output = nn.Linear(width, SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        """(batch, time) to logits (batch, time, symbols)."""
        x, at = self.words(tokens), torch.arange(tokens.size(1))
        frequencies = rotary_frequencies(x.size(2))  # clockwise, as the chapter's sinusoids turn
        query, key = (
            rotate(part(x), -at, frequencies) for part in (self.look.query, self.look.key)
        )
        logits: Tensor = self.output(F.scaled_dot_product_attention(query, key, self.look.value(x)))
        return logits


def loss_of(model: nn.Module, tokens: Tensor) -> Tensor:
    """The cross-entropy of the symbol before, from the second position on."""
    return F.cross_entropy(model(tokens)[:, 1:].flatten(0, 1), tokens[:, :-1].flatten())


def begin(seed: int) -> None:
    """Compute on one core in float64, with random numbers of that seed."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)


def fit_on(model: nn.Module, rate: float, steps: int, length: int) -> None:
    """Train on sequences of that length."""

    def loss_at(step: int) -> Tensor:
        return loss_of(model, torch.randint(SYMBOLS, (SENTENCES, length)))

    fit(model, rate, steps, WARMUP, loss_at)


def sequences(length: int, number: int = TESTS) -> Tensor:
    """Those on which every model is tested."""
    generator = torch.Generator().manual_seed(2)
    return torch.randint(SYMBOLS, (number, length), generator=generator)


def train_rotary(model: str, rate: float, seed: int) -> Row:
    """Train a rotary head of that width; the shares right at the length of training and beyond.

    Of the positions beyond the half of each length, so that every answer is at a new place.
    """
    begin(seed)
    trained = OneHead(int(model))
    fit_on(trained, rate, STEPS, LENGTH)
    row: Row = {"model": model, "rate": rate, "seed": seed}
    with torch.no_grad():
        row["val_loss"] = f"{loss_of(trained, sequences(LENGTH)).item():.3e}"
        for length in LENGTHS:
            tokens = sequences(length)
            right = trained(tokens)[:, 1:].argmax(-1) == tokens[:, :-1]
            row[f"right_{length}"] = round(right[:, length // 2 - 1 :].double().mean().item(), 4)
    return row


def make_rotary_reach(tables: Tables) -> None:
    """Rotary heads of three widths, trained on 8 symbols and asked about up to 64.

    It is the other method for "a rotary head begins to fail at 32 symbols": another width.
    """
    widths = [str(width) for width in WIDTHS]
    tune(tables, "rotary_reach", train_rotary, widths, RATES, "val_loss")
