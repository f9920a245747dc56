"""Training: what smoothed targets ask of the logits."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Derivation
from transformer_workbook.old_exercises.training.smoothing import two_shares


def _smoothed_gradient(
    logits: Float[Tensor, " vocab"], right: int, smoothing: float
) -> tuple[Tensor, Tensor, Tensor, float]:
    """The gradient of the smoothed loss with respect to the logits, in four steps."""
    vocab, p = len(logits), logits.softmax(dim=-1)
    of_right = p - F.one_hot(torch.tensor(right), vocab)
    of_everyone = p - 1 / vocab
    of_loss = (1 - smoothing) * of_right + smoothing * of_everyone
    gap = math.log((1 - smoothing + smoothing / vocab) / (smoothing / vocab))
    return of_right, of_everyone, of_loss, gap


Steps = tuple[Tensor, Tensor, Tensor, float]


def _wrong(
    everyone: Callable[[Tensor], Tensor] = lambda p: p - 1 / len(p),
    mix: Callable[[Tensor, Tensor, float], Tensor] = lambda a, b, s: (1 - s) * a + s * b,
    first: float = 1.0,
) -> Callable[[Tensor, int, float], Steps]:
    """The gradients with another step; what comes after it follows from it."""

    def steps(logits: Tensor, right: int, smoothing: float) -> Steps:
        p = logits.softmax(dim=-1)
        of_right = p - first * F.one_hot(torch.tensor(right), len(p))
        of_everyone = everyone(p)
        gap = _smoothed_gradient(logits, right, smoothing)[3]
        return of_right, of_everyone, mix(of_right, of_everyone, smoothing), gap

    return steps


def _first(of: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, int, float], Steps]:
    """Another step 1, of the logits and the one-hot target."""
    return lambda z, y, s: (
        of(z, F.one_hot(torch.tensor(y), len(z))),
        *_smoothed_gradient(z, y, s)[1:],
    )


def _wrong_second(of: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, int, float], Steps]:
    """Another step 2, of p and the one-hot target."""

    def steps(z: Tensor, y: int, s: float) -> Steps:
        first, _, third, gap = _smoothed_gradient(z, y, s)
        return first, of(z.softmax(-1), F.one_hot(torch.tensor(y), len(z))), third, gap

    return steps


def _present(gap: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, int, float], Steps]:
    """The right gradients, and a gap of the logits as they are."""

    def steps(z: Tensor, y: int, s: float) -> Steps:
        others = torch.cat([z[:y], z[y + 1 :]])
        return *_smoothed_gradient(z, y, s)[:3], float(gap(z[y], others))

    return steps


def _gap(of: Callable[[float, int], float]) -> Callable[[Tensor, int, float], Steps]:
    """The right gradients, and another gap, of ε and V."""
    return lambda z, y, s: (*_smoothed_gradient(z, y, s)[:3], of(s, len(z)))


def _given(shares: Callable[[float, int], tuple[float, float]]) -> Callable[..., Steps]:
    """Another q, with these shares for the right token and for every other."""

    def steps(logits: Tensor, right: int, smoothing: float) -> Steps:
        of_right, of_everyone, *_ = _smoothed_gradient(logits, right, smoothing)
        y, other = shares(smoothing, len(logits))
        q = two_shares(torch.tensor(right), len(logits), y, other)
        return of_right, of_everyone, logits.softmax(-1) - q, math.log(y / other)

    return steps


smoothed_gradient = Derivation(
    reference=_smoothed_gradient,
    given={
        "the right token has 1 − ε + ε/V in q, its own part of ε included.": _gap(
            lambda s, V: math.log((1 - s) * V / s)
        ),
        "step 1 is p alone; the right token has p − 1.": _wrong(first=0.0),
        "step 2 is p alone; each token has −1/V besides.": _wrong(everyone=lambda p: p),
        "step 2 is that of the sum; it is the mean over the V tokens.": _wrong(
            everyone=lambda p: len(p) * p - 1
        ),
        "step 2 has p/V; the shares of the mean sum to 1, so it is p − 1/V.": _wrong(
            everyone=lambda p: (p - 1) / len(p)
        ),
        "step 2 takes 1 from every token; the mean takes 1/V.": _wrong(everyone=lambda p: p - 1),
        "step 3 is the sum of 1 and 2; their shares are 1 − ε and ε.": _wrong(
            mix=lambda a, b, s: a + b
        ),
        "step 3 has 1 whole and a share ε of 2; the share of 1 is 1 − ε.": _wrong(
            mix=lambda a, b, s: a + s * b
        ),
        "step 3 has the shares swapped: 1 − ε belongs to step 1, ε to step 2.": _wrong(
            mix=lambda a, b, s: s * a + (1 - s) * b
        ),
        "step 3 lacks the share ε of step 2.": _wrong(mix=lambda a, b, s: (1 - s) * a),
        "step 3 has ε/V for ε: step 2 is divided by V already.": _wrong(
            mix=lambda a, b, s: (1 - s) * a + s / len(a) * b
        ),
        "step 3 subtracts the share of step 2; both are added.": _wrong(
            mix=lambda a, b, s: (1 - s) * a - s * b
        ),
        "step 3 has ε/(V − 1) for the others and 1 − ε for y; all V share ε.": _given(
            lambda s, V: (1 - s, s / (V - 1))
        ),
        "step 3 has 1 − ε for y; its own part ε/V belongs to it.": _given(
            lambda s, V: (1 - s, s / V)
        ),
        "step 3 has 1 + ε/V for y; it keeps 1 − ε, and gets ε/V.": _given(
            lambda s, V: (1.0, s / V)
        ),
        "step 1 is the number at y; the gradient has one for every logit.": (
            lambda z, y, s: (z.softmax(-1)[y] - 1, *_smoothed_gradient(z, y, s)[1:])
        ),
        "step 4 is how much more probable y is; the logits differ by the logarithm of a ratio.": (
            _gap(lambda s, V: 1 - s)
        ),
        "step 4 has ε/(V − 1) for the others; each has ε/V, and y has its own part, too.": (
            _gap(lambda s, V: math.log((1 - s) * (V - 1) / s))
        ),
        "step 4 is the logarithm of what y has; divide by what another has.": (
            _gap(lambda s, V: math.log(1 - s + s / V))
        ),
        "step 4 has the whole ε for another token; it has ε/V.": (
            _gap(lambda s, V: math.log((1 - s) / s))
        ),
        "step 4 compares y with the whole ε; another token has ε/V.": (
            _gap(lambda s, V: math.log((1 - s + s / V) / s))
        ),
        "step 4 is infinite only without smoothing.": _gap(lambda s, V: math.inf),
        "step 4 is not 0: y has more of q than the others.": _gap(lambda s, V: 0.0),
        "step 1 has log p; the gradient has p itself.": _first(
            lambda z, one: z.log_softmax(-1) - one
        ),
        "step 1 has the logits themselves; the gradient has p.": _first(lambda z, one: z - one),
        "step 1 is the derivative by p_y; the one by the logits is asked for.": _first(
            lambda z, one: -one / z.softmax(-1)
        ),
        "step 1 has p − 1 at every token; the others have p.": _first(
            lambda z, one: z.softmax(-1) - 1
        ),
        "step 2 is less step 1's one-hot target, too: p itself was changed.": _wrong_second(
            lambda p, one: p - one - 1 / len(p)
        ),
        "step 2 is that of step 1; its targets are 1/V each.": _wrong_second(
            lambda p, one: p - one
        ),
        "step 3 is q; the gradient is p − q.": (
            lambda z, y, s: (
                *_smoothed_gradient(z, y, s)[:2],
                two_shares(torch.tensor(y), len(z), 1 - s + s / len(z), s / len(z)),
                _smoothed_gradient(z, y, s)[3],
            )
        ),
        "step 4 is the present gap of z_y to the mean of the others; q decides it.": (
            _present(lambda y, others: y - others.mean())
        ),
        "step 4 is the present gap of z_y to the highest other; q decides it.": (
            _present(lambda y, others: y - others.max())
        ),
        "step 4 is the ratio of the shares; the logits differ by its logarithm.": (
            _gap(lambda s, V: (1 - s + s / V) / (s / V))
        ),
        "step 4 has 1 for y's share; it is 1 − ε + ε/V.": _gap(lambda s, V: math.log(V / s)),
    },
    cases=[
        (normal(3, seed=0), 1, 0.1),
        (normal(5, seed=1, dtype=torch.float32), 4, 0.3),
        (normal(4, seed=2), 0, 0.2),
    ],
)
