"""Beam search with a beam of five: ours beside Hugging Face and CTranslate2.

Each has its own stopping rule, so equal translations are counted, not required.
"""

from bench.translating import contestants, judge, prepare, reference

__all__ = ["CONTESTANTS", "judge", "prepare", "reference"]

CONTESTANTS = contestants(beam=5)
