"""Fonts cut down to the characters that the site shows."""

from collections.abc import Iterable
from pathlib import Path

from fontTools import subset


def cut_font(font: Path, characters: Iterable[str], target: Path) -> None:
    """Write what a font needs for some characters, with its names and its licence, as WOFF2.

    Tables for formulas and variants for exponents stay where there are any. A character that the
    font has not is left to the browser's other fonts.
    """
    options = subset.Options(
        flavor="woff2", layout_features=["ssty"], name_IDs=["*"], name_languages=[0x409]
    )
    with subset.load_font(font, options) as loaded:
        cutter = subset.Subsetter(options)
        cutter.populate(text="".join(characters))
        cutter.subset(loaded)
        subset.save_font(loaded, target, options)
