import csv
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.multi_head_attention import MultiHeadAttention
from annotated_transformer.tokens import BOS, EOS, PAD
from annotated_transformer.transformer import Transformer
from transformer_workbook.chapters.find_the_bug.faulty.models import SMALL, patient
from transformer_workbook.judge import (
    derivation,
    exercise,
    letters,
    loaded,
    normal,
    number,
    numbers_for,
)
from transformer_workbook.places import course_file

NARROW, WIDE = torch.float32, torch.float64


def _weights(*shape: int, dtype: torch.dtype = WIDE) -> Tensor:
    """Weights (heads, query, key); the last one of each head is 0, as a related key's may be."""
    scores = normal(*shape, seed=shape[0], dtype=dtype)
    scores[:, -1, -1] = -torch.inf
    return scores.softmax(dim=2)


def _in_either_type(answer: Callable[..., Any], weights: Tensor, relation: Tensor) -> Any:
    """Both `relation.float()` and `relation.double()` are right, whatever type the weights have."""
    try:
        return answer(weights, relation)
    except RuntimeError:
        return answer(weights.to(WIDE if weights.dtype == NARROW else NARROW), relation)


@exercise(
    [
        (_weights(2, 3, 4), torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]]).bool()),
        (_weights(4, 3, 2, dtype=NARROW), torch.tensor([[0, 1], [0, 1], [0, 0]]).bool()),
        (_weights(5, 4, 3), torch.tensor([[1, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 1]]).bool()),
    ],
    ask=_in_either_type,
    gap=True,
)
def relation_score(
    weights: Float[Tensor, "heads query key"], relation: Bool[Tensor, "query key"]
) -> Float[Tensor, " heads"]:
    """How much weight does each head give to the related keys?"""
    related = (weights * relation).sum(dim=2)
    has_one = relation.any(dim=1)
    return related[:, has_one].mean(dim=1)


class _Asks(nn.Module):
    """A layer of heads whose words look at others, and logits."""

    def __init__(self, d_model: int, num_heads: int, d: int) -> None:
        super().__init__()
        self.heads = MultiHeadAttention(d_model, num_heads, d, d)
        self.output = nn.Linear(d_model, 2)

    def forward(
        self, text: Float[Tensor, "line word d_model"], asked: Float[Tensor, "line asked d_model"]
    ) -> Float[Tensor, "line asked 2"]:
        """The logits, in the type of the model, whatever type it is given."""
        text, asked = (x.to(self.output.weight) for x in (text, asked))
        logits: Tensor = self.output(self.heads(asked, text, text))
        return logits


def _silenced(
    answer: Callable[..., Any], sizes: tuple[int, int, int], heads: list[int], *lines: Tensor
) -> Any:
    """What a model says without some heads, what it says afterwards, and the hooks left in it."""
    dtype = lines[0].dtype
    model = loaded(_Asks(*sizes), numbers_for(_Asks, *sizes, dtype=dtype))
    assert isinstance(model, _Asks)
    with torch.no_grad():
        logits = answer(model, model.heads, heads, *lines)
        if logits is None:
            return None
        hooks = sum(len(part._forward_hooks) for part in model.modules())
        return {"logits": logits, "hooks left": hooks, "logits afterwards": model(*lines)}


@exercise(
    [
        ((6, 3, 2), [0], normal(4, 5, 6, seed=0), normal(4, 7, 6, seed=1)),
        (
            (4, 4, 5),
            [1, 2],
            normal(5, 7, 4, seed=2, dtype=NARROW),
            normal(5, 6, 4, seed=3, dtype=NARROW),
        ),
        ((5, 3, 4), [2, 0], normal(4, 6, 5, seed=4), normal(4, 5, 5, seed=5)),
    ],
    ask=_silenced,
    gap=True,
)
def without_heads(
    model: nn.Module, layer: Any, heads: list[int], text: Tensor, asked: Tensor
) -> Tensor:
    """What does a model say while some heads of a layer are silent?"""

    def silence(module: nn.Module, args: Any, output: Tensor) -> None:
        output[:, heads] = 0

    handle = layer.attention.register_forward_hook(silence)
    logits: Tensor = model(text, asked)
    handle.remove()
    return logits


@dataclass(frozen=True)
class _Loss:
    """The loss of a model of which only W^O can change; a larger W is not always better."""

    seed: int

    def __call__(self, W: Tensor) -> float:
        x = normal(W.size(1), seed=self.seed, dtype=W.dtype)
        return float((torch.tanh(W @ x) - 0.5).square().sum())

    def __repr__(self) -> str:
        return "loss"


@exercise(
    [
        (normal(3, 8, seed=0), 4, _Loss(5)),
        (normal(4, 6, seed=1, dtype=NARROW), 3, _Loss(6)),
        (normal(5, 6, seed=2), 2, _Loss(7)),
    ]
)
def head_damages(
    W: Float[Tensor, "d_model heads_d"], num_heads: int, loss: Callable[[Tensor], float]
) -> list[float]:
    """What is the effect of zero ablation of each head?"""
    whole, d = loss(W), W.size(1) // num_heads
    damages = []
    for head in range(num_heads):
        removed = W.clone()
        removed[:, head * d : (head + 1) * d] = 0
        damages.append(loss(removed) - whole)
    return damages


@exercise([(4, False), (4, True), (3, False), (3, True), (9, True), (9, False)])
def previous_by_chance(n: int, causal: bool) -> float:
    """What does a head with even weights score for the previous token?"""
    if not causal:
        return 1 / n
    return sum(1 / t for t in range(2, n + 1)) / (n - 1)


@derivation(
    (
        normal(3, 6, seed=0, dtype=dtype),
        normal(heads, 3, 4, seed=1, dtype=dtype).softmax(-1),
        normal(heads, 4, d, seed=2, dtype=dtype),
        normal(6, heads * d, seed=3, dtype=dtype),
        h,
    )
    for heads, d, h, dtype in ((2, 5, 1, WIDE), (2, 5, 0, NARROW), (5, 7, 1, WIDE))
)
def parts_of_the_stream(
    x: Float[Tensor, "query d_model"],
    A: Float[Tensor, "heads query key"],
    V: Float[Tensor, "heads key d"],
    W: Float[Tensor, "d_model heads_d"],
    h: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What does one head add to the residual stream, and what is left without it?"""
    gathered = A @ V
    blocks = torch.stack(W.chunk(len(A), dim=1))
    added = gathered @ blocks.mT
    after = x + added.sum(0)
    return gathered[h], added[h], after, after - added[h]


@exercise(
    [
        (torch.tensor([0.1, 0.5, 0.3, 0.1]).double(), torch.tensor([0.3, 0.3, 0.2, 0.4]).double()),
        (normal(5, seed=1, dtype=NARROW), normal(5, seed=2, dtype=NARROW)),
        (normal(7, seed=3), normal(7, seed=4)),
        (
            torch.tensor([0.2, 0.2, 0.2, 0.5, 0.1]).double(),
            torch.tensor([0.4, 0.1, 0.3, 0.5, 0.1]).double(),
        ),
        (torch.tensor([0.4, 0.1, 0.2]).double(), torch.tensor([0.3, 0.1, 0.2]).double()),
    ]
)
def kendall_tau(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float:
    """How far do two vectors put the same things into the same order?"""
    n = len(a)
    i, j = torch.combinations(torch.arange(n)).T  # every pair of places, once
    order_in_a = torch.sign(a[i] - a[j])
    order_in_b = torch.sign(b[i] - b[j])
    agreement = order_in_a * order_in_b
    pairs = n * (n - 1) / 2
    return float(agreement.sum()) / pairs


NUMBERS = (1, 3, 10, 30, 100, 300, 1000)
HEADS, WORDS, DRAWS = 24, 5, 50


@cache
def times_chance(sentences: int) -> float:
    """The score of the best of 24 heads with random weights, in units of chance."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(DRAWS, HEADS, sentences, WORDS, generator=generator).softmax(-1)
    return WORDS * scores[..., -1].mean(-1).amax(-1).mean().item()


@number()
def enough_sentences() -> int:
    """From how many sentences on is the best of 24 random heads less than a fifth above chance?"""
    return next(n for n in NUMBERS if times_chance(n) < 1.2)


def _measured(model: str, what: str, record: str = "heads") -> list[str]:
    """What was measured of the five models of a kind; that of seed 0 only chose the rate."""
    text = course_file(f"records/{record}.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return [row[what] for row in rows if row["model"] == model and int(row["seed"])]


def _missed() -> list[str]:
    """The most missed head of every Transformer."""
    return _measured("Transformer", "most_missed")


def _exact(model: str, record: str = "heads") -> list[float]:
    """The share of sentences that each model of a kind gets exactly right."""
    return list(map(float, _measured(model, "exact", record)))


def _leads(record: str) -> bool:
    """Whether each of Bahdanau's models is ahead of every Transformer."""
    return min(_exact("Bahdanau", record)) > max(_exact("Transformer", record))


def _ahead() -> list[bool]:
    """Whether the object head of each Transformer is surely ahead of its control."""
    return [float(low) > 0 for low in _measured("Transformer", "object_low")]


def _costs() -> list[float]:
    """What zero ablation of its object head costs each Transformer."""
    return list(map(float, _measured("Transformer", "object_damage")))


@letters
def said_by_the_record() -> list[str]:
    """Which of six sentences about trained models do the records of the heads support?"""
    supported = {
        "A": all(head.startswith("decoder.0.self_attention") for head in _missed()),
        "B": len(set(_missed())) == 1,
        "C": _leads("heads"),
        "D": _leads("heads") and _leads("heads_longer"),
        "E": all(_ahead()),
        "F": max(_costs()) < 0.02,
    }
    return [letter for letter, true in supported.items() if true]


@dataclass(frozen=True)
class _Drawn:
    """A model that is made anew for every answer."""

    num_heads: int
    num_layers: int

    def make(self) -> Transformer:
        config = replace(SMALL, num_heads=self.num_heads, num_layers=self.num_layers)
        return patient(0, config).eval()

    def __repr__(self) -> str:
        return "model"


def _captured(answer: Callable[..., Any], case: _Drawn, src: Tensor, tgt_in: Tensor) -> Any:
    """What an answer captures, and the hooks that it leaves in the model."""
    model = case.make()
    weights = answer(model, src, tgt_in)
    if weights is None:
        return None
    hooks = sum(len(part._forward_hooks) for part in model.modules())
    return {"weights": weights, "hooks left": hooks}


@exercise(
    [
        (
            _Drawn(2, 2),
            torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, 4, EOS, PAD, PAD]]),
            torch.tensor([[BOS, 6, 7, 8, 9], [BOS, 9, 10, PAD, PAD]]),
        ),
        (
            _Drawn(4, 1),
            torch.tensor([[5, 7, 6, 8, EOS], [11, 4, EOS, PAD, PAD], [6, 5, 4, 9, EOS]]),
            torch.tensor([[BOS, 4], [BOS, PAD], [BOS, 8]]),
        ),
    ],
    ask=_captured,
)
def capture_heads(
    model: Transformer, src: Int[Tensor, "batch src"], tgt_in: Int[Tensor, "batch tgt"]
) -> dict[str, Tensor]:
    """Capture the weights of all heads by hooks, and leave no hook behind."""
    found, handles = {}, []
    for name, part in model.named_modules():
        if isinstance(part, MultiHeadAttention):

            def hook(
                module: nn.Module, args: tuple[Tensor, ...], output: Tensor, name: str = name
            ) -> None:
                queries, keys, _, mask = args
                scores = queries @ keys.mT / math.sqrt(queries.size(-1))
                weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
                found[name] = weights.detach()

            handles.append(part.attention.register_forward_hook(hook))
    model(src, tgt_in)
    for handle in handles:
        handle.remove()
    return found
