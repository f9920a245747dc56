"""Training: one gradient from many parts, and not too long a one."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.course.checking import Exercise
from annotated_transformer.course.exercises.cases import normal


def _clip_together(
    gradients: list[Float[Tensor, "..."]], limit: float
) -> list[Float[Tensor, "..."]]:
    norm = sum((gradient**2).sum() for gradient in gradients) ** 0.5
    return [gradient * min(1.0, float(limit / norm)) for gradient in gradients]


def _length(gs: list[Tensor]) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(torch.cat([g.flatten() for g in gs]))
    return length


clip_together = Exercise(
    reference=_clip_together,
    mistakes={
        "each tensor is clipped on its own: the direction changes. There is one norm, of all.": (
            lambda gs, c: [g * (c / g.norm()).clamp(max=1) for g in gs]
        ),
        "the single numbers are clipped; shorten the whole gradient by one factor.": (
            lambda gs, c: [g.clamp(-c, c) for g in gs]
        ),
        "a short gradient is made longer; it must stay as it is.": (
            lambda gs, c: [g * c / _length(gs) for g in gs]
        ),
        "the root is missing: the norm is the root of the sum of the squares.": (
            lambda gs, c: [g * (c / _length(gs) ** 2).clamp(max=1) for g in gs]
        ),
        "the norms are added; add their squares, then take the root.": (
            lambda gs, c: [g * (c / sum(h.norm() for h in gs)).clamp(max=1) for g in gs]
        ),
        "this is the length 1 whatever the limit: multiply by the limit.": (
            lambda gs, c: [g * (1 / _length(gs) if _length(gs) > c else 1) for g in gs]
        ),
        "a long gradient becomes 0; it should keep its direction.": (
            lambda gs, c: [g * (_length(gs) <= c) for g in gs]
        ),
        "this is the largest norm of a tensor; take the norm of all numbers together.": (
            lambda gs, c: [g * (c / max(h.norm() for h in gs)).clamp(max=1) for g in gs]
        ),
        "nothing is clipped.": lambda gs, c: gs,
    },
    cases=[
        ([normal(2, 3, seed=0), normal(4, seed=1)], 1.0),
        ([normal(3, seed=2, dtype=torch.float32), normal(2, 2, seed=3).float()], 1.5),
        ([normal(2, seed=4) / 10, normal(3, 2, seed=5) / 10], 1.2),
        ([normal(2, seed=6), normal(3, seed=7), normal(2, 2, seed=8)], 0.5),
    ],
)


def _accumulate(
    sums: Float[Tensor, "parts weights"], tokens: Int[Tensor, " parts"], every: int
) -> list[Float[Tensor, " weights"]]:
    return [
        sums[i : i + every].sum(dim=0) / tokens[i : i + every].sum()
        for i in range(0, len(sums), every)
    ]


def _steps(sums: Tensor, tokens: Tensor, ends: list[int]) -> list[Tensor]:
    """The right gradients of the groups that end there."""
    starts = [0, *ends]
    return [sums[a:b].sum(0) / tokens[a:b].sum() for a, b in zip(starts, ends, strict=False)]


def _of_means(sums: Tensor, tokens: Tensor, every: int, ends: list[int]) -> list[Tensor]:
    """The same groups, but the means of their parts are added and divided by ``every``."""
    means = sums / tokens[:, None] / every
    return [means[a:b].sum(0) for a, b in zip([0, *ends], ends, strict=False)]


def _ends(sums: Tensor, every: int) -> list[int]:
    return [*range(every, len(sums), every), len(sums)]


accumulate = Exercise(
    reference=_accumulate,
    mistakes={
        "the first step comes after one part: i % every == 0 is true at i = 0.": (
            lambda s, n, k: _steps(s, n, [i + 1 for i in range(0, len(s), k)])
        ),
        "the parts that are left over at the end never become a step.": (
            lambda s, n, k: _steps(s, n, list(range(k, len(s) + 1, k)))
        ),
        "the parts that are left over make a step, but the first step still has one part only.": (
            lambda s, n, k: _steps(s, n, sorted({*range(1, len(s) + 1, k), len(s)}))
        ),
        "it steps at i = 0, and it averages the means of the parts: tokens do not count alike.": (
            lambda s, n, k: _of_means(s, n, k, list(range(1, len(s) + 1, k)))
        ),
        "the tail is a step now; but it still steps at i = 0, and it averages the parts' means.": (
            lambda s, n, k: _of_means(s, n, k, sorted({*range(1, len(s) + 1, k), len(s)}))
        ),
        "the parts left over are lost, and you average the means of the parts: divide sums.": (
            lambda s, n, k: _of_means(s, n, k, list(range(k, len(s) + 1, k)))
        ),
        "a mean of means: a token of a short part counts more; divide once, by all tokens.": (
            lambda s, n, k: [x.mean(0) for x in (s / n[:, None]).split(k)]
        ),
        "you add up means: the step is about `every` times too long.": (
            lambda s, n, k: [x.sum(0) for x in (s / n[:, None]).split(k)]
        ),
        "you add up means and divide by `every`, though the last group is smaller.": (
            lambda s, n, k: [x.sum(0) / k for x in (s / n[:, None]).split(k)]
        ),
        "the sums are never divided by the number of tokens.": (
            lambda s, n, k: [x.sum(0) for x in s.split(k)]
        ),
        "you divide by the number of parts; divide by the number of tokens.": (
            lambda s, n, k: [x.mean(0) for x in s.split(k)]
        ),
        "you divide the sums by `every`, a number of parts; divide by the tokens of the group.": (
            lambda s, n, k: [x.sum(0) / k for x in s.split(k)]
        ),
        "the tokens are still counted from the groups before; begin at 0 after every step.": (
            lambda s, n, k: [
                s[max(0, e - 1) // k * k : e].sum(0) / n[:e].sum() for e in _ends(s, k)
            ]
        ),
        "you divide by the tokens of all groups; a step needs those of its own group.": (
            lambda s, n, k: [x.sum(0) / n.sum() for x in s.split(k)]
        ),
        "the gradient is never set back to zero: every group still holds those before it.": (
            lambda s, n, k: [
                s[:e].sum(0) / n[max(0, e - 1) // k * k : e].sum() for e in _ends(s, k)
            ]
        ),
        "every part makes a step of its own; collect `every` of them first.": (
            lambda s, n, k: list(s / n[:, None])
        ),
        "this is one step for everything; take one after every group.": (
            lambda s, n, k: [s.sum(0) / n.sum()]
        ),
    },
    cases=[
        (normal(5, 3, seed=0), torch.tensor([2, 5, 9, 1, 4]), 2),
        (normal(7, 2, seed=1, dtype=torch.float32), torch.tensor([3, 3, 8, 1, 6, 2, 5]), 3),
        (normal(4, 6, seed=2), torch.tensor([7, 2, 2, 5]), 2),
    ],
)
