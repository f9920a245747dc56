"""What the reading of a page finds, and what it lets pass."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser import Problem, problems, serve

SOUND = '<h1>A page</h1><p>A word and <span class="math"><math><mi>x</mi></math></span>.</p>'
FAULTS = {
    "<script>console.error('no')</script>": "console",
    "<script>missing()</script>": "script error",
    '<script src="missing.js"></script>': "failed request",
    '<script src="https://example.org/x.js"></script>': "foreign request",
    "<p>$$ x $$</p>": "formula",
    r'<span class="math">\(x\)</span>': "formula",
    '<img src="data:," alt="_images/figure.svg">': "image without text",
    "<article><img src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>\""
    ' alt="A drawing" width="600" height="400" style="width: 300px"></article>': "image in a void",
    '<div style="overflow: hidden"><article><p style="width: 2000px">wide</p></article></div>': (
        "overflow"
    ),
    "<h3>Below nothing</h3>": "accessibility",
    '<p style="color: #ccc; background: #fff">pale</p>': "accessibility",
}
DARKER = "<style>@media (prefers-color-scheme: dark) { body { background: #111 } }</style>"
IN_ONE_VIEW = {
    "phone rules": '<div style="width: 500px">as wide as two phones</div>',
    "dark contrast": DARKER,
}


def found(tab: Page, folder: Path, body: str, *views: str) -> list[Problem]:
    html = '<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,">'
    (folder / "page.html").write_text(f"{html}<body><main>{SOUND}{body}</main></body></html>")
    with serve(folder) as base:
        return problems(tab, base, "page.html", ("rules", "contrast", *views))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path: Path, tab: Page, fault: str) -> None:
    assert FAULTS[fault] in {problem.kind for problem in found(tab, tmp_path, fault)}


@pytest.mark.parametrize("view", IN_ONE_VIEW)
def test_what_one_view_shows_is_found_where_it_is_asked_for(
    tmp_path: Path, tab: Page, view: str
) -> None:
    assert found(tab, tmp_path, IN_ONE_VIEW[view], view)
    assert found(tab, tmp_path, IN_ONE_VIEW[view]) == []  # wide and light again
