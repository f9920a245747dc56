"""The records of pictures as tokens: how digits of 8 × 8 pixels are cut, and what says where.

Five hundred pictures are for tests alone. Of the others, every seed draws 300 for validation.
"""

from functools import partial
from typing import Any

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import ENCODINGS
from annotated_transformer.rotary import rotary_frequencies, rotate
from records.fitting import fit
from records.tables import Row, Tables
from records.trials import tune

D_MODEL, BATCH, WARMUP, RATES = 32, 64, 40, (2e-3, 4e-3, 8e-3)
STEPS = {"1, learned, equal FLOPs": 79, "4, learned, equal FLOPs": 1453}  # of others 400
CUTS = ["1, learned", "2, learned", "4, learned", *STEPS]
PLACES = ["2, none", "2, axial", "2, learned and axial"]


class AxialAttention(MultiHeadAttention):
    """Half of each head turns by the row, half by the column; the class token does not turn.

    Source: Heo et al. 2024, section 3.1.
    """

    def with_positions(self, heads: Any, positions: Any) -> Tensor:
        """Turn the queries or keys of a square of 4 × 4 patches."""
        first, patches = heads.tensor_split([1], dim=2)
        speed, places = rotary_frequencies(self.d_k // 2, base=100.0), positions[:, None, 1:] - 1
        rows, columns = patches.chunk(2, dim=-1)
        turned = rotate(rows, places // 4, speed), rotate(columns, places % 4, speed)
        return torch.cat([first, torch.cat(turned, dim=-1)], dim=2)


class VisionTransformer(nn.Module):
    """The encoder over a class token and patches, as in Dosovitskiy et al. 2021, section 3.1."""

    def __init__(self, size: int, positions: str) -> None:
        super().__init__()
        self.embed = nn.Linear(size * size, D_MODEL)
        self.first = nn.Parameter(torch.zeros(1, 1, D_MODEL))
        encoding = ENCODINGS["learned" if "learned" in positions else "none"]
        self.positions = encoding((8 // size) ** 2 + 1, D_MODEL)
        attention = AxialAttention if "axial" in positions else MultiHeadAttention
        residual = partial(Residual, D_MODEL, 0.0, "pre")
        self.layers = nn.ModuleList(
            EncoderLayer(attention(D_MODEL, 4), FeedForward(D_MODEL, 64, "gelu"), residual)
            for _ in range(2)
        )
        self.norm, self.output = nn.LayerNorm(D_MODEL), nn.Linear(D_MODEL, 10)

    def forward(self, patches: Tensor) -> Tensor:
        """Compute the logits of pictures that are cut already, (batch, patches, pixels)."""
        first = self.first.expand(len(patches), 1, -1)
        x = self.positions(torch.cat([first, self.embed(patches)], dim=1))
        for layer in self.layers:
            x = layer(x, torch.ones(1, 1, 1, x.size(1), dtype=torch.bool))
        logits: Tensor = self.output(self.norm(x[:, 0]))
        return logits


def convolutions() -> nn.Module:
    """Make a network that knows nothing but neighbours: its output is a mean over all places."""
    first, second = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, stride=2, padding=1)
    end = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)
    return nn.Sequential(first, nn.GELU(), second, nn.GELU(), *end)


def split(seed: int) -> list[tuple[Tensor, Tensor]]:
    """Return pictures and digits to learn from, for validation and for tests."""
    pictures, digits = map(torch.tensor, load_digits(return_X_y=True))
    order, rest = (torch.Generator().manual_seed(number) for number in (0, seed))
    test, others = torch.randperm(len(digits), generator=order).tensor_split([500])
    others = others[torch.randperm(len(others), generator=rest)]
    x = (pictures.view(-1, 8, 8) / 8 - 1).float()
    return [(x[part], digits[part]) for part in (others[300:], others[:300], test)]


def train_digits(model: str, rate: float, seed: int) -> Row:
    """Train one network; the share of the test pictures that it names."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    size, kind = model.split(", ")[:2]
    network = VisionTransformer(int(size), kind)
    learn, validate, test = (
        (F.unfold(pictures[:, None], int(size), stride=int(size)).mT, digits)
        for pictures, digits in split(seed)
    )

    def loss_at(_: int) -> Tensor:
        batch = torch.randint(len(learn[1]), (BATCH,))
        return F.cross_entropy(network(learn[0][batch]), learn[1][batch])

    fit(network, rate, STEPS.get(model, 400), WARMUP, loss_at)
    with torch.no_grad():
        loss = F.cross_entropy(network(validate[0]), validate[1]).item()
        right = (network(test[0]).argmax(-1) == test[1]).double().mean().item()
    row = {"model": model, "rate": rate, "seed": seed, "val_loss": f"{loss:.3e}"}
    return row | {"right": round(right, 4)}


def make_digits(tables: Tables) -> None:
    """Digits as patches of 1, 4 and 16 pixels, with equal steps and with equal FLOPs.

    What would refute an order of the patch sizes: the same models with as many FLOPs as patches of
    2 × 2 have. They have the same order.
    """
    tune(tables, "digits", train_digits, CUTS, RATES, "val_loss")


def make_digits_positions(tables: Tables) -> None:
    """Patches of 2 × 2 with other positions.

    What would refute "values must carry the place": the record of halves, in which queries and keys
    alone have it, and nothing is lost.
    """
    tune(tables, "digits_positions", train_digits, PLACES, RATES, "val_loss")
