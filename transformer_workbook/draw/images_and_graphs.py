"""The figures of the chapter on images and graphs."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from transformer_workbook.notebook import COLOURS


def cut(patches: Float[Tensor, "patches pixels"]) -> None:
    """Draw a picture of 4 by 4 patches, and below it the same patches as a sequence."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7.2, 2.9))
    for number, patch in enumerate(patches):
        row, column = divmod(number, 4)
        x, y, white = (
            15 + 4 * column,
            4 * row,
            {"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
        _patch(ax, x, y, 4, patch, framed=True)
        ax.text(x + 0.4, y + 0.4, number, size=8, va="top", bbox=white)
        _patch(ax, 3 * number, 18, 2.4, patch, framed=True)
        ax.text(3 * number + 1.2, 20.7, number, size=8, ha="center", va="top")
    _finish(ax)


def shuffled(pictures: Float[Tensor, "some patches pixels"], order: list[int]) -> None:
    """Draw pictures, and below them the same with their patches in another order."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(6.4, 2.7))
    for number, patches in enumerate(pictures):
        for line, shown in enumerate((patches, patches[order])):
            for place, patch in enumerate(shown):
                row, column = divmod(place, 4)
                _patch(ax, 9.5 * number + 2 * column, 9.5 * line + 2 * row, 2, patch)
    _finish(ax)


def _patch(ax: Any, x: float, y: float, size: float, patch: Any, framed: bool = False) -> None:
    from matplotlib.patches import Rectangle

    edges = [0, size / 2, size]
    corners = [x + edge for edge in edges], [y + edge for edge in edges]
    ax.pcolormesh(*corners, patch.view(2, 2).numpy(), cmap="Greys", vmin=-1, vmax=1)
    if framed:
        frame = Rectangle((x, y), size, size, fill=False, edgecolor=COLOURS[0], linewidth=1.2)
        ax.add_patch(frame)


def _finish(ax: Any) -> None:
    import matplotlib.pyplot as plt

    ax.set_aspect("equal")
    ax.invert_yaxis()
    ax.axis("off")
    plt.show()
