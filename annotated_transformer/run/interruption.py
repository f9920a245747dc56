"""Interruption: Ctrl-C or SIGTERM is a request to stop after the current step."""

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from signal import Signals
from time import monotonic
from typing import Any

PATIENCE = 10.0
"""Seconds after the first signal in which more signals change nothing; later ones take effect."""

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@dataclass
class Wish:
    """The request to stop after this step: the signal that made it, or ``None``."""

    signal: Signals | None = None
    since: float = math.inf


@contextmanager
def asked_to_stop() -> Iterator[Wish]:
    """Yield a request that Ctrl-C, SIGTERM and SIGHUP set, so that a step is never interrupted.

    More signals soon after the first change nothing: one step
    is finished, and saved. One that comes long after the first does what it would have done
    before. A signal that was ignored (by ``nohup``, for example) stays ignored.
    """
    wish = Wish()
    before: dict[int, Any] = {}

    def stop(signum: int, frame: Any) -> None:
        now = monotonic()
        wish.signal, wish.since = wish.signal or Signals(signum), min(wish.since, now)
        if now - wish.since > PATIENCE:
            restore()
            signal.raise_signal(signum)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    # Only the main thread can receive a signal.
    if threading.current_thread() is threading.main_thread():
        kept = {number: signal.getsignal(number) for number in SIGNALS}
        before = {
            n: handler for n, handler in kept.items() if handler not in (signal.SIG_IGN, None)
        }
        for number in before:
            signal.signal(number, stop)
    try:
        yield wish
    finally:
        restore()
