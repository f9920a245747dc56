from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np
import torch

from transformer_workbook.notebook.proofs import agree, proof


@proof
def unknown_words(unknown: Callable[[Any, int], Any]) -> None:
    """The expected share of words that a text has not shown, by going through all texts."""
    p = torch.tensor([0.5, 0.3, 0.2])
    texts = product(range(3), repeat=4)
    found = sum(prod(p[[*text]].tolist()) * (1 - p[[*set(text)]].sum()) for text in texts)
    agree(
        1e-12, {"the mean over all texts": torch.as_tensor(found), "your sum": unknown(p, 4).cpu()}
    )


@proof
def law_is_found(law: Callable[..., Any], fit: Callable[..., Any]) -> None:
    """A fit finds the law again from which losses were computed."""
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e3, 1e5, 5), np.geomspace(1e5, 1e7, 5)))
    laws = [1.0, 0.5, 0.4, 0.3, 0.6], [0.4, 1.2, 0.7, 0.8, 0.25]
    losses = [E + A / (N / 1e4) ** a + B / (D / 1e6) ** b for E, A, a, B, b in laws]
    found = [fit((N, D), loss) for loss in losses]
    again = [law((N, D), *five) for five in found]
    agree(
        1e-4,
        {
            "two laws and their losses": torch.from_numpy(np.hstack([*laws, *losses])),
            "your fit": torch.from_numpy(np.hstack([*found, *again])),
        },
    )


@proof
def best_size(law: Callable[..., Any], best: Callable[..., Any], *five: float) -> None:
    """A model's size for a budget is the one that a search by SciPy finds."""
    from scipy.optimize import minimize_scalar

    budgets = (1e11, 1e12, 1e13)
    found = [
        minimize_scalar(
            lambda log, C=C: law((np.exp(log), C / 6 / np.exp(log)), *five),
            bounds=(0, 25), method="bounded", options={"xatol": 1e-10},
        ).x
        for C in budgets
    ]  # fmt: skip
    agree(
        0.02,
        {
            "SciPy's search": torch.tensor(found),
            "your grid, in logarithms": torch.tensor([best(C, *five)[0] for C in budgets]).log(),
        },
    )
