"""The uncertainty of comparisons: intervals of means, of differences and of shares.

Every interval of the course is made here, each at 95 % by itself (Student 1908, Welch 1947,
Wilson 1927). Whether too many of the claims that rest on them may be chance is asked once, of all
of them together, in tests/test_claims.py (Benjamini and Hochberg 1995).

SciPy is imported where it is needed: only the book depends on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import variance

from annotated_transformer.ground.errors import InputError

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate between the ends of its confidence interval.

    >>> print(Interval(2.06, 0.91, 3.21))
    2.1 [0.9, 3.2]
    >>> f"{Interval(2.06, -0.91, 3.21):+.2f}"
    '+2.06 [-0.91, +3.21]'
    """

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        value, low, high = (
            format(number, spec or ".1f") for number in (self.value, self.low, self.high)
        )
        return f"{value} [{low}, {high}]"

    def __str__(self) -> str:
        return format(self)

    @property
    def sign(self) -> int:
        """Return 1 if the interval is above 0, -1 if it is below, and 0 if it contains 0.

        >>> Interval(2.0, 1.0, 3.0).sign, Interval(2.0, -1.0, 5.0).sign
        (1, 0)
        """
        return int(self.low > 0) - int(self.high < 0)


def mean_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Compute the mean of independent runs, mean ± t · s/√n (Student 1908).

    >>> print(mean_interval([88.0, 90.0, 91.0, 89.0, 92.0]))
    90.0 [88.0, 92.0]

    Raises:
        InputError: if there are fewer than two values.
    """
    if len(values) < 2:
        raise InputError(f"there are {len(values)} values: an interval needs at least two runs.")
    from scipy import stats

    _require_level(level)
    mean, error = sum(values) / len(values), float(stats.sem(values))
    half = float(stats.t.ppf((1 + level) / 2, len(values) - 1)) * error
    return Interval(mean, mean - half, mean + half)


def paired_difference(
    ours: Sequence[float], theirs: Sequence[float], level: float = LEVEL
) -> Interval:
    """Compute the mean of ours - theirs, run by run: both had the same seed, or the same data.

    >>> print(paired_difference([90.0, 92.0, 91.0], [88.0, 91.0, 88.0]))
    2.0 [-0.5, 4.5]

    Raises:
        InputError: if there are not as many values on both sides, or fewer than two.
    """
    if len(ours) != len(theirs):
        raise InputError(f"{len(ours)} and {len(theirs)} runs cannot be paired.")
    pairs = zip(ours, theirs, strict=True)
    return mean_interval([one - other for one, other in pairs], level)


def difference(ours: Sequence[float], theirs: Sequence[float], level: float = LEVEL) -> Interval:
    """Compute the difference of the means of independent runs of unequal variance (Welch 1947).

    >>> print(difference([90.0, 92.0, 91.0], [80.0, 90.0, 70.0]))
    11.0 [-13.5, 35.5]

    Raises:
        InputError: if a side has fewer than two values.
    """
    if min(len(ours), len(theirs)) < 2:
        raise InputError(f"there are {len(ours)} and {len(theirs)} runs: each side needs two.")
    _require_level(level)
    value = sum(ours) / len(ours) - sum(theirs) / len(theirs)
    if len(set(ours)) == len(set(theirs)) == 1:  # nothing varies: no degrees of freedom
        return Interval(value, value, value)
    from scipy import stats

    # By hand: SciPy's own warns where one of the sides is constant.
    errors = [variance(side) / len(side) for side in (ours, theirs)]
    freedoms = [e * e / (len(side) - 1) for e, side in zip(errors, (ours, theirs), strict=True)]
    freedom = sum(errors) ** 2 / sum(freedoms)
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * sum(errors) ** 0.5
    return Interval(value, value - half, value + half)


def share_interval(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Compute the share of successes in that many trials, with the interval of Wilson (1927).

    >>> f"{share_interval(4, 6):.2f}"
    '0.67 [0.30, 0.90]'

    Raises:
        InputError: if there are no trials, or not between 0 and as many successes.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise InputError(f"{successes} successes of {trials} trials: 0 ≤ successes ≤ trials ≥ 1.")
    from scipy import stats

    _require_level(level)
    found = stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
    return Interval(successes / trials, float(found.low), float(found.high))


def _require_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"level={level} must be in (0, 1).")
