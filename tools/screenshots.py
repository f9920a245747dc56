"""Take a picture of every page of the built site, at three widths, in light and dark.

    PYTHONPATH=tests python tools/screenshots.py _build/html FOLDER [book/index.html …]

Beside the pictures, ``heights.csv`` says how tall each page is.
"""

import sys
from itertools import product
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from browser import SETTLED, launched, serve

WIDTHS = {390: 844, 768: 1024, 1400: 900}
MODES = ("light", "dark")
# Nobody scrolls: what a page leaves until a reader comes near is shown at once.
AT_ONCE = """async () => {
    document.head.append(Object.assign(document.createElement('style'), {
        textContent: '* { content-visibility: visible !important }'}));
    for (const image of document.images) image.loading = 'eager';
    await Promise.all([...document.images].map(image => image.decode().catch(() => null)));
}"""
SLICE = 8000
"""Chromium draws at most 16,384 pixels at once: taller pages are put together from slices."""


def whole_page(page: Page, path: Path) -> int:
    """Store a picture of a page from top to bottom; return its height."""
    width = page.viewport_size["width"]
    height = page.evaluate("document.documentElement.scrollHeight")
    picture = Image.new("RGB", (width, height))
    for top in range(0, height, SLICE):
        clip = {"x": 0, "y": top, "width": width, "height": min(SLICE, height - top)}
        page.screenshot(path=path, full_page=True, clip=clip, animations="disabled")
        with Image.open(path) as part:
            picture.paste(part, (0, top))
    picture.save(path)
    return height


def take(browser: Browser, site: Path, folder: Path, pages: list[str]) -> None:
    """Store the pictures of some pages, one folder for each view."""
    heights = ["page,width,mode,height"]
    with serve(site) as address:
        for (width, height), mode in product(WIDTHS.items(), MODES):
            view = folder / f"{width}-{mode}"
            view.mkdir(parents=True, exist_ok=True)
            size = {"width": width, "height": height}
            with browser.new_context(viewport=size, color_scheme=mode) as context:
                for name in pages:
                    page = context.new_page()
                    page.goto(address + name)
                    page.evaluate(SETTLED)
                    page.evaluate(AT_ONCE)
                    file = view / name.removesuffix(".html").replace("/", "-")
                    heights.append(f"{name},{width},{mode},{whole_page(page, Path(f'{file}.png'))}")
                    page.close()
    (folder / "heights.csv").write_text("\n".join(heights) + "\n", encoding="utf-8")


def main(site: Path, folder: Path, *pages: str) -> None:
    """Take the pages that are named, or all."""
    found = (page for page in site.rglob("*.html") if "_static" not in page.parts)
    found = (page for page in found if 'http-equiv="refresh"' not in page.read_text("utf-8"))
    names = list(pages) or sorted(page.relative_to(site).as_posix() for page in found)
    with sync_playwright() as playwright, launched(playwright.chromium) as browser:
        take(browser, site, folder, names)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]), *sys.argv[3:])
