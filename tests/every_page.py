"""The pages of the site: what is wrong with them in a window, in the dark and on a phone."""

from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, SoupStrainer
from playwright.sync_api import Browser

from browser import VIEWS, problems, serve

ONCE = ("rules", "contrast")
# In the dark, only colours are others. On a phone they are those of the light, which
# test_no_colour_depends_on_the_width_of_the_page holds.
EVERY_VIEW = ("phone rules", *ONCE, "dark contrast")
MAIN = (
    "index",
    "05_self_attention",
    "06_multi_head_attention",
    "12_transformer",
    "16_what_heads_do",
    "17_find_the_bug",
    "api/attention",
    "deeper/bench",
    "glossary/a",
    "laboratory",
    "notation",
    "references",
    "solutions/05_self_attention",
    "sources",
)
"""One of each kind."""


PARTS = 8
"""Enough of them for two processes to share."""


def parsed(page: Path, *tags: str) -> BeautifulSoup:
    """Read the tags of these names alone: a whole page takes a tenth of a second."""
    only = SoupStrainer(list(tags))
    return BeautifulSoup(page.read_text(encoding="utf-8"), "lxml", parse_only=only)


@cache
def forwards(page: Path) -> dict[str, str]:
    """The addresses to which a page forwards anchors, and if it has moved, all else (``""``)."""
    html = page.read_text(encoding="utf-8")
    if "refresh" not in html and 'id="moved"' not in html:
        return {}
    found = parsed(page, "meta", "nav", "a")
    links = found.select("#moved a[id]")
    known = {}
    if refresh := found.find("meta", {"http-equiv": "refresh"}):
        links = found.select("a[id]")
        known = {"": str(refresh["content"]).removeprefix("0; url=")}
    return known | {str(link["id"]): str(link["href"]) for link in links}


def leads_to(page: Path, anchor: str = "") -> str | None:
    """Return the address that a page, or a place of it, only forwards to."""
    known = forwards(page)
    if anchor in known:
        return known[anchor]
    return f"{known['']}#{anchor}" if "" in known else None


def every_page(site: Path) -> list[str]:
    """The addresses of all pages of the built site that are read."""
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages = [page for page in pages if not page.startswith(("_static/", "ko/"))]
    pages = [page for page in pages if leads_to(site / page) is None]
    if "book/index.html" not in pages:
        raise ValueError(f"{site} is not the built site.")
    return pages


def main_pages(site: Path) -> list[str]:
    """The addresses of one page of each kind, and of the search."""
    return ["search.html", *(f"book/{name}.html" for name in MAIN)]


READINGS = pytest.mark.parametrize(
    ("choose", "views"),
    [
        pytest.param(main_pages, ONCE, id="main pages", marks=pytest.mark.main),
        pytest.param(every_page, EVERY_VIEW, id="every page and view"),
    ],
)


def faults(
    site: Path, browser: Browser, pages: list[str], judged: set[str], views: Collection[str]
) -> list[str]:
    """Read these pages of the built site: what is wrong with each.

    Looks in `judged` have been read for contrast before.
    """
    with serve(site) as base, browser.new_page(**VIEWS["light"]) as tab:
        return [fault for page in pages for fault in problems(tab, base, page, views, judged)]
