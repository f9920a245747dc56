from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor


def misread(
    images: Sequence[Sequence[Sequence[float]]], said: Sequence[int], meant: Sequence[int]
) -> None:
    """Draw images, and above each what a model said and what was meant."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(6.6, 1.8), layout="constrained")
    axes = figure.subplots(1, len(images))
    for ax, image, answer, digit in zip(axes, images, said, meant, strict=True):
        ax.imshow(image, cmap="Greys", vmin=-1, vmax=1)
        ax.set(title=f"said {answer}, is {digit}", xticks=[], yticks=[])
    plt.show()


def pictures(patches: Float[Tensor, "pictures patches pixels"], gap: float = 0.0) -> None:
    """Draw pictures of 4 by 4 patches side by side, with gaps between their patches."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(6.6, 1.7))
    for number, picture in enumerate(patches):
        for place, patch in enumerate(picture):
            x = 11 * number + (2 + gap) * (place % 4)
            y = (2 + gap) * (place // 4)
            corners = [x, x + 1, x + 2], [y, y + 1, y + 2]
            pixels = patch.view(2, 2).numpy()
            ax.pcolormesh(*corners, pixels, cmap="Greys", vmin=-1.2, vmax=1)
    ax.set_aspect("equal")
    ax.invert_yaxis()
    ax.axis("off")
    plt.show()
