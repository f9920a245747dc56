import math

import numpy as np
import pytest

from annotated_transformer.ground.errors import InputError
from annotated_transformer.training import inverse_sqrt_schedule, linear_schedule, paper_schedule


@pytest.mark.parametrize(("d_model", "warmup", "factor"), [(512, 4000, 1.0), (64, 1, 0.5)])
def test_the_formula_of_the_paper(d_model, warmup, factor):
    rate = paper_schedule(d_model, warmup, factor)
    steps = np.arange(1, 9001)
    paper = factor / np.sqrt(d_model) * np.minimum(steps**-0.5, steps * warmup**-1.5)
    np.testing.assert_allclose([rate(int(step)) for step in steps], paper, rtol=1e-12)
    assert 1 + np.argmax([rate(int(step)) for step in steps]) == warmup
    assert rate(warmup) == pytest.approx(factor / (d_model * warmup) ** 0.5)


@pytest.mark.parametrize(("peak", "warmup"), [(3e-3, 200), (1.0, 1), (0.5, 4000)])
def test_growth_to_the_peak_and_decay_with_the_root(peak, warmup):
    rate = inverse_sqrt_schedule(peak, warmup)
    steps = np.arange(1, 9001)
    expected = np.where(steps < warmup, peak * steps / warmup, peak * np.sqrt(warmup / steps))
    np.testing.assert_allclose([rate(int(step)) for step in steps], expected, rtol=1e-12)
    assert rate(warmup) == peak == max(rate(int(step)) for step in steps)
    assert rate(4 * warmup) == peak / 2


@pytest.mark.parametrize("warmup", [0, 1, 30, 99])
def test_two_straight_lines(warmup):
    rate = linear_schedule(2e-3, 100, warmup)
    corners = ([0, warmup, 100], [0.0, 2e-3, 0.0]) if warmup else ([0, 100], [2e-3, 0.0])
    steps = range(1, 101)
    np.testing.assert_allclose([rate(step) for step in steps], np.interp(steps, *corners))
    assert rate(150) == 0.0


def test_what_is_not_said_is_as_in_the_paper_or_no_warm_up():
    for step in (1, 4000, 5000):
        assert paper_schedule(512)(step) == paper_schedule(512, 4000, 1.0)(step)
        assert linear_schedule(2e-3, 5001)(step) == pytest.approx(2e-3 * (5001 - step) / 5001)


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize(
    ("make", "sizes", "message"),
    [
        *(
            (inverse_sqrt_schedule, (1.0, warmup), f"warmup is {warmup}, it must be an integer")
            for warmup in (0, -1, 2.5, math.nan, math.inf)
        ),
        (paper_schedule, (0, 10), "d_model is 0, it must be an integer, at least 1"),
        (paper_schedule, (512, 0), "warmup is 0, it must be an integer, at least 1"),
        (paper_schedule, (4, math.inf), "warmup is inf, it must be an integer, at least 1"),
        (linear_schedule, (1.0, 10, -1), "warmup is -1, it must be an integer, at least 0"),
        (linear_schedule, (1.0, 10, 10), "warmup=10 must be below total=10"),
        (linear_schedule, (1.0, 10, 12), "warmup=12 must be below total=10"),
        (linear_schedule, (1.0, math.inf, 1), "total is inf, it must be an integer, at least"),
    ],
)
def test_a_schedule_that_cannot_be_made(make, sizes, message):
    with pytest.raises(InputError, match=message):
        make(*sizes)


@pytest.mark.usefixtures("as_readers_do")
@pytest.mark.parametrize("step", [0, -3, 1.5, None])
@pytest.mark.parametrize("rate", [inverse_sqrt_schedule(1.0, 4), linear_schedule(1.0, 9)])
def test_steps_are_counted_from_one(rate, step):
    with pytest.raises(InputError, match=f"^step is {step}, it must be an integer, at least 1"):
        rate(step)
