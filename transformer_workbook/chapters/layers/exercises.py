import math
from collections.abc import Callable
from functools import cache
from statistics import median
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.layers import FeedForward
from annotated_transformer.multi_head_attention import MultiHeadAttention
from transformer_workbook.judge import (
    derivation,
    exercise,
    form,
    is_number,
    loaded,
    normal,
    number,
    numbers_for,
    put_to_work,
    question,
    random_cases,
    show,
)
from transformer_workbook.judge.trials import settings_put_back


@exercise([(0.5, 3), (-0.5, 4), (-0.5, 3), (-1.5, 3), (0.1, 6)])
def stack_derivatives(derivative: float, layers: int) -> tuple[float, float]:
    """What is the derivative of a stack: without shortcuts, and with them?"""
    without = derivative**layers
    with_shortcuts = (1 + derivative) ** layers
    return without, with_shortcuts


def normalise(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """Layer normalisation without gain and bias."""
    return F.layer_norm(x, x.shape[-1:])


@exercise(
    [
        (normal(4, seed=20), normal(2, 4, 4, seed=21)),
        (normal(4, 5, seed=2, dtype=torch.float32), normal(3, 5, 5, seed=3, dtype=torch.float32)),
        (5 * normal(2, 5, 3, seed=4), normal(4, 3, 3, seed=5)),
    ]
)
def pre_norm_stack(
    x: Float[Tensor, "*batch d"], W: Float[Tensor, "layers d d"]
) -> Float[Tensor, "*batch d"]:
    """Fix the pre-norm stack of a friend, which has two mistakes."""
    for matrix in W:
        normed = normalise(x)
        x = x + torch.relu(normed @ matrix)
    return normalise(x)


WORDS, WIDTH, HEADS = 8, 32, 4


@cache
def apart(factor: float, layers: int = 2) -> float:
    """How different words still are after fresh attentions, their matrices times a factor.

    The median of nine draws.
    """
    found = []
    with settings_put_back(), torch.no_grad():
        for seed in range(9):
            torch.manual_seed(seed)
            x = normal(1, WORDS, WIDTH, seed=seed)
            for _ in range(layers):
                attention = MultiHeadAttention(WIDTH, HEADS).double()
                for parameter in attention.parameters():
                    if parameter.dim() > 1:  # a matrix, not a bias
                        parameter.mul_(factor)
                x = attention(x, x, x)
            found.append(((x - x.mean(1, keepdim=True)).norm() / x.norm()).item())
    return median(found)


@question
def keeps_words_apart(answer: Any, say: Callable[..., str]) -> str:
    """Which factor on all matrices lets the words differ after two layers of attention?"""
    if not is_number(answer):
        return say("no number", form=form(answer))
    left = apart(float(answer))
    if math.isnan(left):
        return say("overflow")
    return "" if left > 0.5 else say("alike", factor=show(float(answer)), left=left)


@exercise(
    [
        (normal(4, seed=0), normal(4, seed=1), 0.1),
        (
            normal(2, 3, seed=1, dtype=torch.float32),
            normal(3, seed=2, dtype=torch.float32),
            0.5,
        ),
        (normal(3, 2, 5, seed=2), normal(5, seed=3), 0.01),
    ]
)
def rms_norm(
    x: Float[Tensor, "*batch d"], gain: Float[Tensor, " d"], eps: float
) -> Float[Tensor, "*batch d"]:
    """Divide by the root of the mean square, and multiply by the gain."""
    mean_square = (x**2).mean(-1, keepdim=True)
    root = (mean_square + eps).sqrt()
    return gain * x / root


@cache
def growth(few: int = 100, many: int = 400) -> float:
    """How many times as large a fresh pre-norm stack's sum is after many layers as after few."""
    ratios = []
    with settings_put_back(), torch.no_grad():
        for seed in range(3):
            torch.manual_seed(seed)
            x, sizes = normal(3, WORDS, WIDTH, seed=0), {}
            for layer in range(1, many + 1):
                network = FeedForward(WIDTH, 2 * WIDTH).double()
                x = x + network(normalise(x))
                sizes[layer] = x.norm().item()
            ratios.append(sizes[many] / sizes[few])
    return sum(ratios) / len(ratios)


@number(within=0.2)
def pre_norm_growth() -> int:
    """How many times as large is the sum of a pre-norm stack of four times as many layers?"""
    return round(growth())


@derivation(
    [
        (normal(4, seed=0), normal(4, seed=1)),
        (normal(3, seed=2, dtype=torch.float32), normal(3, seed=3, dtype=torch.float32)),
        (5 * normal(6, seed=4), normal(6, seed=5)),
    ],
    # in the precision that PyTorch makes new tensors in, such as `torch.eye(d)`
    ask=lambda answer, x, g: answer(*(y.to(torch.get_default_dtype()) for y in (x, g))),
)
def layer_norm_derivative(
    x: Float[Tensor, " d"], g: Float[Tensor, " d"]
) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"], Float[Tensor, " d"]]:
    """Derive how a layer normalisation without ε changes with its input, in three steps."""
    d, sigma = len(x), x.std(correction=0)
    n = (x - x.mean()) / sigma
    of_sigma = n / d
    identity = torch.eye(d).to(x)
    of_n = (identity - 1 / d - torch.outer(n, n) / d) / sigma
    of_loss = g @ of_n
    return of_sigma, of_n, of_loss


def encoder_layer_case(
    lengths: list[int],
    d_model: int,
    num_heads: int,
    d_ff: int,
    norm_first: bool,
    dtype: torch.dtype = torch.float64,
) -> tuple[Any, ...]:
    """Sentences of up to five words, and parameters for a layer of PyTorch's that reads them."""
    hidden = torch.arange(5) >= torch.tensor(lengths)[:, None]
    weights = numbers_for(nn.TransformerEncoderLayer, d_model, num_heads, d_ff, dtype=dtype)
    x = normal(*hidden.shape, d_model, seed=100, dtype=dtype)
    return x, hidden, num_heads, norm_first, weights


def ask_encoder_layer(
    kind: Callable[..., nn.Module],
    x: Float[Tensor, "batch time d_model"],
    hidden: Bool[Tensor, "batch time"],
    num_heads: int,
    norm_first: bool,
    weights: dict[str, Tensor],
) -> Any:
    """Build the layer, give it its parameters, and send a few sentences through it."""
    layer = loaded(kind(x.size(-1), num_heads, len(weights["linear1.bias"]), norm_first), weights)
    if layer is None:
        return None
    out = layer.eval()(x, hidden)
    return out[~hidden] if isinstance(out, Tensor) and out.shape[:2] == hidden.shape else out


@exercise(
    [
        # what mixes up sentences and words runs here
        encoder_layer_case([4, 3, 4, 2, 1], 8, 2, 20, False),
        encoder_layer_case([4, 3], 6, 3, 10, True, dtype=torch.float32),
        encoder_layer_case([4, 3], 4, 2, 9, True),
    ],
    ask=ask_encoder_layer,
)
def encoder_layer(d_model: int, num_heads: int, d_ff: int, norm_first: bool) -> nn.Module:
    """Build an encoder layer that computes what PyTorch's does with the same parameters."""

    class EncoderLayer(nn.Module):
        """The two sub-layers, with shortcuts and norms in either order."""

        def __init__(self) -> None:
            super().__init__()
            self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
            self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

        def gather(self, x: Tensor, hidden: Tensor) -> Tensor:
            """The output of the attention."""
            return self.self_attn(x, x, x, key_padding_mask=hidden)[0]

        def work(self, x: Tensor) -> Tensor:
            """The output of the feed-forward network."""
            return self.linear2(torch.relu(self.linear1(x)))

        def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
            """One layer further."""
            if norm_first:
                gathered = x + self.gather(self.norm1(x), hidden)
                return gathered + self.work(self.norm2(gathered))
            gathered = self.norm1(x + self.gather(x, hidden))
            return self.norm2(gathered + self.work(gathered))

    return EncoderLayer()


@exercise(random_cases("batch word d", least=3), gap=True)
def layer_normalisation(x: Float[Tensor, "batch word d"]) -> Float[Tensor, "batch word d"]:
    """Bring every word's vector to mean 0 and variance 1."""
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    return centred / (variance + 1e-5).sqrt()


def post_norm_case(
    d_model: int, num_heads: int, d_ff: int, dtype: torch.dtype = torch.float64
) -> tuple[Any, ...]:
    """Two sentences of five words, and parameters for a layer that reads them."""

    def parts() -> nn.Module:
        return nn.ModuleDict(
            {
                "attention": MultiHeadAttention(d_model, num_heads),
                "inner": nn.Linear(d_model, d_ff),
                "outer": nn.Linear(d_ff, d_model),
                "norm_1": nn.LayerNorm(d_model),
                "norm_2": nn.LayerNorm(d_model),
            }
        )

    x = normal(2, 5, d_model, seed=100, dtype=dtype)
    return x, num_heads, d_ff, numbers_for(parts, dtype=dtype)


def ask_post_norm_layer(
    kind: Callable[..., nn.Module],
    x: Float[Tensor, "batch word d_model"],
    num_heads: int,
    d_ff: int,
    weights: dict[str, Tensor],
) -> Any:
    """Build the layer, give it its parameters, and send two sentences through it."""
    return put_to_work(kind(x.size(-1), num_heads, d_ff), weights, x)


@exercise(
    [
        post_norm_case(8, 2, 20),
        post_norm_case(6, 3, 10, dtype=torch.float32),
        post_norm_case(4, 2, 9),
    ],
    ask=ask_post_norm_layer,
    gap=True,
)
def post_norm_layer(d_model: int, num_heads: int, d_ff: int) -> nn.Module:
    """Write an encoder layer: two sub-layers, each with a residual connection and a norm."""

    class EncoderLayer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = MultiHeadAttention(d_model, num_heads)
            self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

        def forward(self, x: Tensor) -> Tensor:
            mixed = self.attention(x, x, x)
            first = self.norm_1(x + mixed)
            found = torch.relu(self.inner(first))
            second: Tensor = self.norm_2(first + self.outer(found))
            return second

    return EncoderLayer()
