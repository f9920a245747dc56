"""Print the built site as one PDF: contents, bookmarks and page numbers.

Chromium prints every page as in the browser; the parts are joined here. A page number is
known only when everything before it is printed, so numbers are added to the pages at the end.

    python tools/make_pdf.py _build/html _build/course.pdf
"""

import sys
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path

import yaml
from contents import ROOT, Entry, entries
from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter

from browser import launched, serve

MARGIN = {"top": "18mm", "bottom": "22mm", "left": "16mm", "right": "16mm"}

# Remove what only a screen needs; links to other pages of the site would lead to this machine.
PREPARE = r"""async () => {
    await document.fonts.ready;
    document.querySelectorAll('img[loading=lazy]').forEach(image => image.loading = 'eager');
    await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
    for (const link of document.querySelectorAll('a[href]'))
        if (link.origin === location.origin && !link.getAttribute('href').startsWith('#'))
            link.removeAttribute('href');
    for (const fold of document.querySelectorAll('details'))
        if (/^(\s*Hint)+\s*$/.test(fold.querySelector('summary')?.textContent)) fold.open = true;
    const title = document.querySelector('article h1').cloneNode(true);
    title.querySelector('.headerlink')?.remove();
    return title.textContent.trim();
}"""

SHEET = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
@page {{ size: A4; margin: {margin} }}
body {{ font: 10.5pt/1.5 sans-serif; margin: 0 }}
h2 {{ font-size: 11pt; margin: 1.2em 0 .2em }}
p {{ display: flex; gap: 1em; justify-content: space-between; margin: 0 }}
.number {{ break-after: page; height: 296mm; position: relative }}
.number span {{ bottom: 9mm; font-size: 9pt; position: absolute; text-align: center; width: 100% }}
</style></head><body>{body}</body></html>"""


@dataclass(frozen=True)
class Part:
    """A printed page of the site: its caption in the contents, its title, its sheets."""

    caption: str
    title: str
    pdf: PdfReader


def printed(page: Page, **options: object) -> PdfReader:
    """Print what a page shows."""
    return PdfReader(BytesIO(page.pdf(format="A4", print_background=True, **options)))


def print_pages(page: Page, base: str, pages: list[Entry]) -> list[Part]:
    """Print the pages of the site."""
    page.emulate_media(media="print", color_scheme="light")
    parts = []
    for entry in pages:
        page.goto(f"{base}{entry.name}.html")
        title = page.evaluate(PREPARE)
        parts.append(Part(entry.part, title, printed(page, margin=MARGIN)))
    return parts


def sheet(page: Page, title: str, body: str, margin: str) -> PdfReader:
    """Print an additional sheet."""
    page.set_content(SHEET.format(title=title, body=body, margin=margin))
    return printed(page, prefer_css_page_size=True)


def contents_sheet(page: Page, title: str, parts: list[Part], first: int) -> PdfReader:
    """Print the contents of parts of which the first begins on a page."""
    body, caption, number = f"<h1>{escape(title)}</h1>", "", first
    for part in parts:
        if part.caption != caption:
            caption = part.caption
            body += f"<h2>{escape(caption)}</h2>"
        body += f"<p><span>{escape(part.title)}</span><span>{number}</span></p>"
        number += len(part.pdf.pages)
    return sheet(page, title, body, "18mm 20mm 22mm")


def joined(page: Page, title: str, parts: list[Part]) -> PdfWriter:
    """Join the parts after their contents, with bookmarks, and number all pages."""
    length = len(contents_sheet(page, title, parts, 1).pages)
    contents = contents_sheet(page, title, parts, length + 1)
    writer = PdfWriter()
    writer.append(contents, outline_item="Contents", import_outline=False)
    heads: dict[str, object] = {}
    for part in parts:
        begin = len(writer.pages)
        writer.append(part.pdf, import_outline=False)
        if part.caption and part.caption not in heads:
            heads[part.caption] = writer.add_outline_item(title=part.caption, page_number=begin)
        writer.add_outline_item(title=part.title, page_number=begin, parent=heads.get(part.caption))
    numbers = (f'<div class="number"><span>{n + 1}</span></div>' for n in range(len(writer.pages)))
    overlay = sheet(page, "Numbers", "".join(numbers), "0")
    for below, above in zip(writer.pages, overlay.pages, strict=False):
        below.merge_page(above)
    writer.add_metadata({"/Title": title})
    writer.compress_identical_objects()
    return writer


def main(site: Path, target: Path, only: list[str]) -> None:
    """Print the site, or only some of its pages."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    pages = [entry for entry in entries() if not only or entry.name in only]
    with serve(site) as base, sync_playwright() as kinds, launched(kinds.chromium) as browser:
        page = browser.new_page()
        writer = joined(page, settings["title"], print_pages(page, base, pages))
    writer.write(target)
    print(f"{target}: {len(writer.pages)} pages, {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
