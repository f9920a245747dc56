"""The page of paths: the lessons of each meeting, and about how long they take.

Reading is counted as under the title of a lesson, a line of a gap is three minutes, and exercises
are counted by their stars. A lesson says on which paths it lies, and what is next there.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from bench_page import caption
from contents import ROOT
from docutils import nodes
from languages import translated
from reading_time import reading
from road_map import Step, steps
from sources_page import Cell, Messages, table
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _

from transformer_workbook.chapters.paths import FILE, Meeting, Route, routes
from transformer_workbook.lessons import gaps_of

MINUTES_A_LINE = 3
PAGE = "book/paths"


@cache
def by_name() -> dict[str, Step]:
    """Return the lessons of the book by the names of their chapters."""
    return {step.docname.partition("_")[2]: step for step in steps()}


@cache
def minutes(step: Step) -> tuple[int, int, int]:
    """Return the minutes to read a lesson, to fill its gaps, and for its exercises."""
    notebook = json.loads((ROOT / step.docname).with_suffix(".ipynb").read_text(encoding="utf-8"))
    found = reading(notebook)
    lines = sum(len(gap.lines) for gap in gaps_of(notebook))
    return found.minutes, MINUTES_A_LINE * lines, found.exercise_minutes


def link(target: str, text: str, kind: str = "doc") -> addnodes.pending_xref:
    """Return a link to a page, by its address from the root, or to a label (``kind="ref"``)."""
    return addnodes.pending_xref(
        "", nodes.inline("", text), refdomain="std", reftype=kind, reftarget=target,
        refexplicit=True, refwarn=True,
    )  # fmt: skip


class PathDirective(Messages):
    """A path: for whom it is, its hours, and its meetings."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return two sentences, a table, and for a class the questions with folded answers."""
        route, lessons = routes()[self.arguments[0]], by_name()
        for name in route.lessons:
            self.env.note_dependency(f"{ROOT / lessons[name].docname}.ipynb")
        self.env.note_dependency(str(FILE))
        every = [minutes(lessons[name]) for name in route.lessons]
        reads, gaps, exercises = (round(sum(column) / 60) for column in zip(*every, strict=True))
        told = _("{reads} hours to read, {gaps} for the gaps, {exercises} for the exercises.")
        columns = {"": 5, _("lessons"): 45, _("minutes: read, gaps, exercises"): 25}
        if route.meetings[0].in_class:
            columns[_("in class")] = 45
        rows = [
            [[caption(str(number))], *self.cells(meeting)]
            for number, meeting in enumerate(route.meetings, start=1)
        ]
        hours = caption(told.format(reads=reads, gaps=gaps, exercises=exercises))
        hours += [nodes.Text(" "), nodes.literal("", f"--path {self.arguments[0]}")]
        return [
            nodes.paragraph("", route.for_whom),
            hours,
            table(columns, rows, "paths"),
            *self.questions(route),
        ]

    def cells(self, meeting: Meeting) -> Iterator[Cell]:
        """Yield the cells of one meeting; titles and minutes are no messages of this page."""
        titles, times = nodes.line_block(), nodes.line_block()
        for step in (by_name()[name] for name in meeting.lessons):
            here = replace(step, title=translated(self.env.app, step.docname, step.title))
            titled = link(f"/{step.docname}", f"{step.number} {here.name}")
            titles += nodes.line("", "", titled, translatable=False)
            times += nodes.line("", ", ".join(map(str, minutes(step))), translatable=False)
        yield [titles]
        yield [times]
        if meeting.in_class:
            yield [self.message(meeting.in_class)]

    def questions(self, route: Route) -> Iterator[nodes.enumerated_list]:
        """Yield the questions of the meetings for the exam; the answers are folded."""
        items = [
            nodes.list_item(
                "",
                self.message(meeting.question),
                nodes.raw("", "<details><summary>Answer</summary>", format="html"),
                self.message(meeting.answer),
                nodes.raw("", "</details>", format="html"),
            )
            for meeting in route.meetings
            if meeting.question
        ]
        if items:
            yield nodes.enumerated_list("", *items, enumtype="arabic", prefix="", suffix=".")


def show(app: Sphinx, document: nodes.document) -> None:
    """Write under the title of a lesson on which paths it lies, and what is next there."""
    lessons = by_name()
    here = next((name for name, step in lessons.items() if step.docname == app.env.docname), None)
    lying = [(name, route) for name, route in routes().items() if here in route.lessons]
    if not lying:
        return
    paragraph = nodes.paragraph("", _("On the paths: "), classes=["reading-time"])
    for number, (name, route) in enumerate(lying):
        after = route.lessons[route.lessons.index(here) + 1 :]
        paragraph += nodes.Text(" · " if number else "")
        paragraph += link(f"path-{name}", translated(app, PAGE, route.title), "ref")
        if after:
            step = lessons[after[0]]
            paragraph += nodes.Text(" → ")
            paragraph += link(f"/{step.docname}", str(step.number))
    next(document.findall(nodes.section)).insert(2, paragraph)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("path", PathDirective)
    app.connect("doctree-read", show, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
