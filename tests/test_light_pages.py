"""What makes the pages light: formulas, fonts, one style sheet, late scripts, few elements."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tinycss2
from bs4 import BeautifulSoup
from docutils.core import publish_doctree
from fonts import cut_font
from fontTools.ttLib import TTFont
from formulas import SOURCE_FONT, characters, mathml
from light_pages import (
    DESCRIPTION_LENGTH,
    MEASURES_ALL,
    FewSpans,
    beginning,
    height,
    keep_height,
    keep_room,
    lighten,
    mark_where_one_is,
    measure_less,
)
from one_style import purge, rules, words_of
from playwright.sync_api import Browser
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from every_page import parsed

ROOT = Path(__file__).resolve().parent.parent
EXTENSIONS = ROOT / "book" / "_ext"
STATIC = ROOT / "book" / "_static"

PAGE = """
Attention
=========

Each word looks at :math:`d_k` others.

.. math:: \\frac{QK^\\top}{\\sqrt{d_k}}
"""


def build(folder: Path, page: str) -> None:
    """Build a site of one page with the extensions; a warning is an error."""
    (folder / "conf.py").write_text(
        "extensions = ['formulas', 'light_pages', 'one_style']\n"
        f"html_static_path = [{str(STATIC)!r}]\n"
    )
    (folder / "index.rst").write_text(page)
    command = [sys.executable, "-m", "sphinx", "-W", "-q", folder, folder / "html"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(EXTENSIONS), str(ROOT)])}
    subprocess.run(command, check=True, capture_output=True, text=True, env=environment)


@pytest.mark.slow
def test_a_page_needs_no_typesetter_and_one_style_sheet(site: Path) -> None:
    page = parsed(site / "book" / "05_self_attention.html", "html")
    assert page.select("math")
    assert len(page.select('head link[rel="stylesheet"]')) == 1
    assert all(script.has_attr("defer") for script in page.select("script[src]"))
    loaded = " ".join(script["src"] for script in page.select("script[src]"))
    assert "copy_formulas" in loaded
    assert "mathjax" not in loaded.lower()


@pytest.mark.slow
def test_a_formula_that_is_no_tex_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        build(tmp_path, PAGE.replace("frac", "nonsense"))
    assert re.search(r"index.rst:7:.*nonsense", failed.value.stderr)


def test_a_formula_keeps_its_source() -> None:
    formula = BeautifulSoup(mathml(r"a < \sqrt{d_k}", display=False), "lxml")
    assert formula.select_one("annotation").get_text() == r"a < \sqrt{d_k}"
    assert [tag.name for tag in formula.select("msqrt *")] == ["msub", "mi", "mi"]


def test_lines_of_a_formula_stand_below_one_another() -> None:
    formula = BeautifulSoup(mathml(r"a &= b \\ c &= d", display=True), "lxml")
    assert len(formula.select("mtr")) == 2


def test_a_cut_font_has_what_was_asked_for(tmp_path: Path) -> None:
    asked = characters("<p>Z</p>" + mathml(r"\sqrt{x} + \sum_i \alpha_i", display=True))
    assert asked >= set("√x𝑥∑α𝛼")
    assert "Z" not in asked
    cut_font(SOURCE_FONT, asked, tmp_path / "cut.woff2")
    font = TTFont(tmp_path / "cut.woff2")
    assert {chr(code) for code in font.getBestCmap()} >= asked
    assert "MATH" in font  # by which a browser places exponents and stretches brackets
    assert "Open Font License" in font["name"].getDebugName(13)
    assert (tmp_path / "cut.woff2").stat().st_size < SOURCE_FONT.stat().st_size / 10


@pytest.mark.parametrize(
    ("selector", "stays"),
    [
        ("p", True),
        ("p.unused", False),
        ("#unused p", False),
        ("p > blink", False),
        ("p:hover::before", True),
        ("p:not(.unused)", True),
        ("p[data-unused]", True),
        (".unused, .used", True),
    ],
)
def test_a_rule_stays_that_a_page_could_use(selector: str, stays: bool) -> None:
    sheet = tinycss2.parse_stylesheet(f"{selector} {{ color: red }}")
    assert bool(purge(sheet, {"p", "used"})) == stays


def test_of_a_rule_only_what_is_used_stays() -> None:
    sheet = tinycss2.parse_stylesheet(
        ".a, .b { color: red } @media print { .b { top: 0 } } @media print { .a { top: 0 } }"
    )
    assert purge(sheet, {"a"}) == ".a{ color: red }@media print {.a{ top: 0 }}"


def test_an_imported_sheet_stands_in_the_place_of_its_import(tmp_path: Path) -> None:
    (tmp_path / "theme" / "fonts").mkdir(parents=True)
    (tmp_path / "basic.css").write_text("p { background: url('file.png') }")
    css = """
        @charset "utf-8"; /* a comment */
        @import "../basic.css";
        @font-face { src: url(fonts/x.woff2?v=1) }
        a { background: url("data:image/png;base64,AA/b=") }
    """
    found = "".join(rule.serialize() for rule in rules(css, tmp_path / "theme", tmp_path))
    assert re.findall(r"url\((.*?)\)", found) == [
        "file.png", "theme/fonts/x.woff2", '"data:image/png;base64,AA/b="'
    ]  # fmt: skip
    assert "comment" not in found
    assert found.index("p {") < found.index("@font-face")


def test_words_come_from_tags_and_scripts_and_not_from_the_text(tmp_path: Path) -> None:
    (tmp_path / "x.js").write_text("e.classList.add('from-script')")
    page = '<p class="one two">text</p><script>inline()</script><script src="x.js?v=1"></script>'
    words = words_of(tmp_path, {tmp_path / "page.html": page})
    assert words >= {"p", "one", "two", "inline", "from-script"}
    assert "text" not in words


SCRIPTS = """
<link rel="preload" as="script" href="x.js">
<script>DOCUMENTATION_OPTIONS.pagename = 'page';</script>
<script src="_static/doctools.js?v=1"></script>
<script src="_static/copybutton.js"></script>
<script src="searchindex.js"></script>
<script defer src="late.js"></script>
"""


def names_in(html: str) -> list[str]:
    assert all("defer" in tag for tag in re.findall("<script[^>]*src[^>]*>", html))
    return re.findall(r"([a-z]+)\.js", html)


def test_a_page_loads_the_scripts_that_it_uses() -> None:
    assert names_in(lighten(SCRIPTS)) == ["doctools", "late"]
    assert "DOCUMENTATION_OPTIONS" not in lighten(SCRIPTS)
    code = '<div class="highlight-ipython3"><div class="highlight"></div></div>'
    assert names_in(lighten(SCRIPTS + code)) == ["doctools", "copybutton", "late"]


def test_code_keeps_its_words_and_colours() -> None:
    code = "def attend(x):\n    return softmax(x.q @ x.k) + 1  # rows\n"
    few, many = (highlight(code, PythonLexer(), kind()) for kind in (FewSpans, HtmlFormatter))
    assert BeautifulSoup(few, "lxml").get_text() == BeautifulSoup(many, "lxml").get_text()
    assert few.count("<span") < many.count("<span") / 2
    for coloured in ('<span class="k">return</span>', '<span class="nf">attend</span>'):
        assert coloured in few


def test_a_drawing_has_its_size_before_it_comes(tmp_path: Path) -> None:
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "a.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36.4pt"/>'
    )
    page = BeautifulSoup(keep_room('<img alt="A" src="_images/a.svg">', tmp_path), "lxml")
    drawing = page.select_one("img").attrs
    assert (drawing["width"], drawing["height"], drawing["loading"]) == ("96", "49", "lazy")


def test_each_section_of_a_page_keeps_its_own_height() -> None:
    first = "<p>Short.</p><section><p>More.</p></section>"
    page = f"<section><h1>A</h1><section>{first}</section><section></section></section>"
    sections = BeautifulSoup(keep_height(page), "lxml").select("section")
    styles = [section.get("style") for section in sections]
    assert styles == [None, f"--height: {height(first)}px", None, f"--height: {height('')}px"]


def test_what_is_folded_takes_no_room() -> None:
    code = "<pre>x\ny\nz\n</pre>"
    assert height(f"<details open>{code}</details>") == height(code)
    assert height(f"<details><summary>Code</summary>{code}</details>") < height(code)


def test_a_description_is_how_the_first_paragraph_begins() -> None:
    def described(text: str) -> str:
        page = f"Page\n----\n\n.. note:: No\n\n{text}\n"
        return beginning(publish_doctree(page, settings_overrides={"doctitle_xform": False}))

    assert described("Short.\n\nSecond.") == "Short."
    long = described("a word, " * 50)
    assert long.endswith("word …")
    assert len(long) <= DESCRIPTION_LENGTH + 2
    assert described("") == ""


def test_another_script_of_the_theme_stops_the_build() -> None:
    with pytest.raises(ValueError, match="no longer measures what may scroll as it did"):
        measure_less("all.forEach(e=>{e.tabIndex=0})")
    with pytest.raises(ValueError, match="no longer marks the section as it did"):
        mark_where_one_is("let i;function c(){i.observe()}")


@pytest.mark.slow
def test_only_what_scrolls_can_be_focused_and_it_is_measured_when_it_is_near(
    browser: Browser,
) -> None:
    pre = "<pre style='width: 9em; overflow: auto'>{}</pre>"
    page = browser.new_page()
    page.set_content(pre.format("short") + pre.format("a long line of code " * 9) + pre.format("x"))
    page.add_style_tag(content="pre:last-of-type { margin-top: 500vh }")
    page.evaluate(measure_less(f"document.querySelectorAll('pre'){MEASURES_ALL}"))
    indices = "[...document.querySelectorAll('pre')].map(pre => pre.tabIndex)"
    page.wait_for_function(f"{indices}.join() === '-1,0,0'")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function(f"{indices}.join() === '-1,0,-1'")
    page.close()
