"""Formulas as MathML, written while the book is built: the browser draws them itself.

The book's own font is included, with only the characters that the formulas use, because the fonts
for formulas differ between machines and some have none.
"""

import html
import re
import unicodedata
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from fonts import cut_font
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)

# The source goes into the page beside what it means: `copy_formulas.js` copies it. The wide tilde
# over a letter is one of the commands that older browsers draw too narrow, which does no harm.
TO_MATHML = LatexToMathML(annotation=True, fancy_error=False, allow_unreliable_rendering=True)

SOURCE_FONT = Path(find_spec("ziamath").origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"
FONT = "_static/formulas.woff2"

# The browser draws the root sign itself.
DRAWN = "√"


def mathml(tex: str, display: bool) -> str:
    """Translate a formula.

    >>> mathml("d_k", display=False)[:42]
    '<math><semantics><msub><mi>d</mi><mi>k</mi'
    """
    if r"\\" in tex and r"\begin" not in tex:  # several lines, as Sphinx understands them
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    return TO_MATHML.convert_with_local_state(tex.strip(), displaystyle=display)


def write_formula(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula into the page; invalid TeX is a warning, which stops the build."""
    display = isinstance(node, nodes.math_block)
    # A displayed formula may be wider than a phone: the keyboard has to reach it to scroll it.
    tag, reached = ("div", {"tabindex": "0"}) if display else ("span", {})
    try:
        formula = mathml(node.astext(), display)
    except LatexError as error:
        LOGGER.warning("%s in the formula %s", error, node.astext(), location=node)
        formula = html.escape(node.astext())
    start = translator.starttag(node, tag, "", CLASS="math notranslate nohighlight", **reached)
    translator.body.append(f"{start}{formula}</{tag}>")
    raise nodes.SkipNode


def characters(page: str) -> set[str]:
    """The characters that a browser draws for the formulas of a page.

    A variable of one letter is written upright and drawn as the mathematical italic of it.

    >>> sorted(characters("<p>a</p><math><mi>x</mi><annotation>y</annotation></math>"))
    ['x', '√', '𝑥']
    """
    formulas = re.sub(r"<annotation.*?</annotation>", "", page, flags=re.S)
    found = set(DRAWN)
    for formula in re.findall(r"<math.*?</math>", formulas, flags=re.S):
        found |= set(html.unescape(re.sub(r"<[^>]*>", "", formula)))
    return found | {italic for italic, letter in ITALICS.items() if letter in found}


ITALICS = {
    character: unicodedata.normalize("NFKC", character)
    for character in map(chr, [0x210E, *range(0x1D400, 0x1D800)])
    if unicodedata.name(character, "").startswith(("MATHEMATICAL ITALIC", "PLANCK"))
}


def write_font(app: Sphinx, error: Exception | None) -> None:
    """Write the font, with what the pages need of it."""
    if error or app.builder.format != "html":
        return
    pages = (path.read_text(encoding="utf-8") for path in Path(app.outdir).rglob("*.html"))
    cut_font(SOURCE_FONT, set().union(*map(characters, pages)), Path(app.outdir) / FONT)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.add_js_file("copy_formulas.js")
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
