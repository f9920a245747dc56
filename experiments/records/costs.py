"""The cost of a computation: operations, which are counted, and time, which is measured."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from torch.utils.flop_counter import FlopCounterMode


def operations(run: Any, *arguments: Any) -> int:
    """Count the multiplications and additions in the matrix products of one call."""
    with FlopCounterMode(display=False) as counter:
        run(*arguments)
    return int(counter.get_total_flops())


def times_in_turns(*works: Callable[[], Any], repeats: int, skip: int = 0) -> list[float]:
    """Measure the median seconds of each work on one thread, in turns, with the same noise for all.

    The first ``skip`` times of each are left out.
    """
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, times in zip(works, seconds, strict=True):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return [statistics.median(times[skip:]) for times in seconds]
