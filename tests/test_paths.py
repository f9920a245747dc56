"""The paths through the course: what they name is there, and a class finds what it needs."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from annotated_transformer.cli import app
from transformer_workbook.chapters import CHAPTERS
from transformer_workbook.chapters.paths import routes
from transformer_workbook.judge.progress import FILE

PAGE = Path(__file__).resolve().parent.parent / "book" / "paths.md"


@pytest.mark.parametrize("name", routes())
def test_a_path_is_on_the_page_and_goes_forward_through_lessons_that_there_are(name: str) -> None:
    assert f"```{{path}} {name}\n" in PAGE.read_text(encoding="utf-8")
    lessons = routes()[name].lessons
    assert set(lessons) <= set(CHAPTERS)
    assert len(set(lessons)) == len(lessons)


def test_every_meeting_of_a_class_has_something_to_do_and_a_question_with_its_answer() -> None:
    for route in routes().values():
        needed = [bool(m.in_class and m.question and m.answer) for m in route.meetings]
        assert all(needed) or not any(m.in_class or m.question for m in route.meetings)


def test_a_lecture_of_the_seminar_is_planned_to_the_minute() -> None:
    for meeting in routes()["six_lectures"].meetings:
        assert sum(map(int, re.findall(r"\((\d+)", meeting.in_class))) == 75


def test_progress_follows_a_path(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["progress", str(tmp_path), "--path", "six_evenings"])
    *lines, last = told.output.splitlines()
    assert [int(line.split()[0]) for line in lines] == [2, 3, 5, 6, 7, 8, 12]
    assert last == f"{tmp_path} has no {FILE}: checks write it."
    (tmp_path / FILE).write_text('{"ring": "right"}', encoding="utf-8")
    told = CliRunner().invoke(app, ["progress", str(tmp_path), "--path", "six_evenings"])
    assert len(told.output.splitlines()) == 7
