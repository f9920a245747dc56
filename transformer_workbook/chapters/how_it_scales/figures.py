from collections.abc import Callable
from typing import Any

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
