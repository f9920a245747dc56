"""Learning-rate schedules: functions from the step, counted from 1, to the rate."""

from collections.abc import Callable

from annotated_transformer.errors import InputError
from annotated_transformer.inputs import require_rate, require_sizes, require_whole

Schedule = Callable[[int], float]


def inverse_sqrt_schedule(peak: float, warmup: int) -> Schedule:
    """rate = peak · min(step / warmup, √(warmup / step)).

    Linear growth to ``peak`` over ``warmup`` steps, then decay with the square root of the step.

    >>> rate = inverse_sqrt_schedule(peak=1.0, warmup=4)
    >>> [rate(step) for step in (1, 2, 4, 16, 64)]
    [0.25, 0.5, 1.0, 0.5, 0.25]

    Raises:
        InputError: if warmup is not positive, or the peak is negative or not finite.
    """
    require_rate(peak)
    require_sizes(warmup=warmup)

    def rate(step: int) -> float:
        return peak * min(step / warmup, (warmup / step) ** 0.5)

    return rate


def paper_schedule(d_model: int, warmup: int = 4000, factor: float = 1.0) -> Schedule:
    """rate = factor · d_model^(−1/2) · min(step^(−1/2), step · warmup^(−3/2)).

    It is :func:`inverse_sqrt_schedule` with a peak of factor / √(d_model · warmup).

    Source: Vaswani et al. 2017, section 5.3, equation 3 (there with factor 1).

    >>> rate = paper_schedule(d_model=512, warmup=4000)
    >>> f"{rate(1):.2e} {rate(4000):.2e} {rate(16000):.2e}"
    '1.75e-07 6.99e-04 3.49e-04'

    Raises:
        InputError: if d_model or warmup is not positive.
    """
    require_sizes(d_model=d_model, warmup=warmup)
    return inverse_sqrt_schedule(factor / (d_model * warmup) ** 0.5, warmup)


def linear_schedule(peak: float, total: int, warmup: int = 0) -> Schedule:
    """Linear growth to ``peak`` over ``warmup`` steps, then linear decay to 0 after ``total``.

    >>> rate = linear_schedule(peak=1.0, total=10, warmup=2)
    >>> [rate(step) for step in (1, 2, 6, 10)]
    [0.5, 1.0, 0.5, 0.0]

    Raises:
        InputError: if ``warmup`` is not below ``total``, or the peak is negative or not finite.
    """
    require_rate(peak)
    require_sizes(total=total)
    require_whole("warmup", warmup, 0)
    if warmup >= total:
        raise InputError(f"warmup={warmup} must be below total={total}.")

    def rate(step: int) -> float:
        if step < warmup:
            return peak * step / warmup
        return peak * max(0.0, (total - step) / (total - warmup))

    return rate
