"""Figures: the one look that all plots of the book share."""

from importlib.util import find_spec
from pathlib import Path

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
"""Colours that readers with any colour vision can tell apart (Okabe and Ito 2008)."""


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
