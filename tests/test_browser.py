"""What the reading of a page finds, and what it lets pass."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser import problems, serve

SOUND = '<h1>A page</h1><p>A word and <span class="math"><math><mi>x</mi></math></span>.</p>'
FAULTS = {
    "a console error": ("console", "<script>console.error('no')</script>"),
    "a script error": ("script error", "<script>missing()</script>"),
    "a missing file": ("failed request", '<script src="missing.js"></script>'),
    "another host": ("foreign request", '<script src="https://example.org/x.js"></script>'),
    "a formula not rendered": ("formula", r'<span class="math">\(x\)</span>'),
    "a formula left raw": ("formula", "<p>$$ x $$</p>"),
    "a role left raw": ("formula", "<p>{glue:text}`loss`</p>"),
    "no alt text": ("image without text", '<img src="data:,">'),
    "a file name as alt text": (
        "image without text",
        '<img src="data:," alt="_images/figure.svg">',
    ),
    "more room than the image takes": (
        "image in a void",
        "<article><img src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>\""
        ' alt="A drawing" width="600" height="400" style="width: 300px"></article>',
    ),
    "a wide page": ("overflow", '<div style="width: 2000px">wide</div>'),
    "content that is cut off": (
        "overflow",
        '<div style="overflow: hidden"><article><p style="width: 2000px">wide</p></article></div>',
    ),
    "a level of headings left out": ("accessibility", "<h3>Below nothing</h3>"),
    "a small target beside another": (
        "accessibility",
        "<button style='height: 9px; padding: 0; width: 9px'>a</button>" * 2,
    ),
    "a link that only its colour tells": (
        "accessibility",
        '<p style="color: #000">A <a href="#a" style="color: #222; text-decoration: none">link</a>'
        " in a text.</p>",
    ),
    "low contrast": ("accessibility", '<p style="color: #ccc; background: #fff">pale</p>'),
}

DARKER = "<style>@media (prefers-color-scheme: dark) { body { background: #111 } }</style>"


def write_page(folder: Path, body: str) -> None:
    html = (
        '<!doctype html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,">'
    )
    (folder / "page.html").write_text(f"{html}</head><body><main>{body}</main></body></html>")


def test_a_sound_page_has_no_problem(tmp_path: Path, tab: Page) -> None:
    write_page(tmp_path, SOUND)
    with serve(tmp_path) as base:
        assert problems(tab, base, "page.html") == []


def test_a_look_is_judged_once(tmp_path: Path, tab: Page) -> None:
    judged: set[str] = set()
    pale = SOUND + FAULTS["low contrast"][1]
    for body, number in ((SOUND, 0), (pale, 1), (pale, 0)):
        write_page(tmp_path, body)
        with serve(tmp_path) as base:
            found = problems(tab, base, "page.html", ("contrast", "dark contrast"), judged)
        assert len(found) == number


def test_what_only_a_phone_shows_is_found_where_it_is_asked_for(tmp_path: Path, tab: Page) -> None:
    write_page(tmp_path, SOUND + '<div style="width: 500px">as wide as two phones</div>')
    with serve(tmp_path) as base:
        assert problems(tab, base, "page.html") == []
        (found,) = problems(tab, base, "page.html", ("phone rules", "rules"))
        assert found.kind == "overflow"
        assert problems(tab, base, "page.html") == []  # the window is wide again


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path: Path, tab: Page, fault: str) -> None:
    kind, body = FAULTS[fault]
    write_page(tmp_path, SOUND + body)
    with serve(tmp_path) as base:
        assert kind in {problem.kind for problem in problems(tab, base, "page.html")}


def test_contrast_alone_is_left_out_where_it_is_not_asked_for(tmp_path: Path, tab: Page) -> None:
    write_page(tmp_path, SOUND + FAULTS["low contrast"][1] + FAULTS["no alt text"][1])
    with serve(tmp_path) as base:
        found = problems(tab, base, "page.html", ("rules",))
    assert {problem.kind for problem in found} == {"image without text", "accessibility"}
    assert not any("color-contrast" in problem.text for problem in found)


def test_the_colours_of_the_dark_are_read_where_they_are_asked_for(
    tmp_path: Path, tab: Page
) -> None:
    write_page(tmp_path, SOUND + DARKER)
    with serve(tmp_path) as base:
        assert problems(tab, base, "page.html") == []
        found = problems(tab, base, "page.html", ("contrast", "dark contrast"))
        assert problems(tab, base, "page.html") == []  # it is light again
    assert found
    assert all(problem.text.startswith("in the dark: color-contrast") for problem in found)
