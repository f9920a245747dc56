"""What the reading of a page finds, and what it lets pass."""

from pathlib import Path

from playwright.sync_api import Page

from browser import problems, serve

SOUND = '<h1>A page</h1><p>A word and <span class="math"><math><mi>x</mi></math></span>.</p>'
FAULTS = {
    "console": "<script>console.error('no')</script>",
    "script error": "<script>missing()</script>",
    "failed request": '<script src="missing.js"></script>',
    "foreign request": '<script src="https://example.org/x.js"></script>',
    "formula: raw: $$": "<p>$$ x $$</p>",
    r"formula: raw: \(x": r'<span class="math">\(x\)</span>',
    "image without text": '<img src="data:," alt="_images/figure.svg">',
    "image in a void": '<article><img src="data:image/svg+xml,<svg xmlns='
    "'http://www.w3.org/2000/svg'/>\""
    ' alt="A drawing" width="600" height="400" style="width: 300px"></article>',
    "overflow": '<div style="overflow: hidden"><article><p style="width: 2000px">wide</p>'
    "</article></div>",
    "accessibility: heading-order": "<h3>Below nothing</h3>",
    "accessibility: color-contrast": '<p style="color: #ccc; background: #fff">pale</p>',
}
IN_ONE_VIEW = {
    "phone rules": '<div style="width: 500px">as wide as two phones</div>',
    "dark contrast": "<style>@media (prefers-color-scheme: dark) { body { background: #111 } }"
    "</style>",
}


def found(tab: Page, folder: Path, body: str, *views: str) -> list[str]:
    html = '<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,">'
    (folder / "page.html").write_text(f"{html}<body><main>{SOUND}{body}</main></body></html>")
    with serve(folder) as base:
        return problems(tab, base, "page.html", ("rules", "contrast", *views))


def test_faults_are_found_and_those_of_one_view_where_it_is_asked_for(
    tmp_path: Path, tab: Page
) -> None:
    told = "\n".join(found(tab, tmp_path, "".join(FAULTS.values())))
    assert [fault for fault in FAULTS if fault not in told] == []
    for view, body in IN_ONE_VIEW.items():
        assert found(tab, tmp_path, body, view)
        assert found(tab, tmp_path, body) == []  # wide and light again
