import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.batches import Batch
from annotated_transformer.tokens import PAD
from annotated_transformer.toy import toy_corpus
from annotated_transformer.transformer import Transformer, TransformerConfig
from transformer_workbook.judge import derivation, exercise, form, is_number, normal, question, show
from transformer_workbook.judge.trials import settings_put_back
from transformer_workbook.notebook.experiments import ToyTask

FOUR = torch.tensor([4.0, 0.001, -2.0, 0.0], dtype=torch.float32)
"""Gradients of four parameters."""


def _means(numbers: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """A gradient, and the running means before it."""
    g, m, v = (normal(numbers, seed=seed + i) for i in range(3))
    return g / 100, m / 50, v**2


@exercise(
    [
        (FOUR, 0 * FOUR, 0 * FOUR, 1, 0.5, 0.5),
        (*_means(3, seed=0), 7, 0.9, 0.98),
        (*_means(5, seed=3), 40, 0.8, 0.95),
    ],
    gap=True,
)
def adam_move(
    g: Float[Tensor, " numbers"],
    m: Float[Tensor, " numbers"],
    v: Float[Tensor, " numbers"],
    t: int,
    beta1: float = 0.9,
    beta2: float = 0.98,
) -> tuple[Float[Tensor, " numbers"], Float[Tensor, " numbers"], Float[Tensor, " numbers"]]:
    """Find Adam's move for a rate of 1, and both running means."""
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    move = m_hat / (v_hat.sqrt() + 1e-6)
    return move, m, v


@exercise(
    [(25, 1.0, 100), (400, 1.0, 100), (9, 0.01, 16), (81, 0.3, 36), (10_000, 1.0, 100)], gap=True
)
def warm_up(t: int, peak: float, warmup: int) -> float:
    """Find the rate of a step: it rises to the peak, then falls."""
    rising = t / warmup
    falling = (warmup / t) ** 0.5
    return peak * min(rising, falling)


@exercise(
    [
        (1, 512, 4000),
        (4000, 256, 400),
        (2, 4, 9),
        (30, 64, 100),
        (7, 16, 5),
        (100, 32, 100),
        (90, 36, 4),
    ]
)
def paper_rate(step: int, d_model: int, warmup: int) -> float:
    """The learning rate of a step in the paper, steps counted from 1."""
    falling = step**-0.5
    rising = step * warmup**-1.5
    return float(d_model**-0.5 * min(falling, rising))


@exercise(
    [
        (normal(5, 3, seed=0), torch.tensor([2, 5, 9, 1, 4]), 2),
        (normal(7, 2, seed=1, dtype=torch.float32), torch.tensor([3, 3, 8, 1, 6, 2, 5]), 3),
        (normal(4, 6, seed=2), torch.tensor([7, 2, 2, 5]), 2),
    ]
)
def accumulate(
    sums: Float[Tensor, "parts weights"], tokens: Int[Tensor, " parts"], every: int
) -> list[Float[Tensor, " weights"]]:
    """The gradient of each step, per token; what is left over also makes a step."""
    steps = []
    for start in range(0, len(sums), every):
        group = slice(start, start + every)
        gradient = sums[group].sum(dim=0)
        steps.append(gradient / tokens[group].sum())
    return steps


@functools.cache
def later_steps(beta1: float, beta2: float = 0.98) -> float:
    """How long Adam's later steps are on pure noise, if the first has length 1."""
    noise = torch.randn(60, 20_000, generator=torch.Generator().manual_seed(0)).double()
    mean, square = torch.zeros(2, noise.size(1)).double()
    for gradient in noise:
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
    step = mean / (1 - beta1 ** len(noise)) / (square / (1 - beta2 ** len(noise))).sqrt()
    return float(step.abs().mean())


@question
def refuting_beta(answer: Any, say: Callable[..., str]) -> str:
    """For which β₁ are Adam's later steps on noise at least half as long as its first?"""
    if not is_number(answer):
        return say("no number", form=form(answer))
    if not 0 <= answer < 1:
        return say("no beta")
    length = later_steps(float(answer))
    return "" if length >= 0.5 else say("short", beta=show(float(answer)), length=length)


@exercise(
    [
        (torch.tensor([2, 0, 4]), 5, 0.1),
        (torch.tensor([1, 1, 6]), 8, 0.4),
        (torch.tensor([5, 3, 0]), 6, 0.25),
        (torch.tensor([0, 2, 1]), 4, 0.0),
    ]
)
def smoothed_targets(
    target: Int[Tensor, " tokens"], vocab: int, smoothing: float
) -> Float[Tensor, "tokens vocab"]:
    """The smoothed targets of some tokens, a row for each."""
    one_hot = F.one_hot(target, vocab)
    return (1 - smoothing) * one_hot + smoothing / vocab


RATES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]


@functools.cache
def loss_at(rate: float) -> float:
    """The loss of a small model on eight sentences after 60 steps at that rate."""
    with settings_put_back():
        task = ToyTask.of(toy_corpus(400))
        batch = Batch.of(task.examples("train")[:8])
        sizes: Any = {"d_model": 32, "num_layers": 1, "num_heads": 2, "d_ff": 64, "dropout": 0.0}
        others: Any = {"norm_position": "pre", "max_length": 128}
        model = task.build(Transformer, TransformerConfig.tiny, **sizes, **others)
        adam = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-6)
        for _ in range(60):
            logits = model(batch.src, batch.tgt_in)
            loss = F.cross_entropy(logits.mT, batch.tgt_out, ignore_index=PAD)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
        return loss.item()


@question
def highest_rate(answer: Any, say: Callable[..., str]) -> str:
    """Which of the rates is the highest at which the model still memorises its sentences?"""
    if not is_number(answer):
        return say("no number", form=form(answer))
    rate = min(RATES, key=lambda rate: abs(rate - float(answer)))
    if abs(rate - float(answer)) > 1e-6:
        return say("none of them", answer=show(float(answer)), rates=show(RATES)[1:-1])
    if loss_at(rate) >= 0.1:
        return say("too high", rate=show(rate), loss=loss_at(rate))
    higher = RATES[RATES.index(rate) + 1]
    if loss_at(higher) < 0.1:
        return say("not the highest", rate=show(rate), higher=show(higher))
    return ""


@derivation(
    [
        (normal(3, seed=0), 1, 0.1),
        (normal(5, seed=1, dtype=torch.float32), 4, 0.3),
        (normal(4, seed=2), 0, 0.2),
    ]
)
def smoothed_gradient(
    logits: Float[Tensor, " vocab"], right: int, smoothing: float
) -> tuple[Tensor, Tensor, Tensor, float]:
    """The gradient of the smoothed loss with respect to the logits, in four steps."""
    vocab, p = len(logits), logits.softmax(dim=-1)
    one_hot = F.one_hot(torch.tensor(right), vocab)
    of_right = p - one_hot
    of_everyone = p - 1 / vocab
    of_loss = (1 - smoothing) * of_right + smoothing * of_everyone
    q_other = smoothing / vocab
    q_right = 1 - smoothing + q_other
    gap = math.log(q_right / q_other)
    return of_right, of_everyone, of_loss, gap


def _padded(
    *sizes: int, seed: int, rate: float, clip: float, smoothing: float = 0.1
) -> tuple[Tensor | float, ...]:
    """A model and batches with padding at the end of every micro-batch."""
    d, vocab, steps, parts, tokens = sizes
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(1, vocab, (steps, parts, tokens), generator=generator)
    length = torch.randint(1, tokens + 1, (steps, parts, 1), generator=generator)
    y = y.masked_fill(torch.arange(tokens) >= length, PAD)
    W, b = normal(d, vocab, seed=seed), normal(vocab, seed=seed + 1)
    x = normal(steps, parts, tokens, d, seed=seed + 2)
    return W, b, x, y, rate, clip, smoothing


@exercise(
    [
        _padded(2, 3, 4, 5, 6, seed=0, rate=0.1, clip=0.4),
        _padded(4, 6, 3, 2, 5, seed=10, rate=0.02, clip=6.0, smoothing=0.3),
        _padded(3, 5, 6, 4, 2, seed=20, rate=0.3, clip=0.7),
    ]
)
def train_by_hand(
    W: Float[Tensor, "d vocab"],
    b: Float[Tensor, " vocab"],
    x: Float[Tensor, "steps parts tokens d"],
    y: Int[Tensor, "steps parts tokens"],
    rate: float,
    clip: float,
    smoothing: float,
) -> tuple[Float[Tensor, "d vocab"], Float[Tensor, " vocab"]]:
    """The parameters of a linear model after some steps of training."""
    beta1, beta2 = 0.9, 0.98
    weights = torch.cat([W, b[None]])  # b is the last row: all parameters have one gradient
    m, v = torch.zeros_like(weights), torch.zeros_like(weights)
    for t, (inputs, targets) in enumerate(zip(x, y, strict=True), start=1):
        weights.requires_grad_()
        logits = inputs @ weights[:-1] + weights[-1]
        losses = F.cross_entropy(logits.mT, targets, reduction="none", label_smoothing=smoothing)
        loss = losses[targets != PAD].mean()
        [g] = torch.autograd.grad(loss, weights)
        g = g * (clip / g.norm()).clamp(max=1)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        m_hat = m / (1 - beta1**t)
        v_hat = v / (1 - beta2**t)
        weights = weights.detach() - rate * m_hat / (v_hat.sqrt() + 1e-9)
    return weights[:-1], weights[-1]
