"""Notebooks to do in Korean: the prose is the catalogues', the code and the checks the lessons'."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from catalogues import NAMES, catalogue_of, words
from docutils import nodes
from editions import EDITIONS
from gaps import offer_to_do
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbclient import NotebookClient

from annotated_transformer.ground.errors import InputError
from annotated_transformer.ground.sentences import LANGUAGE_VARIABLE
from transformer_workbook.lessons.fillings import wrong_fillings
from transformer_workbook.lessons.gaps import gaps_of, source_of
from transformer_workbook.lessons.languages import translated
from transformer_workbook.lessons.plain_markdown import to_roles
from transformer_workbook.lessons.to_do import (
    BOOK,
    YOURS,
    is_untouched,
    lessons,
    read,
    to_do,
    write_lessons,
)

LESSONS = lessons()
FIFTH = "05_self_attention"
PARSER = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin).use(colon_fence_plugin)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All lessons in Korean."""
    folder = tmp_path_factory.mktemp("korean")
    write_lessons(folder, language="ko")
    return folder


def blocks(markdown: str) -> Iterator[tuple[str, str]]:
    """Give the blocks of Markdown with roles as its parser finds them: a kind, and the content."""
    for token in PARSER.parse(markdown):
        if token.info.startswith("{"):
            directive, _, title = token.info.partition(" ")
            yield directive, ""
            yield "inline", title
            yield from blocks(token.content)
        else:
            yield f"{token.type} {token.markup} {token.attrs}", said(token)


def said(token: Token) -> str:
    """What a block says: Sphinx joins the lines of a message by spaces."""
    if token.type == "html_block":
        return re.sub("(?<=<summary>)[^<]+", "", token.content)
    return token.content.replace("\n", " ") if token.type == "inline" else token.content


def prose(notebook: dict[str, object], book: str = "") -> str:
    """The Markdown of a notebook, with the roles and links that the catalogues have."""
    cells = notebook["cells"]
    text = "\n\n".join(to_roles(source_of(c)) for c in cells if c["cell_type"] == "markdown")
    return text.replace(f"]({book}/", "](") if book else text


def prose_in(folder: Path, stem: str) -> str:
    """The same of a notebook to do, whose links lead to the book."""
    return prose(read(folder / f"{stem}.ipynb"), os.path.relpath(BOOK, folder))


@pytest.mark.parametrize("stem", LESSONS)
def test_every_block_is_what_the_catalogue_says_and_all_others_stay(
    stem: str, written: Path
) -> None:
    catalogue = catalogue_of(f"book/{stem}", "ko")
    hints = {part for gap in gaps_of(read(LESSONS[stem])) for part in gap.hint.split("\n\n")}
    hints.add(YOURS)
    english = list(blocks(prose(to_do(read(LESSONS[stem])))))
    korean = list(blocks(prose_in(written, stem)))
    seen = set()
    for (kind, message), (kind_now, now) in zip(english, korean, strict=True):
        assert kind_now == kind
        entry = catalogue.get(message) if kind.startswith("inline") else None
        if entry and entry.string and not entry.fuzzy:
            assert now == to_roles(entry.string)  # it may have a link with a title
            seen.add(message)
        elif message not in hints:
            assert now == message
    assert len(seen) > 40  # and not a few of them by chance


def test_nothing_of_a_lesson_but_names_and_code_is_english(written: Path) -> None:
    """The fifth one; the others are asked for at a release, page by page."""
    lesson = read(LESSONS[FIFTH])
    told = dict.fromkeys(
        text for kind, text in blocks(prose_in(written, FIFTH)) if "inline" in kind
    )
    assert [t for t in told if len(words(t)) > NAMES and not EDITIONS["ko"].writes(t)] == []
    pictures = {
        cell["metadata"]["mystnb"]["image"]["alt"]  # which the site alone shows
        for cell in lesson["cells"]
        if "image" in cell["metadata"].get("mystnb", {})
    }
    messages = {m.id: m.string for m in catalogue_of(f"book/{FIFTH}", "ko") if m.id}
    assert {message for message in messages if messages[message] not in told} == pictures


def test_labels_of_folds_and_hints_of_gaps_are_korean(written: Path) -> None:
    (gap,) = gaps_of(read(LESSONS[FIFTH]))
    hint = next(c for c in read(written / f"{FIFTH}.ipynb")["cells"] if "hint-" in c["id"])
    parts = hint["source"].split("\n\n")
    assert parts[1] == "<details><summary>힌트</summary>"
    assert len(parts) == len(gap.hint.split("\n\n")) + 3
    assert all(EDITIONS["ko"].writes(part) for part in parts[:-1])


@pytest.mark.parametrize("stem", LESSONS)
def test_code_is_that_of_the_english_notebook_and_the_first_line_chooses_the_language(
    stem: str, written: Path
) -> None:
    english, korean = (
        [source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for notebook in (to_do(read(LESSONS[stem])), read(written / f"{stem}.ipynb"))
    )
    assert korean == [f"%env {LANGUAGE_VARIABLE}=ko\n\n{english[0]}", *english[1:]]


@pytest.mark.parametrize("stem", LESSONS)
def test_without_messages_a_lesson_stays_as_it_is(stem: str) -> None:
    for cell in read(LESSONS[stem])["cells"]:
        if cell["cell_type"] == "markdown":
            assert translated(source_of(cell), {}) == source_of(cell)


@pytest.mark.parametrize(
    ("markdown", "now"),
    [
        ("# One", "# 하나"),
        ("One\ntwo\n- One", "하나 둘\n- 하나"),
        ("1. > One\n   > two\n\n> One\n> two", "1. > 하나 둘\n\n> 하나 둘"),
        ("| One | x |\n| --- | --- |\n| x | One |", "| 하나 | x |\n| --- | --- |\n| x | 하나 |"),
        ("> <!-- margin -->\n> One", "> <!-- margin -->\n> 하나"),
        ("> <!-- seealso -->\n> **One**\n>\n> x", "> <!-- seealso -->\n> **하나**\n>\n> x"),
        ("```\nx = 1\nOne\n```\n\nOne", "```\nx = 1\nOne\n```\n\n하나"),
        ("One\n$$\nx\n$$", "하나\n$$\nx\n$$"),
        ("<details><summary>One</summary>", "<details><summary>하나</summary>"),
        (
            'As ([A, 2001](x "a2001"), section 1) says <span title="n">7</span>.',
            '<span title="n">7</span>이라고 한다([A, 2001](x "a2001"), 1절).',
        ),
        ('As ([A, 2001](x "a2001")) says.', '그렇게 말한다 ([A, 2001](x "a2001")).'),
        ('[Try](laboratory.md "beam=4")', '[해 보기](laboratory.md "beam=4")'),
    ],
)
def test_what_stands_around_a_message_stays(markdown: str, now: str) -> None:
    messages = {
        "One": "하나",
        "One two": "하나 둘",
        "As ({cite}`a2001`, section 1) says {glue:text}`n`.": (
            "{glue:text}`n`이라고 한다({cite}`a2001`, 1절)."
        ),
        "As {cite}`a2001` says.": "그렇게 말한다 {cite}`a2001`.",
        "{laboratory}`Try <beam=4>`": "{laboratory}`해 보기 <beam=4>`",
    }
    assert translated(markdown, messages) == now


def test_a_korean_notebook_is_kept_as_an_english_one_is(tmp_path: Path) -> None:
    (path,) = write_lessons(tmp_path, ["5"], language="ko")
    assert is_untouched(path)
    assert read(path)["metadata"]["annotated_transformer"]["language"] == "ko"
    write_lessons(tmp_path, ["5"])  # nothing was done in it: in English, please
    assert read(path)["metadata"]["annotated_transformer"]["language"] == "en"
    (path,) = write_lessons(tmp_path, ["5"], language="ko")
    path.write_text(path.read_text(encoding="utf-8").replace("q = None", "q = 5"), "utf-8")
    with pytest.raises(InputError, match="holds changes of yours"):
        write_lessons(tmp_path, ["5"], language="ko")


def test_the_korean_site_offers_the_korean_notebook(tmp_path: Path) -> None:
    theme = {"repository_url": "https://github.com/someone/course"}
    app = SimpleNamespace(
        env=SimpleNamespace(doc2path=lambda _: LESSONS[FIFTH]),
        outdir=tmp_path,
        config=SimpleNamespace(
            language="ko", html_theme_options=theme, html_baseurl="https://x.y/"
        ),
    )
    buttons = [{"label": f"{kind}-buttons", "buttons": []} for kind in ("launch", "download")]
    context = {"pathto": lambda file, _: file, "header_buttons": buttons}
    offer_to_do(app, f"book/{FIFTH}", "", context, nodes.document(None, None))
    launched, downloaded = ([each["url"] for each in group["buttons"]] for group in buttons)
    assert len(launched) == 2
    assert all(f"/lessons/ko/{FIFTH}.ipynb" in address for address in launched)
    (file,) = downloaded
    notebook = read(tmp_path / file)
    assert notebook["metadata"]["annotated_transformer"]["language"] == "ko"
    assert "](https://x.y/book/solutions/05_self_attention.html#exercise-1)" in prose(notebook)


@pytest.mark.slow
def test_the_check_of_a_korean_notebook_speaks_korean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a variable of the reader's: open, with the right lines, and with wrong ones."""
    monkeypatch.delenv(LANGUAGE_VARIABLE, raising=False)
    (path,) = write_lessons(tmp_path, ["5"], language="ko")
    (gap,) = gaps_of(read(LESSONS[FIFTH]))
    wrong = gap.filled(wrong_fillings(FIFTH[3:])[gap.check][0])
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    check = next(i for i, cell in enumerate(notebook.cells) if gap.check in cell.source)
    notebook.cells = notebook.cells[: check + 1]
    for source in (gap.source, wrong):
        for text in (source, notebook.cells[check].source):
            notebook.cells.append(nbformat.v4.new_code_cell(text))  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
    verdicts = [notebook.cells[i].outputs[0]["data"]["text/plain"] for i in (check, check + 2, -1)]
    assert verdicts[:2] == ["아직 풀지 않음", "맞음"]
    assert re.fullmatch(r"틀림: 쿼리 축에 소프트맥스를 .*", verdicts[2])
