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
    """One thread for all calls: to start one for each would take longer than most of them.

    It sleeps until the first of the calls has to end. Most are over long before, and a new one
    ends later than those that it sleeps for; so it is seldom woken.
    """

    def __init__(self) -> None:
        self.calls = set[_Call]()
        self.wakes = math.inf
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None

    def begin(self, call: _Call) -> None:
        """Watch a call from now on."""
        with self.changed:
            self.calls.add(call)
            if self.thread is None:
                sys.unraisablehook = _all_but_ours(sys.unraisablehook)
            if self.thread is None or not self.thread.is_alive():  # a fork of a process has none
                self.thread = threading.Thread(target=self._watch, daemon=True)
                self.thread.start()
            elif call.ends < self.wakes:
                self.changed.notify()

    def end(self, call: _Call) -> None:
        """Forget a call that is over, and an exception that is still on its way to it."""
        with self.changed:
            self.calls.discard(call)
            if call.stopped:
                # To call it off would leave Python's signal on, by which a traced function of
                # Python 3.11 begins for ever; so another takes its place, and is waited for.
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
    """Tell of all exceptions that Python has to drop, but of none that stops a call.

    One that comes while a weak reference is let go is dropped; the watcher sends the next.
    """

    def told(unraisable: Any) -> None:
        if unraisable.exc_type is not OutOfTime:
            tell(unraisable)

    return told


_WATCHER = _Watcher()


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """What a call gives; where it takes too long, OutOfTime is raised in its thread.

    >>> within(1.0, lambda: 2 + 2)
    4
    """
    thread = ctypes.c_ulong(threading.get_ident())
    watched = _Call(thread, seconds, monotonic() + seconds)
    _WATCHER.begin(watched)
    try:
        return call()
    finally:
        watched.over = True  # by itself, so that no exception comes between
        _WATCHER.end(watched)
