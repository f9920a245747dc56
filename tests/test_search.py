"""The search: the page that one means is first, a sentence stands below it, little is fetched."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
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
LARGEST = 150_000


@pytest.fixture(scope="module")
def search(site: Path, browser: Browser) -> Iterator[Page]:
    """The page of the search, opened as a file."""
    with browser.new_page() as page:
        page.goto(f"{(site / 'search.html').as_uri()}?q=attention")
        expect(page.locator(".found a").first).to_contain_text("Bahdanau attention")
        yield page


@pytest.mark.parametrize(("page", "query"), [(page, q) for page in QUERIES for q in QUERIES[page]])
def test_the_page_that_one_means_is_first(search: Page, page: str, query: str) -> None:
    search.fill("article input", query)
    address = re.compile(rf"/book/{page}\.html(#.*)?$")
    expect(search.locator(".found a").first).to_have_attribute("href", address)
    for said in search.locator(".found li p").all_text_contents():
        assert re.fullmatch(r"(.+: )?[A-Z“(].*[.?!][”)]*|", said)
    for link in search.locator(".found a").all():
        found = urlsplit(str(link.get_attribute("href")))
        html = Path(unquote(found.path)).read_text(encoding="utf-8")
        assert not found.fragment or f'id="{found.fragment}"' in html


@pytest.mark.parametrize("query", ["가나다라마바사", "(", "√", "?"])
def test_a_word_that_is_nowhere_or_a_sign_is_not_found(search: Page, query: str) -> None:
    search.fill("article input", query)
    expect(search.get_by_role("status")).to_have_text("Pages found: 0")


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
