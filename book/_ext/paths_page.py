"""The page of paths: the lessons of each meeting, and about how long they take.

Reading is counted as under the title of a lesson, a line of a gap is three minutes, and exercises
are counted by their stars. A lesson says on which paths it lies, and what is next there.
"""

import json
from collections.abc import Iterator
from html import escape

from contents import ROOT
from docutils import nodes
from reading_time import reading
from road_map import Step, steps
from sources_page import Cell, table
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from transformer_workbook.chapters.paths import Meeting, Route, routes
from transformer_workbook.lessons import gaps_of

MINUTES_A_LINE = 3
PAGE = "book/paths"


def by_name() -> dict[str, Step]:
    """Return the lessons of the book by the names of their chapters."""
    return {step.docname.partition("_")[2]: step for step in steps()}


def minutes(step: Step) -> tuple[int, int, int]:
    """Return the minutes to read a lesson, to fill its gaps, and for its exercises."""
    notebook = json.loads((ROOT / step.docname).with_suffix(".ipynb").read_text(encoding="utf-8"))
    found = reading(notebook)
    lines = sum(len(gap.lines) for gap in gaps_of(notebook))
    return found.minutes, MINUTES_A_LINE * lines, found.exercise_minutes


def link(docname: str, text: str) -> addnodes.pending_xref:
    """Return a link to a page, by its address from the root."""
    return addnodes.pending_xref(
        "", nodes.inline("", text), refdomain="std", reftype="doc", reftarget=f"/{docname}",
        refexplicit=True, refwarn=True,
    )  # fmt: skip


class PathDirective(SphinxDirective):
    """A path: for whom it is, its hours, and its meetings."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a sentence, a table, and for a class the questions with folded answers."""
        route, lessons = routes()[self.arguments[0]], by_name()
        for name in route.lessons:
            self.env.note_dependency(f"{ROOT / lessons[name].docname}.ipynb")
        every = [minutes(lessons[name]) for name in route.lessons]
        reads, gaps, exercises = (round(sum(column) / 60) for column in zip(*every, strict=True))
        said = _("{reads} hours to read, {gaps} for the gaps, {exercises} for the exercises")
        told = said.format(reads=reads, gaps=gaps, exercises=exercises)
        columns = {"": 5, _("lessons"): 45, _("minutes: read, gaps, exercises"): 25}
        if route.meetings[0].in_class:
            columns[_("in class")] = 45
        rows = [
            [[nodes.Text(str(number))], *cells(meeting, lessons)]
            for number, meeting in enumerate(route.meetings, start=1)
        ]
        return [
            nodes.paragraph("", f"{_(route.for_whom)} {told}."),
            table(columns, rows, "paths"),
            *questions(route),
        ]


def cells(meeting: Meeting, lessons: dict[str, Step]) -> Iterator[Cell]:
    """Yield the cells of one meeting."""
    titles, times = nodes.line_block(), nodes.line_block()
    for step in (lessons[name] for name in meeting.lessons):
        titles += nodes.line("", "", link(step.docname, f"{step.number} {step.name}"))
        times += nodes.line("", ", ".join(map(str, minutes(step))))
    yield [titles]
    yield [times]
    if meeting.in_class:
        yield [nodes.Text(_(meeting.in_class))]


def questions(route: Route) -> Iterator[nodes.Node]:
    """Yield a question of each meeting for the exam; its answer is folded."""
    for number, meeting in enumerate(route.meetings, start=1):
        if meeting.question:
            yield nodes.paragraph("", f"{number}. {_(meeting.question)}")
            summary, answer = escape(_("Answer")), escape(_(meeting.answer))
            folded = f"<details><summary>{summary}</summary><p>{answer}</p></details>"
            yield nodes.raw("", folded, format="html")


def show(app: Sphinx, document: nodes.document) -> None:
    """Write under the title of a lesson on which paths it lies, and what is next there."""
    lessons = by_name()
    here = next((name for name, step in lessons.items() if step.docname == app.env.docname), None)
    lying = [route for route in routes().values() if here in route.lessons]
    if not lying:
        return
    paragraph = nodes.paragraph("", _("On the paths: "), classes=["reading-time"])
    for number, route in enumerate(lying):
        after = route.lessons[route.lessons.index(here) + 1 :]
        paragraph += nodes.Text(" · " if number else "")
        paragraph += link(PAGE, _(route.title))
        if after:
            step = lessons[after[0]]
            paragraph += nodes.Text(" → ")
            paragraph += link(step.docname, str(step.number))
    next(document.findall(nodes.section)).insert(2, paragraph)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.add_directive("path", PathDirective)
    app.connect("doctree-read", show, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
