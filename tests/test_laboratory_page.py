"""The laboratory in a browser: what a reader types, breaks and opens, by mouse and by keyboard."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
import torch
from laboratory_page import CHECKPOINTS, OFFERS, SERVICE_WORKER, STATIC, frame, offer
from playwright.sync_api import Browser, Error, Page, Route, expect

from annotated_transformer.corpora import Corpus, load_corpus
from annotated_transformer.decoding import GREEDY
from annotated_transformer.exchange import export_to_web
from annotated_transformer.exchange.eight_bits import quantised, restored
from annotated_transformer.run import Run, preset
from annotated_transformer.run.checkpoint import save_checkpoint
from annotated_transformer.tokens import SPECIALS
from annotated_transformer.toy import toy_corpus
from annotated_transformer.weights import load_tensors
from browser import LOOKS, SETTLED, VIEWS, inaccessible, serve, violations

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SENTENCE = "the brave boys sing"
HEAD = "[data-key='decoder.1.cross_attention.0']"
GERMAN = "multi30k-de-en"
CAPTIONS = "multi30k-en"
STRICT = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'self\'; '
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:\">"
)
KINDS = {"transformer": "Transformer", "language": "Language model"}


OF_SPHINX = ("documentation_options.js", "doctools.js")  # which have the translations


def page_of(small: bool = False) -> str:
    scripts = "".join(f'<script defer src="_static/{name}"></script>' for name in OF_SPHINX)
    body = scripts + frame(STATIC, SENTENCE, small)
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
    for name in OF_SPHINX:
        shutil.copy(site / "_static" / name, alone / "_static" / name)
    (alone / "index.html").write_text(page_of(), encoding="utf-8")
    (alone / "small.html").write_text(page_of(small=True), encoding="utf-8")
    strict = page_of().replace("<head>", f"<head>{STRICT}")
    (alone / "strict.html").write_text(strict, encoding="utf-8")
    return alone


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with serve(folder) as served:
        yield served


@contextmanager
def watched(page: Page) -> Iterator[None]:
    """What goes wrong in the scripts of a page fails the test."""
    errors: list[str] = []

    def on_error(error: Error) -> None:
        errors.append(str(error))

    page.on("pageerror", on_error)
    yield
    page.remove_listener("pageerror", on_error)
    assert not errors


@pytest.fixture
def page(tab: Page, address: str) -> Iterator[Page]:
    """The laboratory."""
    with watched(tab):
        tab.goto(f"{address}index.html")
        yield tab
        tab.unroute_all()


def said(page: Page, which: int = 0) -> str:
    """The translation that stands there, without its glosses."""
    page.wait_for_selector(".results:not([inert], [aria-busy]) .translation")
    words = page.locator(".translation").nth(which).locator(".word span").all_inner_texts()
    return " ".join(word for word in words if word != "<eos>")


def drop(page: Page, x: float, y: float, **data: list[object]) -> None:
    """Drag files or a text to a place, and let go of them."""
    devtools = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        given = {"items": [], "dragOperationsMask": 1} | data
        devtools.send("Input.dispatchDragEvent", {"x": x, "y": y, "type": kind, "data": given})
        page.evaluate("new Promise(requestAnimationFrame)")  # or it may refuse the drop


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's own model, exported."""
    monkeypatch.setattr("annotated_transformer.exchange.to_web.toy_corpus", lambda: toy_corpus(300))
    export_to_web(Run.open(CHECKPOINTS / "toy-bahdanau"), tmp_path / "mine")
    return tmp_path / "mine"


@cache
def of_the_site(name: str) -> Run:
    """A committed run, with the weights that the page has."""
    run = Run.open(CHECKPOINTS / name)
    if OFFERS[name][0] == "int8":
        load_tensors(run.model, restored(quantised(dict(run.model.named_parameters()))))
    return run


def translated(name: str, text: str) -> str:
    [translation] = of_the_site(name).translate([text], GREEDY)
    return translation


def test_unknown_words_are_named_and_known_ones_suggested(page: Page) -> None:
    page.fill("#lab-sentence", "the zebra sin")
    expect(page.locator(".told")).to_contain_text("Not in the vocabulary: “zebra”")
    page.locator(".suggested").get_by_role("button", name="sing", exact=True).click()
    assert page.input_value("#lab-sentence") == "the zebra sing "


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


def test_a_language_model_attends_to_all_that_it_has_read(page: Page) -> None:
    said(page)
    expect(page.get_by_text("KV cache")).to_have_count(0)
    page.select_option("#lab-model", "toy-language")
    expect(page.locator(".translation h2")).to_have_text(KINDS["language"])
    words = [*translated("toy-language", SENTENCE).split(), "<eos>"]
    assert " ".join(words[:-1]) == said(page)
    read = [*SENTENCE.split(), "<eos>", "<bos>", *words[:-1]]
    names = ".weights tbody th .word span", ".weights thead th .word span"
    assert [page.locator(name).all_inner_texts() for name in names] == [words, read]
    expect(page.locator(".weights thead [lang=en]").first).to_have_text("the")
    page.locator("[data-key='word 1']").click()
    kept = len(SENTENCE.split()) + 1
    expect(page.locator(".note", has_text="KV cache")).to_have_text(
        f"KV cache: {kept} + 2 positions × 4 layers × 4 heads × (16 + 16) = "
        f"{(kept + 2) * 4 * 4 * 32:,} numbers"
    )
    page.get_by_role("button", name="head 1", exact=True).click()
    before = len(read) - len(words) + 1  # the columns that the first row may attend to
    seen = sum(range(before, before + len(words)))
    expect(page.locator(".weights tbody button")).to_have_count(seen)
    cell = page.locator("[data-key='cell 1 0']")
    cell.click()
    expect(cell).to_have_text("1.00")
    expect(page.locator(".weights tbody th").nth(1)).to_contain_text("✎")
    page.locator("[name=causal]").uncheck()
    expect(page.locator(".weights tbody button")).to_have_count(
        page.locator(".weights tbody td").count()
    )


def test_what_has_the_focus_keeps_it(page: Page) -> None:
    """A word, a bar, a cell: each is found again among the new results."""
    said(page)
    page.get_by_role("button", name="head 1", exact=True).click()
    for key, wanted in [
        ("word 2", ".translation button[aria-pressed=true]"),
        ("cell 0 3", ".weights button[aria-pressed=true]"),
    ]:
        page.locator(f"[data-key='{key}']").focus()
        page.keyboard.press("Enter")
        expect(page.locator(wanted)).to_be_focused()
        assert page.evaluate("document.activeElement.dataset.key") == key
        page.wait_for_selector(".results:not([aria-busy])")
    bar = page.locator(".bars tbody button").nth(2)
    key = bar.get_attribute("data-key")
    bar.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.key") == key
    expect(page.locator(".bars button[aria-pressed=true]")).to_be_focused()


def test_what_it_says_is_heard_in_its_language(page: Page) -> None:
    heard = page.locator(".heard[role=status]")
    text = translated("toy-transformer", SENTENCE)
    expect(heard).to_have_text(f"It predicts: {text} · In English: {SENTENCE}")
    heard.evaluate("element => { element.isTheSame = true; }")
    page.fill("#lab-sentence", "a child chases a poet")
    text = translated("toy-transformer", "a child chases a poet")
    expect(heard).to_have_text(f"It predicts: {text} · In English: the child chases the poet")
    assert said(page) == text
    assert heard.evaluate("element => element.isTheSame")
    page.get_by_text("The search, as a tree").click()
    for part in (".heard", ".translation", ".bars", ".weights tbody", ".tree"):
        korean = page.locator(f"{part} [lang=ko]").all_inner_texts()
        assert any(re.search("[가-힣]", word) for word in korean), part
    every = page.locator(".results span").all()
    hangul = [each for each in every if re.fullmatch("[ㄱ-ㅣ가-힣]+", each.inner_text())]
    assert hangul
    assert all(each.get_attribute("lang") == "ko" for each in hangul)
    page.locator("[data-key='word 1']").click()
    page.locator(".bars tbody button").nth(1).click()
    expect(page.locator(".back")).to_contain_text(
        re.compile("In English|no sentence of the grammar")
    )
    page.locator("[name=positions]").uncheck()
    expect(page.locator(".back").nth(1)).to_have_text("In English: the child chases the poet")
    page.fill("#lab-sentence", "")
    expect(heard).to_have_text("")
    expect(page.locator(".translation")).to_have_count(0)


def test_on_a_phone_the_prediction_stays_in_sight_of_the_controls(
    browser: Browser, address: str
) -> None:
    with browser.new_page(viewport={"width": 390, "height": 844}) as page, watched(page):
        for name, is_small in (("index", False), ("small", True)):
            page.goto(f"{address}{name}.html")
            said(page)
            if not is_small:
                page.locator(".changes").scroll_into_view_if_needed()
                expect(page.locator(".heard")).to_be_in_viewport()
            assert (page.locator(".heard").bounding_box()["height"] < 2) == is_small


@pytest.mark.parametrize("kind", KINDS)
def test_gold_outlines_are_explained_where_they_are(page: Page, kind: str) -> None:
    said(page)
    page.select_option("#lab-model", f"toy-{kind}")
    expect(page.locator(".translation h2")).to_have_text(KINDS[kind])
    page.get_by_role("button", name="Random sentence").click()
    for _ in range(10):  # until one is drawn that it translates rightly
        page.wait_for_selector(".results:not([aria-busy])")
        if page.locator(".weights td.gold").count():
            break
        page.get_by_role("button", name="Random sentence").click()
    for shown in ("reference", "alignment error"):
        expect(page.locator(".numbers")).to_contain_text(shown)
    expect(page.locator(".numbers")).not_to_contain_text("-0.00")
    expect(page.locator(".weights caption")).to_contain_text("Outlined: words that belong together")
    page.fill("#lab-sentence", "the dog")
    expect(page.locator(".weights td.gold")).to_have_count(0)
    expect(page.locator(".weights caption")).not_to_contain_text("Outlined")


def test_only_others_of_the_same_languages_stand_beside_it_and_german_comes_on_demand(
    page: Page,
) -> None:
    said(page)
    box = page.locator(".beside input")
    expect(box).to_have_count(3)
    page.get_by_label(OFFERS["toy-bahdanau"][1]).check()
    expect(page.locator(".translation")).to_have_count(2)
    assert said(page, 1) == translated("toy-bahdanau", SENTENCE)
    page.select_option("#lab-model", "toy-bahdanau")
    expect(page.locator(".translation")).to_have_count(1)
    page.get_by_label(OFFERS["toy-transformer"][1]).check()
    expect(page.locator(".translation")).to_have_count(2)
    page.select_option("#lab-model", GERMAN)
    expect(page.get_by_label("A German sentence")).to_be_visible(timeout=20_000)
    expect(page.locator(".translation")).to_have_count(1, timeout=20_000)
    expect(box).to_have_count(0)
    expect(page.locator(".weights thead [lang=de]").first).to_be_visible()
    expect(page.locator("#lab-sentence")).to_have_attribute("lang", "de")
    expect(page.get_by_role("button", name="Random sentence")).to_be_hidden()
    sentence = "Ein Mann schläft auf einer Bank."
    expect(page.locator("#lab-sentence")).to_have_value(sentence)
    right = f"{translated(GERMAN, sentence)} <eos>"
    expect(page.locator(".translation p").first).to_have_text(right, timeout=20_000)
    page.get_by_role("button", name="beam 8").click()
    expect(page.locator(".busy")).to_be_visible()
    expect(page.locator(".busy")).to_be_hidden(timeout=30_000)
    page.get_by_role("button", name="greedy").click()
    page.select_option("#lab-model", "toy-transformer")
    expect(page.get_by_role("button", name="Random sentence")).to_be_visible()
    expect(page.locator("#lab-sentence")).to_have_attribute("lang", "en")
    assert said(page) == translated("toy-transformer", SENTENCE)


WEIGHTS = """table => [...table.tBodies[0].rows].map((row) =>
    [...row.cells].slice(1).map((cell) => Number(cell.style.getPropertyValue("--w"))))"""


def words_of(tokens: list[str]) -> list[list[int]]:
    """Which tokens stand together between spaces, but for punctuation at the end."""
    words: list[list[int]] = []
    for at, token in enumerate(tokens):
        if token.startswith("▁") or token in (".", ",", "<bos>", "<eos>"):
            words.append([])
        words[-1].append(at)
    return words


@pytest.mark.parametrize("layer", [0, 3, 8])
def test_of_subwords_whole_words_are_shown_or_their_pieces(page: Page, layer: int) -> None:
    """In the encoder, in the decoder, and between the two."""
    text = "Ein alter Mann mit einem Zylinder spielt Dudelsack, und ein Pinguin hört zu."
    page.goto(f"{page.url}?model={GERMAN}&sentence={text}")
    right = translated(GERMAN, text)
    expect(page.locator(".translation p")).to_have_text([f"{right} <eos>", re.compile("log p")])
    names = [f"{side}.{n}.self_attention" for side in ("encoder", "decoder") for n in range(3)]
    names += [f"decoder.{n}.cross_attention" for n in range(3)]
    page.select_option("#lab-layer", names[layer])
    page.get_by_role("button", name="head 2", exact=True).click()
    vocabulary = Run.open(CHECKPOINTS / GERMAN).vocabularies.src
    source, said = ([*vocabulary.tokens(vocabulary.encode(t)), "<eos>"] for t in (text, right))
    read = ["<bos>", *said[:-1]]
    rows, columns = [(source, source), (read, read), (said, source)][layer // 3]
    table = page.locator(".weights")
    whole = torch.tensor(table.evaluate(WEIGHTS))
    expect(table.locator("button")).to_have_count(0)
    expect(page.locator(".reads")).to_have_count(0)
    pieces = page.get_by_role("button", name="pieces", exact=True)
    pieces.click()
    expect(pieces).to_be_focused()
    expect(pieces).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("pieces=on"))
    expect(table.locator("thead th")).to_have_text([token.replace("▁", "") for token in columns])
    expect(table.locator("tbody th")).to_have_text([token.replace("▁", "") for token in rows])
    expect(page.locator(".reads")).to_contain_text("Z|yl|inder")
    each = torch.tensor(table.evaluate(WEIGHTS))
    summed = torch.stack([each[:, group].sum(dim=1) for group in words_of(columns)], dim=1)
    wanted = torch.stack([summed[group].mean(dim=0) for group in words_of(rows)])
    assert wanted.shape != each.shape
    torch.testing.assert_close(whole, wanted)
    torch.testing.assert_close(whole.sum(dim=1), torch.ones(len(whole)))
    page.locator("[data-key='cell 4 0']").click()
    expect(page.locator("[data-key='cell 4 0']")).to_have_text("1.00", timeout=20_000)
    pieces.click()
    expect(table.locator("tbody th", has_text="✎")).to_have_count(1)


def test_german_sentences_to_try_and_one_that_teaches(page: Page, multi30k: Corpus) -> None:
    page.goto(f"{page.url}?model={GERMAN}")
    number = len(list(multi30k.split("train")))
    expect(page.locator(".knows")).to_contain_text(f"has read {number:,} captions of photographs")
    rows = page.locator(".examples > div")
    expect(rows).to_have_count(6)
    for row in rows.all():
        sentence = row.get_by_role("button").first
        sentence.click()
        right = translated(GERMAN, sentence.inner_text())
        expect(page.locator(".translation p").first).to_have_text(f"{right} <eos>")
        expect(page.locator(".back")).to_have_count(0)
    assert re.search("keinen", sentence.inner_text())
    assert not re.search(r"\b(no|not|without)\b|n't", right)
    expect(row).to_contain_text("“keinen” is lost")
    rows.first.get_by_role("button", name="without positions").click()
    expect(page.locator(".translation")).to_have_count(2)


def test_what_a_model_of_subwords_does_not_read_is_said(page: Page) -> None:
    page.goto(f"{page.url}?model={GERMAN}&sentence=Ein+Mann+mit+日本+Hut.")
    told = page.locator(".told")
    instead = "it reads <unk> instead, and goes on with the rest."
    expect(told).to_have_text(f"Of “日本” it does not know every character: {instead}")
    expect(page.locator(".reads .unknown")).to_have_text("<unk>")
    expect(page.locator(".weights thead .unknown")).to_have_text("<unk>")
    expect(page.locator(".heard")).to_have_text(
        f"It predicts: {translated(GERMAN, 'Ein Mann mit 日本 Hut.')}"
    )
    page.get_by_role("button", name="pieces", exact=True).click()
    expect(page.locator(".weights thead .unknown")).to_have_text(["<unk>", "<unk>"])
    page.fill("#lab-sentence", "Ein Hund und " * 70 + "noch ein Hund.")
    words = ("Ein Hund und " * 67)[:-1].split()[:199]
    expect(told).to_have_text(
        re.compile("^The sentence is too long: it was cut after “.*Hund und Ein”.$"), timeout=60_000
    )
    expect(page.locator(".weights thead th")).to_have_count(200)
    assert page.locator(".weights thead th").all_inner_texts() == [*words, "<eos>"]
    page.fill("#lab-sentence", "Zwei Hunde rennen.")
    expect(told).to_have_text("")


def test_the_model_that_is_chosen_last_wins(page: Page) -> None:
    held: list[Route] = []
    page.evaluate("caches.delete('models of the laboratory')")
    page.route("**/model.safetensors?*", lambda route: held.append(route))
    said(page)
    page.select_option("#lab-model", GERMAN)
    expect(page.locator(".told")).to_have_text(f"Loading: {offer(GERMAN)['title']} …")
    page.fill("#lab-sentence", "ein zebra")
    expect(page.locator(".told")).to_have_text(f"Loading: {offer(GERMAN)['title']} …")
    page.wait_for_timeout(200)
    assert said(page) == translated("toy-transformer", SENTENCE)
    page.select_option("#lab-model", "toy-seq2seq")
    expect(page.locator(".translation h2")).to_have_text("GRU, no attention")
    expect(page.locator(".told")).to_contain_text("Not in the vocabulary: “ein”, “zebra”")
    with page.expect_response("**/model.safetensors?*") as answer:
        held[0].continue_()
    answer.value.finished()
    page.wait_for_timeout(1000)
    expect(page.locator("#lab-model")).to_have_value("toy-seq2seq")
    expect(page.locator(".translation h2")).to_have_text("GRU, no attention")


def test_what_is_typed_while_the_first_model_is_loaded_stays(
    browser: Browser, address: str
) -> None:
    held: list[Route] = []
    with browser.new_page() as page, watched(page):
        page.route("**/models/toy-transformer.js", lambda route: held.append(route))
        page.goto(f"{address}index.html", wait_until="commit")
        page.fill("#lab-sentence", "the cat sees the dog")
        expect(page.get_by_role("button", name="Random sentence")).to_be_hidden()
        page.wait_for_timeout(1000)
        held[0].continue_()
        assert said(page) == translated("toy-transformer", "the cat sees the dog")
        expect(page.get_by_role("button", name="Random sentence")).to_be_visible()


def test_a_model_that_cannot_be_loaded_is_told_and_leaves_the_rest(
    browser: Browser, address: str
) -> None:
    with browser.new_page() as page, watched(page):
        page.route("**/models/toy-transformer.js", lambda route: route.abort())
        page.route("**/models/toy-seq2seq.js", lambda route: route.abort())
        page.goto(f"{address}index.html")
        expect(page.locator(".told")).to_contain_text("toy-transformer")
        page.fill("#lab-sentence", "the dog")
        page.goto(f"{address}index.html?model=toy-bahdanau&beside=toy-seq2seq")
        assert said(page) == translated("toy-bahdanau", SENTENCE)
        expect(page.locator(".told")).to_contain_text("toy-seq2seq")
        expect(page.locator("[name=toy-seq2seq]")).not_to_be_checked()


def test_from_a_file_all_works(browser: Browser, folder: Path) -> None:
    with browser.new_page() as page, watched(page):
        page.goto(f"{folder.as_uri()}/small.html")
        assert said(page) == translated("toy-transformer", SENTENCE)
        assert page.locator(".weights").count() == 1
        page.goto(f"{folder.as_uri()}/index.html")
        said(page)
        page.locator("[data-key='box decoder.next']").click()
        expect(page.locator(".stage tbody tr").first).to_contain_text("100 %")
        page.locator(".tour-start").click()
        page.get_by_role("dialog", name="Tour").get_by_role("button", name="Next").click()
        expect(page.locator(".spoken")).to_be_in_viewport()
        page.goto(f"{folder.as_uri()}/index.html?model=elsewhere")
        expect(page.locator(".told")).to_contain_text("A page that is a file may not load others.")
        assert said(page) == translated("toy-transformer", SENTENCE)
        page.select_option("#lab-model", GERMAN)
        right = translated(GERMAN, "Ein Mann schläft auf einer Bank.")
        expect(page.locator(".heard")).to_have_text(f"It predicts: {right}", timeout=30_000)


def test_a_folder_of_the_same_server_is_opened(browser: Browser, address: str) -> None:
    with browser.new_page() as page, watched(page):
        page.goto(f"{address}index.html?model={STATIC}/models/{GERMAN}&sentence=Zwei+Hunde+rennen.")
        expect(page.locator(".translation .word").first).to_be_visible(timeout=20_000)
        right = translated(GERMAN, "Zwei Hunde rennen.")
        expect(page.locator(".heard")).to_have_text(f"It predicts: {right}", timeout=20_000)
        folder = f"{STATIC}/models/{GERMAN}"
        expect(page.locator("#lab-model")).to_have_value(folder)
        page.fill("#lab-sentence", "Zwei Katzen.")
        expect(page).to_have_url(re.compile(f"model={folder.replace('/', '%2F')}.*Katzen"))
        page.select_option("#lab-model", "toy-transformer")
        expect(page.get_by_label("An English sentence")).to_be_visible()
        page.select_option("#lab-model", folder)  # it can be chosen again
        expect(page.locator(".heard")).to_have_text(re.compile("It predicts: T"), timeout=20_000)
        expect(page.locator("label[for=lab-sentence]")).to_have_text("A sentence")


def test_the_address_is_a_link_to_what_is_shown(browser: Browser, address: str) -> None:
    with browser.new_page() as page, watched(page):
        page.goto(f"{address}index.html?beam=99&temperature=x&layer=none")
        said(page)
        expect(page).to_have_url(f"{address}index.html")
        expect(page.get_by_role("button", name="greedy")).to_have_attribute("aria-pressed", "true")
        page.fill("#lab-sentence", "the dog & the cat")
        page.locator("[name=positions]").uncheck()
        page.locator(HEAD).click()
        page.get_by_role("button", name="beam 4").click()
        page.select_option("#lab-layer", "encoder.0.self_attention")
        page.locator("[name=toy-bahdanau]").check()
        expect(page.locator(".translation")).to_have_count(3)
        expect(page).to_have_url(re.compile("beside=toy-bahdanau"))
        wanted = [said(page, which) for which in range(3)]
        with browser.new_page() as other, watched(other):
            other.goto(page.url)
            expect(other.locator(".translation")).to_have_count(3)
            assert [said(other, which) for which in range(3)] == wanted
            expect(other.locator("#lab-sentence")).to_have_value("the dog & the cat")
            expect(other.locator("[name=positions]")).not_to_be_checked()
            expect(other.locator(HEAD)).to_have_attribute("aria-pressed", "false")
            beam = other.get_by_role("button", name="beam 4")
            expect(beam).to_have_attribute("aria-pressed", "true")
            expect(other.locator("#lab-layer")).to_have_value("encoder.0.self_attention")
            expect(other).to_have_url(page.url)
        page.select_option("#lab-model", "toy-language")
        expect(page).to_have_url(re.compile(r"\?model=toy-language&"))


def test_a_link_has_the_word_the_head_its_weights_and_the_sample(
    browser: Browser, address: str
) -> None:
    shown = [".translation", ".bars", ".weights"]
    with browser.new_page() as page, watched(page):
        page.goto(f"{address}index.html?sample=on&temperature=2")
        said(page)
        page.locator("#lab-topK").fill("9")
        page.locator("#lab-topP").fill("0.95")
        page.get_by_role("button", name="head 2", exact=True).click()
        page.locator("[data-key='cell 1 3']").click()
        page.wait_for_selector(".results:not([aria-busy])")
        page.locator("[data-key='word 2']").click()
        page.locator(".bars tbody button").nth(1).click()
        page.wait_for_selector(".results:not([aria-busy])")
        expect(page).to_have_url(re.compile("said="))
        for name in ("sample=[0-9]", "top_k=9", "top_p=0.95", "head=2", "word=3", "attend="):
            expect(page).to_have_url(re.compile(name))
        wanted = [page.locator(part).all_inner_texts() for part in shown]
        link = page.url
        page.reload()
        said(page)
        expect(page.locator(".weights tbody th").nth(1)).to_contain_text("✎")
        assert [page.locator(part).all_inner_texts() for part in shown] == wanted
        page.wait_for_timeout(500)
        assert page.url == link
        page.fill("#lab-sentence", "the dog")
        expect(page).not_to_have_url(re.compile("attend=|said=|word="))


def test_a_text_is_continued(page: Page, tmp_path: Path) -> None:
    """A language model of one language has no source: it continues what is typed."""
    recipe = preset("language", "toy", "modern", languages="en")
    run = Run.create(tmp_path / "run", recipe, load_corpus("toy", "en"))
    fresh = run.recipe.make_model(run.vocabularies)
    save_checkpoint(run.weights, dict(fresh.named_parameters()))
    export_to_web(run, tmp_path / "mine")
    said(page)
    page.fill("#lab-sentence", "the dog")
    page.set_input_files("#lab-files", sorted((tmp_path / "mine").iterdir()))
    expect(page.get_by_label("A text to continue")).to_be_visible()
    page.get_by_role("button", name="greedy").click()
    [wanted] = run.continue_text("the dog", GREEDY, run.recipe.search.extra_length)
    assert written(page) == wanted
    page.locator("[data-key='token 0 0']").click()
    expect(page.get_by_role("button", name="Random sentence")).to_be_hidden()
    expect(page.get_by_role("button", name="beam 4")).to_have_count(0)
    read = ["<bos>", *wanted.split()][: page.locator(".weights tbody tr").count()]
    assert page.locator(".weights thead th .word span").all_inner_texts() == read
    expect(page.locator(".note", has_text="KV cache: 0 + 1 positions")).to_be_visible()


# --- a model that writes --------------------------------------------------------------------------


def written(page: Page, column: int = 0) -> str:
    """The text that was written, once it has ended or was stopped."""
    page.wait_for_selector(".results:not([inert], [aria-busy]) .written", timeout=60_000)
    words = page.locator(".written").nth(column).locator("> span").all()
    texts = [word.text_content() or "" for word in words]
    return " ".join(text for text in texts if text != "<eos>")


@pytest.fixture
def writer(tab: Page, address: str) -> Iterator[Page]:
    """The laboratory with the model that writes captions, and its first text."""
    with watched(tab):
        tab.goto(f"{address}index.html?model={CAPTIONS}&sample=7&sentence=A+man")
        written(tab)
        yield tab
        tab.unroute_all()


def continued(text: str) -> str:
    """What the package continues a text with, greedily."""
    run = of_the_site(CAPTIONS)
    [wanted] = run.continue_text(text, GREEDY, run.recipe.search.extra_length)
    return wanted


GROWING = """() => {
    globalThis.lengths = [];
    new MutationObserver(() => lengths.push(document.querySelectorAll(".written button").length))
        .observe(document.querySelector(".results"), { childList: true });
}"""


def test_a_text_grows_token_by_token_to_its_end(writer: Page) -> None:
    writer.evaluate(GROWING)
    writer.get_by_role("button", name="greedy").click()
    assert written(writer) == continued("A man")
    lengths = writer.evaluate("[...new Set(lengths)]")
    assert lengths == [*range(3, writer.locator(".written button").count() + 1)]
    expect(writer.locator(".written button").last).to_have_text("<eos>")
    expect(writer.locator(".heard")).to_have_text(f"It predicts: {continued('A man')}")
    expect(writer.locator(".numbers")).to_contain_text(re.compile(r"\d+ tokens per second"))
    writer.fill("#lab-sentence", "Two dogs")
    expect(writer.locator(".written .given")).to_have_text(["Two", "dogs"])
    assert written(writer) == continued("Two dogs")


def test_what_it_does_not_read_is_said(writer: Page) -> None:
    told = writer.locator(".told")
    writer.fill("#lab-sentence", "A man with a 日本 hat")
    expect(told).to_contain_text("Of “日本” it does not know every character: it reads <unk>")
    writer.fill("#lab-sentence", "A dog and " * 40)
    expect(told).to_have_text(re.compile("^The sentence is too long: it was cut after “.*”.$"))
    expect(writer.locator(".written .given")).to_have_count(63, timeout=30_000)
    assert written(writer).startswith("A dog and A dog")


def test_without_its_cache_it_writes_the_same(writer: Page) -> None:
    before = written(writer)
    computed = writer.locator(".numbers").inner_text()
    writer.locator("[name=cached]").uncheck()
    expect(writer).to_have_url(re.compile("cache=off"))
    assert written(writer) == before
    assert writer.locator(".numbers").inner_text().split()[:4] == computed.split()[:4]  # log p


def test_two_seeds_stand_side_by_side(writer: Page, address: str) -> None:
    writer.locator("[name=twice]").check()
    expect(writer.locator(".translation h2")).to_have_text(["seed 7", "seed 8"])
    texts = [written(writer, column) for column in range(2)]
    expect(writer).to_have_url(re.compile("twice=on"))
    link = writer.url
    for seed, text in zip((7, 8), texts, strict=True):
        writer.goto(f"{address}index.html?model={CAPTIONS}&sample={seed}&sentence=A+man")
        assert written(writer) == text
    writer.goto(link)
    expect(writer.locator(".written")).to_have_count(2)
    assert [written(writer, column) for column in range(2)] == texts


def test_the_unchanged_model_writes_beside_the_changed_one(writer: Page) -> None:
    before = written(writer)
    writer.locator("[name=positions]").uncheck()
    expect(writer.locator(".translation h2")).to_have_text(["changed", "unchanged"])
    assert written(writer, 1) == before != written(writer)
    writer.get_by_role("button", name="Undo all changes").click()
    expect(writer.locator(".written")).to_have_count(1)


STOPPED_AT_THE_FOURTH = """() => new MutationObserver((_, observer) => {
    const written = document.querySelectorAll(".written button");
    if (written.length !== 4) return;
    observer.disconnect();
    document.querySelector("button.write").click();
}).observe(document.querySelector(".results"), { childList: true })"""


def test_it_is_stopped(writer: Page) -> None:
    # The page itself presses the button: a fast one writes a text to its end between two looks.
    writer.evaluate(STOPPED_AT_THE_FOURTH)
    writer.get_by_role("button", name="Write again").click()
    text = written(writer)
    expect(writer.get_by_role("button", name="Write again")).to_be_visible()
    expect(writer.locator(".weights tbody tr")).to_have_count(
        writer.locator(".written button").count()
    )
    writer.wait_for_timeout(500)
    assert written(writer) == text
    expect(writer.locator(".written")).not_to_contain_text("<eos>")


def test_a_setting_is_taken_up_by_the_next_token(writer: Page) -> None:
    """With top-k 1 only the most probable token is left: from there on the text is greedy."""
    writer.locator("#lab-topP").fill("1")
    written(writer)
    writer.locator("#lab-temperature").fill("3")
    writer.wait_for_function(
        """() => {
          const written = document.querySelectorAll(".written button").length;
          window.begunAnew ||= written < 6;
          return window.begunAnew && written >= 6;
        }"""
    )
    writer.locator("#lab-topK").fill("1")
    tokens = writer.locator(".written button")
    at_most = tokens.count() + 1
    text = written(writer)
    pieces = [token.text_content() or "" for token in tokens.all()]
    words = writer.locator(".written > span")
    begins = {
        words.nth(i).locator("button").first.get_attribute("data-key") for i in range(words.count())
    }
    prefixes = [
        "".join(
            f" {piece}" if f"token 0 {t}" in begins else piece for t, piece in enumerate(pieces[:n])
        )
        for n in range(6, at_most + 1)
    ]
    assert text in [continued(prefix.strip()) for prefix in prefixes]
    assert continued("A man") != text


def test_a_token_shows_what_else_it_might_have_been_and_is_exchanged(writer: Page) -> None:
    writer.locator("[data-key='token 0 2']").click()
    expect(writer.locator(".bars caption")).to_have_text("Next token after: A man")
    other = writer.locator(".bars tbody button[aria-pressed=false]").first
    token = other.inner_text()
    other.click()
    expect(writer.locator("[data-key='token 0 2']")).to_have_text(token)
    expect(writer.locator(".bars [aria-pressed=true]")).to_have_text(token)
    assert written(writer).startswith(f"A man {token}")
    expect(writer).to_have_url(re.compile("word=3.*said="))


@pytest.mark.parametrize("view", VIEWS)
def test_a_model_that_writes_is_accessible(browser: Browser, address: str, view: str) -> None:
    with browser.new_page(**VIEWS[view]) as page, watched(page):
        page.goto(f"{address}index.html?model={CAPTIONS}&sample=7&twice=on")
        theme = "dark" if view == "dark" else "light"
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        written(page)
        page.wait_for_selector(".picture .box")
        page.evaluate(LOOKS, [])
        assert violations(page, JUDGED[view]) == []
        assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
        if view == "phone":
            page.evaluate("scrollTo(0, 0)")
            for part in ("#lab-sentence", ".written >> nth=1", ".bars tbody tr >> nth=2"):
                expect(page.locator(part)).to_be_in_viewport(ratio=1)


def test_a_model_that_writes_and_one_that_translates_take_turns(writer: Page) -> None:
    writer.select_option("#lab-model", "toy-transformer")
    expect(writer.get_by_label("An English sentence")).to_be_visible()
    assert said(writer) == translated("toy-transformer", SENTENCE)
    expect(writer.get_by_role("button", name="greedy")).to_have_attribute("aria-pressed", "true")
    expect(writer.get_by_role("button", name="Write again")).to_be_hidden()
    writer.fill("#lab-sentence", "a child chases a poet")
    writer.get_by_role("button", name="beam 4").click()
    writer.select_option("#lab-model", CAPTIONS)
    expect(writer.locator("#lab-sentence")).to_have_value("A little girl")
    assert written(writer).startswith("A little girl")
    expect(writer).not_to_have_url(re.compile("beam="))
    expect(writer.locator(".tour-start")).to_be_hidden()


def test_the_front_page_leads_to_the_german_model_and_loads_nothing_of_it_before(
    browser: Browser, site: Path
) -> None:
    with serve(site) as base, browser.new_page() as page, watched(page):
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(f"{base}book/index.html")
        said(page)
        assert not [url for url in loaded if "multi30k" in url]
        page.get_by_role("link", name="or translate real German").click()
        page.wait_for_url("**/book/laboratory.html?model=multi30k-de-en")


@pytest.mark.main
def test_three_examples_are_each_broken_by_one_click(page: Page) -> None:
    said(page)
    rows = page.locator(".examples > div")
    expect(rows).to_have_count(3)
    for row in rows.all():
        whole, broken = row.get_by_role("button").all()
        sentence = whole.inner_text()
        right = translated("toy-transformer", sentence)
        whole.click()
        read_back = sentence.replace("poet that", "poet whom")
        told = f"It predicts: {right} · In English: {read_back}"
        expect(page.locator(".heard")).to_have_text(told)
        expect(page.locator(".translation")).to_have_count(1)
        broken.click()
        expect(page.locator(".translation")).to_have_count(2)
        expect(broken).to_be_focused()
        assert said(page) != said(page, 1) == right
    page.select_option("#lab-model", "toy-bahdanau")
    expect(page.locator(".translation")).to_have_count(1)
    expect(rows.get_by_role("button")).to_have_count(3)


SMALL = """() => [...document.querySelectorAll(".picture *, .tour *")].filter((each) =>
    [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
    && parseFloat(getComputedStyle(each).fontSize) < 9)
    .map((each) => each.outerHTML.slice(0, 200))"""
STOPS = """() => [...document.querySelectorAll(".laboratory *")].filter((each) => each.tabIndex >= 0
    && each.matches("button, input, select, summary, a, [tabindex]") && !each.disabled
    && each.checkVisibility())"""


def test_a_table_is_one_tab_stop(page: Page) -> None:
    said(page)
    page.get_by_role("button", name="head 1", exact=True).click()
    page.wait_for_selector(".picture .box")
    for part in (".translation", ".bars", ".weights", ".heads", ".flow", ".shown .choice"):
        first = page.locator(part).first
        assert first.locator("button").count() > 2, part
        assert first.locator("button[tabindex='0']").count() == 1, part
    groups = page.evaluate(f"({STOPS})().map((each) => each.closest('.stage, .controls') ? 0 : 1)")
    assert sum(groups) < 16
    page.locator(".weights [tabindex='0']").focus()
    for key, wanted in [("End", 4), ("ArrowLeft", 3), ("Home", 0), ("ArrowRight", 1)]:
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.key") == f"cell 0 {wanted}"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.key") == "cell 1 1"
    page.keyboard.press("Enter")
    expect(page.locator("[data-key='cell 1 1']")).to_have_text("1.00")
    expect(page.locator("[data-key='cell 1 1']")).to_be_focused()


def test_the_picture_opens_every_box(page: Page) -> None:
    said(page)
    boxes = page.locator(".picture .box")
    expect(boxes).to_have_count(6 + 8)
    chapters = set()
    for box in boxes.all():
        box.click()
        expect(box).to_have_attribute("aria-expanded", "true")
        expect(box).to_be_focused()
        name = box.locator("span").first.inner_text()
        expect(page.locator(".stage h3")).to_contain_text(name)
        assert page.locator(".stage math").count() == page.locator(".stage .step").count() > 0
        assert page.locator(".stage :is(canvas, table)").count() > 0
        chapters |= {link.get_attribute("href") for link in page.locator(".stage a").all()}
    assert len(chapters) > 6
    files = {path.stem for path in (ROOT / "book").glob("*.ipynb")}
    assert {chapter.removesuffix(".html") for chapter in chapters} <= files


def test_the_picture_has_the_numbers_of_the_attention(page: Page, browser: Browser) -> None:
    """Of one head: the softmax of its stage and the table above, the probability and the bars."""
    said(page)
    page.select_option("#lab-layer", "decoder.1.cross_attention")
    page.get_by_role("button", name="head 3", exact=True).click()
    page.get_by_role("button", name="layer 2 of 2").click()
    page.locator("[data-key='box decoder.cross_attention']").click()
    page.get_by_role("button", name="head 3 in the picture").click()
    expect(page.locator(".stage p", has_text="Head 3 of 4")).to_be_visible()
    softmax = page.locator(".step", has=page.locator("h4", has_text="Softmax"))
    above = page.locator(".weights tbody tr").first.locator("td").all_inner_texts()
    mine = softmax.locator("tbody tr").first.locator("td").all_inner_texts()
    assert [float(text) for text in mine] == [float(text) for text in above]
    page.locator("[data-key='word 3']").click()
    page.locator("[data-key='box decoder.next']").click()
    bars = page.locator(".bars tbody .bar").all_inner_texts()
    expect(page.locator(".stage tbody tr td:nth-child(3)")).to_have_text(bars[:6])
    expect(page).to_have_url(re.compile("box=decoder.next&drawn=2,3"))
    with browser.new_page() as other, watched(other):
        other.goto(page.url)
        expect(other.locator(".stage h3")).to_have_text("Next token")
        pressed = other.get_by_role("button", name="layer 2 of 2")
        expect(pressed).to_have_attribute("aria-pressed", "true")


def test_a_number_is_told_where_one_points_and_by_keyboard(page: Page) -> None:
    said(page)
    field = page.locator(".stage .strips").first
    field.locator("canvas").hover(position={"x": 2, "y": 2})
    expect(field.locator("output")).to_have_text(re.compile(r"“the”, 1: −?\d+\.\d\d"))
    field.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(field.locator("output")).to_have_text(re.compile("“brave”, 2: "))


def test_what_is_changed_is_marked_in_the_picture_before_the_unchanged_model(page: Page) -> None:
    said(page)
    page.wait_for_selector(".picture .box")
    expect(page.locator(".box.changed, .box .was")).to_have_count(0)
    page.get_by_role("button", name="Ablate head 1").click()
    changed = page.locator(".box.changed")
    expect(changed).to_have_count(1)
    expect(changed).to_contain_text("ablated: head 1")
    expect(page.locator("[data-key='encoder.0.self_attention.0']")).to_have_attribute(
        "aria-pressed", "false"
    )
    # What comes before it is the same, all that comes after it is not.
    expect(page.locator("[data-key='box encoder.embedding'] .was")).to_have_count(0)
    expect(page.locator("[data-key='box encoder.memory']")).to_contain_text("differs by")
    expect(page.locator(".stage .before")).to_have_count(3)
    page.get_by_role("button", name="Undo all changes").click()
    expect(page.locator(".box.changed, .stage .before")).to_have_count(0)


def test_models_without_layers_have_no_picture(page: Page) -> None:
    said(page)
    page.wait_for_selector(".picture .box")
    page.select_option("#lab-model", "toy-bahdanau")
    expect(page.locator(".picture > *")).to_have_count(0)
    expect(page.locator(".tour-start")).to_be_hidden()
    page.select_option("#lab-model", "toy-language")
    expect(page.locator(".picture .stack")).to_have_count(1)
    expect(page.locator(".picture .box")).to_have_count(1 + 4 + 1)
    page.fill("#lab-sentence", "")
    expect(page.locator(".picture > *")).to_have_count(0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tour_is_taken_by_keyboard_and_mends_what_it_broke(page: Page, kind: str) -> None:
    page.fill("#lab-sentence", "the cat sees the dog")
    before = said(page)
    page.select_option("#lab-model", f"toy-{kind}")
    expect(page.locator(".translation h2")).to_have_text(KINDS[kind])
    before = said(page)
    page.locator("[name=scale]").uncheck()
    expect(page.locator(".translation")).to_have_count(2)
    changed = said(page)
    start = page.locator(".tour-start")
    start.focus()
    page.keyboard.press("Enter")
    tour = page.get_by_role("dialog", name="Tour")
    heard = []
    for step in range(1, 9):
        expect(tour.locator(".note")).to_have_text(f"{step} of 8")
        expect(tour.locator("p")).to_be_focused()
        expect(page.locator(".spoken")).to_have_count(1)
        expect(page.locator(".spoken")).to_be_in_viewport()
        heard.append(tour.locator("p").inner_text())
        if step == 7:
            expect(page.locator("[name=positions]")).not_to_be_checked()
        if step < 8:
            page.keyboard.press("ArrowRight")
    assert len(set(heard)) == 8
    assert sum(len(text.split()) for text in heard) < 250  # a minute
    expect(page.locator("[name=positions]")).to_be_checked()
    tour.get_by_role("button", name="Back").click()
    expect(page.locator("[name=positions]")).not_to_be_checked()
    page.keyboard.press("Escape")
    expect(tour).to_have_count(0)
    expect(start).to_be_focused()
    expect(page.locator("[name=positions]")).to_be_checked()
    expect(page.locator("[name=scale]")).not_to_be_checked()
    assert said(page) == changed
    assert said(page, 1) == before


# What the dark changes is colours, and what a phone changes is the layout.
JUDGED = {"light": ("rules", "contrast"), "dark": ("contrast",), "phone": ("rules",)}


@pytest.mark.parametrize("view", VIEWS)
def test_it_is_accessible_with_everything_open(browser: Browser, address: str, view: str) -> None:
    looks: list[str] = []
    with browser.new_page(**VIEWS[view]) as page, watched(page):
        page.goto(f"{address}index.html?positions=off&beam=4")
        theme = "dark" if view == "dark" else "light"
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        said(page)
        for summary in page.locator(".more summary").all():
            summary.click()
        page.wait_for_selector(".picture .box")
        page.locator(".tour-start").click()
        for box in (
            "encoder.embedding",
            "decoder.self_attention",
            "encoder.residual_1",
            "decoder.next",
        ):
            page.locator(f"[data-key='box {box}']").click(force=True)
            looks += page.evaluate(LOOKS, looks)
            assert violations(page, JUDGED[view]) == []
            wide = page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
            assert wide <= 0
        assert page.evaluate(SMALL) == []


def test_a_page_that_allows_only_its_own_scripts_is_enough_and_loads_each_once(
    browser: Browser, address: str
) -> None:
    written = {path.name for path in (ROOT / "book" / STATIC).glob("*.js")} - {SERVICE_WORKER}
    loaded: list[str] = []
    told: list[str] = []
    with browser.new_page(service_workers="block") as page, watched(page):
        page.on("request", lambda request: loaded.append(Path(request.url).name))
        page.on("console", lambda message: told.append(message.text))
        page.goto(f"{address}strict.html")
        assert said(page) == translated("toy-transformer", SENTENCE)
        assert page.evaluate("typeof Engine") == "undefined"  # the Worker alone has it
    scripts = sorted(name for name in loaded if name.endswith(".js"))
    assert scripts == sorted([*written, *OF_SPHINX, "toy-transformer.js"])
    assert [each for each in told if "blocked by Playwright" not in each] == []


def test_capitals_and_a_full_stop_make_no_word_unknown(page: Page) -> None:
    words = len(Run.open(CHECKPOINTS / "toy-transformer").vocabularies.src) - len(SPECIALS)
    expect(page.locator(".knows")).to_have_text(f"It knows {words} words of a toy grammar.")
    for text, plain in [
        ("The brave BOYS sing .", "the brave boys sing"),
        ("i read my letter,", "I read my letter"),
        ("boys, sing", "boys sing"),
    ]:
        page.fill("#lab-sentence", text)
        expect(page.locator(".told")).to_have_text("")
        assert said(page) == translated("toy-transformer", plain)


def test_what_is_broken_stands_beside_what_is_not(page: Page) -> None:
    before = said(page)
    for switch in ("positions", "scale", "causal"):
        page.locator(f"[name={switch}]").uncheck()
        expect(page.locator(".translation")).to_have_count(2)
        assert said(page, 1) == before
        page.get_by_role("button", name="Undo all changes").click()
        expect(page.locator(".translation")).to_have_count(1)
        assert said(page) == before


@pytest.mark.parametrize("name", ["index", "laboratory"])
@pytest.mark.parametrize("view", ["light", "phone"])
def test_what_is_seen_first_has_all_and_what_is_below_does_not_move(
    browser: Browser, site: Path, name: str, view: str
) -> None:
    held: list[Route] = []
    bottom = "document.querySelector('.laboratory').getBoundingClientRect().bottom"
    size = VIEWS[view]["viewport"]
    with serve(site) as base, browser.new_page(**VIEWS[view]) as page, watched(page):
        page.route("**/models/toy-transformer.js", lambda route: held.append(route))
        with page.expect_request("**/models/toy-transformer.js"):
            page.goto(f"{base}book/{name}.html")
        page.evaluate(SETTLED)
        before = page.evaluate(bottom)
        held[0].continue_()
        said(page)
        assert before > size["height"] or page.evaluate(bottom) == before
        if name == "index":
            return
        expect(page.locator(".tour-start")).to_be_visible()
        for part in ("#lab-sentence", ".tour-start", ".translation", ".back", ".weights"):
            box = page.locator(part).bounding_box()
            assert box["y"] >= 0, part
            assert box["x"] + box["width"] <= size["width"], part
            assert box["y"] + box["height"] <= size["height"], part


def test_on_a_phone_german_its_translation_and_attention_are_seen_at_once(
    browser: Browser, site: Path
) -> None:
    with serve(site) as base, browser.new_page(**VIEWS["phone"]) as page, watched(page):
        page.goto(f"{base}book/laboratory.html?model={GERMAN}")
        said(page)
        page.wait_for_selector(".picture .box")
        height = VIEWS["phone"]["viewport"]["height"]
        for part in ("#lab-sentence", ".translation", ".weights"):
            box = page.locator(part).bounding_box()
            assert box["y"] >= 0, part
            assert box["y"] + box["height"] <= height, part
        assert inaccessible(page) == []


def test_a_sample_is_drawn_among_the_most_probable_and_is_another_each_time(page: Page) -> None:
    before = said(page)
    temperature = page.locator("#lab-temperature")
    numbers = [page.locator(f"#lab-{name}") for name in ("topK", "topP")]
    for each in (temperature, *numbers):
        expect(each).to_be_disabled()  # with a greedy search it changes nothing
    page.get_by_role("button", name="sample", exact=True).click()
    temperature.fill("3")
    samples = set()
    for _ in range(3):
        page.wait_for_selector(".results:not([aria-busy])")
        samples.add(said(page))
        page.get_by_role("button", name="sample again").click()
    assert len(samples) > 1
    for number, least in zip(numbers, ["1", "0.05"], strict=True):
        number.fill(least)
        page.wait_for_selector(".results:not([aria-busy])")
        assert said(page) == before  # of one token, the most probable
        expect(page.locator(".bars tbody tr").first).to_contain_text("100 %")
        number.fill("0" if least == "1" else "1")
    numbers[0].fill("2")
    page.wait_for_selector(".results:not([aria-busy])")
    shares = page.locator(".bars .bar:not(.pale)").all_inner_texts()
    assert sorted(share != "0 %" for share in shares)[-3:] == [False, True, True]
    page.get_by_role("button", name="greedy").click()
    expect(page.locator(".translation")).to_have_count(1)
    expect(numbers[0]).to_be_disabled()
    page.wait_for_selector(".results:not([aria-busy])")
    assert said(page) == before


def test_another_token_is_said_instead_and_it_is_made_to_go_on_and_to_end(page: Page) -> None:
    before = said(page)
    page.locator(".bars tbody button").nth(1).click()
    page.wait_for_selector(".results:not([aria-busy])")
    expect(page.locator(".bars [aria-pressed=true]")).to_have_count(1)
    assert said(page).split()[0] != before.split()[0]
    page.locator(".bars tbody button").first.click()
    page.wait_for_selector(".results:not([aria-busy])")
    page.locator(".translation button").last.click()
    ending = page.locator("[data-key='next <eos>']")
    expect(ending).to_have_attribute("aria-pressed", "true")
    page.locator(".bars tbody button").nth(1).click()
    expect(ending).to_have_attribute("aria-pressed", "false")
    assert len(said(page).split()) > len(before.split())
    ending.click()
    page.wait_for_selector(".results:not([aria-busy])")
    assert said(page) == before


def test_the_beam_grows_a_tree_step_by_step(page: Page) -> None:
    said(page)
    page.get_by_role("button", name="beam 4").click()
    page.get_by_text("The search, as a tree").click()
    leaves = page.locator(".tree li:not(:has(li))")
    expect(leaves.nth(5)).to_be_visible()
    best = page.locator(".tree .best .word span").all_inner_texts()
    assert " ".join(best[:-1]) == said(page)
    page.locator("#lab-step").focus()
    page.keyboard.press("Home")
    expect(page.locator("output[for=lab-step]")).to_contain_text("1 of")
    expect(leaves).to_have_count(4)
    page.keyboard.press("ArrowRight")
    expect(page.locator("output[for=lab-step]")).to_contain_text("2 of")
    assert page.locator(".tree .word").count() > 4


def test_ones_own_model_is_dropped_and_chosen_and_a_text_is_dropped(page: Page, mine: Path) -> None:
    said(page)
    page.fill("#lab-sentence", "")
    box = page.locator("#lab-sentence").bounding_box()
    text = {"mimeType": "text/plain", "data": "the dog"}
    drop(page, box["x"] + 20, box["y"] + box["height"] / 2, items=[text])
    expect(page.locator("#lab-sentence")).to_have_value("the dog")
    drop(page, 300, 300, files=[str(mine)])
    expect(page.locator(".translation h2")).to_have_text("Bahdanau")
    expect(page.locator("#lab-model")).to_have_value("your model")
    assert said(page) == translated("toy-bahdanau", "the dog")
    page.set_input_files("#lab-files", sorted(mine.iterdir())[:1])
    expect(page.locator(".told")).to_have_text("There is no model.safetensors among these 1 files.")
    (mine / "model.json").write_text("{")
    page.set_input_files("#lab-files", sorted(mine.iterdir()))
    expect(page.locator(".told")).to_have_text(re.compile("model.json is damaged"))


def test_what_a_link_asks_in_vain_is_said(page: Page, address: str) -> None:
    malformed = "attend=decoder.1.cross_attention.0:x:1e9&said=-1&word=1.5"
    for asked, told in [
        (f"model=nofolder&{malformed}", "could not be loaded."),
        ("model=https://example.org/x", "https://example.org/x/ is on another server"),
        ("off=decoder.9.cross_attention.0", "has no head “decoder.9.cross_attention.0”"),
        ("model=toy-bahdanau&positions=off", "has no setting “positions are encoded”."),
        (f"beside={GERMAN}", f"There is no “{GERMAN}” to compare this model with."),
    ]:
        page.goto(f"{address}index.html?{asked}")
        said(page)
        expect(page.locator(".told")).to_contain_text(told)
        chosen = "toy-bahdanau" if "bahdanau" in asked else "toy-transformer"
        expect(page.locator("#lab-model")).to_have_value(chosen)
        expect(page.locator(".translation")).to_have_count(1)
    page.fill("#lab-sentence", "the dog")
    expect(page.locator(".told")).to_have_text("")
