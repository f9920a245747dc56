"""Interruption: Ctrl-C as a wish to stop soon, not as an axe."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, so that a step is never cut in two; a second Ctrl-C interrupts."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event  # only the main thread can be told of a signal
        return

    def stop(signum: int, frame: Any) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
