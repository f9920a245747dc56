"""Cases: random arguments in which every axis has another size, so that a wrong axis shows."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from transformer_workbook.judge.trials import Unfit


def normal(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Normal numbers, always the same for a seed; PyTorch's own generator is left as it is.

    They have two decimals, to be read when they are shown.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(shape, generator=generator, dtype=torch.float32)
    return drawn.to(dtype).round(decimals=2)


def random_cases(*shapes: str, least: int = 2) -> list[tuple[Tensor, ...]]:
    """Three cases: in each, one tensor of normal numbers for every shape.

    Axes of the same name have the same size, of different names different sizes, ``least`` or more.
    ``...`` stands for no axis in the first case, one in the second and two in the third. Float64
    and float32 take turns.

    >>> [tuple(query.shape) for query, key in random_cases("... query d", "... key d")]
    [(2, 3), (3, 4, 5), (4, 5, 6, 2)]
    """
    cases = []
    for number, more in enumerate(("", "batch", "extra batch")):
        axes = [shape.replace("...", more).split() for shape in shapes]
        names = list(dict.fromkeys(name for shape in axes for name in shape))
        size = {name: least + (number + i) % len(names) for i, name in enumerate(names)}
        dtype = torch.float32 if number == 1 else torch.float64
        cases.append(
            tuple(
                normal(*(size[name] for name in shape), seed=10 * number + i, dtype=dtype)
                for i, shape in enumerate(axes)
            )
        )
    return cases


def numbers_for(
    build: Callable[..., nn.Module], *sizes: Any, dtype: torch.dtype = torch.float64
) -> dict[str, Tensor]:
    """Numbers for all parameters of a model of these sizes, by their names."""
    with torch.device("meta"):  # its shapes alone are needed; no number of the reader's is drawn
        likes = enumerate(build(*sizes).named_parameters())
    return {name: normal(*like.shape, seed=i, dtype=dtype) for i, (name, like) in likes}


def loaded(layer: nn.Module, weights: Mapping[str, Tensor]) -> nn.Module | None:
    """A reader's layer with given weights; nothing while it has no parameters.

    What is one parameter under two names needs a weight under one of them only.

    Raises:
        Unfit: if its parameters have other names or shapes.
    """
    own = dict(layer.named_parameters(remove_duplicate=False))
    if not own:
        return None
    for name, weight in weights.items():
        wanted = f"the shape {tuple(weight.shape)} is asked for"
        if name not in own:
            raise Unfit(f"there is no parameter {name}, for which {wanted}; found {', '.join(own)}")
        if own[name].shape != weight.shape:
            raise Unfit(f"{name} has the shape {tuple(own[name].shape)}; {wanted}")
    given = {id(own[name]) for name in weights}
    if spare := [name for name, parameter in own.items() if id(parameter) not in given]:
        first = min(spare)
        without = "; say bias=False" * (first.removesuffix("bias") + "weight" in weights)
        raise Unfit(f"{first} is a parameter too many{without}")
    layer.to(next(iter(weights.values())).dtype).load_state_dict(dict(weights), strict=False)
    return layer


def put_to_work(layer: nn.Module, weights: Mapping[str, Tensor], *inputs: Any) -> Any:
    """Give a reader's layer these weights and call it; nothing while it has no parameters."""
    known = loaded(layer, weights)
    with torch.no_grad():
        return None if known is None else known(*inputs)
