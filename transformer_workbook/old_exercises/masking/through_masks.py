"""Masking: the weights that a mask leaves, and their gradient."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from annotated_transformer.soft_lookup import masked_softmax
from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Derivation


def _through_the_mask(
    scores: Float[Tensor, " key"], mask: Bool[Tensor, " key"], values: Float[Tensor, " key"]
) -> tuple[Tensor, ...]:
    """What a mask does to the weights, and to the gradient of each score."""

    def masked(scores: Tensor) -> Tensor:
        return masked_softmax(scores[None], mask[None]).squeeze()

    def context(scores: Tensor) -> Tensor:
        return masked(scores) @ values

    weights, gradient = scores.softmax(0), torch.func.grad(context)(scores)
    return weights, (weights * mask).sum(), masked(scores), context(scores), gradient


def _by_formulas(
    first: Callable[[Tensor, Tensor], Tensor] = lambda e, mask: e.softmax(0),
    left: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda e, mask, w: (w * mask).sum(),
    masked: Callable[..., Tensor] = lambda e, mask, w, z: w * mask / z,
    output: Callable[..., Tensor] = lambda w, a, x: a @ x,
    by_score: Callable[..., Tensor] = lambda w, a, x, c: a * (x - c),
) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, ...]]:
    """The steps, each made of those before it, with another formula in one of them."""

    def steps(scores: Tensor, mask: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        w = first(scores, mask)
        z = left(scores, mask, w)
        a = masked(scores, mask, w, z)
        c = output(w, a, values)
        return w, z, a, c, by_score(w, a, values, c)

    return steps


def _visible_alone(scores: Tensor, mask: Tensor, values: Tensor) -> tuple[Tensor, ...]:
    weights, left, masked, output, gradient = _through_the_mask(scores, mask, values)
    return weights, left, masked[mask], output, gradient[mask]


through_the_mask = Derivation(
    reference=_through_the_mask,
    given={
        "step 1 has the mask already; it comes in with step 2.": (
            _by_formulas(lambda e, mask: masked_softmax(e[None], mask[None]).squeeze())
        ),
        "step 1 is e to the power of the scores; weights sum to 1.": (
            _by_formulas(lambda e, mask: e.exp())
        ),
        "step 2 is the sum of all weights, which is 1; add those that the mask leaves.": (
            _by_formulas(left=lambda e, mask, w: w.sum())
        ),
        "step 2 is the sum of the hidden weights; add those that the mask leaves.": (
            _by_formulas(left=lambda e, mask, w: (w * ~mask).sum())
        ),
        "step 2 is the number of keys that are left; add their weights.": (
            _by_formulas(left=lambda e, mask, w: mask.sum().to(w))
        ),
        "step 2 adds e to the power of the scores; add the weights of step 1.": (
            _by_formulas(
                left=lambda e, mask, w: (e.exp() * mask).sum(),
                masked=lambda e, mask, w, z: e.exp() * mask / z,
            )
        ),
        "step 2 adds the scores that the mask leaves; add their weights.": (
            _by_formulas(left=lambda e, mask, w: (e * mask).sum())
        ),
        "step 3 divides by the number of visible keys; divide by the sum of their weights.": (
            _by_formulas(masked=lambda e, mask, w, z: w * mask / mask.sum())
        ),
        "step 3 has no entry for a hidden key; it has one, which is 0.": _visible_alone,
        "step 3 does not sum to 1: divide what is left by step 2.": (
            _by_formulas(masked=lambda e, mask, w, z: w * mask)
        ),
        "step 3 leaves weight to hidden keys: all weights are divided by step 2.": (
            _by_formulas(masked=lambda e, mask, w, z: w / z)
        ),
        "step 3 multiplies by step 2; divide by it.": (
            _by_formulas(masked=lambda e, mask, w, z: w * mask * z)
        ),
        "step 3 gives the hidden scores the value 0, and e⁰ = 1; their weight must be 0.": (
            _by_formulas(masked=lambda e, mask, w, z: (e * mask).softmax(0))
        ),
        "step 3 is a second softmax, of weights; divide what is left by step 2.": (
            _by_formulas(masked=lambda e, mask, w, z: (w * mask).softmax(0))
        ),
        "step 4 takes the weights of step 1; those with the mask are in step 3.": (
            _by_formulas(output=lambda w, a, x: w @ x)
        ),
        "step 4 is not summed: the output is one number.": (
            _by_formulas(output=lambda w, a, x: a * x)
        ),
        "step 4 takes the mean over the keys; the weights sum to 1 already.": (
            _by_formulas(output=lambda w, a, x: (a * x).mean())
        ),
        "step 5 is divided by step 2 once more; that is in the weights of step 3.": (
            _by_formulas(by_score=lambda w, a, x, c: a * (x - c) / w[a > 0].sum())
        ),
        "step 5 moves hidden scores, too: begin with the masked weight, which is 0 there.": (
            _by_formulas(by_score=lambda w, a, x, c: w * (x - c))
        ),
        "step 5 lacks −c: a key that gains takes weight from all the others.": (
            _by_formulas(by_score=lambda w, a, x, c: a * x)
        ),
        "step 5 lacks the values: it is the change of a weight, not of the output.": (
            _by_formulas(by_score=lambda w, a, x, c: a * (1 - a))
        ),
        "step 5 has only what a key gains for itself; all others lose weight by it.": (
            _by_formulas(by_score=lambda w, a, x, c: a * (1 - a) * x)
        ),
        "step 5 takes c away whole; it is multiplied by the weight, too.": (
            _by_formulas(by_score=lambda w, a, x, c: a * x - c)
        ),
        "step 5 lacks the factor in front: the weight of the key.": (
            _by_formulas(by_score=lambda w, a, x, c: x - c)
        ),
        "step 5 has 1 − c in place of x − c.": (
            _by_formulas(by_score=lambda w, a, x, c: a * (1 - c))
        ),
        "step 5 adds c; a key that gains takes weight from the others.": (
            _by_formulas(by_score=lambda w, a, x, c: a * (x + c))
        ),
        "step 5 is by the weights: the values that the mask leaves; by the scores is asked for.": (
            _by_formulas(by_score=lambda w, a, x, c: x * (a > 0))
        ),
        "step 5 is the values: that is by the weights, and without the mask.": (
            _by_formulas(by_score=lambda w, a, x, c: x)
        ),
        "step 5 takes away the mean of all values; c is that of the visible, by weight.": (
            _by_formulas(by_score=lambda w, a, x, c: a * (x - x.mean()))
        ),
        "step 5 takes away the plain mean of the visible values; c is that by weight.": (
            _by_formulas(by_score=lambda w, a, x, c: a * (x - x[a > 0].mean()))
        ),
        "step 5 has the square of the weight in front; it stands there once.": (
            _by_formulas(by_score=lambda w, a, x, c: a * a * (x - c))
        ),
        "step 5 has 1 − the weight, too; the bracket holds it already.": (
            _by_formulas(by_score=lambda w, a, x, c: a * (1 - a) * (x - c))
        ),
        "step 5 is the masked weight alone.": _by_formulas(by_score=lambda w, a, x, c: a),
    },
    cases=[
        (normal(3, seed=0), torch.tensor([True, True, False]), normal(3, seed=1)),
        (
            normal(5, seed=2).float(),
            torch.tensor([True, False, True, True, False]),
            normal(5, seed=3).float(),
        ),
        (normal(4, seed=4), torch.tensor([False, True, True, True]), normal(4, seed=5)),
    ],
)
