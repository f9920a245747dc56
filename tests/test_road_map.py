"""The road map: every chapter once, with its own question, at every width."""

import re
from pathlib import Path

import pytest
from road_map import DRAWINGS, Step, draw, in_words, opening, rows, steps

STEPS = steps()
ADDRESSES = {step.docname: f"{step.docname}.html" for step in STEPS}


def test_every_numbered_chapter_is_a_step() -> None:
    notebooks = sorted(path.stem for path in Path("book").glob("[0-9]*.ipynb"))
    assert [Path(step.docname).name for step in STEPS] == notebooks
    assert all(f"/{step.number:02d}_" in step.docname for step in STEPS)
    assert all(re.fullmatch(r"[^.?!]{20,69}\?", step.question) for step in STEPS)


def test_a_chapter_has_a_name_and_a_question() -> None:
    cell = {"source": ["# Masking: what\n", "\n", "> How do we\n", "hide it?\n", "\n", "Text.\n"]}
    assert opening({"cells": [cell]}) == ("Masking: what", "How do we hide it?")
    for title, name in (("Layers: parts", "Layers"), ("Why attention? Work", "Why attention?")):
        assert Step(1, "Part", "book/01_x", title, "Why?").name == name
    for first in ("# A title\n\nNo quotation.\n", "> What?\n", "## A title\n\n> What?"):
        with pytest.raises(ValueError, match="no title and question"):
            opening({"cells": [{"source": [first]}]})


@pytest.mark.parametrize("kind", DRAWINGS)
def test_each_drawing_leads_to_every_chapter_in_order(kind: str) -> None:
    drawing = draw(STEPS, ADDRESSES, kind)
    assert re.findall(r'href="([^"]*)"', drawing) == list(ADDRESSES.values())
    words = " ".join(re.sub(r"<[^>]*>", " ", drawing).split())
    for step in STEPS:
        assert f"{step.number} {step.name} {step.question}" in words
        assert words.count(step.part) == 1
    columns, _ = DRAWINGS[kind]
    laid = rows(STEPS, columns)
    assert [step for row in laid for step in row] == STEPS
    assert max(map(len, laid)) == columns


def test_the_list_says_the_same() -> None:
    words = in_words(STEPS, ADDRESSES)
    assert re.findall(r'href="([^"]*)"', words) == list(ADDRESSES.values())
    assert all(step.question in words and step.part in words for step in STEPS)
