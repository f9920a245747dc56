"""The records of pictures as tokens: how digits of 8 × 8 pixels are cut, and what says where.

Five hundred pictures are for tests alone. Of the others, every seed draws those to learn from, and
300 for validation.
"""

from functools import partial
from typing import Any

import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.layers import EncoderLayer, FeedForward, Residual
from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.positional_encoding import (
    LearnedPositionalEncoding,
    NoPositionalEncoding,
)
from annotated_transformer.rotary import rotary_frequencies, rotate
from records.fitting import fit
from records.tables import Row, Tables
from records.trials import tune

SIDE, D_MODEL, HEADS, LAYERS, D_FF = 8, 32, 4, 2, 64
TESTS, VALIDATION, BATCH, STEPS, WARMUP = 500, 300, 64, 400, 40
RATES, STRENGTHS = (2e-3, 4e-3, 8e-3), (0.1, 1.0, 10.0)
CUTS = ["1, learned", "2, learned", "4, learned"]
EQUAL = ["1, learned, equal FLOPs", "4, learned, equal FLOPs"]
PLACED = ["2, none", "2, axial", "2, learned and axial"]
SHUFFLED = ["2, learned, shuffled", "2, axial, shuffled"]
NEIGHBOURS = ["2, convolutions", "2, convolutions, shuffled"]
POOLED = ["2, pooled convolutions", "2, pooled convolutions, shuffled"]
BASELINES = {"logistic regression": LogisticRegression, "support vectors": SVC}


class AxialAttention(MultiHeadAttention):
    """Rotary positions in two dimensions: half of each head turns by the row, half by the column.

    The first token belongs to no patch and is not turned. Source: Heo et al. 2024, section 3.1.
    """

    side = 4

    def with_positions(self, heads: Any, positions: Any) -> Tensor:
        """Turn the queries or keys of all patches."""
        first, patches = heads.tensor_split([1], dim=2)
        places, frequencies = (
            positions[:, None, 1:] - 1,
            rotary_frequencies(self.d_k // 2, base=100.0),
        )
        axes = zip(patches.chunk(2, dim=-1), (places // self.side, places % self.side), strict=True)
        turned = [rotate(half, axis, frequencies) for half, axis in axes]
        return torch.cat([first, torch.cat(turned, dim=-1)], dim=2)


class VisionTransformer(nn.Module):
    """The encoder of the course over a class token and the patches of a picture.

    Source: Dosovitskiy et al. 2021, section 3.1.
    """

    def __init__(self, patch: int, positions: str) -> None:
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch * patch, D_MODEL)
        self.first = nn.Parameter(torch.zeros(1, 1, D_MODEL))
        encoding = LearnedPositionalEncoding if "learned" in positions else NoPositionalEncoding
        self.positions = encoding((SIDE // patch) ** 2 + 1, D_MODEL)
        attention = AxialAttention if "axial" in positions else MultiHeadAttention
        self.layers = nn.ModuleList(
            EncoderLayer(
                attention(D_MODEL, HEADS),
                FeedForward(D_MODEL, D_FF, "gelu"),
                partial(Residual, D_MODEL, 0.0, "pre"),
            )
            for _ in range(LAYERS)
        )
        self.norm, self.output = nn.LayerNorm(D_MODEL), nn.Linear(D_MODEL, 10)

    def forward(self, patches: Tensor) -> Tensor:
        """Compute the logits of pictures that are cut already, (batch, patches, pixels)."""
        first = self.first.expand(len(patches), 1, -1)
        x = self.positions(torch.cat([first, self.embed(patches)], dim=1))
        mask = torch.ones(1, 1, 1, x.size(1), dtype=torch.bool)
        for layer in self.layers:
            x = layer(x, mask)
        logits: Tensor = self.output(self.norm(x[:, 0]))
        return logits


class Convolutions(nn.Module):
    """Two convolutions, in which pixels meet their neighbours alone, and a linear layer.

    Its weights are for each place, or, of pooled ones, for the mean over all places.
    """

    def __init__(self, pooled: bool) -> None:
        super().__init__()
        first, second = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, stride=2, padding=1)
        end = [nn.AdaptiveAvgPool2d(1), nn.Flatten()] if pooled else [nn.Flatten()]
        output = nn.Linear(32 if pooled else 32 * 16, 10)
        self.layers = nn.Sequential(first, nn.GELU(), second, nn.GELU(), *end, output)

    def forward(self, patches: Tensor) -> Tensor:
        """Compute the logits of pictures that are put together from their patches."""
        logits: Tensor = self.layers(F.fold(patches.mT, (SIDE, SIDE), 2, stride=2))
        return logits


def cut(pictures: Tensor, patch: int) -> Tensor:
    """Cut pictures into patches, row by row."""
    return F.unfold(pictures[:, None], patch, stride=patch).mT


def split(seed: int) -> list[tuple[Tensor, Tensor]]:
    """Return pictures and digits to learn from, for validation and for tests."""
    data = load_digits()
    pictures = torch.tensor(data.images / 8 - 1, dtype=torch.float32)
    digits = torch.tensor(data.target)
    order = torch.randperm(len(digits), generator=torch.Generator().manual_seed(0))
    rest = order[TESTS:]
    rest = rest[torch.randperm(len(rest), generator=torch.Generator().manual_seed(seed))]
    parts = rest[VALIDATION:], rest[:VALIDATION], order[:TESTS]
    return [(pictures[part], digits[part]) for part in parts]


def flops(patch: int) -> int:
    """Count what one picture costs: 2 for each weight and token, and the table of each layer."""
    n, weights = (SIDE // patch) ** 2 + 1, 4 * D_MODEL**2 + 2 * D_MODEL * D_FF
    layers = LAYERS * n * (2 * weights + 4 * n * D_MODEL)
    return 2 * (n - 1) * patch**2 * D_MODEL + layers + 2 * D_MODEL * 10


def train_digits(model: str, rate: float, seed: int) -> Row:
    """Train one Transformer; the share of the test pictures that it names, and its cost."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    patch, positions, *more = model.split(", ")
    network: Any = VisionTransformer(int(patch), positions)
    if "convolutions" in positions:
        network = Convolutions("pooled" in positions)
    parts, steps = split(seed), STEPS
    learn, validate, test = ((cut(x, int(patch)), digits) for x, digits in parts)
    if "equal FLOPs" in more:
        steps = round(STEPS * flops(2) / flops(int(patch)))
    if "shuffled" in more:
        order = torch.randperm(learn[0].size(1), generator=torch.Generator().manual_seed(1))
        learn, validate, test = ((x[:, order], y) for x, y in (learn, validate, test))

    def loss_at(_: int) -> Tensor:
        batch = torch.randint(len(learn[1]), (BATCH,))
        return F.cross_entropy(network(learn[0][batch]), learn[1][batch])

    fit(network, rate, steps, WARMUP, loss_at)
    with torch.no_grad():
        loss = F.cross_entropy(network(validate[0]), validate[1]).item()
        right = (network(test[0]).argmax(-1) == test[1]).double().mean().item()
    row = {"model": model, "rate": rate, "seed": seed, "val_loss": f"{loss:.3e}"}
    return row | {"right": round(right, 4), "steps": steps}


def train_baseline(model: str, rate: float, seed: int) -> Row:
    """Fit a classifier of scikit-learn, whose C is the rate, and whose loss the share of errors."""
    learn, validate, test = ((x.flatten(1).numpy(), y.numpy()) for x, y in split(seed))
    fitted = BASELINES[model](C=rate, max_iter=5000).fit(*learn)
    error = f"{1 - fitted.score(*validate):.3e}"
    right = round(fitted.score(*test), 4)
    return {"model": model, "rate": rate, "seed": seed, "val_loss": error, "right": right}


def make_digits(tables: Tables) -> None:
    """Digits as patches of 1, 4 and 16 pixels, with equal steps and with equal FLOPs.

    What would refute an order of the patch sizes: the same models with as many FLOPs as patches of
    2 × 2 get in their steps. They have the same order: pixels are the worst, and between the other
    two no difference is seen.
    """
    tune(tables, "digits", train_digits, CUTS + EQUAL, RATES, "val_loss")


def make_digits_positions(tables: Tables) -> None:
    """Patches of 2 × 2 with other positions, and shuffled by one permutation for all pictures.

    What would refute "axial positions help because they know which patches are neighbours":
    shuffled patches, whose rows and columns are wrong, that are told as well. They are, but so are
    those of convolutions (`digits_neighbours`), and the shuffle leaves it open. Learned positions
    cannot mind, because a shuffle only gives their table another order.
    """
    tune(tables, "digits_positions", train_digits, PLACED + SHUFFLED, RATES, "val_loss")


def make_digits_neighbours(tables: Tables) -> None:
    """The same pictures, shuffled or not, told by convolutions.

    It is the other method for "axial positions do not use neighbours, as the shuffle shows": pooled
    convolutions know nothing but neighbours, so they would have to lose by it. No loss is seen
    there either: the shuffle is the same in all pictures, and shuffled neighbours tell enough.
    """
    models = NEIGHBOURS + POOLED
    tune(tables, "digits_neighbours", train_digits, models, RATES, "val_loss")


def make_digits_baselines(tables: Tables) -> None:
    """The same pictures told by logistic regression and by support vectors, each with its best C.

    What would refute "a Transformer is what these pictures need": another method on the plain
    pixels, with the same pictures to learn from, that tells more of them. Support vectors do.
    """
    tune(tables, "digits_baselines", train_baseline, BASELINES, STRENGTHS, "val_loss")
