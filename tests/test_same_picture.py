"""Pictures that show the same are equal, whatever their digits; what can be seen differs."""

import re
from io import StringIO

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from nbformat import NotebookNode

from same_output import ComparedCell, same_to_the_last_digit
from same_picture import difference

HEIGHTS = np.array([1.0, 3.0, 2.0])


@mpl.rc_context(mpl.rcParamsDefault | {"svg.hashsalt": "test"})
def picture(moved=0, shade=0.5, pixel=0.5, label="loss", colour="#0072B2", width=1.5, limit=4):
    """A heat map, and a line with markers that has a label; one unit is 100 px."""
    figure = Figure(figsize=(10, 5))
    figure.subplots_adjust(0, 0, 1, 1)
    heat, ax = figure.subplots(1, 2)
    heat.pcolormesh(np.array([[0.1, shade], [0.9, 1.0]]), vmin=0, vmax=1, cmap="Greys")
    heat.imshow(np.array([[pixel, 0.2]]), extent=(0, 1, 2, 3), vmin=0, vmax=1, cmap="Greys")
    ax.plot(HEIGHTS + moved / 100, "o-", label=label, color=colour, linewidth=width)
    ax.set(xlim=(0, 3), ylim=(0, limit))
    ax.legend(loc="upper left")
    written = StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


@pytest.fixture(scope="module")
def stored() -> str:
    return picture()


@pytest.mark.parametrize(
    "change",
    [{"moved": 0.1}, {"shade": 0.5 + 1 / 255}, {"pixel": 0.5 + 1 / 255}, {"limit": 4.0 + 1e-5}],
    ids=str,
)
def test_what_nobody_sees_is_no_difference(stored, change):
    assert picture(**change) != stored
    assert difference(stored, picture(**change)) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"moved": 2.5}, r"line2d_\d+/path is moved by 2"),
        ({"shade": 0.5 + 5 / 255}, "QuadMesh_1.* has the fill"),
        ({"pixel": 0.5 + 5 / 255}, "image has a pixel that differs by"),
        ({"label": "cost"}, "the text 'loss' is 'cost'"),
        ({"colour": "#0072B3"}, "has the stroke #0072b3, not #0072b2"),
        ({"width": 1.6}, "has the stroke-width 1.6, not 1.5"),
    ],
    ids=str,
)
def test_what_is_seen_is_told_with_its_element(stored, change, said):
    assert re.search(said, difference(stored, picture(**change)))


def test_an_element_more_or_less_is_seen(stored):
    without = re.sub(r'<g id="patch_5">.*?</g>', "", stored, flags=re.DOTALL)
    assert "patch_5" in difference(stored, without)
    assert difference(without, stored)


@pytest.mark.parametrize(
    ("new", "same"),
    [
        ("loss 0.30, 62 %, 7 words", True),
        ("loss 0.29, 63 %, 7 words", True),
        ("loss 0.31, 62 %, 7 words", False),
        ("loss 0.300, 62 %, 7 words", False),
        ("loss 0.29, 62 %, 8 words", False),
        ("rate 0.29, 62 %, 7 words", False),
    ],
)
def test_a_marked_cell_may_differ_by_one_in_the_last_digit_that_is_printed(new, same):
    assert same_to_the_last_digit("loss 0.29, 62 %, 7 words", new) == same


def test_so_may_the_label_of_a_picture():
    assert difference(picture(label="0.29"), picture(label="0.31"), same_to_the_last_digit)
    assert not difference(picture(label="0.29"), picture(label="0.30"), same_to_the_last_digit)


def line(height: float = 0.0) -> str:
    """A long line, a wave with a step, of which matplotlib leaves points out."""
    x = np.linspace(0, 20, 600)
    figure = Figure()
    ax = figure.subplots()
    ax.plot(x, np.sin(x) + height * (x > 10))
    ax.set(ylim=(-2, 2))
    written = StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def test_a_long_line_with_other_points_is_the_same_line_where_it_runs_along_it():
    with mpl.rc_context({"path.simplify": False}):
        stored = line()
    assert stored.count("\nL") != line().count("\nL")
    assert difference(stored, line()) == ""
    assert re.search(r"line2d_\d+/path is moved by", difference(stored, line(height=0.02)))


# --- what a model has learned on the page -------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "new", "same"),
    [
        ("text", "loss 0.31\nloss 0.02\n", True),
        ("text", "loss 0.31\n", False),
        ("image/svg+xml", picture(moved=20), True),
    ],
)
def test_a_live_cell_is_compared_by_its_kind_and_the_number_of_its_lines(
    stored, kind, new, same
) -> None:
    known = stored if kind != "text" else "loss 0.29\nloss 0.01\n"
    cell = ComparedCell.__new__(ComparedCell)
    cell.cell = NotebookNode(metadata={"tags": ["live"]})
    assert (not cell.alike(kind, known, new)) == same
    cell.cell = NotebookNode(metadata={"tags": []})
    assert cell.alike(kind, known, new)
