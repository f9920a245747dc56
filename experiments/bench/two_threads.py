"""The contest ``training`` with two threads, which `make bench` gives its contestants."""

from bench.training import CONTESTANTS, judge, prepare, reference

__all__ = ["CONTESTANTS", "judge", "prepare", "reference"]
