from collections.abc import Sequence


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
