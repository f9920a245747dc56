"""The equations of the docstrings as formulas.

A docstring is also read in Python, where TeX is of no use: there an equation is plain text, and
``equations.toml`` has its TeX.
"""

import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)

PATH = Path(__file__).resolve().parent.parent / "equations.toml"
EQUATIONS: dict[str, dict[str, str]] = tomllib.loads(PATH.read_text(encoding="utf-8"))
"""The equations of docstrings, and their TeX, by the name of the documented object."""


def pattern(equation: str) -> str:
    """Make a pattern for an equation in a docstring, which may contain line breaks."""
    words = r"\s+".join(map(re.escape, equation.split()))
    return rf"(?<!\w){words}(?!\w)"


def with_formulas(text: str, equations: dict[str, str]) -> str:
    r"""Write equations as formulas: those that fill their paragraph are displayed.

    >>> with_formulas("y = √x.\n\nIf √x is real.", {"√x": r"\sqrt x", "y = √x": r"y = \sqrt x"})
    '.. math:: y = \\sqrt x.\n\nIf :math:`\\sqrt x` is real.'
    """
    # The longest first: it may contain another.
    ordered = sorted(equations, key=len, reverse=True)

    def formula(found: re.Match[str]) -> str:
        return f":math:`{equations[' '.join(found[1].split())]}{found[2]}`"

    # A comma after a formula belongs to it; otherwise a line may begin with it.
    text = re.sub(rf"({'|'.join(map(pattern, ordered))})([,;.]?)", formula, text)
    return re.sub(r"(?:\A|(?<=\n\n)):math:`([^`]*)`(?=\n\n|\n?\Z)", r".. math:: \1", text)


def write_equations(
    _app: Sphinx, _what: str, name: str, _thing: object, _options: object, lines: list[str]
) -> None:
    """Write the equations of one docstring; a missing one is a warning, which stops the build."""
    equations = EQUATIONS.get(name.partition(".")[2], {})
    text = "\n".join(lines)
    for equation in equations:
        if not re.search(pattern(equation), text):
            LOGGER.warning("the docstring of %s lacks %s of equations.toml", name, equation)
    if equations:
        lines[:] = with_formulas(text, equations).split("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("autodoc-process-docstring", write_equations)
    return {"parallel_read_safe": True}
