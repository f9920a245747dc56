"""Pages that show their text first: a description, deferred scripts, few elements."""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, TextIO
from xml.etree import ElementTree

from docutils import nodes
from pygments.formatters import HtmlFormatter
from pygments.token import Name, Punctuation, Text, Whitespace, _TokenType
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

# The search of Sphinx, which every page of the theme would load; the course has its own.
SEARCH = ("searchtools.js", "language_data.js", "searchindex.js")

# Scripts that only some pages need, and what those pages contain.
ASKED_FOR = {
    "togglebutton.js": r'class="[^"]*(?<![\w-])(toggle|admonition [^"]*dropdown)(?![\w-])',
    "design-tabs.js": r'class="[^"]*\bsd-tab-set\b',
    "clipboard.min.js": r'class="highlight\b',
    "copybutton.js": r'class="highlight\b',
    "copy_formulas.js": "<math",
    "figures.js": "<img [^>]*_images/",
    "folds.js": "<details",
    "gaps.js": r'class="[^"]*\bgap\b',
    "terms.js": 'class="term"',
    "languages.js": r'<a class="language\b',
}

# They fill in what no script of the course reads, and would run before what they fill.
FILL_IN = re.compile(r"<script>DOCUMENTATION_OPTIONS\.\w+ = [^<]*</script>")
PRELOAD = re.compile(r'<link rel="preload" as="script"[^>]*>')
SCRIPT = re.compile(
    r'<script (?P<attributes>[^>]*\bsrc="(?:[^"]*/)?(?P<name>[^"/?]*)[^>]*)></script>'
)
IMAGE = re.compile(r'<img (?=[^>]*\bsrc="(?P<source>[^"]*_images/[^"]*\.svg)")')
POINTS_TO_PIXELS = 4 / 3

# How high a section is on a phone, in pixels: so much for each of its blocks, characters of text,
# lines of code, and pixels of its drawings. Fitted to the lessons, half of them within 210 pixels.
SECTION = re.compile(r"<(?P<end>/)?section\b[^>]*>")
HIDDEN = re.compile(
    r'<details\b(?![^>]*\sopen\b).*?</details>|<span class="meaning".*?</span>', re.S
)
CODE = re.compile(r"<pre\b.*?</pre>|<math\b.*?</math>", re.S)
BLOCK = re.compile(r'<(?:p|li|h\d|pre|figure|div class="(?:cell|math))\b')
HEIGHTS = {"block": 34, "character": 0.3, "line": 18, "drawing": 2.5}
PHONE = 358

# The theme measures everything that may scroll, one by one, when the page is loaded. Instead, all
# of it can be focused, and elements that do not scroll lose this near the visible part.
THEME_SCRIPT = "_static/scripts/pydata-sphinx-theme.js"
MEASURES_ALL = (
    ".forEach(e=>{e.tabIndex=e.scrollWidth>e.clientWidth||e.scrollHeight>e.clientHeight?0:-1})"
)
MEASURES_WHAT_IS_NEAR = (
    ".forEach((e,i)=>{if(!i){globalThis.measured?.disconnect();"
    "globalThis.measured=new IntersectionObserver(near=>{"
    "near.filter(one=>one.isIntersecting).map(({target:t})=>"
    "[t,t.scrollWidth>t.clientWidth||t.scrollHeight>t.clientHeight?0:-1])"
    ".forEach(([t,index])=>{t.tabIndex=index})},{rootMargin:'50%'})}"
    "if(!e.hasAttribute('tabindex'))e.tabIndex=0;globalThis.measured.observe(e)})"
)

# The theme marks in its contents the heading that comes into the upper part of the window, and so
# none where one jumps or scrolls back. Instead, one is in the section of the last heading above a
# line. At the end of a page, whose last headings cannot rise, the line sinks to the foot. Headings
# in sections that a phone has not laid out are not asked where they are: it would lay them out.
MARKS_WHAT_COMES = re.compile(r"let i;function c\(\)\{i&&i\.disconnect\(\);.*?\.observe\(e\)\}\)\}")
MARKS_WHERE_ONE_IS = (
    "function c(){if(o)return;const page=document.scrollingElement,"
    "end=scrollY&&2*innerHeight+scrollY-page.scrollHeight,line=Math.max(innerHeight*.3,end);"
    "s(a.get([...a.keys()].findLast(e=>e.checkVisibility({contentVisibilityAuto:true})"
    "&&e.getBoundingClientRect().top<line)))}"
    "window.addEventListener('scroll',c,{passive:true});"
)

DESCRIPTION_LENGTH = 160

# They have the colour of the code itself.
PLAIN = {Name, Name.Namespace, Name.Other, Punctuation, Whitespace}


class FewSpans(HtmlFormatter):
    """Highlights code without an element for each word and mark that has no colour."""

    def format(self, tokensource: Iterator[tuple[_TokenType, str]], outfile: TextIO) -> None:
        """Write the code."""
        kinds = ((Text if kind in PLAIN else kind, text) for kind, text in tokensource)
        super().format(kinds, outfile)


def describe(
    _app: Sphinx,
    page: str,
    _template: str,
    context: dict[str, Any],
    document: nodes.document | None,
) -> None:
    """Give a page a description for search engines: the beginning of its first paragraph."""
    tags = context.get("metatags", "")
    if 'name="description"' in tags:
        return
    text = beginning(document) if document else ""
    text = text or f"{context.get('title', page)} – {context['docstitle']}"
    context["metatags"] = f'{tags}<meta name="description" content="{escape(text)}">\n'


def beginning(document: nodes.document) -> str:
    """Return the first paragraph of a page's own text, cut after a word, or nothing."""
    for paragraph in document.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section) and not paragraph["classes"]:
            text = " ".join(paragraph.astext().split())
            if len(text) > DESCRIPTION_LENGTH:
                text = text[:DESCRIPTION_LENGTH].rpartition(" ")[0].rstrip(",;:.") + " …"
            return text
    return ""


def lighten(html: str) -> str:
    """Remove scripts that a page does not need, and defer the others."""
    html = PRELOAD.sub("", FILL_IN.sub("", html))

    def load(match: re.Match[str]) -> str:
        script = match["name"]
        if script in SEARCH:
            return ""
        if script in ASKED_FOR and not re.search(ASKED_FOR[script], html):
            return ""
        defer = "" if re.search(r"\b(defer|async)\b", match["attributes"]) else "defer "
        return f"<script {defer}{match['attributes']}></script>"

    return SCRIPT.sub(load, html)


def size(image: Path) -> tuple[int, int]:
    """Return the width and height of a drawing, in pixels."""
    drawing = ElementTree.parse(image).getroot()
    width, height = (float(drawing.attrib[key].removesuffix("pt")) for key in ("width", "height"))
    return round(width * POINTS_TO_PIXELS), round(height * POINTS_TO_PIXELS)


def keep_room(html: str, folder: Path) -> str:
    """Load drawings lazily, into the space that is reserved for them."""

    def sized(match: re.Match[str]) -> str:
        width, height = size(folder / match["source"])
        return f'<img loading="lazy" decoding="async" width="{width}" height="{height}" '

    return IMAGE.sub(sized, html)


def height(section: str) -> int:
    """Estimate how high a section will be on a phone, in pixels."""
    seen = HIDDEN.sub("<p>", section)
    drawings = re.findall(r'<img [^>]*\bwidth="(\d+)" height="(\d+)"', seen)
    text = re.sub(r"<[^>]*>|\s+", " ", CODE.sub("", seen))
    counts = {
        "block": len(BLOCK.findall(seen)),
        "character": len(" ".join(text.split())),
        "line": sum(code.count("\n") for code in CODE.findall(seen) if code.startswith("<pre")),
        "drawing": sum(int(high) * min(1, PHONE / int(wide)) for wide, high in drawings),
    }
    return round(sum(HEIGHTS[kind] * count for kind, count in counts.items()))


def keep_height(html: str) -> str:
    """Keep the height of sections that a phone has not laid out, so that the scroll bar rests."""
    begun: list[int] = []  # where the text of the sections around begins
    sections: list[tuple[int, int]] = []
    for tag in SECTION.finditer(html):
        if not tag["end"]:
            begun.append(tag.end())
        else:
            start = begun.pop()
            if len(begun) == 1:  # the page itself is the section around those that have names
                sections.append((start, tag.start()))
    for start, end in reversed(sections):
        style = f' style="--height: {height(html[start:end])}px"'
        html = html[: start - 1] + style + html[start - 1 :]
    return html


def measure_less(script: str) -> str:
    """Let the theme measure only elements near the visible part.

    Raises:
        ValueError: if the theme's script is not the one for which this was written.
    """
    if script.count(MEASURES_ALL) != 1:
        raise ValueError(f"{THEME_SCRIPT} no longer measures what may scroll as it did.")
    return script.replace(MEASURES_ALL, MEASURES_WHAT_IS_NEAR)


def mark_where_one_is(script: str) -> str:
    """Let the theme mark in the contents of a page the section that one is in.

    Raises:
        ValueError: if the theme's script is not the one for which this was written.
    """
    changed, times = MARKS_WHAT_COMES.subn(MARKS_WHERE_ONE_IS, script)
    if times != 1:
        raise ValueError(f"{THEME_SCRIPT} no longer marks the section as it did.")
    return changed


def lighten_pages(app: Sphinx, error: Exception | None) -> None:
    """Lighten the written pages."""
    if error or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        page.write_text(keep_height(keep_room(lighten(html), page.parent)), encoding="utf-8")
    if app.config.html_theme == "sphinx_book_theme":
        script = Path(app.outdir, THEME_SCRIPT)
        changed = mark_where_one_is(measure_less(script.read_text(encoding="utf-8")))
        script.write_text(changed, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    PygmentsBridge.html_formatter = FewSpans
    app.add_js_file("figures.js")
    app.add_js_file("folds.js")
    app.connect("html-page-context", describe)
    app.connect("build-finished", lighten_pages, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
