"""Make the pictures of the README: a figure of a chapter, and pages of the built site.

python tools/readme_pictures.py
PYTHONPATH=tests python tools/readme_pictures.py _build/html
"""

import io
import sys
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "book" / "further" / "01_tokens_and_batches.ipynb"
PICTURES = ROOT / "book" / "_static"
FIGURE = PICTURES / "alignment.svg"

WIDTH, HEIGHT = 1400, 900
# The address of each page, and the element that is shown: as much as the window is high.
PAGES = {
    "front_page.png": ("book/index.html", "body"),
    "laboratory.png": (
        "book/laboratory.html?positions=off&sentence=the+cat+sees+the+dog",
        ".laboratory",
    ),
}
COLOURS = 96
"""A page has few colours; with this many, its picture has a third of the bytes."""


def figure() -> str:
    """Return the chapter's drawing of a gold alignment."""
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code" and "draw.alignment(robot)" in cell.source:
            return next(
                output.data["image/svg+xml"]
                for output in cell.outputs
                if "image/svg+xml" in output.get("data", {})
            )
    raise LookupError(f"{NOTEBOOK} has no cell that calls draw.alignment(robot).")


def photograph(page: Any, address: str, shown: str, path: Path) -> None:
    """Store the upper part of an element of a page."""
    from PIL import Image

    from browser import SETTLED

    page.goto(address)
    page.evaluate(SETTLED)
    page.wait_for_selector(".laboratory .weights")
    clip = page.locator(shown).bounding_box() | {"height": HEIGHT}
    taken = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
    few = taken.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def photographs(site: Path) -> None:
    """Store the pictures of pages of a built site."""
    from playwright.sync_api import sync_playwright

    from browser import launched, serve

    with sync_playwright() as kinds, launched(kinds.chromium) as browser, serve(site) as base:
        size = {"width": WIDTH, "height": HEIGHT}
        for name, (address, shown) in PAGES.items():
            with browser.new_page(viewport=size, color_scheme="light") as page:
                photograph(page, base + address, shown, PICTURES / name)
            print(f"{PICTURES / name}: written")


if __name__ == "__main__":
    FIGURE.write_text(figure(), encoding="utf-8")
    print(f"{FIGURE}: written")
    for folder in sys.argv[1:]:
        photographs(Path(folder))
