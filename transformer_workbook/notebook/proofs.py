"""How a proof is run, and says what it has shown."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec

import torch
from jaxtyping import Shaped
from torch import Tensor

from transformer_workbook.notebook.experiments import drawn_in_float64

P = ParamSpec("P")


class ProofError(AssertionError):
    """What was to be proved is not true."""


def proof(function: Callable[P, None]) -> Callable[P, None]:
    """Run a proof in float64, with random numbers of its own: the lesson's go on as without it."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with torch.random.fork_rng(devices=[]), drawn_in_float64():
            torch.manual_seed(0)
            function(*args, **kwargs)

    return run


def agree(tolerance: float, results: Mapping[str, Shaped[Tensor, "..."]]) -> None:
    """Show that tensors of one shape are the same, number by number, to a tolerance.

    Raises:
        ProofError: if one has another shape than the first, or differs from it by more.
    """
    (first, expected), *others = results.items()
    for name, result in others:
        if result.shape != expected.shape:
            raise ProofError(
                f"{name} has the shape {tuple(result.shape)}, {first} {tuple(expected.shape)}."
            )
        difference = (result - expected).abs().max()
        if not difference <= tolerance:  # nor may it be nan
            raise ProofError(
                f"{name} differs from {first} by {difference:.2g}, more than {tolerance:g}."
            )
    *before, last = results
    print(f"✓ {', '.join(before)} and {last} agree to {tolerance:g}")


def holds(claim: str, condition: bool | Shaped[Tensor, ""]) -> None:
    """Show that a claim is true.

    Raises:
        ProofError: if it is not.
    """
    if not condition:
        raise ProofError(f"this is not true: {claim}.")
    print(f"✓ {claim}")
