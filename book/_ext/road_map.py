"""The road map of the front page: every chapter as a step, with the question that it answers.

It is drawn from the chapters: their order and parts are in ``_toc.yml``, title and question in
the first cell of each notebook, as its heading and the quotation under it.
"""

import json
import re
import textwrap
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from contents import ROOT, entries
from docutils import nodes
from languages import translated
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

OPENING = re.compile(r"# (?P<title>[^\n]+)\n+> (?P<question>(?:[^\n]+\n?)+)")

# For each width of window: the number of steps in a row, and the width of one. See front.css.
DRAWINGS = {"wide": (10, 131), "middle": (4, 184), "narrow": (1, 350)}
TITLE, TEXT, LINE = 14, 13, 15
RADIUS, LABEL, GAP = 12, 22, 8
WORDS_BESIDE = 300
"""In a step that is wider than this, the words are beside its circle, otherwise below."""
LETTER = 0.48
"""The width of a letter of the site's face, relative to its height: an upper mean."""


@dataclass(frozen=True)
class Step:
    """One chapter."""

    number: int
    part: str
    docname: str
    title: str
    question: str

    @property
    def name(self) -> str:
        """Return the title up to its colon or question mark."""
        return re.split(r":|(?<=\?)", self.title)[0]


def opening(notebook: dict[str, Any]) -> tuple[str, str]:
    """Return the title and the question with which a chapter begins."""
    first = "".join(notebook["cells"][0]["source"])
    found = OPENING.match(first)
    if not found:
        raise ValueError(f"no title and question: {first[:80]!r}")
    return found["title"], " ".join(found["question"].split())


def steps(root: Path = ROOT) -> list[Step]:
    """Read the numbered chapters, in their order."""
    found: list[Step] = []
    for entry in (entry for entry in entries(root) if entry.is_numbered):
        notebook = (root / entry.name).with_suffix(".ipynb").read_text(encoding="utf-8")
        texts = opening(json.loads(notebook))
        found.append(Step(len(found) + 1, entry.part, entry.name, *texts))
    return found


def parts(found: list[Step]) -> list[str]:
    """Return the names of the parts, in their order."""
    return list(dict.fromkeys(step.part for step in found))


def rows(found: list[Step], columns: int) -> list[list[Step]]:
    """Lay the steps out in rows of that many, one part after the other."""
    return [found[start : start + columns] for start in range(0, len(found), columns)]


def lines(text: str, size: int, width: int) -> list[str]:
    """Break a text into lines that fit; a syllable of Hangul is as wide as two letters."""
    counted = re.sub("[가-힣]", "\\g<0>\0", text)
    wrapped = textwrap.wrap(counted, int(width / (LETTER * size)), break_long_words=False)
    return [line.replace("\0", "") for line in wrapped]


def text(x: int, y: int, written: list[str], kind: str) -> str:
    """Draw lines of text, the first at this place."""
    spans = "".join(
        f'<tspan x="{x}" y="{y + i * LINE}">{escape(line)} </tspan>'
        for i, line in enumerate(written)
    )
    return f'<text class="{kind}">{spans}</text>'


def draw_step(step: Step, address: str, x: int, y: int, width: int) -> tuple[str, int]:
    """Draw one step as a link, its circle around this point; return it with its lowest line."""
    beside = width > WORDS_BESIDE
    left = x + RADIUS + 12 if beside else x - RADIUS
    first = y + 4 if beside else y + RADIUS + 17
    room = width - RADIUS - 12 - (left - x)
    title = lines(step.name, TITLE + 1, room)  # bold letters are wider
    question = lines(step.question, TEXT, room)
    second = first + LINE * len(title)
    drawn = (
        f'<a href="{escape(address)}"><circle cx="{x}" cy="{y}" r="{RADIUS}"/>'
        f'<text class="number" x="{x}" y="{y + 4.5}">{step.number}</text>'
        f"{text(left, first, title, 'title')}{text(left, second, question, 'question')}</a>"
    )
    return drawn, second + LINE * (len(question) - 1)


def draw(found: list[Step], addresses: dict[str, str], kind: str) -> str:
    """Draw the map in one of its widths."""
    columns, width = DRAWINGS[kind]
    drawn, y, circle, part = [], RADIUS, 0, ""
    for row in rows(found, columns):
        begins = any(step.part != part for step in row)
        above, y = circle, y + LABEL * begins
        circle = lowest = y
        for place, step in enumerate(row):
            x = 1 + RADIUS + place * width
            shapes = []
            if step.part != part:
                shapes.append(text(x - RADIUS, y - RADIUS - 7, [step.part], "part"))
            elif not place and columns == 1:
                shapes.append(f'<path d="M{x} {above + RADIUS}V{y}"/>')
            goes_on = place + 1 < len(row) and row[place + 1].part == step.part
            if columns > 1:
                shapes.append(f'<path d="M{x} {y}h{width - 2 * RADIUS * (not goes_on)}"/>')
            part = step.part
            link, below = draw_step(step, addresses[step.docname], x, y, width)
            drawn.append(
                f'<g class="part-{parts(found).index(part) + 1}">{"".join(shapes)}{link}</g>'
            )
            lowest = max(lowest, below)
        y = lowest + GAP + RADIUS
    label = _("Road map: {number} chapters, each with its question").format(number=len(found))
    return (
        f'<svg class="{kind}" viewBox="0 0 {columns * width} {lowest + GAP}" role="group" '
        f'aria-label="{label}">{"".join(drawn)}</svg>'
    )


def in_words(found: list[Step], addresses: dict[str, str]) -> str:
    """Write the map as a list, for screen readers and paper."""
    written = []
    for part, group in groupby(found, lambda step: step.part):
        chapters = list(group)
        items = "".join(
            f'<li><a href="{escape(addresses[step.docname])}">{escape(step.name)}</a>: '
            f"{escape(step.question)}</li>"
            for step in chapters
        )
        start = chapters[0].number
        written.append(f'<p>{escape(part)}</p><ol start="{start}">{items}</ol>')
    return f"<details><summary>The road map as a list</summary>{''.join(written)}</details>"


class RoadMap(SphinxDirective):
    """The map, in a drawing for each width of window, and in words."""

    def run(self) -> list[nodes.Node]:
        """Draw it for the page that asks."""
        builder = self.env.app.builder
        page = builder.get_target_uri(self.env.docname)
        found = [
            replace(
                step,
                part=_(step.part),
                title=translated(self.env.app, step.docname, step.title),
                question=translated(self.env.app, step.docname, step.question),
            )
            for step in steps()
        ]
        self.env.note_dependency(str(ROOT / "_toc.yml"))
        for step in found:
            self.env.note_dependency(self.env.doc2path(step.docname))
        addresses = {
            step.docname: relative_uri(page, builder.get_target_uri(step.docname)) for step in found
        }
        drawings = "".join(draw(found, addresses, kind) for kind in DRAWINGS)
        html = f'<div class="road-map">{drawings}{in_words(found, addresses)}</div>'
        return [nodes.raw("", html, format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the directive."""
    app.add_directive("road-map", RoadMap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
