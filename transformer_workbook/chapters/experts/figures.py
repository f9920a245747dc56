from torch import Tensor


def loads(writer: Tensor, ways: dict[str, Tensor]) -> None:
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
