"""The Korean edition: whole and right catalogues, and a site that differs in words alone."""

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from babel.messages import Message
from bs4 import BeautifulSoup, SoupStrainer
from catalogues import catalogue_of, is_missing, messages, open_catalogue, translated_pages
from course_search import first_sentence
from editions import EDITIONS, TRANSLATED, Edition
from languages import LINK, Fold, address
from playwright.sync_api import expect
from sphinx.util.nodes import extract_messages

import join_editions
from browser import Browser, Page
from korean import faults, faults_of, terms
from transformer_workbook.judge.sentences import CATALOGUES, LANGUAGE_VARIABLE
from update_catalogues import of_the_site, of_the_workbook

KOREAN = EDITIONS["ko"]
PAGES = translated_pages("ko")
ROOT = Path(__file__).resolve().parent.parent
# A catalogue is empty, or it is whole: what the English page changes has to be translated with it.
BEGUN = [p for p in PAGES if any(KOREAN.writes(m.string) for m in messages(catalogue_of(p, "ko")))]
READ = [page for page in BEGUN if page.startswith("book/")]


@pytest.mark.parametrize("page", BEGUN)
def test_every_message_of_a_page_is_translated_with_all_that_it_has(page: str) -> None:
    assert list(faults_of(messages(catalogue_of(page, "ko")))) == []


@pytest.mark.parametrize(
    ("english", "korean", "fault"),
    [
        ("The width $d_k$.", "차원 수입니다.", "lacks formula $d_k$"),
        ("See {cite}`luong2015`.", "보세요.", "lacks cite luong2015"),
        ("It got {glue:text}`most` right.", "맞혔습니다.", "lacks glue:text most"),
        ("[Chapter 4](04_luong.ipynb)", "[4장](03_bahdanau.ipynb)", "lacks link ](04_luong.ipynb)"),
        ("[Chapter 4](x.md)", "[사 장](x.md)", "lacks number 4"),
        ("Use {term}`attention`.", "{term}`어텐션 <alignment>`을 씁니다.", "lacks term attention"),
        ("The {minutes} minutes", "{분}분", "lacks placeholder {minutes}"),
        ("{got} is too large.", "{got}은 너무 큽니다.", "a particle after a value"),
        ("The **value** here", "**밸류(value)**는 여기", "shows *"),
        ("A value", "당신의 밸류", "sounds translated: 당신"),
        ("The *projection*", "**사영**(projection)", "projection is 투영, not 사영"),
    ],
)
def test_a_fault_of_a_translation_is_named(english: str, korean: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults(english, korean))


def test_a_second_word_for_a_term_is_named() -> None:
    name, word, other = next((n, w, others[0]) for n, (w, others) in terms().items() if others)
    assert f"{name} is {word}, not {other}" in list(faults(f"An {name} here", f"여기 {other}"))
    assert list(faults(f"An {name} here", f"여기 {word}")) == []


@pytest.mark.parametrize(
    ("english", "korean", "flags", "missing"),
    [
        ("Read this sentence", "이 문장을 읽으세요", [], False),
        ("Read this sentence", "이 문장을 읽으세요", ["fuzzy"], True),
        ("Read this sentence", "", [], True),
        ("Read this sentence, and then once more", "Read this sentence, and", [], True),
        ("FlashAttention", "FlashAttention", [], False),
        ("$Q K^\\top$", "", [], False),
        ("어텐션", "", [], False),
    ],
)
def test_what_counts_as_missing(english: str, korean: str, flags: list[str], missing: bool) -> None:
    assert is_missing(Message(english, korean, flags=flags), "ko") == missing


def test_the_messages_of_the_site_are_all_in_its_catalogue() -> None:
    now = {message.id for message in messages(of_the_site())}
    assert {message.id for message in messages(catalogue_of("sphinx", "ko"))} == now


def test_the_sentences_about_answers_are_all_in_their_catalogue() -> None:
    catalogue = open_catalogue(CATALOGUES / "ko" / "LC_MESSAGES" / "workbook.po")
    found = messages(catalogue)
    assert {message.id for message in found} == {m.id for m in messages(of_the_workbook())}
    assert list(faults_of(found)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "verdict"), [("ko", "틀림: d_k = 4일 때"), ("en", "wrong: with")]
)
def test_a_variable_chooses_the_language_of_a_verdict_and_the_locale_does_not(
    language: str, verdict: str
) -> None:
    code = "from transformer_workbook import exercises; print(exercises.nearly_one_key.check(4))"
    chosen = {LANGUAGE_VARIABLE: language, "LANGUAGE": "ko_KR", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-c", code]
    run = subprocess.run(
        command, env=os.environ | chosen, capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith(verdict)


SPOKEN = """
import json, sys
from pathlib import Path
from transformer_workbook import exercises
from transformer_workbook.judge import Exercise
from transformer_workbook.own import PACKAGE, check_package, start
from transformer_workbook.own.definitions import source_of

folder = Path(sys.argv[1])
start(folder)
for module, right, wrong in (
    ("masking", "tokens != PAD", "tokens == PAD"),  # a mistake of the table
    ("soft_lookup", "-torch.inf", "-5.0"),  # an answer that is shown
    ("training", "if warmup >= total", "if not warmup >= total"),  # a line that is found
    ("attention", "import math", "import maths"),  # what cannot be loaded
):
    source = source_of(module).replace(right, wrong, 1)
    (folder / PACKAGE / f"{module}.py").write_text(source, encoding="utf-8")
(folder / PACKAGE / "batches.py").write_text("import os; os._exit(1)")
states = {}
for module in ("loss", "masking", "soft_lookup", "training", "attention", "batches"):
    report = check_package(folder, module)
    states[module] = [finding.state for finding in report.findings]
    print(report, report.used, sep="\\n")
kinds = {}
for name, task in exercises.TASKS.items():
    judge = getattr(task, "judge", None)
    kinds.setdefault((type(task), getattr(judge, "__qualname__", "")), name)
for name in kinds.values():
    task = exercises.TASKS[name]
    known = [task.mistakes[0].answer, lambda *_: 1 / 0, 7] if isinstance(task, Exercise) else []
    verdicts = [task.check(answer) for answer in (None, "?", 0.125, *known)]
    states[name] = [verdict.state for verdict in verdicts]
    print(*verdicts, sep="\\n")
print(exercises.summary().data, exercises.summary("masking").data)
print("STATES", json.dumps(states))
"""


@cache
def spoken(language: str) -> tuple[str, str]:
    """What a check, verdicts of each kind and summaries say; and the states that they have."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SPOKEN, str(Path(folder, "mine"))]
        environment = os.environ | {LANGUAGE_VARIABLE: language}
        run = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
    text, _, states = run.stdout.partition("STATES ")
    return text, states


@pytest.mark.slow
@pytest.mark.parametrize("language", [path.name for path in CATALOGUES.iterdir()])
def test_no_sentence_of_a_check_stays_english_and_no_state_depends_on_the_language(
    language: str,
) -> None:
    text, states = spoken(language)
    assert states == spoken("en")[1]
    assert {"right", "wrong", "not written", "not attempted"} <= set(re.findall(r"[a-z ]+", states))
    catalogue = messages(open_catalogue(CATALOGUES / language / "LC_MESSAGES" / "workbook.po"))
    english = {
        part
        for message in catalogue
        if message.string != message.id
        for part in re.split(r"\{[^}]*\}", message.id)
        if len(re.findall(r"[a-z]+ ", part)) > 2
    }
    assert len([part for part in english if part in spoken("en")[0]]) > 20
    assert [part for part in english if part in text] == []


def test_the_label_of_a_fold_is_a_message() -> None:
    fold = Fold(prompt_show="Imports", prompt_hide="Imports")
    assert fold.extract_original_messages() == ["Imports"]
    fold.apply_translated_message("Imports", "불러오기")
    assert fold["prompt_show"] == fold["prompt_hide"] == "불러오기"


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("book/")])
def test_a_catalogue_has_the_messages_of_its_page(site: Path, page: str) -> None:
    """Otherwise `make catalogues` brings it up to date."""
    with (site.parent / ".doctrees" / f"{page}.doctree").open("rb") as file:
        document = pickle.load(file)
    now = {message for _, message in extract_messages(document)} - {""}
    assert {message.id for message in messages(catalogue_of(page, "ko"))} == now


@pytest.fixture(scope="module")
def korean(site: Path) -> Path:
    """The Korean site, where it was built (`make book LANGUAGE=ko`)."""
    if not (site / "ko").is_dir():
        pytest.skip("only the English site was built")
    return site / "ko"


ARTICLE = SoupStrainer("article")


def both(site: Path) -> Iterator[tuple[str, str]]:
    """Go through the translated pages in both languages."""
    for page in READ:
        english, translated = (folder / f"{page}.html" for folder in (site, site / "ko"))
        yield english.read_text("utf-8"), translated.read_text("utf-8")


@pytest.mark.slow
def test_both_editions_have_the_same_anchors_code_outputs_numbers_and_formulas(
    site: Path, korean: Path
) -> None:
    alike = {
        "section[id]": lambda tag: tag["id"],
        ".cell_input pre": lambda tag: tag.get_text(),
        ".cell_output": lambda tag: tag.get_text(),
        ".pasted-text": lambda tag: tag.get_text(),
        "article math annotation": lambda tag: " ".join(tag.get_text().split()),
        "article .reference": lambda tag: tag["href"].removeprefix("../"),
    }
    for texts in both(site):
        english, translated = (BeautifulSoup(text, "lxml", parse_only=ARTICLE) for text in texts)
        for selector, read in alike.items():
            ours, korean_ones = (
                set(map(read, page.select(selector))) for page in (english, translated)
            )
            assert ours <= korean_ones, selector
            # A translation may say with a formula what the original says in words.
            assert korean_ones <= ours or "math" in selector, selector
        assert all(KOREAN.writes(tag["alt"]) for tag in translated.select(".cell_output img"))


@pytest.mark.slow
def test_each_page_names_its_language_and_leads_to_the_other(site: Path, korean: Path) -> None:
    for pages in both(site):
        for page, language, other in zip(pages, ("en", "ko"), ("ko", "en"), strict=True):
            assert re.search(r'<html\b[^>]* lang="([^"]*)"', page)[1] == language
            (link,) = re.findall('<a class="language [^>]*>', page)
            assert f'hreflang="{other}"' in link
            assert "hidden" not in link


PUBLIC = "https://someone.github.io/course/"


@pytest.mark.parametrize("public", [True, False])
def test_search_engines_are_told_of_both_editions_where_there_is_an_address(
    tmp_path: Path, public: bool
) -> None:
    """Also where a third is joined after the second; and each page leads to all others."""
    paths = {"en": "book/a.html", "ko": "ko/book/a.html", "de": "de/book/a.html"}
    for here, path in paths.items():
        canonical = f'<link rel="canonical" href="{PUBLIC}{path}" />' * public
        links = (
            LINK.format(language=other, address=address(Path(paths["en"]), here, other), name=other)
            for other in paths
            if other != here
        )
        page = tmp_path / path
        page.parent.mkdir(parents=True)
        html = f'<html lang="{here}"><head>{canonical}</head>{"".join(links)}</html>'
        page.write_text(html, "utf-8")
        join_editions.link(sorted(tmp_path.rglob("*.html")))
    for path in paths.values():
        html = BeautifulSoup((tmp_path / path).read_text("utf-8"), "lxml")
        told = {tag["hreflang"]: tag["href"] for tag in html.select('link[rel="alternate"]')}
        assert told == ({code: PUBLIC + other for code, other in paths.items()} if public else {})
        found = [(tmp_path / path).parent / tag["href"] for tag in html.select("a.language[href]")]
        assert len(found) == 2
        assert all(other.exists() for other in found)


def test_an_edition_in_latin_letters_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRANSLATED, "de", Edition("de", "Deutsch"))
    for string, missing in (("Lies diesen Satz", False), ("", True), ("Read this sentence", False)):
        assert is_missing(Message("Read this sentence", string), "de") == missing
    english = "Read this sentence, and then once more"
    assert is_missing(Message(english, english), "de")
    monkeypatch.setitem(EDITIONS, "de", TRANSLATED["de"])
    sentence = "Dieser Satz ist lang genug für die Suche."
    assert first_sentence(f"Zu kurz. {sentence}", "de") == sentence


def test_a_language_without_catalogues_is_refused() -> None:
    command = ["make", "--no-print-directory", "--dry-run", "book", "LANGUAGE=xx"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "LANGUAGE is xx, it must be en or ko: book/locale/xx has no catalogues" in run.stderr
    assert run.stdout == ""


@pytest.mark.slow
def test_a_page_that_is_in_english_says_so(korean: Path) -> None:
    for page in (path for path in PAGES if path.startswith("book/")):
        html = (korean / f"{page}.html").read_text(encoding="utf-8")
        assert ('<p class="in-english">' in html) == (page not in READ)
        assert bool(re.search('<section [^>]*lang="en"', html)) == (page not in READ)


@pytest.mark.slow
def test_the_switch_leads_to_the_same_block(site: Path, korean: Path, browser: Browser) -> None:
    """From a file, as well: and back."""
    first = (
        "() => [...document.querySelectorAll('article p')]"
        ".findIndex(p => p.checkVisibility({contentVisibilityAuto: true})"
        " && p.getBoundingClientRect().top > 60)"
    )
    with browser.new_page(viewport={"width": 390, "height": 800}) as page:
        page.goto((site / "book" / "05_self_attention.html").as_uri())
        paragraph = "document.querySelector('#your-turn-the-class > p')"
        page.evaluate(f"{paragraph}.scrollIntoView({{behavior: 'instant'}})")
        before = page.evaluate(first)
        for language in ("ko", "en"):
            box = page.locator("a.language").bounding_box()  # a click of Playwright's scrolls
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.wait_for_function(f"document.documentElement.lang === '{language}'")
            page.wait_for_function("!location.search")
            assert page.url.endswith("#your-turn-the-class")
            # On a busy machine the layout settles after the page has scrolled.
            page.wait_for_function(f"({first})() === {before}")


@pytest.mark.slow
def test_the_laboratory_and_the_explorer_speak_korean(korean: Path, tab: Page) -> None:
    """What is said of models and of numbers; their tokens and the English read back remain.

    And a search finds a term with its particle, and the noun of a verb.
    """
    tab.goto((korean / "book" / "laboratory.html").as_uri())
    tab.wait_for_selector(".picture .stage")
    texts = tab.locator(
        ".laboratory :is(legend, h2, h3, h4, .note, .ask button, .step p, option)"
    ).all_inner_texts()
    assert [text for text in texts if text.strip() and not KOREAN.writes(text)] == []
    tab.goto((korean / "book" / "further" / "05_self_attention.html").as_uri())
    expect(tab.locator(".attention-explorer, figure[id^=attention-]").first).to_contain_text(
        "주목하는 곳"
    )
    tab.goto((korean / "search.html").as_uri() + "?q=셀프 어텐션은")
    tab.wait_for_selector("article .found li")
    assert tab.locator("article .found li a").first.inner_text().startswith("셀프 어텐션")
    for verb in ("번역했다", "학습시키기", "마스킹하기", "토큰화하기", "인코딩하는"):
        tab.fill("article input", verb)
        expect(tab.locator("article .found li").first).to_be_visible()
