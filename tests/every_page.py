"""Every page of the site: what is wrong with it in a window, in the dark and on a phone."""

from pathlib import Path

from bs4 import BeautifulSoup, SoupStrainer
from playwright.sync_api import Browser

from browser import VIEWS, problems, serve

# In the dark, only colours are others. On a phone the colours are those of a window, which
# test_no_colour_depends_on_the_width_of_the_page holds, and so is what the elements are.
KINDS = ("rules", "contrast", "dark contrast", "phone layout")

# As opened on a phone: where menus are folded, wide code and outputs scroll, much can be touched.
PHONE = ("index", "07_positional_encoding", "08_masking", "12_transformer", "laboratory", "api")


def parsed(page: Path, *tags: str) -> BeautifulSoup:
    """Read the tags of these names alone: a whole page takes a tenth of a second."""
    only = SoupStrainer(list(tags))
    return BeautifulSoup(page.read_text(encoding="utf-8"), "lxml", parse_only=only)


def leads_to(page: Path) -> str | None:
    """Return the address that a page only forwards to."""
    refresh = parsed(page, "meta").find("meta", {"http-equiv": "refresh"})
    return str(refresh["content"]).removeprefix("0; url=") if refresh else None


def every_page(site: Path) -> list[str]:
    """The addresses of all pages of the built site that are read."""
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages = [page for page in pages if not page.startswith("_static/")]
    pages = [page for page in pages if leads_to(site / page) is None]
    if "book/index.html" not in pages:
        raise ValueError(f"{site} is not the built site.")
    return pages


def faults(site: Path, browser: Browser, pages: list[str]) -> list[str]:
    """Read these pages in the light, in the dark, and as narrow as a phone."""
    with serve(site) as base, browser.new_page(**VIEWS["light"]) as tab:
        return [str(fault) for page in pages for fault in problems(tab, base, page, KINDS)]


def faults_on_a_phone(site: Path, browser: Browser, page: str) -> list[str]:
    """Open one page of the book at a phone's width and ask for all rules."""
    with serve(site) as base, browser.new_page(**VIEWS["phone"]) as tab:
        return [str(fault) for fault in problems(tab, base, f"book/{page}.html")]
