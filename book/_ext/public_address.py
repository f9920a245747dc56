"""What a published site has: all from one setting, the repository's address.

``repository: url`` in ``_config.yml`` gives the address of the site (of GitHub Pages) and, from
both, the buttons that open a notebook on Colab and Binder, the cards of a page on other sites,
and the sitemap. While the setting is empty there are none of them. The page for missing addresses
is always there.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from course_search import field
from docutils import nodes
from editions import SOURCE
from light_pages import beginning
from sphinx.application import Sphinx
from sphinx.locale import _

LAUNCHERS = {
    "colab_url": "https://colab.research.google.com",
    "binderhub_url": "https://mybinder.org",
    "notebook_interface": "jupyterlab",
}
CARDS = {"line_color": "#35618f"}

MISSING = "<h1>{title}</h1>\n<p>{text}</p>\n{field}"


def on_github(repository: str) -> tuple[str, str] | None:
    """Return owner and name of a repository on GitHub; nothing for other hosts."""
    found = re.fullmatch(r"https://github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?/?", repository)
    return (found[1], found[2]) if found else None


def lesson_launchers(repository: str, name: str) -> dict[str, str]:
    """Return where a notebook to do opens, if the repository is on GitHub.

    The workflow of the site writes these notebooks into the branch ``lessons``.
    """
    if not (found := on_github(repository)):
        return {}
    at, colab, binder = "/".join(found), LAUNCHERS["colab_url"], LAUNCHERS["binderhub_url"]
    return {
        "Colab": f"{colab}/github/{at}/blob/lessons/lessons/{name}",
        "Binder": f"{binder}/v2/gh/{at}/lessons?urlpath=lab/tree/lessons/{name}",
    }


def site_address(repository: str) -> str:
    """Return where GitHub Pages puts the site of a repository; nothing for other hosts.

    >>> site_address("https://github.com/Someone/course")
    'https://someone.github.io/course/'
    """
    if not (found := on_github(repository)):
        return ""
    owner, name = found
    host = f"{owner.lower()}.github.io"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def sitemap(site: str, pages: list[str]) -> str:
    """Return the sitemap of the pages of a site."""
    lines = [f"  <url><loc>{escape(site + page)}</loc></url>" for page in pages]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
            *lines,
            "</urlset>\n",
        ]
    )


def write_sitemap(app: Sphinx, error: Exception | None) -> None:
    """List every page of the contents, and tell search engines where the list is."""
    site = app.config.html_baseurl
    if error or app.builder.format != "html" or not site:
        return
    pages = [app.builder.get_target_uri(name) for name in sorted(app.env.found_docs)]
    folder = Path(app.outdir)
    (folder / "sitemap.xml").write_text(sitemap(site, pages), encoding="utf-8")
    (folder / "robots.txt").write_text(f"Sitemap: {site}sitemap.xml\n", encoding="utf-8")


def missing_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page that a host shows for missing addresses: it searches for their words."""
    home = app.builder.get_target_uri(app.config.root_doc)
    title = _("There is no such page")
    text = _(
        'Perhaps it has moved, or the address has a typing error. Try the\n<a href="{home}">front '
        'page</a>, the <a href="search.html">search</a>, or the list of the\nchapters.'
    ).format(home=home)
    body = MISSING.format(title=title, text=text, field=field(" data-of-address"))
    yield "404", {"title": title, "body": body}, "page.html"


def anchor_missing_page(app: Sphinx, error: Exception | None) -> None:
    """Make the links of that page absolute: it is shown in any folder."""
    site = app.config.html_baseurl
    if not error and app.builder.format == "html" and site:
        page = Path(app.outdir, "404.html")
        html = page.read_text(encoding="utf-8")
        page.write_text(html.replace("<head>", f'<head><base href="{site}">', 1), encoding="utf-8")


def summarise_card(
    _app: Sphinx,
    _page: str,
    _template: str,
    context: dict[str, Any],
    document: nodes.document | None,
) -> None:
    """Let a page's card show the beginning of its text, not its reading time."""
    if document and (text := beginning(document)):
        said = {"og:description": text, "og:image:alt": text}
        context["meta"] = said | (context.get("meta") or {})


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension, and set up what needs the address if there is one."""
    app.connect("html-collect-pages", missing_page)
    app.connect("build-finished", anchor_missing_page)
    app.connect("build-finished", write_sitemap)
    repository = app.config.html_theme_options.get("repository_url", "")
    if repository:
        app.config.html_theme_options["launch_buttons"] = LAUNCHERS
    if site := site_address(repository):
        is_source = app.config.language == SOURCE
        app.config.html_baseurl = site if is_source else f"{site}{app.config.language}/"
        app.connect("html-page-context", summarise_card, priority=400)  # before the cards are made
        app.setup_extension("sphinxext.opengraph")
        app.config.ogp_site_url = site
        app.config.ogp_site_name = app.config.html_title
        app.config.ogp_enable_meta_description = False
        app.config.ogp_social_cards = CARDS
    return {"parallel_read_safe": True, "parallel_write_safe": True}
