"""The contest ``levers`` with two threads, which `make bench` gives its contestants."""

from bench.levers import CONTESTANTS, judge, prepare, reference

__all__ = ["CONTESTANTS", "judge", "prepare", "reference"]
