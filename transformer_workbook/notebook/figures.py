"""Figures: the common style of all plots of the book."""

import math
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jaxtyping import Float
from torch import Tensor

from annotated_transformer.ground.errors import InputError

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
"""Colours that readers with any colour vision can distinguish (Okabe and Ito 2008)."""


def use_course_style() -> None:
    """Make matplotlib draw legible SVG figures, with Korean words, the same on every machine.

    matplotlib and a Korean font come with ``pip install annotated-transformer[book]``. They are
    imported here, so that the package itself does not need them.
    """
    import matplotlib.pyplot as plt
    from cycler import cycler
    from matplotlib import font_manager
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    fonts = ["DejaVu Sans"]
    if (korean := find_spec("koreanize_matplotlib")) and korean.origin:
        font = Path(korean.origin).parent / "fonts" / "NanumGothic.ttf"
        font_manager.fontManager.addfont(font)
        fonts.append("NanumGothic")
    # SVG is the same to the byte only with a fixed salt for its ids and without the date.
    set_matplotlib_formats("svg", metadata={"Date": None})  # type: ignore[no-untyped-call]
    plt.rcParams.update(
        {
            "svg.hashsalt": "annotated-transformer",
            "font.family": fonts,
            "font.size": 12,
            "figure.figsize": (5.2, 3.2),
            "figure.constrained_layout.use": True,
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )


def require_attention(
    weights: Float[Tensor, "..."],
    rows: Sequence[str],
    columns: Sequence[str],
    gold: Collection[tuple[int, int]] = (),
) -> None:
    """Refuse anything but one attention matrix, or one for each head, over these words.

    ``weights`` is (query, key) or (heads, query, key); there is a word in ``rows`` for each query
    and one in ``columns`` for each key. A query attends with weights that sum to 1, or with zeros
    if it may attend to no key. A gold link is (position in columns, position in rows).

    Raises:
        InputError: if the words, the weights or the links are not like this.
    """
    words = (len(rows), len(columns))
    if not all(words):
        raise InputError(f"there are {words[0]} rows and {words[1]} columns, both need a word.")
    for word in (*rows, *columns):
        if not isinstance(word, str):
            raise InputError(f"the word {word!r} is a {type(word).__name__}, it must be a string.")
    shape = tuple(weights.shape)
    if len(shape) not in (2, 3) or shape[-2:] != words or not shape[0]:
        raise InputError(
            f"the weights have the shape {shape}; for {words[0]} rows and {words[1]} columns it "
            f"must be {words} or (heads, {words[0]}, {words[1]})."
        )
    for weight in weights.flatten().tolist():
        if not 0 <= weight < math.inf:
            raise InputError(f"a weight is {weight:g}, it must be finite and not negative.")
    for number, total in enumerate(weights.double().sum(dim=-1).flatten().tolist()):
        if total and abs(total - 1) > 0.01:
            raise InputError(
                f"the weights of row {number % words[0]} sum to {total:.3g}; they must sum to 1, "
                "or be all 0."
            )
    for source, target in gold:
        if not (0 <= source < words[1] and 0 <= target < words[0]):
            raise InputError(
                f"the gold link {source, target} is outside of {words[1]} columns and "
                f"{words[0]} rows."
            )


def heat_map(
    ax: Any,
    weights: Float[Tensor, "..."],
    rows: Sequence[str],
    columns: Sequence[str],
    gold: Collection[tuple[int, int]] | None = None,
) -> None:
    """Draw one attention matrix (query, key) for print: rows downwards, columns across.

    White is 0 and dark blue is 1, in every figure; weights are rounded to two decimals, so that
    the figure is the same on every machine. Gold links (position in ``columns``, position
    in ``rows``) are outlined. The labels of the axes are left to the caller.

    Raises:
        InputError: if there are heads, or if `require_attention` refuses the weights.
    """
    from matplotlib.patches import Rectangle

    if weights.dim() != 2:
        raise InputError(
            f"the weights have the shape {tuple(weights.shape)}, it must be (query, key): "
            "choose a head, or take their mean."
        )
    require_attention(weights, rows, columns, gold or ())
    ax.pcolormesh(
        weights.detach().cpu().numpy().round(2),
        cmap="Blues",
        vmin=0,
        vmax=1,
        edgecolor="lightgrey",
    )
    for source, target in gold or ():
        corner = (source + 0.06, target + 0.06)
        ax.add_patch(Rectangle(corner, 0.88, 0.88, fill=False, edgecolor=COLOURS[1], linewidth=2.5))
    ax.set_yticks([row + 0.5 for row in range(len(rows))], rows)
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks([column + 0.5 for column in range(len(columns))], columns, **slanted)
    ax.set_aspect("equal")
    ax.invert_yaxis()


def box(ax: Any, x: float, y: float, text: str, colour: str, size: float = 10) -> None:
    """Write ``text`` into a round box of that colour, centred at (x, y)."""
    style = {"boxstyle": "round", "facecolor": colour, "edgecolor": "grey"}
    ax.text(x, y, text, ha="center", va="center", bbox=style, fontsize=size)


def arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], bend: float = 0.0) -> None:
    """Draw an arrow from one point to another; ``bend`` curves it, to the right if positive."""
    style = {"arrowstyle": "->", "color": "grey", "connectionstyle": f"arc3,rad={bend}"}
    ax.annotate("", end, start, arrowprops=style)
