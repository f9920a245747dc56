"""The faces of the site, cut down to the characters that it shows: so it looks alike everywhere.

The Latin faces are kept in ``_static/fonts``. Hangul and the signs that those lack come from the
packages with which the figures are drawn. `course.css` names them all.
"""

import html
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib
from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

KOREAN = Path(find_spec("koreanize_matplotlib").origin).parent / "fonts" / "NanumGothic.ttf"
BOLD = KOREAN.with_stem("NanumGothicBold")
SIGNS = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
UNUSED = ["FFTM", "TSI0", "TSI1", "TSI2", "TSI3", "TSI5"]  # the notes of those who drew it
NAME = "한국어"  # which every English page shows
FIRST = ("serif", "sans")
HANGUL = re.compile("[\u1100-\u11ff\u3000-\u303f\u3130-\u318f\uac00-\ud7a3]")


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
    hangul = {character for character in needed if HANGUL.match(character)}
    cut_font(KOREAN, hangul, folder / "hangul.woff2")
    cut_font(KOREAN, NAME, folder / "hangul-name.woff2")
    if app.config.language == "ko":
        cut_font(BOLD, hangul, folder / "hangul-bold.woff2")
    cut_font(SIGNS, needed - drawn - hangul, folder / "signs.woff2")


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
