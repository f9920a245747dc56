"""The search: the page that one means is first, a sentence stands below it, little is fetched."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from contents import entries
from playwright.sync_api import Browser, Page, expect

from browser import DARKENED, LOOKS, VIEWS, inaccessible, serve, violations

# Those of the review; Korean with and without a particle or a space; one wrong letter; names.
QUERIES = {
    "01_tokens_and_batches": ["padding", "softmax"],
    "02_seq2seq": ["encoder", "인코더에서"],
    "03_bahdanau": ["어텐션", "어텐션을", "어탠션", "attenton"],
    "05_self_attention": ["self-attention", "셀프어텐션은", "why divide by sqrt d_k"],
    "06_multi_head_attention": ["multi-head attention", "MultiHeadAttention"],
    "07_positional_encoding": ["positional encoding", "postional encoding", "위치 인코딩"],
    "08_masking": ["mask", "masks", "마스킹", "마스킹하기", "마스킹했다"],
    "11_layers": ["residual", "feed-forward", "잔차 연결"],
    "14_decoding": ["beam serach", "빔 서치"],
    "15_translation": ["BLEU"],
    "19_rotary_positions": ["RoPE"],
    "24_experts": ["mixture of experts"],
    "deeper/circuits": ["induction heads"],
    "laboratory": ["laboratory"],
    "licences": ["licence"],
}
# Verbs that are made of a noun, particles, words without a space, one or two wrong letters, English
# terms in Hangul, first consonants.
KOREAN_QUERIES = {
    "01_tokens_and_batches": ["소프트맥스", "소프트멕쓰", "임배딩", "베치", "퍼플렉시티", "ㅌㅋ"],
    "02_seq2seq": ["인코더에서", "인코드", "인코더처럼", "ㅇㅋㄷ"],
    "03_bahdanau": ["어텐션을", "어텐숀", "어탠션", "attenton"],
    "05_self_attention": ["셀프 어텐션은", "셀프어탠션", "ㅅㅍㅇㅌㅅ", "ㅅㅍ ㅇㅌㅅ"],
    "06_multi_head_attention": ["헤드가", "멀티해드", "멀티헤드 어텐션", "multi-head attention"],
    "07_positional_encoding": ["인코딩하는", "인코딩된", "포지셔날", "위치인코딩"],
    "08_masking": ["마스킹하기", "마스킹했다", "마스킹합니다", "마스킹된", "마스킹"],
    "11_layers": ["층", "층의", "드랍아웃", "잔차연결", "layer normalisation"],
    "12_transformer": ["트랜스포머", "트렌스포머", "트렌스포며", "트랜스", "ㅌㄹㅅㅍㅁ"],
    "13_training": ["학습시키기", "학습시켰다", "학습된", "옵티마이져", "학습률스케줄"],
    "14_decoding": ["디코딩합니다", "샘플링하면", "샘플링할", "빔서치", "beam serach"],
    "15_translation": ["번역했다", "번역하는", "번역합니다", "번역되지", "토큰화하기"],
    "19_rotary_positions": ["로프", "RoPE"],
    "21_real_weights": ["버트"],
    "22_what_a_token_costs": ["라마"],
    "25_from_predicting_to_following": ["미세조정하기", "미세 조정을"],
    "28_preferences": ["로라", "LoRA", "선호하는"],
    "further/13_training": ["아담"],
}
FIRST_CONSONANTS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
LARGEST = 150_000
LARGEST_KOREAN = 250_000  # a syllable of Hangul has three bytes


def rows(queries: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Each query beside its page."""
    return [(page, query) for page, asked in queries.items() for query in asked]


def opened(site: Path, browser: Browser) -> Iterator[Page]:
    """The page of the search, opened as a file."""
    with browser.new_page() as page:
        page.goto(f"{(site / 'search.html').as_uri()}?q=attention")
        expect(page.locator(".found a").first).to_contain_text("Bahdanau")
        yield page


@pytest.fixture(scope="module")
def search(site: Path, browser: Browser) -> Iterator[Page]:
    yield from opened(site, browser)


@pytest.fixture(scope="module")
def korean_search(korean: Path, browser: Browser) -> Iterator[Page]:
    yield from opened(korean, browser)


def leads(search: Page, query: str, page: str) -> None:
    """Check that a query finds a page, or a section of it, first."""
    search.fill("article input", query)
    address = re.compile(rf"/book/{page}\.html(#.*)?$")
    expect(search.locator(".found a").first).to_have_attribute("href", address)


@pytest.mark.parametrize(("page", "query"), rows(QUERIES))
def test_the_page_that_one_means_is_first(search: Page, page: str, query: str) -> None:
    leads(search, query, page)
    for said in search.locator(".found li p").all_text_contents():
        assert re.fullmatch(r"(.+: )?[A-Z“(].*[.?!][”)]*|", said)
    for link in search.locator(".found a").all():
        found = urlsplit(str(link.get_attribute("href")))
        html = Path(unquote(found.path)).read_text(encoding="utf-8")
        assert not found.fragment or f'id="{found.fragment}"' in html


@pytest.mark.parametrize(("page", "query"), rows(KOREAN_QUERIES))
def test_the_page_that_one_means_is_first_in_korean(
    korean_search: Page, page: str, query: str
) -> None:
    leads(korean_search, query, page)


def test_first_consonants_find_every_lesson(korean: Path, korean_search: Page) -> None:
    """Those of its name, where that is all Hangul; Unicode has 588 syllables for each."""
    names = {}
    for entry in entries():
        if entry.is_numbered:
            html = (korean / f"{entry.name}.html").read_text(encoding="utf-8")
            title = re.search(r"<title>(?:\d+\. )?(.*?)(?::| &#8212;)", html)[1].replace(" ", "")
            if re.fullmatch("[가-힣]{2,}", title):
                names[title] = entry.name.removeprefix("book/")
    assert len(names) > 14
    for name, page in names.items():
        first = (FIRST_CONSONANTS[(ord(syllable) - ord("가")) // 588] for syllable in name)
        leads(korean_search, "".join(first), page)


@pytest.mark.parametrize("query", ["가나다라마바사", "ㅋㅋㅋㅋㅋ", "zyxwvuts"])
def test_a_word_that_is_nowhere_is_not_found(search: Page, query: str) -> None:
    search.fill("article input", query)
    expect(search.get_by_role("status")).to_have_text("Pages found: 0")


@pytest.mark.parametrize("query", ["a", "K", "1", "ㅌ", "ㅏ", "(", "√", "?", "...", "—"])
def test_a_single_sign_finds_nothing_and_is_told_why(
    search: Page, korean_search: Page, query: str
) -> None:
    for page, why in ((search, "type a word."), (korean_search, "단어를 입력해 주세요.")):
        page.fill("article input", query)
        expect(page.get_by_role("status")).to_contain_text(why)
        expect(page.locator(".found a")).to_have_count(0)


def test_the_korean_index_is_small(korean: Path) -> None:
    assert (korean / "_static" / "search_index.js").stat().st_size < LARGEST_KOREAN


def test_an_address_that_leads_nowhere_is_searched_for(site: Path, browser: Browser) -> None:
    missing = (site / "404.html").read_text(encoding="utf-8")
    with serve(site) as base, browser.new_page() as page:
        page.route("**/05_self_atention.html", lambda route: route.fulfill(body=missing))
        page.goto(base + "05_self_atention.html")
        expect(page.locator("article .found a").first).to_contain_text("Self-attention")


def test_the_keys_lead_from_any_page_to_what_is_found(site: Path, browser: Browser) -> None:
    with serve(site) as base, browser.new_page(**VIEWS["phone"]) as page:
        page.goto(base + "book/26_images_and_graphs.html")
        button = page.locator(".bd-header-article .search-button")
        expect(button).to_be_in_viewport()
        fetched = []
        page.on("response", lambda response: fetched.append(response))
        button.press("Enter")
        page.keyboard.type("attenton")
        expect(page.locator("dialog .found a").first).to_contain_text("Bahdanau")
        # Faces stay for every page, and are counted with them.
        asked = [response for response in fetched if not response.url.endswith(".woff2")]
        assert sum(len(response.body()) for response in asked) < LARGEST
        assert inaccessible(page) == []
        page.emulate_media(color_scheme="dark")
        page.evaluate(DARKENED)
        page.evaluate(LOOKS, [])
        assert violations(page, ("contrast",)) == []
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/book/03_bahdanau.html")


def test_the_field_opens_before_the_scripts_have_come(site: Path, browser: Browser) -> None:
    with serve(site) as base, browser.new_page(**VIEWS["phone"]) as page:
        page.route("**/*.js*", lambda route: route.abort())
        page.goto(base + "book/05_self_attention.html")
        page.locator(".bd-header-article .search-button").click()
        page.keyboard.type("mask\n")
        page.wait_for_url("**/search.html?q=mask")
