"""Boxes and arrows stand where they are asked for."""

import matplotlib.pyplot as plt
import pytest

from transformer_workbook.notebook.figures import arrow, box


@pytest.fixture
def ax():
    fig, ax = plt.subplots()
    ax.set(xlim=(0, 10), ylim=(0, 10))
    yield ax
    plt.close(fig)


def test_a_box_is_centred_where_it_is_asked_for(ax):
    box(ax, 2.0, 3.0, "key", "#cfe3f5", size=8.0)
    (text,) = ax.texts
    assert text.get_text() == "key"
    assert text.get_fontsize() == 8
    ax.figure.canvas.draw()
    x, y = ax.transData.inverted().transform(text.get_bbox_patch().get_window_extent().get_points())
    assert (x + y) / 2 == pytest.approx([2, 3], abs=0.1)


@pytest.mark.parametrize("bend", [0.0, 0.5, -0.5])
def test_an_arrow_goes_from_start_to_end_and_bends_to_the_right(ax, bend):
    arrow(ax, (2.0, 2.0), (2.0, 8.0), bend)
    ax.figure.canvas.draw()
    (drawn,) = ax.texts
    line = drawn.arrow_patch.get_path().vertices
    start, end = ax.transData.transform([(2, 2), (2, 8)])
    assert abs(line[0] - start).max() < 5
    assert abs(line[2] - end).max() < 5
    sideways = line[1][0] - start[0]  # upwards, the right is where x grows
    assert sideways * bend > 0 if bend else abs(sideways) < 5
