"""Cases: random arguments in which every axis has another size, so that a wrong axis shows."""

import torch
from torch import Tensor


def normal(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Normal numbers, always the same for a seed; PyTorch's own generator is left as it is.

    They have two decimals, to be read when they are shown.
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype).round(decimals=2)


def random_cases(*shapes: str) -> list[tuple[Tensor, ...]]:
    """Three cases: in each, one tensor of normal numbers for every shape.

    Axes of the same name have the same size, of different names different sizes. ``...`` stands
    for no axis in the first case, one in the second and two in the third. Float64 and float32 take
    turns.

    >>> [tuple(query.shape) for query, key in random_cases("... query d", "... key d")]
    [(2, 3), (3, 4, 5), (4, 5, 6, 2)]
    """
    cases = []
    for number, more in enumerate(("", "batch", "extra batch")):
        axes = [shape.replace("...", more).split() for shape in shapes]
        names = list(dict.fromkeys(name for shape in axes for name in shape))
        size = {name: 2 + (number + i) % len(names) for i, name in enumerate(names)}
        dtype = torch.float32 if number == 1 else torch.float64
        cases.append(
            tuple(
                normal(*(size[name] for name in shape), seed=10 * number + i, dtype=dtype)
                for i, shape in enumerate(axes)
            )
        )
    return cases
