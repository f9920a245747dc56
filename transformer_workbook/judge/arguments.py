"""Arguments: what the arguments of a case, their axes and their sizes are called."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from torch import Tensor

from transformer_workbook.judge.comparing import is_number


def parameters(
    reference: Callable[..., Any], ask: Callable[..., Any] | None, case: Sequence[Any]
) -> dict[str, Any]:
    """The names of the arguments of a case, each with its annotation.

    They are those of the reference; where it takes others than the case has, those of ``ask``,
    whose first parameter is the answer.
    """
    found = list(signature(reference).parameters.values())
    if ask and len(found) != len(case):
        found = list(signature(ask).parameters.values())[1:]
    if any(p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for p in found):
        return {f"argument {i + 1}": None for i in range(len(case))}
    return {p.name: p.annotation for p in found} if len(found) == len(case) else {}


def axes(name: str, annotation: Any, tensor: Tensor) -> list[str]:
    """What the axes of a tensor are called: by its annotation, else by their numbers.

    >>> import torch
    >>> from jaxtyping import Float
    >>> axes("x", Float[Tensor, "batch d"], torch.ones(2, 3))
    ['batch', 'd']
    >>> axes("x", Tensor, torch.ones(2, 3))
    ['x.size(0)', 'x.size(1)']
    """
    names = getattr(annotation, "dim_str", "").replace("#", "").split()
    numbered = [f"{name}.size({i})" for i in range(tensor.dim())]
    if names and names[0].startswith("*"):
        more = tensor.dim() - len(names) + 1
        names[:1] = numbered[:more]
    return names if len(names) == tensor.dim() else numbered


def sizes(known: Mapping[str, Any], case: Sequence[Any]) -> dict[str, float]:
    """The sizes of all axes of a case by their names, and the numbers among its arguments."""
    found: dict[str, float] = {}
    for (name, annotation), argument in zip(known.items(), case, strict=False):
        if isinstance(argument, Tensor) and argument.dim():
            named = zip(axes(name, annotation, argument), argument.shape, strict=True)
            found |= {axis: float(size) for axis, size in named if not axis.isdigit()}
        elif is_number(argument):
            found[name] = float(argument)
        elif isinstance(argument, str | list | tuple | set | dict):
            found[f"len({name})"] = float(len(argument))
    return found


def named_shape(result: Any, known: Mapping[str, float]) -> str:
    """The axes of a tensor, called by what has their sizes; nothing where that is not clear.

    >>> import torch
    >>> named_shape(torch.ones(2, 3, 1), {"batch": 2.0, "d": 3.0})
    '(batch, d, 1)'
    """
    if not isinstance(result, Tensor):
        return ""
    named = [
        ["1"] if n == 1 else [name for name, size in known.items() if size == n]
        for n in result.shape
    ]
    if any(len(names) != 1 for names in named):
        return ""
    called = itertools.chain.from_iterable(named)
    return f"({', '.join(called)})"
