"""Progress: a small file beside the notebook remembers what was passed."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest

from annotated_transformer.ground.errors import InputError
from run_notebooks import run
from transformer_workbook import exercises
from transformer_workbook.judge.progress import FILE, note_progress, read_progress


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which we are in a notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("IPython.get_ipython", object)
    return tmp_path


def right(ids):  # type: ignore[no-untyped-def]
    return (ids != 0).sum(-1)


def test_outside_a_notebook_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    exercises.count_tokens(right)
    assert list(tmp_path.iterdir()) == []
    assert read_progress() == {}


def test_a_verdict_is_remembered_and_what_was_right_stays_so(notebook: Path) -> None:
    exercises.count_tokens(lambda ids: None)
    assert exercises.count_tokens.check(right).passed  # judged, and not remembered
    assert list(notebook.iterdir()) == []
    exercises.count_tokens(lambda ids: ids.sum())
    assert read_progress() == {"count_tokens": "wrong"}
    exercises.count_tokens(right)
    exercises.count_tokens(lambda ids: ids.sum())
    assert json.loads((notebook / FILE).read_text()) == {"count_tokens": "right"}
    assert [path.name for path in notebook.iterdir()] == [FILE.name]


def test_two_notebooks_of_one_folder_lose_no_verdict(notebook: Path) -> None:
    names = [f"exercise {number}" for number in range(40)]
    with ThreadPoolExecutor(8) as notebooks:
        list(notebooks.map(note_progress, names, ["right"] * 40))
    assert read_progress() == dict.fromkeys(names, "right")
    assert [path.name for path in notebook.iterdir()] == [FILE.name]


@pytest.mark.parametrize("text", ["[]", "[" * 100_000, '{"shift": 3}', "{"])
def test_another_file_of_that_name_is_refused(notebook: Path, text: str) -> None:
    (notebook / FILE).write_text(text)
    with pytest.raises(InputError, match="is not a record of exercises; delete it to begin"):
        note_progress("shift", "right")
    assert (notebook / FILE).read_text() == text


def test_a_summary_shows_each_exercise_of_a_chapter_and_counts_those_of_the_book(
    notebook: Path,
) -> None:
    note_progress("count_tokens", "right")
    note_progress("shift", "wrong")
    shown = exercises.summary("tokens_and_batches").data
    assert [shown.count(sign) for sign in ("✓ right", "✗ not yet")] == [1, 1]
    assert shown.count("○ open") == len(exercises.CHAPTERS["tokens_and_batches"]) - 2
    shown = exercises.summary().data
    assert shown.count("<td>1</td>") == 1
    assert "tokens and batches" in shown
    assert shown.count("<tr") == len(exercises.CHAPTERS) + 1


def test_no_notebook_is_stored_with_what_somebody_has_passed(tmp_path: Path) -> None:
    path = tmp_path / "notebook.ipynb"
    path.write_text(nbformat.writes(nbformat.v4.new_notebook()), encoding="utf-8")
    (tmp_path / FILE).write_text("{}")
    found = run(path)
    assert found is not None
    assert "says what you have passed; move it away" in found
