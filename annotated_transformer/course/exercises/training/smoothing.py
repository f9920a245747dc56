"""Training: the targets of label smoothing, and the rate of every step."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.course.checking import Exercise


def _smoothed_targets(
    target: Int[Tensor, " tokens"], vocab: int, smoothing: float
) -> Float[Tensor, "tokens vocab"]:
    return (1 - smoothing) * F.one_hot(target, vocab) + smoothing / vocab


def _spread(y: Tensor, V: int, s: float, others: int) -> Tensor:
    """1 − ε for the right token, ε / others for every other one."""
    return torch.where(F.one_hot(y, V) == 1, 1 - s, s / others)


smoothed_targets = Exercise(
    reference=_smoothed_targets,
    mistakes={
        "these are one-hot targets; the share ε is not given away.": (
            lambda y, V, s: F.one_hot(y, V).double()
        ),
        "the right token gives nothing away: take (1 − ε) of it before you add ε/V.": (
            lambda y, V, s: F.one_hot(y, V) + s / V
        ),
        "ε goes to the other tokens only; here all V share it, the right one too.": (
            lambda y, V, s: _spread(y, V, s, V - 1)
        ),
        "the right token must have ε/V more than 1 − ε: it gets its part of the share too.": (
            lambda y, V, s: _spread(y, V, s, V)
        ),
        "you divide by V − 2, as if two tokens had no part; here all V share ε.": (
            lambda y, V, s: _spread(y, V, s, V - 2)
        ),
        "each of the V tokens gets the whole ε; they have to share it.": (
            lambda y, V, s: (1 - s) * F.one_hot(y, V) + s
        ),
        "ε and 1 − ε are swapped.": lambda y, V, s: s * F.one_hot(y, V) + (1 - s) / V,
        "you share ε among the tokens of the sentence; share it among the vocabulary.": (
            lambda y, V, s: (1 - s) * F.one_hot(y, V) + s / len(y)
        ),
        "this is turned round: a row for each token of the sentence is asked for.": (
            lambda y, V, s: ((1 - s) * F.one_hot(y, V) + s / V).T
        ),
        "a softmax makes other numbers: mix one-hot and uniform.": (
            lambda y, V, s: F.one_hot(y, V).double().softmax(-1)
        ),
    },
    cases=[
        (torch.tensor([2, 0, 4]), 5, 0.1),
        (torch.tensor([1, 1, 6]), 8, 0.4),
        (torch.tensor([5, 3, 0]), 6, 0.25),
    ],
)


def _lowest_loss(smoothing: float, vocab: int) -> float:
    other = smoothing / vocab
    right = 1 - smoothing + other
    return -(right * math.log(right) + (vocab - 1) * other * math.log(other))


def _entropy(shares: list[float]) -> float:
    return -sum(share * math.log(share) for share in shares)


def _best(s: float, V: int) -> list[float]:
    return [1 - s + s / V] + [s / V] * (V - 1)


lowest_loss = Exercise(
    reference=_lowest_loss,
    mistakes={
        "0 cannot be reached: p would have to be a one-hot vector, and log 0 is −∞.": (
            lambda s, V: 0.0
        ),
        "this is the surprise at the right token alone; the other tokens are asked for too.": (
            lambda s, V: -math.log(1 - s + s / V)
        ),
        "this is the right token's part alone; the other V − 1 tokens cost something too.": (
            lambda s, V: _entropy([1 - s + s / V])
        ),
        "this is −log(1 − ε), the surprise at the right token, and its own part of ε is missing.": (
            lambda s, V: -math.log(1 - s)
        ),
        "you leave out the right token's own part of ε: it has 1 − ε + ε/V.": (
            lambda s, V: _entropy([1 - s] + [s / V] * (V - 1))
        ),
        "here ε is shared by the V − 1 others; it is shared by all V.": (
            lambda s, V: _entropy([1 - s] + [s / (V - 1)] * (V - 1))
        ),
        "you count one of the other tokens; there are V − 1.": (
            lambda s, V: _entropy([1 - s + s / V, s / V])
        ),
        "you count V others; the right token is one of the V.": (
            lambda s, V: _entropy([1 - s + s / V] + [s / V] * V)
        ),
        "the sign is wrong: a surprise is −log p.": lambda s, V: -_entropy(_best(s, V)),
        "this is log V, what a model that knows nothing pays.": lambda s, V: math.log(V),
        "these are bits; the loss is in nats, with natural logarithms.": (
            lambda s, V: _entropy(_best(s, V)) / math.log(2)
        ),
    },
    cases=[(0.1, 5), (0.4, 8), (0.25, 100)],
)


def _paper_rate(step: int, d_model: int, warmup: int) -> float:
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


paper_rate = Exercise(
    reference=_paper_rate,
    mistakes={
        "max takes the larger of the two curves; the rate must stay below both.": (
            lambda t, d, w: d**-0.5 * max(t**-0.5, t * w**-1.5)
        ),
        "the factor d_model^(−1/2) is missing.": lambda t, d, w: min(t**-0.5, t * w**-1.5),
        "you multiply by √d_model; wider models get a smaller rate.": (
            lambda t, d, w: d**0.5 * min(t**-0.5, t * w**-1.5)
        ),
        "the warm-up is missing: this only decays.": lambda t, d, w: d**-0.5 * t**-0.5,
        "it never decays: after the warm-up the rate falls like step^(−1/2).": (
            lambda t, d, w: d**-0.5 * t * w**-1.5
        ),
        "the two pieces do not meet at the end of the warm-up: the exponent is −3/2, not −1/2.": (
            lambda t, d, w: d**-0.5 * min(t**-0.5, t * w**-0.5)
        ),
        "after the warm-up this stays constant; there is a decay too.": (
            lambda t, d, w: d**-0.5 * min(w**-0.5, t * w**-1.5)
        ),
        "steps are counted from 1 here: you compute the rate of the step after this one.": (
            lambda t, d, w: d**-0.5 * min((t + 1) ** -0.5, (t + 1) * w**-1.5)
        ),
        "the decay is 1/step; the paper's is 1/√step.": (
            lambda t, d, w: d**-0.5 * min(t**-1.0, t * w**-1.5)
        ),
    },
    cases=[(1, 512, 4000), (4000, 256, 400), (30, 64, 100), (7, 16, 5), (100, 32, 100)],
)
