"""Diagrams: boxes and arrows, for the pictures that show how parts are connected."""

from typing import Any


def box(ax: Any, x: float, y: float, text: str, colour: str, size: float = 10) -> None:
    """Write ``text`` into a round box of that colour, centred at (x, y)."""
    style = {"boxstyle": "round", "facecolor": colour, "edgecolor": "grey"}
    ax.text(x, y, text, ha="center", va="center", bbox=style, fontsize=size)


def arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], bend: float = 0.0) -> None:
    """Draw an arrow from one point to another; ``bend`` curves it, to the right if positive."""
    style = {"arrowstyle": "->", "color": "grey", "connectionstyle": f"arc3,rad={bend}"}
    ax.annotate("", end, start, arrowprops=style)
