"""The laboratory in a browser: what a reader types, breaks and opens, by mouse and by keyboard."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from laboratory_page import CHECKPOINTS, OFFERS, SCRIPTS, STATIC, frame
from playwright.sync_api import Browser, Page, expect

from annotated_transformer.run import Run, export_to_web
from annotated_transformer.search import GREEDY
from annotated_transformer.toy import toy_corpus
from browser import VIEWS, serve

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SENTENCE = "the brave boys sing"
HEAD = "[data-head='decoder.1.cross_attention.0']"


def page_of(small: bool = False) -> str:
    body = frame(STATIC, SENTENCE, small)
    return (
        '<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        '<title>A laboratory</title><link rel="icon" href="data:,"></head>'
        f"<body><main><h1>A laboratory</h1><h2>It</h2>{body}</main></body></html>"
    )


@pytest.fixture(scope="module")
def folder(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that has the laboratory, and the models of the book's, and nothing else."""
    alone = tmp_path_factory.mktemp("alone")
    shutil.copytree(ROOT / "book" / STATIC, alone / STATIC)
    shutil.copytree(site / STATIC / "models", alone / STATIC / "models")
    (alone / "index.html").write_text(page_of(), encoding="utf-8")
    (alone / "small.html").write_text(page_of(small=True), encoding="utf-8")
    return alone


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with serve(folder) as served:
        yield served


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The laboratory; what goes wrong in its scripts fails the test."""
    errors: list[str] = []
    with browser.new_page() as opened:
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.goto(f"{address}index.html")
        yield opened
    assert not errors


def said(page: Page, which: int = 0) -> str:
    """The translation that stands there, without its glosses."""
    page.wait_for_selector(".translation")
    words = page.locator(".translation").nth(which).locator(".word span").all_inner_texts()
    return " ".join(word for word in words if word != "<eos>")


def translated(name: str, text: str) -> str:
    [translation] = Run.open(CHECKPOINTS / name).translate([text], GREEDY)
    return translation


def test_every_script_is_loaded_by_the_page() -> None:
    written = {path.stem for path in (ROOT / "book" / STATIC).glob("*.js")}
    assert written == set(SCRIPTS)


def test_a_sentence_is_translated_as_the_package_translates_it(page: Page) -> None:
    assert said(page) == translated("toy-transformer", SENTENCE)
    page.fill("#lab-sentence", "a child chases a poet")
    expect(page.locator(".translation .word").first).to_contain_text("아이")
    assert said(page) == translated("toy-transformer", "a child chases a poet")


def test_it_works_from_a_file(browser: Browser, folder: Path) -> None:
    with browser.new_page() as page:
        page.goto(f"{folder.as_uri()}/small.html")
        assert said(page) == translated("toy-transformer", SENTENCE)
        assert page.locator(".weights").count() == 1


def test_the_embedded_model_is_small(folder: Path) -> None:
    assert (folder / STATIC / "models" / "toy-transformer.js").stat().st_size < 1_000_000


def test_a_drawn_sentence_is_judged_against_its_translation(page: Page) -> None:
    page.get_by_role("button", name="Draw one").click()
    expect(page.locator(".numbers")).to_contain_text("the right one")
    expect(page.locator(".numbers")).to_contain_text("alignment error")


def test_unknown_words_are_named_and_known_ones_suggested(page: Page) -> None:
    page.fill("#lab-sentence", "the zebra sin")
    expect(page.locator(".told")).to_contain_text("never seen “zebra”")
    page.locator(".suggested").get_by_role("button", name="sing", exact=True).click()
    assert page.input_value("#lab-sentence") == "the zebra sing "


@pytest.mark.parametrize("switch", ["positions", "scale", "causal"])
def test_what_is_broken_stands_beside_what_is_not(page: Page, switch: str) -> None:
    before = said(page)
    page.locator(f"[name={switch}]").uncheck()
    expect(page.locator(".translation")).to_have_count(2)
    assert said(page, 1) == before
    page.get_by_role("button", name="Undo all changes").click()
    expect(page.locator(".translation")).to_have_count(1)
    assert said(page) == before


def test_a_head_is_switched_off_by_keyboard(page: Page) -> None:
    said(page)
    page.locator(HEAD).focus()
    page.keyboard.press("Space")
    expect(page.locator(HEAD)).to_have_attribute("aria-pressed", "false")
    expect(page.locator(HEAD)).to_be_focused()
    expect(page.locator(".translation")).to_have_count(2)


def test_weights_are_set_by_hand_and_given_back(page: Page) -> None:
    said(page)
    page.get_by_role("button", name="head 1", exact=True).click()
    cell = page.locator(".weights tbody tr").nth(0).locator("td button").nth(3)
    cell.click()
    expect(cell).to_have_text("1.00")
    expect(page.locator(".weights tbody th").first).to_contain_text("✎")
    expect(page.locator(".translation")).to_have_count(2)
    cell.click()
    expect(page.locator(".translation")).to_have_count(1)


def test_another_token_is_said_instead(page: Page) -> None:
    before = said(page)
    page.locator(".bars tbody tr button").nth(1).click()
    expect(page.locator(".bars [aria-pressed=true]")).to_have_count(1)
    assert said(page).split()[0] != before.split()[0]


def test_the_beam_grows_a_tree(page: Page) -> None:
    said(page)
    page.get_by_role("button", name="beam 4").click()
    page.get_by_text("The search, as a tree").click()
    expect(page.locator(".tree .number")).not_to_have_count(1)
    best = page.locator(".tree .best .word span").all_inner_texts()
    assert " ".join(best[:-1]) == said(page)


@pytest.mark.parametrize("name", ["toy-bahdanau", "toy-seq2seq"])
def test_other_models_translate_beside_it(page: Page, name: str) -> None:
    said(page)
    page.get_by_label(OFFERS[name][1]).check()
    expect(page.locator(".translation")).to_have_count(2)
    assert said(page, 1) == translated(name, SENTENCE)


def test_the_german_model_is_loaded_on_demand(page: Page) -> None:
    said(page)
    page.select_option("#lab-model", "multi30k-de-en")
    expect(page.locator(".told")).to_have_text(re.compile("^$|never seen"), timeout=20_000)
    page.fill("#lab-sentence", "ein mann schläft auf einer bank .")
    right = translated("multi30k-de-en", "ein mann schläft auf einer bank .")
    expect(page.locator(".translation p").first).to_have_text(
        re.compile(re.escape(right.replace(" ", "")) + "<eos>"), timeout=20_000
    )


def test_ones_own_model_is_opened(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotated_transformer.run.web.toy_corpus", lambda: toy_corpus(300))
    export_to_web(Run.open(CHECKPOINTS / "toy-bahdanau"), tmp_path / "mine")
    said(page)
    page.set_input_files("#lab-files", sorted((tmp_path / "mine").iterdir()))
    expect(page.locator(".translation h2")).to_have_text("Bahdanau")
    assert said(page) == translated("toy-bahdanau", SENTENCE)
    page.set_input_files("#lab-files", sorted((tmp_path / "mine").iterdir())[:1])
    expect(page.locator(".told")).to_have_text("There is no model.safetensors among these 1 files.")


def test_a_link_sets_an_experiment_up(browser: Browser, address: str) -> None:
    asked = "sentence=the+cat+sees+the+dog&positions=off&off=decoder.1.cross_attention.0&beam=4"
    with browser.new_page() as page:
        page.goto(f"{address}index.html?{asked}")
        expect(page.locator(".translation")).to_have_count(2)
        assert not page.locator("[name=positions]").is_checked()
        expect(page.locator(HEAD)).to_have_attribute("aria-pressed", "false")
        expect(page.get_by_role("button", name="beam 4")).to_have_attribute("aria-pressed", "true")


def test_a_model_of_another_server_is_refused(browser: Browser, address: str) -> None:
    with browser.new_page() as page:
        page.goto(f"{address}index.html?model=https://example.org/x")
        said(page)
        expect(page.locator("#lab-model")).to_have_value("toy-transformer")


@pytest.mark.parametrize("view", VIEWS)
def test_it_is_accessible_with_everything_open(browser: Browser, address: str, view: str) -> None:
    with browser.new_context(**VIEWS[view]) as context, context.new_page() as page:
        page.goto(f"{address}index.html?positions=off&beam=4")
        theme = "dark" if view == "dark" else "light"
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        said(page)
        for summary in page.locator(".more summary").all():
            summary.click()
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
        wide = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
        assert wide <= 0
