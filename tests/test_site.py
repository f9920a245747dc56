"""The website: it builds without a warning, and every page of it is sound in a browser."""

import gzip
import importlib
import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from types import FunctionType
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from api_page import modules
from bs4 import BeautifulSoup
from course_site import moved
from editions import EDITIONS
from equations import EQUATIONS
from playwright.sync_api import Browser, Page, expect
from reading_time import reading
from road_map import DRAWINGS, RADIUS

from browser import SETTLED, VIEWS, launched, serve
from every_page import leads_to, parsed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "annotated_transformer"


@pytest.mark.main
def test_the_root_opens_the_front_page(site: Path, browser: Browser) -> None:
    """As a file that a reader clicks on."""
    with browser.new_page() as page:
        page.goto((site / "index.html").as_uri())
        page.wait_for_url("**/book/index.html")
        page.wait_for_selector("math")


@pytest.mark.parametrize(("old", "places"), moved().items())
def test_old_addresses_lead_to_the_new_ones(site: Path, old: str, places: dict[str, str]) -> None:
    for anchor, new in places.items():
        assert urljoin(f"book/{old}", leads_to(site / "book" / old, anchor)) == f"book/{new}"
        assert leads_to(site / "book" / new.partition("#")[0]) is None


def test_a_browser_goes_from_an_old_place_to_the_new_one(site: Path, browser: Browser) -> None:
    """One that is listed, one that keeps its name, and none."""
    book = (site / "book").as_uri()
    with browser.new_page() as page:
        for old, new in (
            ("03_bahdanau.html#glossary", "further/03_bahdanau.html#glossary"),
            ("10_layers.html#exercises", "11_layers.html#exercises"),
            ("sources/part_2.html", "sources.html"),
        ):
            page.goto(f"{book}/{old}")
            page.wait_for_url(f"{book}/{new}")


# What a page and its own files may weigh as they are sent, before its figures.
HEAVIEST = 600_000


@cache
def sent(file: Path) -> int:
    """How many bytes a file has on its way; a font is compressed already."""
    content = file.read_bytes()
    return len(content) if file.suffix == ".woff2" else len(gzip.compress(content))


def own_files(page: Path) -> set[Path]:
    """A page, its scripts and style sheets, and all fonts that these name."""
    html = parsed(page, "script", "link")
    tags = html.select('script[src], link[rel="stylesheet"], link[rel="icon"]')
    addresses = [str(tag.get("src") or tag.get("href")).partition("?")[0] for tag in tags]
    files = {page, *((page.parent / address).resolve() for address in addresses)}
    for sheet in [file for file in files if file.suffix == ".css"]:
        for font in re.findall(r"url\([\"']?([^)\"'?]*\.woff2)", sheet.read_text("utf-8")):
            files.add((sheet.parent / font).resolve())
    return files


def test_no_page_is_heavy(site: Path) -> None:
    pages = sorted((site / "book").rglob("*.html"))
    weights = {page: sum(map(sent, own_files(page))) for page in pages}
    assert {page: weight for page, weight in weights.items() if weight > HEAVIEST} == {}
    # One style sheet, and the fonts of the formulas and the icons, are among what was weighed.
    chapter = {file.suffix for file in own_files(site / "book" / "06_multi_head_attention.html")}
    assert chapter == {".html", ".css", ".js", ".svg", ".woff2"}


ONE_FACE = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{0}</dir><cachedir>{0}/cache</cachedir></fontconfig>"""
SIZES = """() => [...document.querySelectorAll('article *, .bd-sidebar *')].map(part => {
    const {width, height} = part.getBoundingClientRect();
    return [part.outerHTML.slice(0, 100), Math.round(width), Math.round(height)];
})"""
FACES = 200_000  # bytes, all that a page may fetch


def strange_faces(page: Page) -> set[tuple[str, str]]:
    """The faces of the machine in which text of an open page is drawn, with that text's parent."""
    tools = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        tools.send(f"{domain}.enable")
    root = tools.send("DOM.getDocument")["root"]["nodeId"]
    parts = tools.send("DOM.querySelectorAll", {"nodeId": root, "selector": "body *"})["nodeIds"]
    return {
        (font["familyName"], tools.send("DOM.getOuterHTML", {"nodeId": part})["outerHTML"][:200])
        for part in parts
        for font in tools.send("CSS.getPlatformFontsForNode", {"nodeId": part})["fonts"]
        if not font["isCustomFont"]
    }


@pytest.mark.parametrize("name", ["12_transformer", "glossary"])
def test_a_page_looks_the_same_on_a_machine_with_one_face(
    site: Path, browser: Browser, tmp_path: Path, name: str
) -> None:
    """And it fetches Hangul only where it shows some."""
    font = EDITIONS["ko"].font
    (tmp_path / font.name).symlink_to(font)
    (tmp_path / "fonts.conf").write_text(ONE_FACE.format(tmp_path))
    poor = launched(browser.browser_type, FONTCONFIG_FILE=str(tmp_path / "fonts.conf"))
    fetched: set[str] = set()

    def read(page: Page) -> list[Any]:
        page.goto(f"{base}book/{name}.html")
        page.evaluate(SETTLED)
        return list(page.evaluate(SIZES))

    with serve(site) as base, browser.new_page() as rich, poor as other, other.new_page() as page:
        page.on("request", lambda request: fetched.add(request.url.removeprefix(base)))
        assert read(page) == read(rich)
        assert strange_faces(page) == set()
    faces = {address for address in fetched if address.endswith(".woff2")}
    assert ("_static/fonts/hangul.woff2" in faces) == (name == "glossary")
    assert sum((site / face).stat().st_size for face in faces) < FACES


LOADING = re.compile(r"<(?:script|img|source|iframe|embed|object|video|audio|link)\b[^>]*>")
LOADING_NOTHING = re.compile(r'rel="[^"]*\b(canonical|alternate|author|license|next|prev)\b')


@pytest.mark.main
def test_every_link_leads_to_a_place_of_the_site_and_nothing_is_loaded_from_elsewhere(
    site: Path,
) -> None:
    """Every address, and every anchor on a page; other hosts are not asked."""
    read = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    pages = {page: page.read_text(encoding="utf-8") for page in read}
    names = {
        page: set(map(unescape, re.findall(r'<[^>]*\s(?:id|name)="([^"]*)"', html)))
        for page, html in pages.items()
    }
    checked, dead = 0, set()
    foreign = re.compile(r"""(src|href|data)="(https?:)?//|url\(["']?(https?:)?//""")
    loading = {
        page: [tag for tag in LOADING.findall(html) if not LOADING_NOTHING.search(tag)]
        for page, html in pages.items()
    }
    loading |= {sheet: [sheet.read_text("utf-8")] for sheet in site.rglob("*.css")}
    assert not [tag for tags in loading.values() for tag in tags if foreign.search(tag)]
    for page, html in pages.items():
        for link in re.findall(r'<[^>]*\s(?:href|src)="([^"]*)"', html):
            address = urlsplit(unescape(link))
            if address.scheme or address.netloc:
                continue
            checked += 1
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            anchor = unquote(address.fragment)
            if not target.is_file() or (anchor and anchor not in names.get(target, {anchor})):
                dead.add((page.relative_to(site), link))
    assert dead == set()
    assert checked > 10_000


def test_every_page_has_a_description_of_its_own(site: Path) -> None:
    found: dict[str, Path] = {}
    for page in (site / "book").rglob("*.html"):
        if leads_to(page) is None:
            (tag,) = parsed(page, "meta").select('meta[name="description"]')
            text = str(tag["content"])
            assert len(text) > 20, page
            assert found.setdefault(text, page) == page


def test_a_formula_is_copied_as_tex(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site / "book" / "06_multi_head_attention.html").as_uri())
    copied, formatted, tex = page.evaluate("""() => {
        const formula = document.querySelector('article p math');
        getSelection().selectAllChildren(formula.closest('p'));
        const clipboardData = new DataTransfer();
        document.dispatchEvent(new ClipboardEvent('copy', {clipboardData}));
        const tex = formula.querySelector('annotation').textContent;
        const kinds = ['text/plain', 'text/html'];
        return [...kinds.map((kind) => clipboardData.getData(kind)), tex];
    }""")
    page.close()
    assert f"${tex}$" in copied
    assert f"${tex}$" in BeautifulSoup(formatted, "lxml").get_text()


def test_the_contents_mark_the_section_that_one_is_in(site: Path, browser: Browser) -> None:
    """In jumps and backwards as well, and the last one, which cannot rise."""
    with browser.new_page(**VIEWS["light"]) as page:
        page.goto((site / "book" / "01_tokens_and_batches.html").as_uri())
        links = page.locator("#pst-page-toc-nav a")
        marked = page.locator("#pst-page-toc-nav a.active[aria-current=true]")
        for number in (3, 1, 5):
            link = links.nth(number)
            page.locator(f"{link.get_attribute('href')} h2").evaluate("e => e.scrollIntoView()")
            expect(marked).to_have_text(link.text_content())
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(marked).to_have_text(links.last.text_content())
        page.evaluate("scrollTo(0, 0)")
        expect(marked).to_have_count(0)


def test_every_notebook_says_how_long_it_takes(site: Path) -> None:
    for path in (ROOT / "book").rglob("*.ipynb"):
        page = (site / path.relative_to(ROOT)).with_suffix(".html")
        found = reading(json.loads(path.read_text(encoding="utf-8")))
        written = parsed(page, "h1", "p").select_one("h1 + p.reading-time").get_text()
        numbers = [found.minutes, found.exercise_minutes][: 1 + bool(found.exercise_minutes)]
        assert re.findall(r"\d+", written) == [str(number) for number in numbers], path


def test_the_pages_of_the_package_have_all_that_is_public(site: Path) -> None:
    """Each module has a page, and the list of modules has the anchors that were there before."""
    contents = (site / "book" / "api.html").read_text(encoding="utf-8")
    for name in modules():
        module = importlib.import_module(name)
        page = (site / "book" / "api" / f"{name.partition('.')[2]}.html").read_text("utf-8")
        assert f'id="module-{name}"' in contents
        assert f'id="module-{name}"' in page
        for public, thing in vars(module).items():
            own = getattr(thing, "__module__", "") == name and public[0] != "_"
            if own and isinstance(thing, type | FunctionType):
                assert f'id="{name}.{public}"' in page, public


def test_the_equations_of_the_docstrings_are_formulas(site: Path) -> None:
    files = (page for page in (site / "book" / "api").glob("*.html") if leads_to(page) is None)
    pages = [parsed(page, "html") for page in files]
    described = {
        term["id"]: term.find_next_sibling("dd") for page in pages for term in page.select("dt[id]")
    }
    for name, equations in EQUATIONS.items():
        written = {
            tag.get_text() for tag in described[f"{PACKAGE}.{name}"].select("math annotation")
        }
        assert len(written) >= len(equations), name
    for page in pages:
        for tag in page.select("article :is(.math, code, pre, .sig)"):
            tag.decompose()
        text = page.select_one("article").get_text()
        assert re.findall(r".*(?:[√Σᵀ⊙₋∞]|\b[A-Z]_\w\b).*", text) == []


def test_an_old_address_of_a_term_leads_to_its_meaning(site: Path, browser: Browser) -> None:
    """Through its line in the index; the letters stay in sight above the term."""
    with browser.new_page(**VIEWS["phone"]) as page:
        page.goto((site / "book" / "glossary.html").as_uri() + "#term-mask")
        page.locator("#term-mask").get_by_role("link", name="mask", exact=True).click()
        page.wait_for_url("**/glossary/m.html#term-mask")
        row, term = page.locator(".letters"), page.locator("#term-mask")
        expect(term).to_be_in_viewport()
        expect(row).to_be_in_viewport(ratio=1)
        boxes = [box for box in (row.bounding_box(), term.bounding_box()) if box]
        assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
        row.get_by_role("link", name="A", exact=True).click()
        page.wait_for_url("**/glossary/a.html")


def test_a_term_of_a_lesson_opens_its_meaning(site: Path, browser: Browser) -> None:
    """By hover, focus and tap; Escape closes it, and a narrow screen does not scroll sideways."""
    for how in ("hover", "focus", "tap"):
        with browser.new_page(has_touch=True, **VIEWS["phone"]) as page:
            page.goto((site / "book" / "05_self_attention.html").as_uri())
            term = page.locator("strong > .term").first
            expect(meaning := term.get_by_role("tooltip")).to_be_hidden()
            getattr(term, how)()
            expect(meaning).to_contain_text("compared with every key")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            if how == "focus":
                page.keyboard.press("Escape")
                expect(meaning).to_be_hidden()


def test_a_figure_that_a_phone_makes_small_opens_at_its_own_width(
    site: Path, browser: Browser
) -> None:
    with browser.new_page(**VIEWS["phone"]) as page:
        page.goto((site / "book" / "06_multi_head_attention.html").as_uri())
        small = page.locator(".cell_output img[width]")
        for figure in small.all():
            drawn = int(figure.get_attribute("width"))
            button = figure.locator("xpath=following-sibling::button[1]")
            if drawn < 340:
                expect(button).to_have_count(0)
                continue
            button.press("Enter")
            expect(page.locator(".enlarged img")).to_have_js_property("clientWidth", drawn)
            page.keyboard.press("Escape")
            expect(page.locator(".enlarged")).to_be_hidden()
            expect(button).to_be_focused()
        assert small.count()


def test_the_front_page_is_one_screen(site: Path, browser: Browser) -> None:
    """What it is, the model, the doors and the road map, without scrolling."""
    size = {"width": 1400, "height": 900}
    with serve(site) as base, browser.new_page(viewport=size) as page:
        page.goto(base + "book/index.html")
        page.wait_for_selector(".laboratory .weights")
        for part in ("h1", "h1 + p", ".laboratory", ".doors", ".road-map .wide"):
            box = page.locator(f"article {part}").first.bounding_box()
            assert box["y"] + box["height"] <= size["height"], part
            assert box["x"] + box["width"] <= size["width"], part


@pytest.mark.parametrize(("width", "shown"), [(390, "narrow"), (768, "middle"), (1400, "wide")])
def test_one_drawing_of_the_road_map_is_shown(
    site: Path, browser: Browser, width: int, shown: str
) -> None:
    size = {"width": width, "height": 900}
    with serve(site) as base, browser.new_page(viewport=size) as page:
        page.goto(base + "book/index.html")
        drawings = page.locator(".road-map svg:visible")
        assert drawings.count() == 1
        assert drawings.get_attribute("class") == shown
        # The letters are large enough to read.
        height = page.locator(".road-map svg:visible .question").first.evaluate(
            "text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a"
        )
        assert height >= 12
        # No line reaches the next step.
        longest = page.locator(".road-map svg:visible a tspan").evaluate_all(
            "lines => Math.max(...lines.map((line) => line.getComputedTextLength()))"
        )
        assert 100 < longest <= DRAWINGS[shown][1] - RADIUS
        # By keyboard, every step can be reached; the first of them opens its chapter.
        page.keyboard.press("Tab")
        steps = page.locator(".road-map svg:visible a")
        left = {steps.nth(i).get_attribute("href") for i in range(steps.count())}
        assert len(left) >= 17
        for _ in range(120):
            page.keyboard.press("Tab")
            left.discard(page.evaluate("document.activeElement.getAttribute('href')"))
            if not left:
                break
        assert left == set()


def test_the_contents_are_closed_on_the_front_page_until_they_are_asked_for(
    site: Path, browser: Browser
) -> None:
    with serve(site) as base, browser.new_page(viewport={"width": 1400, "height": 900}) as page:
        page.goto(base + "book/index.html")
        contents = page.locator("#pst-primary-sidebar")
        expect(contents).to_be_hidden()
        page.locator(".primary-toggle").press("Enter")
        expect(contents).to_be_visible()
        page.goto(base + "book/05_self_attention.html")
        expect(contents).to_be_visible()


def test_no_colour_depends_on_the_width_of_the_page() -> None:
    folders = (ROOT / "book" / "_static", ROOT / "transformer_workbook" / "notebook")
    sheets = [sheet for folder in folders for sheet in folder.glob("*.css")]
    media = re.compile(r"@media[^{]*width[^{]*\{(.*?\})\s*\}", re.S)
    rules = [rule for sheet in sheets for rule in media.findall(sheet.read_text("utf-8"))]
    assert rules
    assert not [rule for rule in rules if re.search(r"color|background|opacity|filter", rule)]
