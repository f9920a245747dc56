"""The feed of a published site: an entry for each version that the changelog dates."""

import re
import xml.etree.ElementTree as ET
from html import escape
from pathlib import Path
from typing import Any

from contents import ROOT
from docutils import nodes
from markdown_it import MarkdownIt
from sphinx.application import Sphinx

NAME = "feed.xml"
VERSION = re.compile(r"^## (\S+) - (\d{4}-\d\d-\d\d)$(.+?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
LINK = '<link rel="alternate" type="application/atom+xml" title="{}" href="{}">\n'


def feed(changelog: str, title: str, site: str, page: str) -> str:
    """Return the feed (Atom, RFC 4287) of a changelog that is a page of a site."""
    versions = VERSION.findall(changelog)
    root = ET.Element("feed", xmlns="http://www.w3.org/2005/Atom")

    def add(parent: ET.Element, **texts: str) -> None:
        for name, text in texts.items():
            ET.SubElement(parent, name).text = text

    ET.SubElement(root, "link", href=site)
    add(root, id=site, title=title, updated=f"{versions[0][1]}T00:00:00Z")
    add(ET.SubElement(root, "author"), name=title)
    for version, date, text in versions:
        entry = ET.SubElement(root, "entry")
        ET.SubElement(entry, "link", href=site + page)
        address = f"{site}{page}#{version}"
        add(entry, id=address, title=f"{title} {version}", updated=f"{date}T00:00:00Z")
        ET.SubElement(entry, "content", type="html").text = MarkdownIt().render(text)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def write_feed(app: Sphinx, error: Exception | None) -> None:
    """Write the feed beside the pages, where they have a public address."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    site = app.config.html_baseurl
    if not error and app.builder.format == "html" and site and VERSION.search(changelog):
        page = app.builder.get_target_uri("book/changelog")
        text = feed(changelog, app.config.html_title, site, page)
        Path(app.outdir, NAME).write_text(text, encoding="utf-8")


def name_feed(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _: nodes.document | None
) -> None:
    """Tell a feed reader, on every page, where the feed is."""
    if site := app.config.html_baseurl:
        tag = LINK.format(escape(app.config.html_title), site + NAME)
        context["metatags"] = context.get("metatags", "") + tag


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("build-finished", write_feed)
    app.connect("html-page-context", name_feed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
