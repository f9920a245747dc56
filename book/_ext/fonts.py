"""The faces of the site, cut down to the characters that it shows: so it looks alike everywhere.

The Latin faces are kept in ``_static/fonts``. Those of other scripts (``editions.py``), and the
signs that all of them lack, come from the packages with which the figures are drawn. `course.css`
names them all; that of a language's name is for the link that leads to its edition.
"""

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib
from editions import EDITIONS
from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

SIGNS = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
UNUSED = ["FFTM", "TSI0", "TSI1", "TSI2", "TSI3", "TSI5"]  # the notes of those who drew it
FIRST = ("serif", "sans")


def cut_font(font: Path, characters: Iterable[str], target: Path) -> None:
    """Write the part of a font that is needed for some characters, as WOFF2, with its licence.

    Tables for formulas, variants for exponents, ligatures and kerning are kept. A character that
    the font lacks is left to the other fonts of a page.
    """
    options = subset.Options(
        flavor="woff2",
        hinting=False,
        layout_features=["kern", "liga", "ssty"],
        name_IDs=["*"],
        name_languages=[0x409],
        drop_tables=[*subset.Options._drop_tables_default, *UNUSED],
    )
    with subset.load_font(font, options) as loaded:
        cutter = subset.Subsetter(options)
        cutter.populate(text="".join(characters))
        cutter.subset(loaded)
        subset.save_font(loaded, target, options)


def shown(site: Path) -> set[str]:
    """The characters of all pages, and of all that the laboratory may write; no formulas."""
    found: set[str] = set(map(chr, range(0x20, 0x7F)))
    for path in [*site.rglob("*.html"), *site.glob("_static/laboratory/**/*.js*")]:
        text = path.read_text(encoding="utf-8")
        found.update(html.unescape(re.sub(r"<math.*?</math>", "", text, flags=re.S)))
    return found


def cut_faces(app: Sphinx, error: Exception | None) -> None:
    """Cut every face, once all pages are written."""
    folder = Path(app.outdir, "_static", "fonts")
    if error or app.builder.format != "html":
        return
    needed = shown(Path(app.outdir))
    latin = list(folder.glob("*.woff2"))
    drawn = set.intersection(*(set(map(chr, TTFont(face).getBestCmap())) for face in latin))
    for face in latin:
        cut_font(face, needed, face)
    left = needed - drawn
    for edition in (edition for edition in EDITIONS.values() if edition.face):
        own = {character for character in needed if edition.writes(character)}
        cut_font(edition.font, own, folder / f"{edition.face}.woff2")
        cut_font(edition.font, edition.name, folder / f"{edition.face}-name.woff2")
        if app.config.language == edition.code:
            cut_font(edition.bold, own, folder / f"{edition.face}-bold.woff2")
        left -= own
    cut_font(SIGNS, left, folder / "signs.woff2")


def ask_early(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _document: object
) -> None:
    """Ask for the faces of the first lines at once: seldom are these drawn in another before."""
    for face in FIRST:
        address = context["pathto"](f"_static/fonts/{face}.woff2", resource=True)
        link = f'<link rel="preload" href="{address}" as="font" type="font/woff2" crossorigin>\n'
        context["metatags"] = context.get("metatags", "") + link


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("html-page-context", ask_early)
    app.connect("build-finished", cut_faces, priority=850)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
