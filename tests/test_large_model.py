"""The large model of the laboratory: it comes when it is chosen, once, whole; and offline."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from gzip import compress
from pathlib import Path
from threading import Event
from typing import Any, ClassVar

import pytest
from laboratory_page import OFFERS, SERVICE_WORKER, STATIC, offer
from playwright.sync_api import Browser, Page, expect

from browser import QuietHandler, inaccessible, serve
from test_laboratory_page import (
    CAPTIONS,
    GERMAN,
    SENTENCE,
    folder,  # noqa: F401
    said,
    translated,
    watched,
)

pytestmark = pytest.mark.slow

BENCH = "Ein Mann schläft auf einer Bank."
SIZES = {GERMAN: 6_500_000, CAPTIONS: 2_000_000}
"""The most bytes that the model may have, as they are sent."""


class Halting(QuietHandler):
    """Sends the half of large weights, and the rest when it may; or never."""

    go_on: ClassVar = Event()
    breaks_off: ClassVar = False
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Note what is asked for."""
        self.asked.append(self.path)
        super().do_GET()

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file."""
        if ".safetensors" in self.path:
            outputfile.write(source.read(2_000_000))
            outputfile.flush()
            self.go_on.wait()
            if self.breaks_off:
                self.close_connection = True
                return
        super().copyfile(source, outputfile)


@pytest.fixture
def halting(folder: Path) -> Iterator[tuple[str, type[Halting]]]:  # noqa: F811
    """The site, from a server that halts."""

    class Mine(Halting):
        go_on = Event()
        asked: ClassVar = []

    with serve(folder, Mine) as address:
        yield address, Mine
        Mine.go_on.set()


def large(asked: list[str]) -> list[str]:
    """What of the large model was asked for."""
    return [path for path in asked if f"models/{GERMAN}" in path]


def says(page: Page, sentence: str) -> None:
    """It translates a German sentence."""
    right = translated(GERMAN, sentence)
    expect(page.locator(".heard")).to_have_text(f"It predicts: {right}", timeout=30_000)


@pytest.fixture(scope="module")
def german() -> dict[str, Any]:
    """The offer of the model."""
    return offer(GERMAN)


@pytest.mark.parametrize("name", SIZES)
def test_it_is_small_and_its_size_is_said(folder: Path, name: str) -> None:  # noqa: F811
    """The vocabulary is JSON, which servers compress on the way."""
    told = offer(name)
    files = {p.name: p.read_bytes() for p in (folder / STATIC / "models" / name).iterdir()}
    assert set(files) == set(told["digests"])
    assert sum(map(len, files.values())) == told["bytes"]
    assert told["title"] == f"{OFFERS[name][1]} ({told['bytes'] / 1e6:.1f} MB)"
    assert len(files["model.safetensors"]) + len(compress(files["model.json"])) <= SIZES[name]


def test_not_a_byte_comes_before_it_is_chosen_and_none_the_second_time(
    browser: Browser, halting: tuple[str, type[Halting]], german: dict[str, Any]
) -> None:
    address, server = halting
    with browser.new_page() as page, watched(page):
        for name in ("small", "index"):
            page.goto(f"{address}{name}.html")
            said(page)
        page.wait_for_load_state("networkidle")
        assert not large(server.asked)
        bar = page.get_by_role("progressbar", name=f"Loading: {german['title']} …")
        expect(bar).to_be_hidden()
        page.select_option("#lab-model", GERMAN)
        expect(bar).to_be_visible()
        page.wait_for_function("document.querySelector('progress').value > 0.2")
        assert bar.evaluate("bar => bar.value") == pytest.approx(2.2e6 / german["bytes"], abs=0.05)
        assert not inaccessible(page)
        server.go_on.set()
        says(page, BENCH)
        expect(bar).to_be_hidden()
        assert len(large(server.asked)) == 2
        server.asked.clear()
        page.goto(f"{address}index.html?model={GERMAN}")
        says(page, BENCH)
        assert server.asked
        assert not large(server.asked)


def test_half_of_it_is_told_and_tried_again(
    browser: Browser, halting: tuple[str, type[Halting]]
) -> None:
    address, server = halting
    server.breaks_off = True
    server.go_on.set()
    with browser.new_page() as page, watched(page):
        page.goto(f"{address}index.html")
        said(page)
        again = page.get_by_role("button", name="Try again: Transformer, German")
        expect(again).to_be_hidden()
        page.select_option("#lab-model", GERMAN)
        expect(page.locator(".told")).to_contain_text("could not be loaded.")
        expect(page.locator("progress")).to_be_hidden()
        assert said(page) == translated("toy-transformer", SENTENCE)
        assert not inaccessible(page)
        page.select_option("#lab-model", "toy-seq2seq")
        expect(page.locator(".translation h2")).to_have_text("GRU, no attention")
        expect(again).to_be_hidden()
        page.goto(f"{address}index.html?model={GERMAN}")
        expect(page.locator(".told")).to_contain_text("could not be loaded.")
        assert said(page) == translated("toy-transformer", SENTENCE)
        server.breaks_off = False
        again.click()
        says(page, BENCH)
        expect(again).to_be_hidden()
        expect(page.locator("#lab-model")).to_have_value(GERMAN)


DAMAGED = "models/multi30k-de-en/model.safetensors is damaged or incomplete."


def test_what_is_damaged_is_not_kept(browser: Browser, folder: Path, tmp_path: Path) -> None:  # noqa: F811
    shutil.copytree(folder, tmp_path / "site")
    weights = tmp_path / "site" / STATIC / "models" / GERMAN / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    script = weights.parent.with_suffix(".js")
    script.write_bytes(script.read_bytes()[:1_000_000])
    with serve(tmp_path / "site") as address, browser.new_page() as page:
        page.goto(f"{address}index.html")
        said(page)
        for _ in range(2):
            page.select_option("#lab-model", GERMAN)
            expect(page.locator(".told")).to_contain_text(DAMAGED, timeout=30_000)
            expect(page.locator("#lab-model")).to_have_value("toy-transformer")
        weights.write_bytes(whole)
        page.get_by_role("button", name="Try again").click()
        says(page, BENCH)
        kept = "caches.open('models of the laboratory').then(async (c) => (await c.keys()).length)"
        assert page.evaluate(kept) == 2
        page.goto(f"{(tmp_path / 'site').as_uri()}/index.html")
        said(page)
        page.select_option("#lab-model", GERMAN)
        expect(page.locator(".told")).to_contain_text("models/multi30k-de-en.js is damaged")


# --- without a network ----------------------------------------------------------------------------


@pytest.fixture
def project(folder: Path, tmp_path: Path) -> Path:  # noqa: F811
    """A site in a folder of a server, as on GitHub Pages, in two languages."""
    site = tmp_path / "project"
    shutil.copytree(folder, site)
    shutil.copy(site / STATIC / SERVICE_WORKER, site)
    page = (site / "index.html").read_text(encoding="utf-8")
    (site / "laboratory.html").write_text(page, encoding="utf-8")
    (site / "ko").mkdir()
    korean = page.replace("_static/", "../_static/").replace('lang="en"', 'lang="ko"')
    (site / "ko" / "laboratory.html").write_text(korean, encoding="utf-8")
    return site


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """A laboratory on its first visit, when all of it is kept."""
    with browser.new_context() as context, context.new_page() as page, watched(page):
        page.goto(address)
        said(page)
        wait_until_kept(page, "engine.js", "search.js", "models/toy-transformer.js")
        yield page


def wait_until_kept(page: Page, *scripts: str) -> None:
    """Until the page and these scripts of the engine are there for later."""
    page.wait_for_function(
        """async (scripts) => {
            const cache = await caches.open("the laboratory");
            const wanted = [...performance.getEntriesByType("resource").map(({ name }) => name),
                location.href, ...scripts].map((address) => new URL(address, OWN).pathname);
            const kept = await Promise.all(wanted.map((path) => cache.match(path)));
            return kept.every(Boolean);
        }""",
        arg=scripts,
    )


def at(server: str, page: str) -> str:
    return f"{server}project/{page}"


@pytest.mark.parametrize("name", ["laboratory.html", "ko/laboratory.html"])
def test_after_one_visit_it_opens_without_a_server(
    browser: Browser, project: Path, name: str
) -> None:
    with ExitStack() as visit:
        with serve(project.parent) as server:
            address = at(server, name)
            page = visit.enter_context(opened(browser, address))
            page.select_option("#lab-model", GERMAN)
            says(page, BENCH)
        page.goto(f"{address}?model={GERMAN}")
        says(page, BENCH)
        page.goto(address)
        assert said(page) == translated("toy-transformer", SENTENCE)


def test_a_model_that_is_chosen_later_in_the_first_visit_is_kept_too(
    browser: Browser, project: Path
) -> None:
    with ExitStack() as visit:
        with serve(project.parent) as server:
            address = at(server, "laboratory.html")
            page = visit.enter_context(opened(browser, address))
            page.select_option("#lab-model", "toy-seq2seq")
            expect(page.locator(".translation h2")).to_have_text("GRU, no attention")
            wait_until_kept(page, "models/toy-seq2seq.js")
        page.goto(f"{address}?model=toy-seq2seq")
        assert said(page) == translated("toy-seq2seq", SENTENCE)


def test_a_site_that_was_built_again_shows_its_new_scripts(browser: Browser, project: Path) -> None:
    with (
        serve(project.parent) as server,
        opened(browser, at(server, "laboratory.html")) as page,
    ):
        script = project / STATIC / "laboratory.js"
        text = script.read_text(encoding="utf-8")
        script.write_text(text.replace('"Random sentence"', '"Another one"'), encoding="utf-8")
        page.reload()
        expect(page.get_by_role("button", name="Another one")).to_be_visible()


def test_no_other_page_is_kept_and_the_laboratory_does_without(
    browser: Browser, project: Path
) -> None:
    kept = """caches.open("the laboratory").then(async (cache) =>
        (await cache.keys()).map(({ url }) => new URL(url).pathname))"""
    with serve(project.parent) as server, opened(browser, at(server, "laboratory.html")) as page:
        page.goto(at(server, "small.html"))
        said(page)
        page.goto(at(server, "index.html"))
        said(page)
        found = page.evaluate(kept)
        assert [path for path in found if "_static" not in path] == ["/project/laboratory.html"]
        assert not [path for path in found if "safetensors" in path]
        with browser.new_page(service_workers="block") as other, watched(other):
            other.goto(at(server, "laboratory.html"))
            said(other)
