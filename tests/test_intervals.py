"""Intervals hold what they promise: against scipy's tests and against formulas."""

from statistics import fmean

import pytest
from scipy import stats

from annotated_transformer.ground.errors import InputError
from transformer_workbook.notebook import (
    Interval,
    difference,
    mean_interval,
    paired_difference,
    share_interval,
)

OURS = [90.0, 92.5, 91.0, 88.0, 93.0]
THEIRS = [85.0, 90.0, 91.5, 84.0, 90.0]


def test_the_mean_has_the_interval_of_scipys_test() -> None:
    for level in (0.95, 0.9):
        found = mean_interval(OURS, level)
        ends = stats.ttest_1samp(OURS, 0.0).confidence_interval(level)
        assert found.value == pytest.approx(fmean(OURS))
        assert (found.low, found.high) == pytest.approx((ends.low, ends.high))


def test_a_paired_difference_has_the_interval_of_scipys_test() -> None:
    ends = stats.ttest_rel(OURS, THEIRS).confidence_interval(0.95)
    found = paired_difference(OURS, THEIRS)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert found.value == pytest.approx(fmean(OURS) - fmean(THEIRS))


@pytest.mark.parametrize("theirs", [THEIRS, THEIRS[:-1], [*THEIRS, 99.0]])
def test_a_difference_has_the_interval_of_scipys_welch_test(theirs: list[float]) -> None:
    ends = stats.ttest_ind(OURS, theirs, equal_var=False).confidence_interval(0.95)
    found = difference(OURS, theirs)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert found.value == pytest.approx(fmean(OURS) - fmean(theirs))


@pytest.mark.filterwarnings("error")
def test_a_side_that_is_constant_leaves_the_interval_of_the_other() -> None:
    found = difference(OURS, [80.0] * 7)
    alone = mean_interval(OURS)
    assert (found.low, found.high) == pytest.approx((alone.low - 80, alone.high - 80))


def test_a_share_has_wilsons_interval() -> None:
    ends = stats.binomtest(4, 6).proportion_ci(method="wilson")
    found = share_interval(4, 6)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert 0 <= share_interval(0, 6).low < share_interval(0, 6).high < 1


def test_a_higher_level_makes_every_interval_wider() -> None:
    for make, *runs in (
        (mean_interval, OURS),
        (difference, OURS, THEIRS),
        (paired_difference, OURS, THEIRS),
        (share_interval, 4, 6),
    ):
        usual, wide = make(*runs), make(*runs, 0.995)
        assert wide.value == usual.value
        assert wide.low < usual.low < usual.high < wide.high


@pytest.mark.filterwarnings("error")
def test_runs_that_are_all_alike_have_an_interval_of_no_width() -> None:
    assert mean_interval([1.0] * 5) == Interval(1.0, 1.0, 1.0)
    assert difference([1.0] * 5, [0.5] * 5) == Interval(0.5, 0.5, 0.5)
    assert paired_difference([1.0] * 5, [1.0] * 5).sign == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([1.0]), r"there are 1 values: an interval needs"),
        (lambda: difference([1.0, 2.0], [1.0]), "there are 2 and 1 runs: each side needs two"),
        (lambda: paired_difference([1.0, 2.0], [1.0]), "2 and 1 runs cannot be paired"),
        (lambda: share_interval(7, 6), "7 successes of 6 trials"),
        (lambda: share_interval(0, 0), "0 successes of 0 trials"),
        (lambda: mean_interval([1.0, 2.0], level=1.0), r"level=1.0 must be in \(0, 1\)"),
    ],
)
def test_what_is_no_sample_is_refused(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
