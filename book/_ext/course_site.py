"""A site without requests to other hosts, fixes for its theme, and a build that uses all cores."""

import csv
import gc
import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from annotated_transformer.ground import old_names

MOVED = Path(__file__).resolve().parent.parent / "moved.csv"

# Faults in the pages of the theme, and their replacements.
CURES = {
    # 1.5 MB that draw the icons a second time; the style sheet already has them.
    r'<script defer src="[^"]*/fontawesome\.js[^"]*"></script>': "",
    # A name that hides the visible text on the button.
    r'(<button class="btn search-button-field[^>]*?) aria-label="[^"]*"': r"\1",
    # The field for the search opens before the script of the theme has come.
    r'(<button class="btn [^"]*search-button__button[^"]*")': (
        r'\1 command="show-modal" commandfor="pst-search-dialog"'
    ),
    r'<summary aria-label="Toggle hidden content">': "<summary>",
    # The book's title, which is outside every region of the page.
    r'<div id="pst-primary-sidebar"': r'\g<0> role="region" aria-label="Book"',
    # A list whose entries have a role that lists do not allow.
    r' role="list"(?= class="citation-list")': "",
    r'(<div class="citation"[^>]*?) role="doc-biblioentry"': r"\1",
    # A button of the contents that has a picture and no name.
    r'<summary>(?=<span class="toctree-toggle")': '<summary aria-label="Pages below">',
    # The empty corner of a table is not a header.
    r"<th></th>": "<td></td>",
    r'<th class="head"><p></p></th>': '<td class="head"></td>',
}

REDIRECT = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<noscript><meta http-equiv="refresh" content="0; url={page}"></noscript>
<title>{title}</title>
<link rel="icon" href="{icon}">
</head>
<body><main><a href="{page}">{title}</a>{places}</main>
<script>
const place = document.getElementById(location.hash.slice(1));
location.replace(place ?? document.querySelector("a").href + location.hash);
</script></body>
</html>
"""

PLACES = """<nav id="moved" hidden>{places}</nav>
<script>
const place = document.querySelector(`#moved [id="${{CSS.escape(location.hash.slice(1))}}"]`);
if (place) location.replace(place);
</script>
</body>"""


def moved() -> dict[str, dict[str, str]]:
    """Read where anchors lead to that have moved, and pages that are gone (``""``, the first row).

    A page that is still there may have lost some of its anchors to another.
    """
    found: dict[str, dict[str, str]] = {}
    with MOVED.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            source = MOVED.parent / row["page"]
            is_there = any(source.with_suffix(kind).exists() for kind in (".ipynb", ".md"))
            places = found.setdefault(row["page"], {} if is_there else {"": row["leads_to"]})
            places |= dict.fromkeys(row["anchors"].split(), row["leads_to"])
    return found


def anchors_of_module(page: Path, new: str, old: str) -> dict[str, str]:
    """Return for each anchor that the page of a module had by its old name the one of today."""
    names = re.findall(r'id="((?:module-)?[\w.-]+)"', page.read_text(encoding="utf-8"))
    today = f"book/api/{page.name}#"
    own = {name.replace(new, old, 1): today + name for name in names if new in name}
    title = (name.partition(".")[2].replace(".", "-").replace("_", "-") for name in (old, new))
    return own | {next(title): today + next(title)}


def drop_thebe(app: Sphinx, *_: object) -> None:
    """Silence sphinx-thebe, which Jupyter Book always loads and which wants a remote kernel."""
    for listeners in app.events.listeners.values():
        for listener in list(listeners):
            if listener.handler.__module__ == "sphinx_thebe":
                app.disconnect(listener.id)


def drop_thebe_style(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], *_: object
) -> None:
    """Do not ask for the style sheet of sphinx-thebe."""
    context["css_files"] = [f for f in context["css_files"] if "thebe" not in str(f.filename)]


def cure_pages(app: Sphinx, error: Exception | None) -> None:
    """Fix the faults in the written pages."""
    if error or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        for fault, cure in CURES.items():
            html = re.sub(fault, cure, html)
        page.write_text(html, encoding="utf-8")


def redirect(app: Sphinx, error: Exception | None) -> None:
    """Redirect the root of the site to the front page, and old addresses to the new ones."""
    if error or app.builder.format != "html":
        return
    leads = {"index.html": {"": f"{app.config.root_doc}.html"}}
    for old, places in moved().items():
        leads[f"book/{old}"] = {anchor: f"book/{new}" for anchor, new in places.items()}
    for old, new in old_names.MOVED.items():
        now, before = (f"book/api/{name.partition('.')[2]}.html" for name in (new, old))
        leads[before] = {"": now} | anchors_of_module(Path(app.outdir, now), new, old)
    for old, places in leads.items():
        up = "../" * old.count("/")
        file = Path(app.outdir, old)
        links = "".join(
            f'<a id="{anchor}" href="{up}{new}">{anchor}</a>'
            for anchor, new in places.items()
            if anchor
        )
        if "" not in places:
            html = file.read_text("utf-8").replace("</body>", PLACES.format(places=links))
        else:
            html = REDIRECT.format(
                language=app.config.language,
                page=up + places[""],
                title=app.config.html_title,
                icon=f"{up}_static/{Path(app.config.html_favicon).name}",
                places=links,
            )
        file.write_text(html, encoding="utf-8")


def use_all_cores(app: Sphinx, *_: object) -> None:
    """Read and write the pages in several processes, which Jupyter Book cannot be asked for.

    Extensions that do not say whether they can be used so are taken to be: theirs number chapters
    and write LaTeX.
    """
    app.parallel = min(4, os.cpu_count() or 1)
    for extension in app.extensions.values():
        extension.parallel_read_safe = True


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    gc.set_threshold(100_000)  # pages are large trees, of which little is garbage
    app.connect("config-inited", drop_thebe)
    app.connect("env-before-read-docs", use_all_cores)
    app.connect("html-page-context", drop_thebe_style)
    app.connect("build-finished", cure_pages)
    app.connect("build-finished", redirect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
