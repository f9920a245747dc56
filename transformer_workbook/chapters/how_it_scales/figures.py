from collections.abc import Callable, Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor

from transformer_workbook.notebook import COLOURS
from transformer_workbook.places import course_file


def runs(law: Callable[..., Any], interval: tuple[float, float]) -> None:
    """Draw the losses of the runs, what a law says of them, and the run that was kept aside."""
    import matplotlib.pyplot as plt
    import numpy as np
    import pandas as pd

    seen, aside = (
        pd.read_csv(course_file(f"records/{name}.csv")).query("seed > 0")
        for name in ("sizes", "sizes_large")
    )
    _, ax = plt.subplots(figsize=(5.6, 4))
    styles = zip(seen.groupby("parameters"), COLOURS, "osDv^P", strict=True)
    for (size, rows), colour, mark in styles:
        mean = rows.groupby("tokens").val_loss.mean()
        tokens = np.geomspace(mean.index[0], mean.index[-1], 50)
        ax.plot(tokens, law(size, tokens), color=colour, lw=1)
        ax.plot(mean.index, mean, mark, color=colour, label=f"{size:,}")
    (tokens,) = aside.tokens.unique()
    ax.vlines(tokens, *interval, color="grey", lw=5, alpha=0.5, label="predicted")
    large = aside[aside.parameters == aside.parameters.max()]
    label = f"{large.parameters.iloc[0]:,}, aside"
    ax.plot(tokens, large.val_loss.mean(), "*", color="black", ms=10, label=label)
    ax.set_xscale("log")
    ticks = [*seen.tokens.unique(), tokens]
    ax.set_xticks(ticks, [f"{tick / 1e6:.1f}" for tick in ticks])
    ax.minorticks_off()
    ax.set(xlabel="tokens, millions", ylabel="loss, nats a letter")
    ax.legend(title="parameters", frameon=False, fontsize=9, bbox_to_anchor=(1, 1))
    plt.show()


def valleys(
    sizes: Sequence[int],
    losses: Float[Tensor, "budget size"],
    budgets: Float[Tensor, " budget"],
    vertices: tuple[Sequence[float], Sequence[float]],
    predicted: tuple[float, float],
    measured: tuple[float, float],
) -> None:
    """Draw the losses against the size, a curve for each budget, and the run that was predicted."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(5.6, 4))
    for C, row, colour, mark in zip(
        budgets.tolist(), losses.tolist(), COLOURS, "osD", strict=False
    ):
        ax.plot(sizes, row, f"{mark}-", color=colour, lw=1, label=f"{C:.0e} FLOPs")
    ax.plot(*vertices, "o", color="black", ms=12, mfc="none", label="vertices")
    ax.plot(*predicted, "x", color="black", ms=11, mew=2, label="predicted")
    ax.plot(*measured, "*", color=COLOURS[3], ms=11, label="measured")
    ax.set_xscale("log")
    ax.set(xlabel="parameters", ylabel="loss, nats a character")
    ax.legend(frameon=False, fontsize=9, bbox_to_anchor=(1, 1))
    plt.show()
