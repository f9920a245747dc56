from torch import Tensor

from transformer_workbook.notebook import COLOURS
from transformer_workbook.places import course_file

NAMES = {"no balance": "no balance", "frozen": "frozen", "8 experts": "loss", "bias": "bias"}


def loads() -> None:
    """Draw how the tokens are shared out to eight experts, the busiest first, from the record."""
    import matplotlib.pyplot as plt
    import pandas as pd

    rows = pd.read_csv(course_file("records/experts.csv")).query("seed > 0").groupby("model")
    _, axes = plt.subplots(1, 4, figsize=(7, 2.6), sharey=True)
    for ax, (model, title), colour in zip(axes, NAMES.items(), COLOURS, strict=False):
        group = rows.get_group(model)
        shares = [100 * group[f"load_{n}"].mean() for n in range(1, 9)]
        ax.bar(range(1, 9), shares, color=colour)
        ax.axhline(100 / 8, color="black", linestyle="--", linewidth=1)
        ax.set(title=title, xticks=(1, 4, 8), xlabel="expert")
    axes[0].set_ylabel("tokens, %")
    plt.show()


def who_goes_where(writer: Tensor, ways: dict[str, Tensor]) -> None:
    """Draw the share of each writer's lines that each of eight experts gets, for several models."""
    import matplotlib.pyplot as plt
    import torch

    _, axes = plt.subplots(1, len(ways), figsize=(6.4, 3.2), sharey=True)
    for ax, (title, chosen) in zip(axes, ways.items(), strict=True):
        lines = torch.zeros(8, 8)
        lines.index_put_((writer, chosen), torch.ones(len(writer)), accumulate=True)
        shares = lines / lines.sum(dim=1, keepdim=True)
        ax.imshow(shares.tolist(), vmin=0, vmax=1, cmap="Blues")
        ax.set(title=title, xticks=range(8), yticks=range(8), xlabel="expert")
    axes[0].set_ylabel("friend")
    plt.show()
