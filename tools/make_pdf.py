"""Print the built site as one PDF: cover, contents, bookmarks and page numbers.

Chromium prints every page as in the browser; the parts are joined here. A page number is
known only when everything before it is printed, so numbers are added to the pages at the end.
What a sheet cannot hold is told, and nothing is written. Pages that one looks up on a screen are
left out.

    python tools/make_pdf.py _build/html course-ko.pdf ko
"""

import sys
from dataclasses import dataclass, replace
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from contents import Entry, entries
from editions import EDITIONS, LOCALE, SOURCE
from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter

from annotated_transformer import __version__
from annotated_transformer.ground.sentences import translations
from browser import launched, serve

ON_SCREEN = (
    "book/index", "book/laboratory", "book/command_line", "book/devices", "book/api",
    "book/records", "book/sources", "book/bad_input", "book/status", "book/changelog",
    "book/licences",
)  # fmt: skip
WIDTH = 673  # pixels between the margins of A4

MARGIN = {"top": "18mm", "bottom": "22mm", "left": "16mm", "right": "16mm"}

# Remove what only a screen needs; links to other pages of the site would lead to this machine.
PREPARE = r"""async hint => {
    await document.fonts.ready;
    document.querySelectorAll('img[loading=lazy]').forEach(image => image.loading = 'eager');
    await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
    for (const link of document.querySelectorAll('a[href]'))
        if (link.origin === location.origin && !link.getAttribute('href').startsWith('#'))
            link.removeAttribute('href');
    document.querySelectorAll('.yours button').forEach(button => button.click());
    for (const table of document.querySelectorAll('article table')) {
        const room = table.parentElement.clientWidth - 4;
        if (table.scrollWidth > room) table.style.zoom = room / table.scrollWidth;
    }
    for (const fold of document.querySelectorAll('details'))
        fold.open = fold.querySelector('summary')?.textContent.trim().startsWith(hint);
    const title = document.querySelector('article h1').cloneNode(true);
    title.querySelector('.headerlink')?.remove();
    return title.textContent.trim();
}"""

# What sticks out of the page, or of a part that would scroll on a screen.
OVERFULL = r"""width => [...document.querySelectorAll('article *')]
    .filter(part => part.getClientRects().length && !part.closest('svg, math, .meaning'))
    .filter(part => part.getBoundingClientRect().right > width + 1
        || getComputedStyle(part).overflowX !== 'visible'
        && part.scrollWidth > part.clientWidth + 1)
    .map(part => part.outerHTML.slice(0, 120))"""

# What the site calls its contents and its parts, in its language.
NAMES = r"""() => ({
    language: document.documentElement.lang,
    title: document.querySelector('.navbar-brand .title').textContent.trim(),
    contents: document.querySelector('.onthispage').textContent.trim(),
    parts: [...document.querySelectorAll('.bd-sidebar-primary .caption-text')]
        .map(part => part.textContent),
})"""

SHEET = """<!doctype html><html lang="{language}" data-theme="light"><head><meta charset="utf-8">
<title>{title}</title><link rel="stylesheet" href="{root}_static/site.css"><style>
@page {{ size: A4; margin: {margin} }}
html, body {{ background: none !important }}
body {{ font: 10.5pt/1.5 var(--course-sans); margin: 0 }}
h2 {{ font-size: 11pt; margin: 1.2em 0 .2em }}
.cover {{ break-after: page; font-size: 14pt; padding-top: 60mm }}
.cover img {{ display: block; margin-bottom: 12mm; width: 30mm }}
p {{ display: flex; gap: 1em; justify-content: space-between; margin: 0 }}
.number {{ break-after: page; height: 296mm; position: relative }}
.number span {{ bottom: 9mm; font-size: 9pt; position: absolute; text-align: center; width: 100% }}
</style></head><body>{body}</body></html>"""


@dataclass(frozen=True)
class Part:
    """A printed page of the site: its part of the contents, its title, its sheets."""

    caption: str
    title: str
    pdf: PdfReader


def printed(page: Page, **options: object) -> PdfReader:
    """Print what a page shows."""
    return PdfReader(BytesIO(page.pdf(format="A4", print_background=True, **options)))


def print_pages(page: Page, base: str, pages: list[Entry], hint: str = "Hint") -> list[Part]:
    """Print the pages of the site, with those folds open that begin with a word.

    Raises:
        ValueError: if one has something that is wider than a sheet.
    """
    page.set_viewport_size({"width": WIDTH, "height": 1000})
    page.emulate_media(media="print", color_scheme="light")
    parts, overfull = [], []
    for entry in pages:
        page.goto(f"{base}{entry.name}.html")
        title = page.evaluate(PREPARE, hint)
        overfull += [f"{entry.name}: {what}" for what in page.evaluate(OVERFULL, WIDTH)]
        parts.append(Part(entry.part, title, printed(page, margin=MARGIN)))
    if overfull:
        raise ValueError("wider than a sheet:\n" + "\n".join(overfull))
    return parts


def sheet(page: Page, names: dict[str, Any], body: str, margin: str) -> PdfReader:
    """Print an additional sheet, in the faces of the site."""
    page.set_content(SHEET.format(**names, body=body, margin=margin))
    page.evaluate("document.fonts.ready")
    return printed(page, prefer_css_page_size=True)


def first_sheets(page: Page, names: dict[str, Any], parts: list[Part], first: int) -> PdfReader:
    """Print the cover and the contents of parts of which the first begins on a page."""
    version = EDITIONS[names["language"]].numbered.format(__version__)
    body = f'<div class="cover"><img src="{names["root"]}_static/favicon.svg" alt="">'
    body += f"<h1>{escape(names['title'])}</h1>{version}</div><h1>{escape(names['contents'])}</h1>"
    caption, number = "", first
    for part in parts:
        if part.caption != caption:
            caption = part.caption
            body += f"<h2>{escape(caption)}</h2>"
        body += f"<p><span>{escape(part.title)}</span><span>{number}</span></p>"
        number += len(part.pdf.pages)
    return sheet(page, names, body, "18mm 20mm 22mm")


def joined(page: Page, names: dict[str, Any], parts: list[Part]) -> PdfWriter:
    """Join the parts after their contents, with bookmarks, and number all pages but the cover."""
    length = len(first_sheets(page, names, parts, 1).pages)
    writer = PdfWriter()
    writer.append(first_sheets(page, names, parts, length + 1), import_outline=False)
    writer.add_outline_item(title=names["contents"], page_number=1)
    heads: dict[str, object] = {}
    for part in parts:
        begin = len(writer.pages)
        writer.append(part.pdf, import_outline=False)
        if part.caption not in heads:
            heads[part.caption] = writer.add_outline_item(title=part.caption, page_number=begin)
        writer.add_outline_item(title=part.title, page_number=begin, parent=heads[part.caption])
    numbers = (f'<div class="number"><span>{n + 1}</span></div>' for n in range(len(writer.pages)))
    overlay = sheet(page, names, "".join(numbers), "0")
    for below, above in list(zip(writer.pages, overlay.pages, strict=False))[1:]:
        below.merge_page(above)
        below.compress_content_streams()
    writer.add_metadata({"/Title": names["title"]})
    writer.compress_identical_objects()
    return writer


def main(site: Path, target: Path, language: str = SOURCE) -> None:
    """Print an edition of the site."""
    found = [entry for entry in entries() if not entry.name.startswith(ON_SCREEN)]
    captions = dict.fromkeys(entry.part for entry in entries() if entry.part)
    with serve(site) as base, sync_playwright() as kinds, launched(kinds.chromium) as browser:
        page = browser.new_page()
        root = base if language == SOURCE else f"{base}{language}/"
        page.goto(f"{root}{found[0].name}.html")
        names = page.evaluate(NAMES) | {"root": root}
        called = dict(zip(captions, names["parts"], strict=True))
        pages = [replace(entry, part=called[entry.part]) for entry in found]
        hint = translations(LOCALE / language / "LC_MESSAGES" / "sphinx.po").get("Hint", "Hint")
        writer = joined(page, names, print_pages(page, root, pages, hint))
    writer.write(target)
    print(f"{target}: {len(writer.pages)} pages, {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
