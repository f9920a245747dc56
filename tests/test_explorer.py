"""The attention explorer: the same weights as a table, and in a browser as a figure to ask."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from bs4 import BeautifulSoup
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from playwright.sync_api import Browser, Locator, Page

from annotated_transformer import toy
from annotated_transformer.ground.errors import InputError
from browser import VIEWS, inaccessible, problems, serve
from every_page import EVERY_VIEW
from transformer_workbook.notebook.explorer import attention_explorer
from transformer_workbook.notebook.figures import COLOURS, heat_map

STUDENT, ROBOT = toy.EXAMPLES


def random_weights(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).mul(2).softmax(dim=-1)


def soup_of(explorer):
    return BeautifulSoup(explorer._repr_html_(), "lxml")


def numbers(table):
    """The weights that a table prints."""
    rows = table.tbody.find_all("tr")
    return torch.tensor([[float(cell.text) for cell in row("td")] for row in rows]).double()


def assert_printed(printed, weights):
    """Equal but for rounding to two decimals."""
    torch.testing.assert_close(printed, weights, atol=0.0051, rtol=0)


# --- the static table ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weights",
    [
        random_weights(4, 12, 8),
        random_weights(12, 8).bfloat16().requires_grad_(),  # rounded once
        torch.zeros(12, 8),  # a query may attend to nothing
    ],
)
def test_every_weight_is_in_the_static_table_and_gold_links_are_bold(weights):
    explorer = attention_explorer(weights, ROBOT.tgt, ROBOT.src, gold=ROBOT.alignment)
    (table,) = soup_of(explorer)("table")
    assert [th.text for th in table.thead("th")[1:]] == list(ROBOT.src)
    assert [th.text for th in table.tbody("th")] == list(ROBOT.tgt)
    weights = weights.double()
    assert_printed(numbers(table), weights if weights.dim() == 2 else weights.mean(dim=0))
    rows = table.tbody("tr")
    bold = {(s, t) for t, row in enumerate(rows) for s, td in enumerate(row("td")) if td.b}
    assert bold == ROBOT.alignment
    assert "bold: gold" in table.caption.text


def test_every_layer_has_a_table_and_the_figure_says_what_it_is():
    layers = {"first": random_weights(3, 4, 4), "second": random_weights(3, 4, 4, seed=1)}
    explorer = attention_explorer(layers, STUDENT.tgt, STUDENT.src)
    tables = soup_of(explorer)("table")
    assert [table.caption.text.split(":")[0] for table in tables] == ["first", "second"]
    assert all("mean of 3 heads" in table.caption.text for table in tables)
    for table, weights in zip(tables, layers.values(), strict=True):
        assert_printed(numbers(table), weights.mean(dim=0))
    assert repr(explorer) == "Attention of 4 words over 4 words, 3 heads, 2 layers"


def test_the_table_makes_sense_without_scripts_and_styles():
    soup = soup_of(
        attention_explorer(torch.eye(2), ["나", "는"], ["I", "am"], caption="Two words.")
    )
    for tag in soup(["script", "style"]):
        tag.decompose()
    assert soup.get_text(" ", strip=True) == (
        "Two words. attention of target words (rows) over source words (columns) "
        "target\u00a0↓ source\u00a0→ I am 나 1.00 0.00 는 0.00 1.00"
    )


def test_a_tie_is_rounded_the_same_way_whatever_its_last_bits():
    eighths = torch.full((2, 8), 1 / 8, dtype=torch.float64)
    noise = torch.tensor([1e-7, -1e-7] * 4, dtype=torch.float64)
    words = list("abcdefgh")
    html = attention_explorer(eighths, ["x", "y"], words).html
    assert attention_explorer(eighths + noise, ["x", "y"], words).html == html
    assert html.count("0.13") == 16


# --- the fragment -------------------------------------------------------------------------------

HOSTILE = ["<pad>", "</script>", "</style><b>", "\"&'", "<!--"]


def test_everything_that_is_given_is_escaped():
    layers = {f"{word} {number}": torch.eye(5) for number, word in enumerate(HOSTILE)}
    html = attention_explorer(
        layers, HOSTILE, HOSTILE, caption="".join(HOSTILE), sides=('"<a>', "<b>&")
    ).html
    soup = BeautifulSoup(html, "lxml")
    assert len(soup("script")) == len(soup("style")) == 1
    assert not soup(["pad", "b", "a"])
    assert soup.figcaption.text == "".join(HOSTILE)
    assert (soup.figure["data-row"], soup.figure["data-column"]) == ('"<a>', "<b>&")
    assert [table["data-layer"] for table in soup("table")] == list(layers)
    for table in soup("table"):
        assert [th.text for th in table.thead("th")[1:]] == HOSTILE
        assert [th.text for th in table.tbody("th")] == HOSTILE


def test_the_same_data_give_the_same_bytes_and_other_data_another_id():
    weights = random_weights(2, 4, 4)
    variants = [
        {},
        {"weights": weights.flip(0)},  # the same mean
        {"rows": ["나", "는", "학생", "아니다"]},
        {"columns": ["I", "am", "no", "student"]},
        {"gold": {(0, 0)}},
        {"caption": "Another."},
        {"sides": ("query", "key")},
    ]
    ids = set()
    for variant in variants:
        given = {"weights": weights, "rows": STUDENT.tgt, "columns": STUDENT.src} | variant
        first, again = attention_explorer(**given), attention_explorer(**given)
        assert first.html == again.html
        ids |= {tag["id"] for tag in soup_of(first).find_all(id=True)}
    assert len(ids) == len(variants)


def test_the_style_reaches_no_other_figure_and_nothing_is_loaded():
    explorer = attention_explorer(torch.eye(2), ["나", "는"], ["I", "am"])
    soup = soup_of(explorer)
    style = soup.style.text.strip()
    assert style.startswith(f"#{soup.figure['id']} {{")
    depths = [style[:end].count("{") - style[:end].count("}") for end in range(1, len(style))]
    assert min(depths[style.index("{") :]) == 1  # everything is nested inside this one rule
    assert not re.search(r"https?:|//|url\(|@import|src=|href=|fetch", explorer.html)


# --- what is refused ----------------------------------------------------------------------------

EVEN = torch.full((2, 3), 1 / 3)
REFUSED = {
    "no rows": (EVEN, [], "abc", (), "there are 0 rows and 3 columns"),
    "no columns": (EVEN, "ab", [], (), "there are 2 rows and 0 columns"),
    "rows too many": (EVEN, "abc", "abc", (), r"shape \(2, 3\); for 3 rows and 3 columns"),
    "columns too few": (EVEN, "ab", "ab", (), r"shape \(2, 3\); for 2 rows and 2 columns"),
    "one dimension": (EVEN[0], "a", "abc", (), r"have the shape \(3,\)"),
    "no heads": (EVEN[None][:0], "ab", "abc", (), r"have the shape \(0, 2, 3\)"),
    "negative": (EVEN * 2 - EVEN.flip(0) * 3, "ab", "abc", (), "weight is -0.333.*not negative"),
    "not a number": (EVEN * torch.nan, "ab", "abc", (), "weight is nan"),
    "sum": (EVEN * torch.tensor([[1.0], [0.5]]), "ab", "abc", (), "row 1 sum to 0.5; .* to 1"),
    "sum of a head": (torch.stack([EVEN, EVEN * 2]), "ab", "abc", (), "row 0 sum to 2;"),
    "source of a link": (EVEN, "ab", "abc", {(3, 0)}, r"link \(3, 0\) is outside of 3 columns"),
    "target of a link": (EVEN, "ab", "abc", {(0, 2)}, r"link \(0, 2\) is outside .* and 2 rows"),
    "negative target": (EVEN, "ab", "abc", {(0, -1)}, r"link \(0, -1\) is outside"),
    "negative source": (EVEN, "ab", "abc", {(-1, 0)}, r"link \(-1, 0\) is outside"),
    "no layers": ({}, "ab", "abc", (), "empty mapping, it must hold at least one layer"),
    "other layers": (
        {"a": EVEN, "b": EVEN[None]}, "ab", "abc", (), r"shapes \[\(1, 2, 3\), \(2, 3\)\]"
    ),
    "no tensor": ([[1.0]], "a", "b", (), "weights is a list, it must be a tensor or a mapping"),
    "no word": (EVEN, [1, 1], "abc", (), "the word 1 is a int, it must be a string"),
    "no word in columns": (EVEN, "ab", [1] * 3, (), "the word 1 is a int, it must be a string"),
}  # fmt: skip


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_attention_is_refused(case):
    weights, rows, columns, gold, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        attention_explorer(weights, list(rows), list(columns), gold=gold)


# --- in a browser -------------------------------------------------------------------------------


LAYERS = {"layer 1": random_weights(3, 12, 8), "layer 2": random_weights(3, 12, 8, seed=1)}
FIGURE = attention_explorer(LAYERS, ROBOT.tgt, ROBOT.src, gold=ROBOT.alignment, caption="Robots.")
MEAN = LAYERS["layer 1"].mean(dim=0)


def document(*explorers, html="", body="") -> str:
    figures = "\n".join(explorer.html for explorer in explorers)
    head = '<title>A page</title><link rel="icon" href="data:,">'
    head += '<meta name="viewport" content="width=device-width">'
    return (
        f'<!doctype html><html lang="en" {html}><head>{head}</head>'
        f"<body {body}><main><article><h1>A page</h1>{figures}</article></main></body></html>"
    )


@pytest.fixture
def page(tab: Page) -> Page:
    """A page with the figure of two layers of three heads."""
    tab.goto("about:blank")
    tab.set_content(document(FIGURE))
    return tab


def chip(page: Page, side: str, index: int) -> Locator:
    return page.get_by_role("toolbar", name=side).get_by_role("button").nth(index)


def shown(page: Page, side: str) -> torch.Tensor:
    """The numbers under the words of one side, where there are any."""
    texts = page.get_by_role("toolbar", name=side).locator("small").all_inner_texts()
    return torch.tensor([float(text) for text in texts if text], dtype=torch.float64)


def in_the_grid(page: Page) -> torch.Tensor:
    texts = page.locator("table:visible td").all_inner_texts()
    return torch.tensor([float(text) for text in texts], dtype=torch.float64).view(12, 8)


WAYS = {
    "hover": lambda word: word.hover(),
    "focus": lambda word: word.focus(),
    "tap": lambda word: word.tap(),
    "click": lambda word: word.click(),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_word_shows_its_weights(page: Page, way: str) -> None:
    WAYS[way](chip(page, "target", 6))
    assert_printed(shown(page, "source"), MEAN[6])
    assert len(shown(page, "target")) == 0
    WAYS[way](chip(page, "source", 5))
    assert_printed(shown(page, "target"), MEAN[:, 5])
    assert len(shown(page, "source")) == 0
    pressed = page.locator(".words [aria-pressed=true]")
    assert pressed.all_inner_texts() == ["orders"]


def test_the_weights_are_said_in_words(page: Page) -> None:
    """The four largest; here word 6 is "명령", whose gold link is "orders"."""
    summary = page.get_by_role("status")
    for side, index, line, words, verb in (
        ("target", 6, MEAN[6], ROBOT.src, "명령 attends to: "),
        ("source", 5, MEAN[:, 5], ROBOT.tgt, "orders is attended to by: "),
    ):
        chip(page, side, index).click()
        weights, best = line.topk(4)
        gold = "orders" if side == "target" else "명령"
        expected = [
            f"{words[i]} {weight:.2f}" + " (gold)" * (words[i] == gold)
            for weight, i in zip(weights.tolist(), best.tolist(), strict=True)
        ]
        text = summary.inner_text().replace("\u00a0", " ")
        assert text == verb + ", ".join([*expected, "…"])
    page.set_content(document(attention_explorer(torch.zeros(1, 2), ["나"], ["I", "am"])))
    assert summary.inner_text() == "나 attends to: nothing"
    assert page.locator(".choice").count() == 0  # one head, one layer


def test_after_hovering_the_chosen_word_is_shown_again_and_the_grid_answers_too(page: Page) -> None:
    chip(page, "target", 3).click()
    chip(page, "source", 2).hover()
    assert_printed(shown(page, "target"), MEAN[:, 2])
    page.mouse.move(1200, 5)
    assert_printed(shown(page, "source"), MEAN[3])
    page.locator("table:visible td").nth(8 * 4 + 1).hover()
    assert_printed(shown(page, "source"), MEAN[4])
    page.locator("table:visible thead th").nth(1 + 7).click()
    page.mouse.move(1200, 5)
    assert_printed(shown(page, "target"), MEAN[:, 7])
    marked = page.locator("table:visible .on")
    assert marked.first.inner_text() == "it"
    assert marked.count() == 1 + 12


def test_the_keys_move_between_the_words(page: Page) -> None:
    def focused() -> str:
        return page.evaluate("document.activeElement.firstChild.textContent")

    chip(page, "target", 0).focus()
    for key, word in (
        ("ArrowRight", ROBOT.tgt[1]),
        ("ArrowLeft", ROBOT.tgt[0]),
        ("ArrowLeft", ROBOT.tgt[0]),
        ("End", ROBOT.tgt[-1]),
        ("ArrowRight", ROBOT.tgt[-1]),
        ("ArrowUp", ROBOT.tgt[-1]),
        ("ArrowDown", ROBOT.src[0]),
        ("ArrowDown", ROBOT.src[0]),
        ("ArrowRight", ROBOT.src[1]),
        ("ArrowUp", ROBOT.tgt[-1]),
        ("Tab", ROBOT.src[1]),
        ("Home", ROBOT.src[0]),
        ("Shift+Tab", ROBOT.tgt[-1]),
    ):
        page.keyboard.press(key)
        assert focused() == word, key
    assert_printed(shown(page, "source"), MEAN[-1])
    style = chip(page, "target", -1).locator("span").evaluate("e => getComputedStyle(e).outline")
    assert "solid 2px" in style


def test_heads_and_layers_are_chosen_with_buttons(page: Page) -> None:
    heads = page.get_by_role("group", name="heads").get_by_role("button")
    layers = page.get_by_role("group", name="layers").get_by_role("button")
    assert heads.all_inner_texts() == ["mean of the heads", "head 1", "head 2", "head 3"]
    assert layers.all_inner_texts() == ["layer 1", "layer 2"]
    chip(page, "target", 2).click()
    for layer in (1, 0):
        layers.nth(layer).click()
        weights = LAYERS[f"layer {layer + 1}"]
        for head in (3, 0, 1, 2):
            heads.nth(head).click()
            want = weights[head - 1] if head else weights.mean(dim=0)
            assert_printed(in_the_grid(page), want)
            assert_printed(shown(page, "source"), want[2])
            pressed = page.locator(".choice [aria-pressed=true]").all_inner_texts()
            assert pressed == [layers.nth(layer).inner_text(), heads.nth(head).inner_text()]
            assert page.locator("table:visible td:has(b)").count() == len(ROBOT.alignment)


def test_two_figures_do_not_disturb_each_other(page: Page) -> None:
    other = attention_explorer(MEAN.flip(0), ROBOT.tgt, ROBOT.src)
    page.set_content(document(FIGURE, other, FIGURE))
    figures = page.locator("figure.live")
    assert figures.count() == 3
    figures.nth(1).get_by_role("toolbar").first.get_by_role("button").nth(5).click()
    weights = [figure.locator("small").all_inner_texts() for figure in figures.all()]
    assert weights[0] == weights[2]
    assert_printed(torch.tensor([float(w) for w in weights[1] if w]).double(), MEAN.flip(0)[5])


def test_it_runs_again_when_a_notebook_inserts_it_again(page: Page) -> None:
    """JupyterLab inserts the HTML, and then a copy of the script, which is what runs."""
    insert = """html => {
        const place = document.querySelector('main');
        place.innerHTML = html;
        const script = document.createElement('script');
        script.textContent = place.querySelector('script').textContent;
        place.querySelector('script').replaceWith(script);
    }"""
    for _ in range(2):
        page.evaluate(insert, FIGURE.html)
        # JupyterLab leaves the keys alone in an element that says so.
        assert page.locator("figure[data-lm-suppress-shortcuts]").count() == 1
        assert page.locator("figure.live").count() == 1
        assert page.locator("[role=toolbar]").count() == 2
        chip(page, "target", 4).click()
        assert_printed(shown(page, "source"), MEAN[4])


# --- colours ------------------------------------------------------------------------------------

HOSTS = {  # where the figure stands: attributes of <html>, of <body>, the system's theme, dark?
    "site, dark": ('data-theme="dark"', "", "light", True),
    "site, light": ('data-theme="light"', "", "dark", False),
    "JupyterLab, dark": ("", 'data-jp-theme-light="false"', "light", True),
    "JupyterLab, light": ("", 'data-jp-theme-light="true"', "dark", False),
    "VS Code, dark": ("", 'class="vscode-dark"', "light", True),
    "VS Code, light": ("", 'class="vscode-light"', "dark", False),
    "Colab, dark": ('theme="dark"', "", "light", True),
    "Colab, light": ('theme="light"', "", "dark", False),
    "elsewhere, dark": ("", "", "dark", True),
    "elsewhere, light": ("", "", "light", False),
}


def luminance(colour: str) -> float:
    """Of ``rgb(0, 0, 0)`` or ``color(srgb 0 0 0)``, as WCAG 2 defines it."""
    scale = 1 if "srgb" in colour else 255
    channels = [float(c) / scale for c in re.findall(r"[\d.]+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("host", HOSTS)
def test_the_colours_are_those_of_the_host_and_legible(tab: Page, host: str) -> None:
    html, body, system, dark = HOSTS[host]
    ramp = torch.linspace(0, 1, 21, dtype=torch.float64)
    ramp = torch.stack([ramp, 1 - ramp], dim=1)
    explorer = attention_explorer(ramp, [str(i) for i in range(21)], ["I", "am"])
    colours = """elements => elements.map(e => getComputedStyle(e)).map(
        s => [s.backgroundColor, s.color])"""
    tab.goto("about:blank")
    tab.emulate_media(color_scheme=system)
    tab.set_content(document(explorer, html=html, body=body))
    ((background, _),) = tab.locator("figure").evaluate_all(colours)
    assert (luminance(background) < 0.1) == dark
    chip(tab, "source", 0).click()
    for place in ("td", "[role=toolbar][aria-label=target] button"):
        found = tab.locator(place).evaluate_all(colours)
        assert len({back for back, _ in found}) == 21
        for back, text in found:
            low, high = sorted([luminance(back), luminance(text)])
            assert (high + 0.05) / (low + 0.05) >= 4.5


# --- the whole page -----------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A page with a small figure and a large one, of 18 words each way."""
    words = [*["생각하"] * 9, *["단어"] * 9]
    large = attention_explorer(random_weights(8, 18, 18), words, words, gold={(1, 2)})
    file = tmp_path / "page.html"
    file.write_text(document(FIGURE, large), encoding="utf-8")
    return file


def test_the_page_is_sound(tab: Page, written: Path) -> None:
    with serve(written.parent) as base:
        assert problems(tab, base, written.name, EVERY_VIEW) == []


def test_a_large_figure_scrolls_by_itself_on_a_phone(browser: Browser, written: Path) -> None:
    with browser.new_page(**VIEWS["phone"]) as page:
        page.goto(written.as_uri())
        for figure in page.locator("figure").all():
            figure.get_by_role("button", name="head 2").click()
            figure.get_by_role("toolbar").nth(1).get_by_role("button").nth(3).click()
        assert inaccessible(page) == []
        assert page.evaluate("document.scrollingElement.scrollWidth") == 390
        grid = page.locator(".grid").nth(1)
        assert grid.evaluate("e => e.scrollWidth > e.clientWidth")
        header = grid.locator("tbody th").first
        before = header.bounding_box()
        grid.evaluate("e => { e.scrollLeft = 200; }")
        assert grid.evaluate("e => e.scrollLeft") == 200
        assert header.bounding_box() == before  # the words of the rows stay in sight


def test_without_scripts_the_tables_are_visible(browser: Browser, written: Path) -> None:
    with browser.new_page(java_script_enabled=False, **VIEWS["phone"]) as page:
        page.goto(written.as_uri())
        assert page.locator("button").count() == 0
        assert all(table.is_visible() for table in page.locator("table").all())


# --- for print ----------------------------------------------------------------------------------


def test_the_heat_map_draws_the_weights_and_the_words():
    _, ax = plt.subplots()
    heat_map(ax, MEAN.clone().requires_grad_(), ROBOT.tgt, ROBOT.src)
    assert not ax.patches
    _, ax = plt.subplots()
    heat_map(ax, MEAN, ROBOT.tgt, ROBOT.src, gold=ROBOT.alignment)
    (mesh,) = ax.collections
    torch.testing.assert_close(torch.tensor(mesh.get_array()), MEAN.round(decimals=2))
    assert mesh.get_clim() == (0, 1)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(ROBOT.tgt)
    assert [label.get_text() for label in ax.get_xticklabels()] == list(ROBOT.src)
    assert ax.get_yticks().tolist() == [i + 0.5 for i in range(12)]
    assert ax.get_xticks().tolist() == [i + 0.5 for i in range(8)]
    assert ax.yaxis_inverted()
    squares = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    centres = {tuple(int(c) for c in square.get_center()) for square in squares}
    assert centres == ROBOT.alignment
    assert {to_hex(square.get_edgecolor()).upper() for square in squares} == {COLOURS[1]}
    assert not any(square.get_fill() for square in squares)
    plt.close("all")


def test_the_heat_map_refuses_what_is_no_attention_of_one_head():
    _, ax = plt.subplots()
    with pytest.raises(InputError, match="weight is nan"):
        heat_map(ax, EVEN * torch.nan, list("ab"), list("abc"))
    with pytest.raises(InputError, match=r"shape \(3, 12, 8\), it must be \(query, key\)"):
        heat_map(ax, LAYERS["layer 1"], ROBOT.tgt, ROBOT.src)
    plt.close("all")
