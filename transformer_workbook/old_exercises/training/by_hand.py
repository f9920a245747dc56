"""Training: the whole loop by hand, from the logits to the step of Adam."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.tokens import PAD
from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.old_exercises.training.loops import (
    BETAS,
    Gradients,
    faulty,
    means,
    shortened,
)


def _train_by_hand(
    W: Float[Tensor, "d vocab"],
    b: Float[Tensor, " vocab"],
    x: Float[Tensor, "steps parts tokens d"],
    y: Int[Tensor, "steps parts tokens"],
    rate: float,
    clip: float,
    smoothing: float,
) -> tuple[Float[Tensor, "d vocab"], Float[Tensor, " vocab"]]:
    """The parameters of a linear model after some steps of training."""
    weights = W.clone().requires_grad_(), b.clone().requires_grad_()
    adam = torch.optim.Adam(weights, lr=rate, betas=BETAS, eps=1e-9)
    for inputs, targets in zip(x, y, strict=True):
        adam.zero_grad()
        total = F.cross_entropy(
            (inputs @ weights[0] + weights[1]).flatten(0, 1),
            targets.flatten(),
            ignore_index=PAD,
            label_smoothing=smoothing,
        )
        total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(weights, clip)
        adam.step()
    return weights[0].detach(), weights[1].detach()


def _a_step_for_every_part(
    W: Tensor, b: Tensor, x: Tensor, y: Tensor, *settings: float
) -> tuple[Tensor, Tensor]:
    return _train_by_hand(W, b, x.flatten(0, 1)[:, None], y.flatten(0, 1)[:, None], *settings)


def _by_norm(norm: Callable[[Tensor], float]) -> Callable[[Gradients, float], Gradients]:
    """Shorten by another norm, made of the norms of the two gradients."""

    def clip(gradients: Gradients, limit: float) -> Gradients:
        size = norm(torch.stack([g.norm() for g in gradients]))
        return [g * min(1.0, limit / size) for g in gradients]

    return clip


def _case(
    *sizes: int, seed: int, rate: float, clip: float, smoothing: float = 0.1
) -> tuple[Tensor | float, ...]:
    """A model and batches with padding at the end of every part."""
    d, vocab, steps, parts, tokens = sizes
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(1, vocab, (steps, parts, tokens), generator=generator)
    length = torch.randint(1, tokens + 1, (steps, parts, 1), generator=generator)
    y = y.masked_fill(torch.arange(tokens) >= length, PAD)
    W, b, x = (
        normal(*shape, seed=seed + i)
        for i, shape in enumerate([(d, vocab), (vocab,), (steps, parts, tokens, d)])
    )
    return W, b, x, y, rate, clip, smoothing


train_by_hand = Exercise(
    reference=_train_by_hand,
    given={
        "the loss counts padding.": faulty(lambda losses, real: losses.sum(1) / real.sum()),
        "the loss counts padding, and is divided by padded positions, too.": faulty(
            lambda losses, real: losses.sum(1) / real.numel()
        ),
        "the loss is divided by padded positions, too; divide by the real tokens.": faulty(
            lambda losses, real: (losses * real).sum(1) / real.numel()
        ),
        "the gradient is that of a sum; divide by the real tokens of all parts.": faulty(
            lambda losses, real: (losses * real).sum(1)
        ),
        "the means of the parts are averaged; sum all parts, and divide once.": faulty(
            lambda losses, real: means(losses, real) / len(real)
        ),
        "the means of the parts are added; sum all parts, and divide once.": faulty(means),
        "the losses are not smoothed.": faulty(smooth=0.0),
        "every part makes a step of its own; sum the parts first.": _a_step_for_every_part,
        "nothing is clipped.": faulty(clip=lambda gradient, limit: gradient),
        "the gradient is clipped after every part; clip once, when all are added.": faulty(
            clips_inside=True
        ),
        "the gradients of W and b are clipped apart; there is one norm, of both.": faulty(
            clip=lambda gradient, limit: [shortened([g], limit)[0] for g in gradient]
        ),
        "the single numbers are clipped; shorten the whole gradient by one factor.": faulty(
            clip=lambda gradient, limit: [g.clamp(-limit, limit) for g in gradient]
        ),
        "a short gradient is made longer; up to the limit it stays as it is.": faulty(
            clip=lambda gradient, limit: shortened([1e9 * g for g in gradient], limit)
        ),
        "the gradients of the steps before are still there; begin every step at 0.": faulty(
            piles_up=True
        ),
        "m and v begin at 0 and are too small at first: divide by 1 − βᵗ.": faulty(
            corrected=(False, False)
        ),
        "v begins at 0, too: divide it by 1 − β₂ᵗ.": faulty(corrected=(True, False)),
        "m begins at 0, too: divide it by 1 − β₁ᵗ.": faulty(corrected=(False, True)),
        "m and v begin anew at every step; they run through the whole training.": faulty(
            forgets=True
        ),
        "m and v begin anew at every step, while 1 − βᵗ goes on.": faulty(forgets=True, ages=True),
        "the summed gradient is clipped, and divided by the tokens after it; divide first.": (
            faulty(lambda losses, real: (losses * real).sum(1), divided=True)
        ),
        "β₁ and β₂ are swapped.": faulty(betas=BETAS[::-1]),
        "β₂ is 0.999, as in PyTorch; here it is 0.98.": faulty(betas=(0.9, 0.999)),
        "this is plain gradient descent; the step is that of Adam.": faulty(plain=True),
        "the loss rises: a step goes against the gradient.": faulty(moves=(1, 1)),
        "b stays as it was; it is a parameter, too.": faulty(moves=(-1, 0)),
        "W stays as it was; it is a parameter, too.": faulty(moves=(0, -1)),
        "this is nan: 1 − βᵗ is 0 for t = 0, or v, which collects squares, is below 0.": faulty(
            late=-1
        ),
        "the steps are counted from 2 in 1 − βᵗ; count them from 1.": faulty(late=1),
        "the step is divided by v; divide by its root.": faulty(root=lambda v: v),
        "v collects the sizes of the gradients; it collects their squares.": faulty(
            squared=torch.abs
        ),
        "the norms of W's and b's gradients are added; the squares are added, then the root.": (
            faulty(clip=_by_norm(lambda norms: float(norms.sum())))
        ),
        "the larger of the two norms is clipped; there is one norm, of both.": (
            faulty(clip=_by_norm(lambda norms: float(norms.max())))
        ),
        "the gradient is divided by its squared norm; take the root.": (
            faulty(clip=_by_norm(lambda norms: float((norms**2).sum())))
        ),
        "only W's gradient is clipped; the norm is that of both, and b's is shortened, too.": (
            faulty(clip=lambda g, limit: [shortened(g[:1], limit)[0], g[1]])
        ),
        "this is one step; take one for each row of x.": (
            lambda W, b, x, y, *rest: _train_by_hand(W, b, x[:1], y[:1], *rest)
        ),
        "nothing was trained.": lambda W, b, *rest: (W, b),
    },
    cases=[
        _case(2, 3, 4, 5, 6, seed=0, rate=0.1, clip=0.4),
        _case(4, 6, 3, 2, 5, seed=10, rate=0.02, clip=6.0, smoothing=0.3),
        _case(3, 5, 6, 4, 2, seed=20, rate=0.3, clip=0.7),
    ],
)
