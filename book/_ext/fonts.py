"""Fonts cut down to the characters that the site shows."""

from collections.abc import Iterable
from pathlib import Path

from fontTools import subset


def cut_font(font: Path, characters: Iterable[str], target: Path) -> None:
    """Write the part of a font that is needed for some characters, as WOFF2, with its licence.

    Tables for formulas and variants for exponents are kept. A character that the
    font lacks is left to the browser's other fonts.
    """
    options = subset.Options(
        flavor="woff2", layout_features=["ssty"], name_IDs=["*"], name_languages=[0x409]
    )
    with subset.load_font(font, options) as loaded:
        cutter = subset.Subsetter(options)
        cutter.populate(text="".join(characters))
        cutter.subset(loaded)
        subset.save_font(loaded, target, options)
