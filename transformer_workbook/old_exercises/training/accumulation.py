"""Training: one gradient from many parts."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_workbook.exercises.cases import normal
from transformer_workbook.judge.exercises import Exercise


def _accumulate(
    sums: Float[Tensor, "parts weights"], tokens: Int[Tensor, " parts"], every: int
) -> list[Float[Tensor, " weights"]]:
    """The gradient of each step, per token; what is left over makes a step, too."""
    return [
        sums[i : i + every].sum(dim=0) / tokens[i : i + every].sum()
        for i in range(0, len(sums), every)
    ]


Wrong = Callable[[Tensor, Tensor, int], list[Tensor]]

# Where the friend's groups end, and what is wrong with it.
ENDS: dict[str, Callable[[int, int], list[int]]] = {
    "": lambda parts, every: [*range(every, parts, every), parts],
    "the first step has one part only": (
        lambda parts, every: sorted({*range(1, parts + 1, every), parts})
    ),
    "the parts left over make no step": lambda parts, every: [*range(every, parts + 1, every)],
    "the first step has one part only, and the parts left over may make none": (
        lambda parts, every: [*range(1, parts + 1, every)]
    ),
    "the parts left over are added to the last step": (
        lambda parts, every: [*range(every, parts - parts % every, every), parts]
    ),
    "the first step has one part too many": (
        lambda parts, every: [*range(every + 1, parts, every), parts]
    ),
}


Gradient = Callable[[Tensor, Tensor, int], Tensor]

# What the friend makes of the parts of a group, and what is wrong with it.
KINDS: dict[str, Gradient] = {
    "": lambda s, n, every: s.sum(0) / n.sum(),
    "means of parts are averaged over `every`: divide sums, once, by the group's tokens": (
        lambda s, n, every: (s / n[:, None]).sum(0) / every
    ),
    "means of parts are added up: divide sums, once, by the group's tokens": (
        lambda s, n, every: (s / n[:, None]).sum(0)
    ),
    "these are sums; divide them by the group's tokens": lambda s, n, every: s.sum(0),
    "sums are divided by `every`; divide them by the group's tokens": (
        lambda s, n, every: s.sum(0) / every
    ),
    "after the tokens this is divided by `every`, too": (
        lambda s, n, every: s.sum(0) / n.sum() / every
    ),
    "sums are divided by the tokens of the last part; take those of the group": (
        lambda s, n, every: s.sum(0) / n[-1]
    ),
    "sums are divided by the tokens of the first part; take those of the group": (
        lambda s, n, every: s.sum(0) / n[0]
    ),
    "means of parts are divided by the group's tokens once more": (
        lambda s, n, every: (s / n[:, None]).sum(0) / n.sum()
    ),
    "sums are multiplied by the tokens; divide by those of the group": (
        lambda s, n, every: (s * n[:, None]).sum(0) / n.sum()
    ),
    "only the last part of the group counts": lambda s, n, every: s[-1] / n[-1],
    "only the last part's gradient is divided, by the group's tokens": (
        lambda s, n, every: s[-1] / n.sum()
    ),
}


def _groups(ends: str, kind: str) -> Wrong:
    """Steps that end there, and this gradient for each."""

    def steps(sums: Tensor, tokens: Tensor, every: int) -> list[Tensor]:
        stops = ENDS[ends](len(sums), every)
        groups = [slice(*pair) for pair in zip([0, *stops], stops, strict=False)]
        return [KINDS[kind](sums[group], tokens[group], every) for group in groups]

    return steps


FRIENDLY = {
    "; ".join(filter(None, [ends, kind])) + ".": _groups(ends, kind)
    for ends in ENDS
    for kind in KINDS
    if ends or kind
}


def _running(reset_tokens: bool) -> Wrong:
    """The tokens, or the gradients, of the groups before are still there."""

    def steps(sums: Tensor, tokens: Tensor, every: int) -> list[Tensor]:
        groups = [slice(i, i + every) for i in range(0, len(sums), every)]
        gradients = torch.stack([sums[group].sum(0) for group in groups])
        counts = torch.stack([tokens[group].sum() for group in groups])[:, None]
        if reset_tokens:
            return list(gradients.cumsum(0) / counts)
        return list(gradients / counts.cumsum(0))

    return steps


accumulate = Exercise(
    reference=_accumulate,
    given=FRIENDLY
    | {
        "this is a mean of means: a token of a short part counts more; divide once, by all.": (
            lambda s, n, k: [x.mean(0) for x in (s / n[:, None]).split(k)]
        ),
        "these are divided by the number of parts; divide by the number of tokens.": (
            lambda s, n, k: [x.mean(0) for x in s.split(k)]
        ),
        "the tokens of the groups before still count; set them to 0 after every step.": (
            _running(reset_tokens=False)
        ),
        "the gradients of the groups before are still there; set them to 0 after every step.": (
            _running(reset_tokens=True)
        ),
        "these are divided by the tokens of all groups; take those of the step's own group.": (
            lambda s, n, k: [x.sum(0) / n.sum() for x in s.split(k)]
        ),
        "where nothing is left over there is one step more, of zeros.": (
            lambda s, n, k: _accumulate(s, n, k) + [torch.zeros_like(s[0])] * (len(s) % k == 0)
        ),
        "every step is 0; if all are one tensor that is set to 0, keep a copy of each.": (
            lambda s, n, k: [torch.zeros_like(s[0])] * len(_accumulate(s, n, k))
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
