"""Overtime: stop a call that takes too long, in whatever thread it runs."""

import ctypes
import math
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any


class OutOfTime(BaseException):
    """A function took too long. Not an Exception, so that ``except Exception`` lets it through."""


@dataclass(eq=False)
class _Call:
    """A call that is watched."""

    thread: ctypes.c_ulong
    seconds: float
    ends: float
    stopped: bool = False
    over: bool = False


class _Watcher:
    """One thread for all calls: starting one for each would take longer than most calls.

    It sleeps until the first of the calls has to end. Most are over long before, and a new one
    ends later than those already watched; so it is seldom woken.
    """

    def __init__(self) -> None:
        self.calls = set[_Call]()
        self.wakes = math.inf
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None

    def begin(self, call: _Call) -> None:
        """Start to watch a call."""
        with self.changed:
            self.calls.add(call)
            if self.thread is None:
                sys.unraisablehook = _all_but_ours(sys.unraisablehook)
            if self.thread is None or not self.thread.is_alive():  # a forked process has none
                self.thread = threading.Thread(target=self._watch, daemon=True)
                self.thread.start()
            elif call.ends < self.wakes:
                self.changed.notify()

    def end(self, call: _Call) -> None:
        """Stop watching a call that is over, and discard an exception still on its way to it."""
        with self.changed:
            self.calls.discard(call)
            if call.stopped:
                # Cancelling it would leave Python's signal set, with which a traced function of
                # Python 3.11 starts again for ever; so another replaces it, and is waited for.
                with suppress(OutOfTime):
                    _stop(call.thread)
                    while True:
                        pass

    def _watch(self) -> None:
        """Stop each call that has not ended, again and again."""
        with self.changed:
            while True:
                self.calls = {call for call in self.calls if not call.over}
                for call in self.calls:
                    if call.ends <= monotonic():
                        call.stopped, call.ends = True, monotonic() + call.seconds
                        _stop(call.thread)
                self.wakes = min((call.ends for call in self.calls), default=math.inf)
                seconds = min(self.wakes - monotonic(), threading.TIMEOUT_MAX)
                self.changed.wait(max(seconds, 0))


def _stop(thread: ctypes.c_ulong) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(OutOfTime))


def _all_but_ours(tell: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Report all exceptions that Python has to drop, except those that stop a call.

    One that arrives while a weak reference is released is dropped; the watcher sends the next.
    """

    def told(unraisable: Any) -> None:
        if unraisable.exc_type is not OutOfTime:
            tell(unraisable)

    return told


_WATCHER = _Watcher()


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """Return the result of a call; if it takes too long, raise OutOfTime in its thread.

    >>> within(1.0, lambda: 2 + 2)
    4
    """
    thread = ctypes.c_ulong(threading.get_ident())
    watched = _Call(thread, seconds, monotonic() + seconds)
    _WATCHER.begin(watched)
    try:
        return call()
    finally:
        watched.over = True  # its own statement, so that no exception comes between
        _WATCHER.end(watched)
