"""One style sheet for the whole site: those of the theme and the course, without unused rules.

The theme styles everything that anybody might write, and thousands of icons. A rule is kept if its
classes, ids and elements occur in a page or a script, and an icon if its rule is kept.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import tinycss2
from fonts import cut_font
from sphinx.application import Sphinx
from tinycss2.ast import Node

STATIC = "_static"
SHEET = "site.css"
LINK = re.compile(r'<link\b[^>]*\brel="stylesheet"[^>]*>')
ADDRESS = re.compile(r"""url\(["']?(?!["']?data:)([^"')?#]+)[^)]*\)""")
ICON_FONT = re.compile(r"url\(([^)]*/webfonts/([^)/]*)\.woff2)\)")
ICON = re.compile("[\ue000-\uf8ff]")  # Unicode's private use area

# Bootstrap composes this name at run time.
COMPOSED = {"bs-tooltip-auto"}


def rules(css: str, folder: Path, static: Path) -> Iterator[Node]:
    """Iterate over the rules of a style sheet of a folder, and of those that it imports.

    Addresses are rewritten for the folder of the static files.
    """

    def move(match: re.Match[str]) -> str:
        return f"url({posixpath.relpath(folder / match[1], static)})"

    css = ADDRESS.sub(move, re.sub(r"/\*.*?\*/", "", css, flags=re.S))
    for rule in tinycss2.parse_stylesheet(css, skip_whitespace=True):
        if rule.type == "at-rule" and rule.at_keyword == "import":
            name = next(token.value for token in rule.prelude if token.type in {"url", "string"})
            path = (static if "url(" in tinycss2.serialize(rule.prelude) else folder) / name
            yield from rules(path.read_text(encoding="utf-8"), path.parent, static)
        elif rule.type != "at-rule" or rule.at_keyword != "charset":
            yield rule


def needs(selector: Iterable[Node]) -> set[str]:
    """Return the classes, ids and elements without which a selector selects nothing."""
    found, before = set(), None
    for token in selector:
        if token.type == "hash" or (token.type == "ident" and before != ":"):
            found.add(token.value)
        before = token.value if token.type == "literal" else None
    return found


def selectors(prelude: Iterable[Node]) -> Iterator[list[Node]]:
    """Split the selectors of a rule at their commas."""
    selector: list[Node] = []
    for token in prelude:
        if token == ",":
            yield selector
            selector = []
        else:
            selector.append(token)
    yield selector


def purge(found: Iterable[Node], words: set[str]) -> str:
    """Write the rules whose selectors need only these words.

    >>> sheet = "p.a, .b > i:hover { color: red } @media print { #c { color: blue } } @page {}"
    >>> purge(tinycss2.parse_stylesheet(sheet), {"p", "b", "i"})
    '.b > i:hover{ color: red }@page {}'
    """
    css = ""
    for rule in found:
        if rule.type == "qualified-rule":
            used = [selector for selector in selectors(rule.prelude) if needs(selector) <= words]
            if used:
                head = ",".join(tinycss2.serialize(selector).strip() for selector in used)
                css += f"{head}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.at_keyword in {"media", "supports", "container"}:
            inner = purge(tinycss2.parse_rule_list(rule.content, skip_whitespace=True), words)
            if inner:
                css += f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}"
        elif rule.type != "whitespace":
            css += rule.serialize()
    return css


def words_of(site: Path, pages: dict[Path, str]) -> set[str]:
    """Collect all words in the tags of the pages, in their scripts and in those that they load."""
    loaded = {
        (page.parent / source).resolve()
        for page, html in pages.items()
        for source in re.findall(r'<script\b[^>]*\bsrc="([^"?]*)', html)
    }
    texts = [script.read_text(encoding="utf-8") for script in loaded]
    for html in pages.values():
        texts += re.findall(r"<script\b.*?</script>|<[^>]*>", html, flags=re.S)
    return COMPOSED.union(*(re.findall(r"[\w-]+", text) for text in set(texts)))


def cut_icons(css: str, static: Path) -> str:
    """Subset the fonts of the icons to those that the style sheet names; return it changed."""
    icons = set(ICON.findall(css))
    for address, name in set(ICON_FONT.findall(css)):
        cut_font(static / address, icons, static / f"{name}.woff2")
        css = css.replace(address, f"{name}.woff2")
    return css


def use_one_style(app: Sphinx, error: Exception | None) -> None:
    """Write the style sheet, and let every page use only it."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    static = site / STATIC
    paths = (path for path in site.rglob("*.html") if static not in path.parents)
    pages = {path: path.read_text(encoding="utf-8") for path in paths}
    sheets: dict[Path, None] = {}
    for page, html in pages.items():
        for link in LINK.findall(html.partition("</head>")[0]):
            address = re.search(r'href="([^"?]*)', link)
            sheets[(page.parent / address[1]).resolve()] = None
    words = words_of(site, pages)
    found = (
        rule
        for sheet in sheets
        for rule in rules(sheet.read_text(encoding="utf-8"), sheet.parent, static.resolve())
    )
    css = cut_icons(purge(found, words), static)
    (static / SHEET).write_text(css, encoding="utf-8")
    version = hashlib.sha256(css.encode()).hexdigest()[:8]
    for page, html in pages.items():
        head, end, body = html.partition("</head>")
        up = posixpath.relpath(static, page.parent)
        link = f'<link rel="stylesheet" href="{up}/{SHEET}?v={version}">'
        head = LINK.sub("", LINK.sub("@@", head, count=1)).replace("@@", link)
        page.write_text(head + end + body, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("build-finished", use_one_style, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
