"""Decoding: which of two sentences wins."""

import math
from collections.abc import Callable

from transformer_workbook.judge.exercises import Derivation

Steps = tuple[float, float, float, float]


def _turning_point(short: list[float], long: list[float]) -> Steps:
    """The α at which two sentences have the same score, in four steps."""
    log_p_short, log_p_long = sum(map(math.log, short)), sum(map(math.log, long))
    ratio = log_p_long / log_p_short
    alpha = math.log(ratio) / math.log((5 + len(long)) / (5 + len(short)))
    return log_p_short, log_p_long, ratio, alpha


def _another_last_step(alpha: Callable[[float, int, int], float]) -> Callable[..., Steps]:
    """The same steps, but the last."""

    def steps(short: list[float], long: list[float]) -> Steps:
        log_p_short, log_p_long, ratio, _ = _turning_point(short, long)
        return log_p_short, log_p_long, ratio, alpha(ratio, len(short), len(long))

    return steps


def _from_ratio(of: Callable[[float, float], float]) -> Callable[..., Steps]:
    """Another step 3; step 4 follows from it, where there is a logarithm."""

    def steps(short: list[float], long: list[float]) -> Steps:
        log_p_short, log_p_long = _turning_point(short, long)[:2]
        ratio = of(log_p_short, log_p_long)
        return log_p_short, log_p_long, ratio, _alpha(ratio, short, long)

    return steps


def _from_sums(of: Callable[[list[float]], float]) -> Callable[..., Steps]:
    """Other steps 1 and 2; the rest follows from them."""

    def steps(short: list[float], long: list[float]) -> Steps:
        first, second = of(short), of(long)
        ratio = second / first if first else math.nan
        return first, second, ratio, _alpha(ratio, short, long)

    return steps


def _alpha(ratio: float, short: list[float], long: list[float]) -> float:
    logarithm = math.log(ratio) if ratio > 0 else math.nan
    return logarithm / math.log((5 + len(long)) / (5 + len(short)))


turning_point = Derivation(
    reference=_turning_point,
    given={
        "step 4 is wrong: lp has 5 plus the number of tokens.": _another_last_step(
            lambda ratio, n, m: math.log(ratio) / math.log(m / n)
        ),
        "step 4 is wrong: α is an exponent; take logarithms to solve for it.": _another_last_step(
            lambda ratio, n, m: ratio * (5 + n) / (5 + m)
        ),
        "step 4 is wrong: EOS is in the lists already; do not count it again.": _another_last_step(
            lambda ratio, n, m: math.log(ratio) / math.log((6 + m) / (6 + n))
        ),
        "step 4 is wrong: EOS counts in the lengths, too.": _another_last_step(
            lambda ratio, n, m: math.log(ratio) / math.log((4 + m) / (4 + n))
        ),
        "step 4 is wrong: take the logarithm of the right-hand side, too.": _another_last_step(
            lambda ratio, n, m: ratio / math.log((5 + m) / (5 + n))
        ),
        "step 4 is wrong: take the logarithm of the quotient of the lengths, too.": (
            _another_last_step(lambda ratio, n, m: math.log(ratio) * (5 + n) / (5 + m))
        ),
        "step 4 is wrong: divide the logarithms; this subtracts them.": _another_last_step(
            lambda ratio, n, m: math.log(ratio) - math.log((5 + m) / (5 + n))
        ),
        "step 4 is wrong: divide by log((5 + |long|)/(5 + |short|)), not by the difference.": (
            _another_last_step(lambda ratio, n, m: math.log(ratio) / (m - n))
        ),
        "step 3 is a difference; divide the log-probability of the long by the short's.": (
            _from_ratio(lambda short, long: long - short)
        ),
        "step 3 is log p of short minus long; the two are divided.": _from_ratio(
            lambda short, long: short - long
        ),
        "step 3 has the probabilities; divide their logarithms.": _from_ratio(
            lambda short, long: math.exp(long - short)
        ),
        "step 3 has the probabilities upside down; divide the logarithms, long by short.": (
            _from_ratio(lambda short, long: math.exp(short - long))
        ),
        "step 3 is multiplied; divide the logarithms, long by short.": _from_ratio(
            lambda short, long: short * long
        ),
        "step 1 is a probability; take its logarithm.": _from_sums(math.prod),
        "step 1 is a mean; log p is the sum of the tokens' logarithms.": _from_sums(
            lambda p: sum(map(math.log, p)) / len(p)
        ),
        "step 1 lacks the last probability, that of EOS.": _from_sums(
            lambda p: sum(map(math.log, p[:-1]))
        ),
        "step 1 is the logarithm of a sum; add the logarithms.": _from_sums(
            lambda p: math.log(sum(p))
        ),
        "step 4 is wrong: this has (5 + |long|)/6; the 6 cancels, 5 + |short| stays.": (
            _another_last_step(lambda ratio, n, m: math.log(ratio) / math.log((5 + m) / 6))
        ),
        "step 4 is wrong: this has (6 + |long|)/6; each length has 5, and 6 cancels.": (
            _another_last_step(lambda ratio, n, m: math.log(ratio) / math.log((6 + m) / 6))
        ),
        "step 4 is wrong: the quotient of the lengths is upside down.": (
            _another_last_step(lambda ratio, n, m: math.log(ratio) / math.log((5 + n) / (5 + m)))
        ),
        "step 4 is wrong: it is upside down: log of the ratio by log of the lengths.": (
            _another_last_step(lambda ratio, n, m: math.log((5 + m) / (5 + n)) / math.log(ratio))
        ),
        "step 4 is wrong: this is the ratio's power; solve for the exponent.": (
            _another_last_step(lambda ratio, n, m: ratio ** ((5 + n) / (5 + m)))
        ),
        "step 4 is wrong: the logarithms are multiplied; divide them.": (
            _another_last_step(lambda ratio, n, m: math.log(ratio) * math.log((5 + m) / (5 + n)))
        ),
        "step 4 is wrong: it is the logarithm of step 3 alone.": (
            _another_last_step(lambda ratio, n, m: math.log(ratio))
        ),
        "step 4 is wrong: it is the logarithm of the lengths alone.": (
            _another_last_step(lambda ratio, n, m: math.log((5 + m) / (5 + n)))
        ),
        "step 4 is wrong: it is the quotient of the lengths.": (
            _another_last_step(lambda ratio, n, m: (5 + m) / (5 + n))
        ),
        "step 1 is to the base 2; log p is a natural logarithm.": _from_sums(
            lambda p: sum(map(math.log2, p))
        ),
        "step 1 is to the base 10; log p is a natural logarithm.": _from_sums(
            lambda p: sum(map(math.log10, p))
        ),
        "step 1 is a sum of probabilities; add their logarithms.": _from_sums(sum),
        "step 1 is a product of logarithms; add them.": _from_sums(
            lambda p: math.prod(map(math.log, p))
        ),
        "step 1 lacks the first probability.": _from_sums(lambda p: sum(map(math.log, p[1:]))),
        "step 1 is divided by lp already; log p alone is asked for.": _from_sums(
            lambda p: sum(map(math.log, p)) / ((5 + len(p)) / 6)
        ),
        "step 1 is the last logarithm alone; add up all.": _from_sums(lambda p: math.log(p[-1])),
        "step 3 is the ratio of the means; log p is not divided by the length.": (
            lambda short, long: (
                *_turning_point(short, long)[:2],
                _turning_point(short, long)[2] * len(short) / len(long),
                0.0,
            )
        ),
        "step 3 is a logarithm already; that comes in step 4.": (
            lambda short, long: (
                *_turning_point(short, long)[:2],
                math.log(_turning_point(short, long)[2]),
                0.0,
            )
        ),
    },
    cases=[
        ([1.0, 0.35], [1.0, 0.65, 0.8, 0.8, 0.8, 0.8]),
        ([0.5, 0.6, 0.9], [0.5, 0.4, 0.9, 0.9, 0.95]),
        ([0.2], [0.3, 0.7, 0.4, 0.9, 0.9, 0.8, 0.95]),
    ],
)
