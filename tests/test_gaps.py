"""Every gap of a lesson is judged: empty, with the right lines, and with wrong ones."""

import ast
import copy
import json
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from annotated_transformer.ground.errors import InputError
from transformer_workbook import exercises
from transformer_workbook.judge.exercises import Exercise
from transformer_workbook.lessons import to_do as writer
from transformer_workbook.lessons.fillings import judged, slice_of, wrong_fillings
from transformer_workbook.lessons.gaps import Gap, gaps_of
from transformer_workbook.lessons.to_do import YOURS, lessons, read, to_do, write_lessons

LESSONS = {stem: read(path) for stem, path in lessons().items()}
GAPS = [
    pytest.param(stem, gap, id=f"{stem[:2]}-{gap.check}")
    for stem, notebook in LESSONS.items()
    for gap in gaps_of(notebook)
]
FEWEST_FILLINGS = 5
PLAIN = re.compile(r"it gives|it raises|right is|is still missing|returns None|not attempted")
"""What a check says where it does not know which mistake it is."""


def of_class(source: str, *ranges: tuple[int, int]) -> Gap:
    return Gap(0, source, ranges, "", "x", "X")


# --- the lessons of the book ---------------------------------------------------------------------


@pytest.mark.parametrize(("stem", "gap"), GAPS)
def test_the_right_lines_are_right_and_the_empty_ones_not_attempted(stem: str, gap: Gap) -> None:
    right = judged(LESSONS[stem], gap, gap.source)
    assert right.passed, right
    assert judged(LESSONS[stem], gap, gap.emptied()).state == "not attempted"
    raising = [f"{' ' * indent(gap)}raise NotImplementedError('yours to write')"] * len(gap.ranges)
    assert judged(LESSONS[stem], gap, gap.filled("\n…\n".join(raising))).state == "not attempted"


def indent(gap: Gap) -> int:
    return len(gap.lines[0]) - len(gap.lines[0].lstrip())


@pytest.mark.parametrize(("stem", "gap"), GAPS)
def test_wrong_lines_are_told_which_mistake_they_are(stem: str, gap: Gap) -> None:
    fillings = wrong_fillings(stem[3:])[gap.check]
    assert len(fillings) >= FEWEST_FILLINGS
    verdicts = [judged(LESSONS[stem], gap, gap.filled(written)) for written in fillings]
    assert [v for v in verdicts if v.state != "wrong" or PLAIN.search(v.mistake)] == []
    assert len({verdict.mistake for verdict in verdicts}) >= FEWEST_FILLINGS


@pytest.mark.parametrize(
    ("check", "right", "wrong", "told"),
    [
        ("number_reader", "self.source(source)", "source", "a network that reads vectors is given"),
        ("number_writer", "[[word]]", "[word]", "it reads words of shape (1, words), not (1,)."),
        (
            "additive_layer",
            "self.W(query)[:, None]",
            "self.W(query)[:, :, None]",
            "two tensors meet with 3 and 6 (h.size(1) or mask.size(1)) on one axis, in line 11: "
            "scores = self.v(torch.tanh(wanted + offered)).squeeze(-1). "
            "`wanted` is the first step that is wrong.",
        ),
        (
            "multi_head_layer",
            "_attention(q, k, v)",
            "_attention(query, key, value)",
            "a matrix with 4 columns is multiplied by one with 6 rows, in line 21: "
            "return self.output(merged). `each` is the first step that is wrong.",
        ),
        (
            "multi_head_layer",
            "each.transpose(1, 2).flatten(2)",
            "each.view(query.shape)",
            "`view` finds the numbers in another order in memory; reshape copies them, once the",
        ),
        (
            "masked_attention",
            "-math.inf",
            "-9",
            "`scores = scores.masked_fill(~mask, -9)` is the first step that is wrong.",
        ),
        ("masked_attention", "k.mT", "k.T", "with 2 (x.size(0) or mask.size(0)) and 5 on one axis"),
        ("may_attend", ".tril().bool()", ".tril()", "`&`, `|` and `~` are for booleans, and a"),
        ("may_attend", "ids != PAD", "ids % 2 == 0", "`past` is right; the mistake is elsewhere."),
        (
            "decoder_layer",
            "self.norm_2(y",
            "self.norm_1(y",
            "`y = self.norm_1(y + heard)` is the first step that is wrong.",
        ),
    ],
)
def test_where_lines_go_wrong_is_told_truly(check: str, right: str, wrong: str, told: str) -> None:
    [(stem, gap)] = [(p.values[0], p.values[1]) for p in GAPS if p.id[3:] == check]
    assert gap.source.count(right) == 1
    assert told in judged(LESSONS[stem], gap, gap.source.replace(right, wrong)).mistake


@pytest.mark.parametrize(("stem", "gap"), GAPS)
def test_the_check_of_a_gap_is_kept_apart_from_the_exercises(stem: str, gap: Gap) -> None:
    assert gap.check in exercises.GAPS[stem[3:]]
    assert exercises.TASKS[gap.check].gap


def test_every_check_of_a_gap_has_its_gap() -> None:
    asked = {gap.check for notebook in LESSONS.values() for gap in gaps_of(notebook)}
    assert asked == {name for names in exercises.GAPS.values() for name in names}


@pytest.mark.verify
@pytest.mark.slow
@pytest.mark.parametrize("stem", LESSONS)
def test_a_lesson_runs_to_its_end_with_its_gaps_open(stem: str, tmp_path: Path) -> None:
    (path,) = write_lessons(tmp_path, [stem])
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
    told = json.dumps(notebook)
    assert "not attempted" in told
    assert '"output_type": "error"' not in told


@pytest.mark.parametrize("stem", LESSONS)
def test_the_notebook_to_do_is_the_lesson_once_it_is_filled(stem: str) -> None:
    lesson, opened = LESSONS[stem], to_do(LESSONS[stem])
    sources = ["".join(cell["source"]) for cell in opened["cells"] if "hint-" not in cell["id"]]
    for gap in gaps_of(lesson):
        assert sources[gap.cell] == gap.emptied()
        sources[gap.cell] = gap.source
    assert sources == ["".join(cell["source"]) for cell in lesson["cells"]]


# --- gaps ----------------------------------------------------------------------------------------


def test_assignments_and_returns_keep_their_names_and_shapes() -> None:
    source = (
        "def f(x):\n    y = x.T  # (time, d)\n    z = (\n        y\n    )\n    return z  # a sum"
    )
    emptied = "def f(x):\n    y = None  # (time, d)\n    z = None\n    return None"
    assert of_class(source, (2, 6)).emptied() == emptied


def test_other_lines_become_one_that_raises() -> None:
    source = "for y in x:\n    y = y + 1\n    print(y)"
    left = 'raise NotImplementedError("yours to write")  # 2 lines in its place'
    emptied = f"for y in x:\n    {left}"
    assert of_class(source, (2, 3)).emptied() == emptied


def test_several_ranges_are_emptied_and_filled_each_in_its_place() -> None:
    gap = of_class("a = 1\nb = 2\nc = 3", (1, 1), (3, 3))
    assert gap.emptied() == "a = None\nb = 2\nc = None"
    assert gap.filled("a = 5\n…\nc = 6") == "a = 5\nb = 2\nc = 6"


def test_a_gap_without_a_check_below_it_is_refused() -> None:
    cell = {"cell_type": "code", "source": "a = 1", "metadata": {"blank": {"from": 1, "to": 1}}}
    with pytest.raises(ValueError, match="cell 0 has a gap, and the cell below it is no check"):
        gaps_of({"cells": [cell, {"cell_type": "code", "source": "print(a)", "metadata": {}}]})


def test_only_what_a_gap_needs_runs_before_it() -> None:
    above = "import math as m\nn = 3\ndef f(x):\n    return m.pi * n\nmodel = train()\nprint(f(1))"
    kept = slice_of(ast.parse(above).body, {"f"})
    assert ast.unparse(kept) == ast.unparse(ast.parse(above).body[:3])


# --- notebooks to do -----------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one lesson with a gap."""
    source = "def f(x):\n    y = x + 1\n    return y"
    blank = {"from": 2, "to": 2, "hint": "One more."}
    cells = [
        {"cell_type": "code", "id": "a", "source": source, "metadata": {"blank": blank}},
        {"cell_type": "code", "id": "b", "source": "exercises.wavelength(f)", "metadata": {}},
        {"cell_type": "code", "id": "c", "source": "f(None)", "metadata": {}},
    ]
    cells = [cell | {"outputs": [{"x": 1}], "execution_count": 1} for cell in cells]
    path = tmp_path / "book" / "01_tokens_and_batches.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    monkeypatch.setattr(writer, "BOOK", path.parent)
    return tmp_path


def test_a_lesson_is_written_with_a_hint_and_without_outputs(course: Path) -> None:
    (path,) = write_lessons(course / "mine", ["1"])
    cells = read(path)["cells"]
    assert cells[0]["source"] == "def f(x):\n    y = None\n    return y"
    hint = "<details><summary>Hint</summary>\n\nOne more.\n\n</details>"
    assert cells[1]["source"] == f"{YOURS}\n\n{hint}"
    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")


def test_work_of_the_reader_is_never_overwritten(course: Path) -> None:
    (path,) = write_lessons(course / "mine", ["1"])
    notebook = read(path)
    notebook["cells"][0]["outputs"] = [{"y": 2}]
    path.write_text(json.dumps(notebook))
    write_lessons(course / "mine", ["1"])  # outputs are no work
    notebook["cells"][0]["source"] = "def f(x):\n    y = 5\n    return y"
    path.write_text(json.dumps(notebook))
    with pytest.raises(InputError, match=r"01_tokens_and_batches\.ipynb holds changes of yours"):
        write_lessons(course / "mine")
    assert read(path) == notebook
    path.write_text("no notebook")
    with pytest.raises(InputError, match="holds changes of yours"):
        write_lessons(course / "mine")


def test_another_lesson_is_refused_in_one_sentence(course: Path) -> None:
    with pytest.raises(InputError, match="9 is no lesson with gaps, it must be one of 01_tokens"):
        write_lessons(course / "mine", ["9"])
    assert not (course / "mine").exists()


# --- what fails below a gap ----------------------------------------------------------------------


def notebook_of(cells: list[str]) -> nbformat.NotebookNode:
    new = nbformat.v4
    found: nbformat.NotebookNode = new.new_notebook(  # type: ignore[no-untyped-call]
        cells=[new.new_code_cell(source) for source in cells]  # type: ignore[no-untyped-call]
    )
    return found


def test_what_fails_below_an_open_gap_names_it_and_the_rest_runs(tmp_path: Path) -> None:
    cells = [
        "from transformer_workbook.judge.exercises import exercise",
        "def f(x):\n    y = None\n    return y",
        "@exercise([(1,), (2,)], gap=True)\ndef one_more(x):\n    'Add one.'\n    return x + 1\n"
        "one_more(f)",
        "f(3).size()",
        "print('goes on')",
        "def f(x):\n    y = x + 1\n    return y\none_more(f)",
        "1 / 0",
    ]
    notebook = notebook_of(cells)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        NotebookClient(notebook, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [copy.copy(cell.outputs) for cell in notebook.cells]
    assert shown[2][0]["data"]["text/plain"] == "not attempted"
    assert shown[3][0]["text"] == (
        "○ this cell needs `one_more`, which you have not passed above.\n"
        "AttributeError: 'NoneType' object has no attribute 'size'\n"
    )
    assert shown[4][0]["text"] == "goes on\n"
    assert shown[5][0]["data"]["text/plain"] == "right"


def test_a_line_of_a_gap_that_python_cannot_read_is_shown(tmp_path: Path) -> None:
    cells = [
        "from transformer_workbook.judge.exercises import exercise",
        "@exercise([(1,), (2,)], gap=True)\ndef one_more(x):\n    'Add one.'\n    return x + 1\n"
        "one_more(lambda x: None)",
        "def f(x):\n    y = (x + 1",
    ]
    notebook = notebook_of(cells)
    with pytest.raises(Exception, match="incomplete input"):
        NotebookClient(notebook, resources={"metadata": {"path": tmp_path}}).execute()


def test_what_needs_a_published_model_that_is_not_here_says_so_and_the_rest_runs(
    tmp_path: Path,
) -> None:
    cells = [
        "from transformer_workbook.judge import published",
        "published.FOLDER = '.weights/nowhere'\nfolder = published.published_model()",
        "folder / 'config.json'",
        "print('goes on')",
    ]
    notebook = notebook_of(cells)
    NotebookClient(notebook, resources={"metadata": {"path": tmp_path}}).execute()
    *told, last = [cell.outputs[0]["text"] for cell in notebook.cells[1:]]
    said = "○ this cell needs the published model: `make weights` fetches it (83 MB).\n"
    assert [text.startswith(said) for text in told] == [True, True]
    assert last == "goes on\n"


def test_a_check_of_a_gap_is_an_exercise_of_the_judge() -> None:
    gaps = [exercises.TASKS[name] for names in exercises.GAPS.values() for name in names]
    assert all(isinstance(task, Exercise) for task in gaps)
