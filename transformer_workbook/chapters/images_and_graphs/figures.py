from jaxtyping import Float
from torch import Tensor


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
